#include "tenon/vulkan/runner/binding.h"

#include <algorithm>
#include <utility>

#include "tenon/base/activity.h"
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
    wants_times_ |= c.profile != nullptr;
    if (c.kernel == nullptr) {
      Node loop;
      loop.trips = c.trips;
      loop.step = c.step;
      loop.profile = c.profile;
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
    launch.step = c.step;
    launch.profile = c.profile;
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

void Binding::Record(VkCommandBuffer to, std::span<const Node> nodes, uint64_t frame) const {
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

/// Records nodes with timestamps between their launches.
class Binding::TimedRecorder {
 public:
  TimedRecorder(const Binding& binding, VkCommandBuffer to, uint64_t frame, Timing::Piece& piece)
      : binding_(binding), to_(to), frame_(frame), piece_(piece) {}

  /// Timestamps that All writes.
  static int64_t Count(const std::vector<Node>& nodes) {
    int64_t count = 0;
    for (const Node& n : nodes) count += IsWhole(n) ? 1 : n.trips * Count(n.body);
    return count;
  }

  void All(const std::vector<Node>& nodes) {
    const Node* before = nullptr;
    for (const Node& n : nodes) {
      if (!IsWhole(n)) {
        const size_t mark = piece_.marks.size();
        piece_.marks.push_back({n.step, n.profile, last_, last_});
        for (int64_t i = 0; i < n.trips; ++i) All(n.body);
        piece_.marks[mark].last = last_;
      } else {
        binding_.Record(to_, {&n, 1}, frame_);
        piece_.times->Write(to_, ++last_);
        const bool goes_on = before != nullptr && before->pipeline != nullptr && n.pipeline != nullptr &&
                             before->step != nullptr && before->step == n.step;
        if (goes_on) {
          piece_.marks.back().last = last_;
        } else {
          piece_.marks.push_back({n.step, n.profile, last_ - 1, last_});
        }
      }
      before = &n;
    }
  }

 private:
  /// A launch, or a loop of too many to time each.
  static bool IsWhole(const Node& n) { return n.pipeline != nullptr || Count(n.body) > policy::kMostTimed / n.trips; }

  const Binding& binding_;
  const VkCommandBuffer to_;
  const uint64_t frame_;
  Timing::Piece& piece_;
  uint32_t last_ = 0;  ///< The timestamp that was written last.
};

Result<Timing::Piece> Binding::RecordTimed(const std::vector<Node>& nodes, uint64_t frame) const {
  Timing::Piece piece;
  TENON_ASSIGN_OR_RETURN(piece.times,
                         Timestamps::Create(device(), static_cast<uint32_t>(TimedRecorder::Count(nodes)) + 1));
  TENON_ASSIGN_OR_RETURN(piece.commands, device().Record([&](VkCommandBuffer to) {
    piece.times->Reset(to);
    piece.times->Write(to, 0);
    TimedRecorder(*this, to, frame, piece).All(nodes);
    device().Barrier(to);
  }));
  return piece;
}

Result<std::vector<Timing::Span>> Timing::Read(Device& device, int64_t ended_ns) const {
  std::vector<Span> spans;
  for (const Piece& piece : pieces_) {
    TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> times, piece.times->Read());
    for (const Mark& m : piece.marks) spans.push_back({m.step, m.profile, times[m.first], times[m.last]});
  }
  int64_t last_ns = INT64_MIN;
  for (const Span& s : spans) last_ns = std::max(last_ns, s.end_ns);
  if (spans.empty()) return spans;
  const int64_t offset_ns = device.clock().Observe(last_ns, ended_ns);
  for (Span& s : spans) {
    s.start_ns += offset_ns;
    s.end_ns += offset_ns;
  }
  return spans;
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
  const bool wanted = binding.wants_times_ || activity::IsOn();
  if (wanted && binding.device().info().timestamp_bits > 0) run->timing_ = std::make_unique<Timing>();
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
  if (timing_ != nullptr && timing_->marks_ < policy::kMostTimedOfRun) {
    TENON_ASSIGN_OR_RETURN(Timing::Piece piece, binding_.RecordTimed(s.nodes, instance_->frame.address()));
    const VkCommandBuffer handle = piece.commands.handle();
    timing_->marks_ += static_cast<int64_t>(piece.marks.size());
    timing_->pieces_.push_back(std::move(piece));
    TENON_ASSIGN_OR_RETURN(last_, device.Submit({&handle, 1}));
    waited_ = false;
    return OkStatus();
  }
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
