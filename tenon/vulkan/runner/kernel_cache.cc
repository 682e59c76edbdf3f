#include "tenon/vulkan/runner/kernel_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tenon/runtime/profile.h"
#include "tenon/vulkan/policy.h"

namespace tenon::vulkan {
namespace {

constexpr int64_t kIndexEnd = int64_t{1} << 31;

/// Whether numbers of 32 bits count the points of a kernel whose extents are params.
bool IsNarrow(const kir::Kernel& kernel, const emit_spirv::Module& module, const int64_t* params) {
  for (const kir::Dim& d : kernel.dims) {
    if (d.extent.is_param() && d.extent.Value(params) >= kIndexEnd) return false;
  }
  for (const emit_spirv::Dispatch& d : module.dispatches) {
    if (d.points.Of(params) >= kIndexEnd) return false;
  }
  return true;
}

/// Points of the largest step, about.
int64_t MostPoints(const kir::Kernel& kernel, const kir::Seq& seq, const int64_t* params) {
  int64_t most = 0;
  for (const kir::Step& step : seq) {
    const auto* stage = std::get_if<kir::Stage>(&step.is);
    if (stage == nullptr) {
      most = std::max(most, MostPoints(kernel, std::get<kir::Loop>(step.is).body, params));
      continue;
    }
    double points = 1;
    for (kir::DimId d = 0; d < kernel.outer; ++d) points *= static_cast<double>(kernel.dims[d].extent.Value(params));
    for (const kir::DimId d : stage->dims) points *= static_cast<double>(kernel.dims[d].extent.Value(params));
    most = std::max(most, static_cast<int64_t>(std::min(points, 1e18)));
  }
  return most;
}

}  // namespace

KernelCache::Entry KernelCache::Make(const kir::Kernel& kernel, bool baked, emit_spirv::Places places) const {
  TENON_ASSIGN_OR_RETURN(emit_spirv::Module module, emit_spirv::Emit(kernel, *target_, places));
  auto made = std::make_shared<DeviceKernel>();
  made->baked = baked;
  made->code_bytes = static_cast<int64_t>(module.words.size() * sizeof(uint32_t));
  for (const emit_spirv::Dispatch& d : module.dispatches) {
    TENON_ASSIGN_OR_RETURN(
        std::shared_ptr<const Pipeline> pipeline,
        device_->MakePipeline(module.words, d.entry.c_str(), fmt::format("{}: {}", d.entry, runtime::OpsText(kernel))));
    made->pipelines.push_back(std::move(pipeline));
  }
  module.words = {};
  made->module = std::move(module);
  return std::shared_ptr<const DeviceKernel>(std::move(made));
}

KernelCache::Entry KernelCache::Find(const kir::Kernel& kernel, bool baked, emit_spirv::Places places) {
  const Hash128 hash = kir::Hash(kernel);
  const auto look = [&]() -> const Known* {
    const auto [begin, end] = known_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (it->second->places == places && it->second->kernel == kernel) return it->second.get();
    }
    return nullptr;
  };
  {
    const std::lock_guard lock(mutex_);
    if (const Known* known = look()) return known->entry;
  }
  Entry made = Make(kernel, baked, places);
  // Whoever lacks memory may have it next time.
  const bool lasts = made.ok() || made.status().code() == Code::kUnimplemented;
  const std::lock_guard lock(mutex_);
  if (const Known* known = look()) return known->entry;
  if (lasts) {
    ++(made.ok() ? counters_.kernels : counters_.refused);
    known_.emplace(hash, std::make_unique<Known>(Known{kernel, places, made}));
  }
  return made;
}

// Arrays are aligned as a rule, and most kernels do not mind: another form is made where both are not so.
KernelCache::Entry KernelCache::ForPlaces(const kir::Kernel& kernel, bool baked, emit_spirv::Places places) {
  Entry entry = Find(kernel, baked, emit_spirv::Places::kAligned);
  if (places == emit_spirv::Places::kAligned || !entry.ok() || !(*entry)->module.needs_alignment) return entry;
  return Find(kernel, baked, places);
}

Result<std::shared_ptr<const DeviceKernel>> KernelCache::Get(const kir::Kernel& kernel, std::span<const int64_t> params,
                                                             emit_spirv::Places places) {
  if (kernel.num_params == 0) return ForPlaces(kernel, true, places);
  if (MostPoints(kernel, kernel.seq, params.data()) < policy::kBakedPoints) {
    Entry entry = ForPlaces(kernel, false, places);
    if (entry.ok() && IsNarrow(kernel, (*entry)->module, params.data())) return entry;
  }
  return ForPlaces(emit_spirv::Bake(kernel, params), true, places);
}

KernelCache::Counters KernelCache::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace tenon::vulkan
