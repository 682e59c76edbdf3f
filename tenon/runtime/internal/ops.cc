#include "tenon/runtime/internal/ops.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "tenon/base/small_vector.h"
#include "tenon/base/strided_array.h"
#include "tenon/base/strided_copy.h"
#include "tenon/runtime/policy.h"
#include "tenon/threads/policy.h"

namespace tenon::runtime::internal {
namespace {

constexpr int64_t kScratchAlignment = policy::kBlockBytes;

struct Scratch {
  void* data = nullptr;
  int64_t size_bytes = 0;
  ~Scratch() { ::operator delete(data, std::align_val_t(kScratchAlignment)); }
};

Dims Bytes(const Dims& strides, int64_t element_bytes) {
  Dims out = strides;
  for (int64_t& s : out) s *= element_bytes;
  return out;
}

}  // namespace

void* ThreadScratch(int64_t size_bytes) {
  thread_local Scratch scratch;
  if (scratch.size_bytes < size_bytes) {
    void* grown = ::operator new(static_cast<size_t>(size_bytes), std::align_val_t(kScratchAlignment), std::nothrow);
    if (grown == nullptr) return nullptr;
    ::operator delete(scratch.data, std::align_val_t(kScratchAlignment));
    scratch.data = grown;
    scratch.size_bytes = size_bytes;
  }
  return scratch.data;
}

const activity::Label* BoundOp::Label(const plan::Plan& plan) const {
  const activity::Label* label = label_.load(std::memory_order_acquire);
  if (label == nullptr) {
    std::optional<activity::Label> made = MakeLabel(plan);
    if (!made) return nullptr;
    label = activity::Intern(*std::move(made));
    label_.store(label, std::memory_order_release);
  }
  return label;
}

std::optional<activity::Label> BoundOp::MakeLabel(const plan::Plan& plan) const {
  if (step == nullptr) return std::nullopt;
  return LabelOf(plan, *step);
}

Status RunAll(const OpList& ops, const Frame& frame) {
  if (activity::IsOn()) [[unlikely]] {
    for (const std::unique_ptr<BoundOp>& op : ops) {
      const activity::Scope scope([&] { return op->Label(frame.plan); });
      TENON_RETURN_IF_ERROR(op->Run(frame));
    }
    return OkStatus();
  }
  for (const std::unique_ptr<BoundOp>& op : ops) TENON_RETURN_IF_ERROR(op->Run(frame));
  return OkStatus();
}

Status KernelOp::Run(const Frame& frame) const {
  if (total_ == 0) return OkStatus();
  SmallVector<void*, 16> buffers;
  for (const Place& p : kernel_.buffers) buffers.push_back(p.base == kNoBase ? nullptr : p.In(frame));
  if (kernel_.signal >= 0) buffers[static_cast<size_t>(kernel_.signal)] = const_cast<bool*>(frame.Signal());
  std::atomic<bool> out_of_memory{false};
  const auto run = [&](int64_t begin, int64_t end) {
    void* scratch = nullptr;
    if (kernel_.scratch_bytes > 0) {
      scratch = ThreadScratch(kernel_.scratch_bytes);
      if (scratch == nullptr) {
        out_of_memory.store(true, std::memory_order_relaxed);
        return;
      }
    }
    kernel_.fn(buffers.data(), kernel_.params.data(), begin, end, scratch);
  };
  if (total_ <= grain_ || cost_ns_ < threads::kMinSharedNs || frame.pool.num_threads() == 1) {
    run(0, total_);
  } else {
    frame.pool.ParallelFor((total_ + grain_ - 1) / grain_, cost_ns_,
                           [&](int64_t piece) { run(piece * grain_, std::min(total_, (piece + 1) * grain_)); });
  }
  if (out_of_memory.load())
    return ResourceExhausted("no memory for a kernel's scratch of " + std::to_string(kernel_.scratch_bytes) + " bytes");
  if (kernel_.signal >= 0 && frame.cancelled()) return Cancelled("the execution was cancelled inside a loop");
  return OkStatus();
}

SharedCopy::SharedCopy(Dims from_strides, Dims to_strides, Dims dims, int64_t element_bytes)
    : from_strides_(std::move(from_strides)),
      to_strides_(std::move(to_strides)),
      dims_(std::move(dims)),
      element_bytes_(element_bytes),
      bytes_(NumElements(dims_) * element_bytes) {
  if (bytes_ < policy::kSharedCopyBytes) return;
  if (from_strides_ == to_strides_ && HasNoGaps(dims_, from_strides_, element_bytes_)) {
    dims_ = {bytes_};
    from_strides_ = to_strides_ = {1};
    element_bytes_ = 1;
  }
  piece_ = std::max<int64_t>(1, policy::kCopyPieceBytes / (bytes_ / dims_[0]));
}

void SharedCopy::Run(const std::byte* from, std::byte* to, threads::ThreadPool& pool) const {
  if (piece_ == 0) return StridedCopy(to, to_strides_, from, from_strides_, dims_, element_bytes_);
  pool.ParallelFor((dims_[0] + piece_ - 1) / piece_, bytes_ / policy::kCopyBytesPerNs, [&](int64_t i) {
    const int64_t begin = i * piece_;
    Dims dims = dims_;
    dims[0] = std::min(dims_[0] - begin, piece_);
    StridedCopy(to + begin * to_strides_[0], to_strides_, from + begin * from_strides_[0], from_strides_, dims,
                element_bytes_);
  });
}

CopyOp::CopyOp(Place from, Dims from_strides, Place to, Dims to_strides, Dims dims, int64_t element_bytes)
    : from_(from),
      to_(to),
      copy_(Bytes(from_strides, element_bytes), Bytes(to_strides, element_bytes), std::move(dims), element_bytes) {}

Status CopyOp::Run(const Frame& frame) const {
  const std::byte* from = from_.In(frame);
  std::byte* to = to_.In(frame);
  if (from == to && copy_.same_strides()) return OkStatus();  // A donated argument that is returned.
  copy_.Run(from, to, frame.pool);
  return OkStatus();
}

CarryOp::CarryOp(std::vector<Move> moves, int64_t waiting_bytes)
    : moves_(std::move(moves)), waiting_bytes_(waiting_bytes) {
  for (const Move& m : moves_) {
    const Dims waiting = RowMajorStridesElems(m.dims);
    copies_.emplace_back(Bytes(m.way == Way::kRestore ? waiting : m.from_strides, m.element_bytes),
                         Bytes(m.way == Way::kSave ? waiting : m.to_strides, m.element_bytes), m.dims, m.element_bytes);
  }
}

Status CarryOp::Run(const Frame& frame) const {
  Block block;
  std::byte* waiting = nullptr;
  if (waiting_bytes_ > policy::kMaxWaitingBytes) {
    TENON_ASSIGN_OR_RETURN(block, frame.memory.Allocate(waiting_bytes_));
    waiting = static_cast<std::byte*>(block.data());
  } else if (waiting_bytes_ > 0) {
    waiting = static_cast<std::byte*>(ThreadScratch(waiting_bytes_));
    if (waiting == nullptr) return ResourceExhausted("no memory for a loop's carries");
  }
  for (size_t i = 0; i < moves_.size(); ++i) {
    const Move& m = moves_[i];
    copies_[i].Run(m.way == Way::kRestore ? waiting + m.offset_bytes : m.from.In(frame),
                   m.way == Way::kSave ? waiting + m.offset_bytes : m.to.In(frame), frame.pool);
  }
  return OkStatus();
}

namespace {

/// Has the host see so many bytes, which an accelerator may have written.
Status Look(const Frame& frame, const Place& at, int64_t bytes) {
  if (frame.arguments.accelerator == nullptr) return OkStatus();
  const Span span{at.base, at.offset_bytes, at.offset_bytes + bytes};
  return frame.arguments.accelerator->BeginHost({&span, 1});
}

}  // namespace

Status WhileOp::Run(const Frame& frame) const {
  if (turns_.chains.empty()) return RunTrips(frame, nullptr);
  SmallVector<std::byte*, 32> bases(frame.bases, frame.bases + num_bases_);
  for (const Span& area : turns_.areas) bases.push_back(frame.bases[area.base] + area.begin);
  const Frame inside{bases.data(), frame.pool, frame.memory, frame.arguments, frame.services, frame.plan};
  std::byte** const areas = bases.data() + num_bases_;
  TENON_RETURN_IF_ERROR(RunTrips(inside, areas));
  BringHome(frame, areas);
  return OkStatus();
}

/// What is carried goes to where the loop began with it, if it is not there.
void WhileOp::BringHome(const Frame& frame, std::byte** areas) const {
  const auto home = [&](size_t i) { return frame.bases[turns_.areas[i].base] + turns_.areas[i].begin; };
  for (const std::vector<size_t>& chain : turns_.chains) {
    // The first one's value is dead, so there is always one whose home nobody needs any more.
    std::vector<size_t> left;
    for (size_t i : std::span(chain).subspan(1)) {
      if (areas[i] != home(i)) left.push_back(i);
    }
    while (!left.empty()) {
      const auto free = std::ranges::find_if(left, [&](size_t i) {
        return std::ranges::none_of(left, [&](size_t other) { return areas[other] == home(i); });
      });
      const Span& area = turns_.areas[*free];
      SharedCopy({1}, {1}, {area.end - area.begin}, 1).Run(areas[*free], home(*free), frame.pool);
      left.erase(free);
    }
  }
}

Status WhileOp::RunTrips(const Frame& frame, std::byte** areas) const {
  for (int64_t i = 0; trip_count_ < 0 || i < trip_count_; ++i) {
    if (frame.cancelled()) return Cancelled("the execution was cancelled inside a loop");
    if (trip_count_ < 0) {
      TENON_RETURN_IF_ERROR(RunAll(condition_, frame));
      TENON_RETURN_IF_ERROR(Look(frame, predicate_, 1));
      if (*predicate_.In(frame) == std::byte{0}) break;
    }
    TENON_RETURN_IF_ERROR(RunAll(body_, frame));
    for (const std::vector<size_t>& chain : turns_.chains) {
      std::byte* const dead = areas[chain.back()];
      for (size_t k = chain.size(); k-- > 1;) areas[chain[k]] = areas[chain[k - 1]];
      areas[chain[0]] = dead;
    }
  }
  return OkStatus();
}

Status CaseOp::Run(const Frame& frame) const {
  size_t chosen;
  TENON_RETURN_IF_ERROR(Look(frame, index_, is_pred_ ? 1 : static_cast<int64_t>(sizeof(int32_t))));
  if (is_pred_) {
    chosen = *index_.In(frame) == std::byte{0} ? 0 : 1;
  } else {
    int32_t value;
    std::memcpy(&value, index_.In(frame), sizeof(value));
    chosen = value < 0 ? branches_.size() : static_cast<size_t>(value);
  }
  return RunAll(branches_[std::min(chosen, branches_.size() - 1)], frame);
}

std::optional<activity::Label> SegmentOp::MakeLabel(const plan::Plan&) const {
  return activity::Label{"submit", {{"launches", static_cast<double>(launches_)}}, {{"hlo_category", "submit"}}};
}

Status SegmentOp::Run(const Frame& frame) const { return frame.arguments.accelerator->Launch(*segment_); }

Status DataLoopOp::Run(const Frame& frame) const {
  for (size_t look = 0;; ++look) {
    if (frame.cancelled()) return Cancelled("the execution was cancelled inside a loop");
    TENON_ASSIGN_OR_RETURN(const bool ended, frame.arguments.accelerator->LaunchTrips(*loop_, look));
    if (ended) return OkStatus();
  }
}

Status HostOp::Run(const Frame& frame) const {
  AcceleratorRun& run = *frame.arguments.accelerator;
  TENON_RETURN_IF_ERROR(run.BeginHost(touched_));
  TENON_RETURN_IF_ERROR(op_->Run(frame));
  return run.EndHost(written_);
}

template <class StepT>
template <class F>
Status ServiceOp<StepT>::WithViews(const Frame& frame, F&& f) const {
  SmallVector<View, 8> operands, results;
  for (const Operand& o : operands_) operands.push_back(o.slot == nullptr ? View{} : View{o.place.In(frame), o.slot});
  for (const Operand& o : results_) results.push_back(o.slot == nullptr ? View{} : View{o.place.In(frame), o.slot});
  return f(std::span<const View>(operands.data(), operands.size()),
           std::span<const View>(results.data(), results.size()));
}

template <class StepT>
Status ServiceOp<StepT>::Begin(CallStage stage, const Frame& frame) const {
  if constexpr (std::is_same_v<StepT, plan::CustomCallStep>) {
    return WithViews(frame, [&](const auto& operands, const auto& results) {
      return frame.services.begin_custom_call(step_, stage, operands, results, frame.arguments.user);
    });
  } else {
    return OkStatus();
  }
}

template <class StepT>
Status ServiceOp<StepT>::Run(const Frame& frame) const {
  const auto call = [&](const auto& service, std::string_view what) -> Status {
    if (!service) return Unimplemented("this runtime serves no " + std::string(what));
    return WithViews(frame, [&](const auto& operands, const auto& results) {
      return service(step_, operands, results, frame.arguments.user);
    });
  };
  if constexpr (std::is_same_v<StepT, plan::EvaluateStep>) {
    return call(frame.services.evaluate, "evaluate steps");
  } else {
    return call(frame.services.custom_call, "custom calls");
  }
}

template class ServiceOp<plan::EvaluateStep>;
template class ServiceOp<plan::CustomCallStep>;

Status TimedOp::Run(const Frame& frame) const {
  const auto start = std::chrono::steady_clock::now();
  Status status = op_->Run(frame);
  record_->Record(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  return status;
}

}  // namespace tenon::runtime::internal
