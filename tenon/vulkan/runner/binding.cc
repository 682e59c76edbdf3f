#include "tenon/vulkan/runner/binding.h"

#include <algorithm>
#include <utility>

#include "tenon/vulkan/policy.h"

namespace tenon::vulkan {
namespace {

constexpr int64_t kWordBytes = sizeof(uint64_t);

}  // namespace

Binding::~Binding() {
  uint64_t last = 0;
  for (const auto& i : instances_) last = std::max(last, i->last);
  if (last > 0 && ForkGeneration() == generation_) static_cast<void>(device().Wait(last));
}

Status Binding::Takes(const kir::Kernel& kernel, std::span<const int64_t> params) {
  return kernels_->Get(kernel, params, emit_spirv::Places::kAligned).status();
}

Result<std::vector<Binding::Node>> Binding::Lower(std::vector<runtime::Command> commands) {
  std::vector<Node> nodes;
  for (runtime::Command& c : commands) {
    if (c.kernel == nullptr) {
      Node loop;
      loop.trips = c.trips;
      TENON_ASSIGN_OR_RETURN(loop.body, Lower(std::move(c.body)));
      if (loop.trips > 0 && !loop.body.empty()) nodes.push_back(std::move(loop));
      continue;
    }
    // Bases are blocks of the device's memory, which are aligned.
    static_assert(policy::kBlockBytes % emit_spirv::kAlignment == 0);
    const bool aligned = std::ranges::all_of(c.buffers, [](const runtime::Place& p) {
      return p.base == runtime::kNoBase || p.offset_bytes % static_cast<int64_t>(emit_spirv::kAlignment) == 0;
    });
    TENON_ASSIGN_OR_RETURN(
        const std::shared_ptr<const DeviceKernel> kernel,
        kernels_->Get(*c.kernel, c.params, aligned ? emit_spirv::Places::kAligned : emit_spirv::Places::kElements));
    const int64_t* params = c.params.data();
    Node launch;
    launch.buffers = static_cast<uint32_t>(words_.size());
    for (size_t i = 0; i < c.buffers.size(); ++i) {
      Word word;
      if (c.buffers[i].base != runtime::kNoBase) {
        word.kind = Word::Kind::kPlace;
        word.place = c.buffers[i];
      } else if (c.kernel->buffers[i].kind == kir::BufKind::kSignal) {
        word.kind = Word::Kind::kSignal;
      }
      words_.push_back(word);
    }
    words_.push_back({Word::Kind::kScratch, {}, 0});
    launch.params = static_cast<uint32_t>(words_.size());
    for (const int64_t p : c.params) words_.push_back({Word::Kind::kNumber, {}, p});
    scratch_bytes_ = std::max(scratch_bytes_, kernel->module.ScratchBytes(params));
    code_bytes_ += kernel->code_bytes;
    bool barrier = true;
    for (size_t i = 0; i < kernel->module.dispatches.size(); ++i) {
      const emit_spirv::Dispatch& d = kernel->module.dispatches[i];
      barrier |= d.after_barrier;
      if (d.Groups(params) == 0) continue;
      Node node = launch;
      node.pipeline = kernel->pipelines[i];
      node.groups = d.GroupsByDirection(params);
      node.barrier = barrier;
      nodes.push_back(std::move(node));
      barrier = false;
      ++launches_;
    }
  }
  return nodes;
}

Result<std::unique_ptr<const runtime::Accelerator::Segment>> Binding::Bind(std::vector<runtime::Command> commands) {
  auto segment = std::make_unique<DeviceSegment>();
  segment->index = segments_++;
  TENON_ASSIGN_OR_RETURN(segment->nodes, Lower(std::move(commands)));
  return std::unique_ptr<const Segment>(std::move(segment));
}

void Binding::Record(VkCommandBuffer to, const std::vector<Node>& nodes, uint64_t frame) const {
  for (const Node& n : nodes) {
    if (n.pipeline == nullptr) {
      for (int64_t i = 0; i < n.trips; ++i) Record(to, n.body, frame);
      continue;
    }
    if (n.barrier) device().Barrier(to);
    device().Bind(to, *n.pipeline, {frame, n.buffers, n.params});
    device().functions().CmdDispatch(to, n.groups[0], n.groups[1], n.groups[2]);
  }
}

Result<Binding::Instance*> Binding::TakeInstance() {
  const uint64_t completed = device().Completed();
  Instance* oldest = nullptr;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& i : instances_) {
      if (i->taken) continue;
      if (i->last <= completed) {
        i->taken = true;
        return i.get();
      }
      if (oldest == nullptr || i->last < oldest->last) oldest = i.get();
    }
    if (oldest != nullptr && instances_.size() >= policy::kMostInstances)
      oldest->taken = true;
    else
      oldest = nullptr;
  }
  if (oldest != nullptr) {
    const Status waited = device().Wait(oldest->last);
    if (waited.ok()) return oldest;
    GiveBack(oldest, oldest->last);
    return waited;
  }
  auto made = std::make_unique<Instance>();
  // Behind the words one that is zero: the signal that is never set.
  const auto bytes = static_cast<int64_t>(words_.size() + 1) * kWordBytes;
  TENON_ASSIGN_OR_RETURN(made->frame, device().frame_memory().Allocate(bytes));
  auto* words = reinterpret_cast<uint64_t*>(made->frame.host());
  for (size_t i = 0; i < words_.size(); ++i)
    words[i] = words_[i].kind == Word::Kind::kSignal ? made->frame.address() + words_.size() * sizeof(uint64_t)
                                                     : static_cast<uint64_t>(words_[i].number);
  words[words_.size()] = 0;
  made->commands.resize(segments_);
  made->taken = true;
  const std::lock_guard lock(mutex_);
  instances_.push_back(std::move(made));
  return instances_.back().get();
}

void Binding::GiveBack(Instance* instance, uint64_t last) {
  const std::lock_guard lock(mutex_);
  instance->last = last;
  instance->taken = false;
}

Result<std::unique_ptr<Run>> Run::Start(Binding& binding, std::vector<Base> bases, uint64_t scratch) {
  std::unique_ptr<Run> run(new Run(binding));
  TENON_ASSIGN_OR_RETURN(run->instance_, binding.TakeInstance());
  run->bases_ = std::move(bases);
  auto* words = reinterpret_cast<uint64_t*>(run->instance_->frame.host());
  for (size_t i = 0; i < binding.words_.size(); ++i) {
    const Binding::Word& w = binding.words_[i];
    if (w.kind == Binding::Word::Kind::kPlace) {
      words[i] = run->bases_[w.place.base].address + static_cast<uint64_t>(w.place.offset_bytes);
    } else if (w.kind == Binding::Word::Kind::kScratch) {
      words[i] = scratch;
    }
  }
  return run;
}

Run::~Run() {
  if (!waited_) static_cast<void>(binding_.device().Wait(last_));
  if (instance_ != nullptr) Finish();
}

uint64_t Run::Finish() {
  binding_.GiveBack(instance_, last_);
  instance_ = nullptr;
  waited_ = true;
  return last_;
}

Status Run::Launch(const runtime::Accelerator::Segment& segment) {
  const auto& s = static_cast<const Binding::DeviceSegment&>(segment);
  if (s.nodes.empty()) return OkStatus();
  Device& device = binding_.device();
  Commands& commands = instance_->commands[s.index];
  if (!commands) {
    TENON_ASSIGN_OR_RETURN(commands, device.Record([&](VkCommandBuffer to) {
      binding_.Record(to, s.nodes, instance_->frame.address());
      device.Barrier(to);
    }));
  }
  const VkCommandBuffer handle = commands.handle();
  TENON_ASSIGN_OR_RETURN(last_, device.Submit({&handle, 1}));
  waited_ = false;
  return OkStatus();
}

Status Run::BeginHost(std::span<const runtime::Span> touched) {
  Device& device = binding_.device();
  if (!waited_) {
    TENON_RETURN_IF_ERROR(device.Wait(last_));
    waited_ = true;
  }
  if (device.is_mapped()) return OkStatus();
  for (const runtime::Span& s : touched) {
    const Base& b = bases_[s.base];
    TENON_RETURN_IF_ERROR(device.Download(*b.block, s.begin, b.host + s.begin, s.end - s.begin));
  }
  return OkStatus();
}

Status Run::EndHost(std::span<const runtime::Span> written) {
  Device& device = binding_.device();
  if (device.is_mapped()) return OkStatus();
  for (const runtime::Span& s : written) {
    const Base& b = bases_[s.base];
    TENON_RETURN_IF_ERROR(device.Upload(*b.block, s.begin, b.host + s.begin, s.end - s.begin));
  }
  return OkStatus();
}

}  // namespace tenon::vulkan
