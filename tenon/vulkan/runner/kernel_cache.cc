#include "tenon/vulkan/runner/kernel_cache.h"

#include <utility>

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

}  // namespace

KernelCache::Entry KernelCache::Make(const kir::Kernel& kernel, bool baked) const {
  TENON_ASSIGN_OR_RETURN(emit_spirv::Module module, emit_spirv::Emit(kernel, *target_));
  auto made = std::make_shared<DeviceKernel>();
  made->baked = baked;
  made->code_bytes = static_cast<int64_t>(module.words.size() * sizeof(uint32_t));
  for (const emit_spirv::Dispatch& d : module.dispatches) {
    TENON_ASSIGN_OR_RETURN(std::shared_ptr<const Pipeline> pipeline,
                           device_->MakePipeline(module.words, d.entry.c_str()));
    made->pipelines.push_back(std::move(pipeline));
  }
  module.words = {};
  made->module = std::move(module);
  return std::shared_ptr<const DeviceKernel>(std::move(made));
}

KernelCache::Entry KernelCache::Find(const kir::Kernel& kernel, bool baked) {
  const Hash128 hash = kir::Hash(kernel);
  const auto look = [&]() -> const Known* {
    const auto [begin, end] = known_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (it->second->kernel == kernel) return it->second.get();
    }
    return nullptr;
  };
  {
    const std::lock_guard lock(mutex_);
    if (const Known* known = look()) return known->entry;
  }
  Entry made = Make(kernel, baked);
  // Whoever lacks memory may have it next time.
  const bool lasts = made.ok() || made.status().code() == Code::kUnimplemented;
  const std::lock_guard lock(mutex_);
  if (const Known* known = look()) return known->entry;
  if (lasts) {
    ++(made.ok() ? counters_.kernels : counters_.refused);
    known_.emplace(hash, std::make_unique<Known>(Known{kernel, made}));
  }
  return made;
}

Result<std::shared_ptr<const DeviceKernel>> KernelCache::Get(const kir::Kernel& kernel,
                                                             std::span<const int64_t> params) {
  Entry entry = Find(kernel, kernel.num_params == 0);
  if (kernel.num_params == 0 || (entry.ok() && IsNarrow(kernel, (*entry)->module, params.data()))) return entry;
  return Find(emit_spirv::Bake(kernel, params), true);
}

KernelCache::Counters KernelCache::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace tenon::vulkan
