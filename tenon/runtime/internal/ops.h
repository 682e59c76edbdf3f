#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tenon/base/activity.h"
#include "tenon/base/status.h"
#include "tenon/drivers/registry.h"
#include "tenon/plan/plan.h"
#include "tenon/runtime/accelerator.h"
#include "tenon/runtime/internal/turns.h"
#include "tenon/runtime/profile.h"
#include "tenon/runtime/program.h"
#include "tenon/threads/pool.h"

namespace tenon::runtime::internal {

/// What one run works on. `bases`: as Place says, but for where carries wait.
struct Frame {
  std::byte* const* bases;
  threads::ThreadPool& pool;
  MemoryPool& memory;
  const RunArguments& arguments;
  const Services& services;
  const plan::Plan& plan;

  bool cancelled() const {
    return arguments.cancelled != nullptr && arguments.cancelled->load(std::memory_order_relaxed) &&
           (arguments.may_end == nullptr || arguments.may_end(arguments.user));
  }
  /// The byte that says so, as kernels read it.
  const bool* Signal() const {
    static constexpr bool kNever = false;
    static_assert(sizeof(std::atomic<bool>) == sizeof(bool) && std::atomic<bool>::is_always_lock_free);
    return arguments.cancelled == nullptr ? &kNever : reinterpret_cast<const bool*>(arguments.cancelled);
  }
};

/// A slot resolved at load time.
struct Place : runtime::Place {
  std::byte* In(const Frame& f) const { return f.bases[base] + offset_bytes; }
};

/// One step in executable form.
class BoundOp {
 public:
  virtual ~BoundOp() = default;
  virtual Status Run(const Frame& frame) const = 0;
  /// The step that it is, in the program's plan; null for what stands in no plan.
  const plan::Step* step = nullptr;
  /// What a profiler calls it, from `plan`, which has the step. Null: nothing.
  const activity::Label* Label(const plan::Plan& plan) const;

 private:
  virtual std::optional<activity::Label> MakeLabel(const plan::Plan& plan) const;

  mutable std::atomic<const activity::Label*> label_{nullptr};  ///< Made when first asked for.
};
using OpList = std::vector<std::unique_ptr<BoundOp>>;

Status RunAll(const OpList& ops, const Frame& frame);

/// 64-byte aligned scratch of the calling thread, at least `size_bytes`; valid until the thread asks again. Null when
/// there is no memory.
void* ThreadScratch(int64_t size_bytes);

/// A kernel with its buffers bound.
struct BoundKernel {
  const kir::Kernel* kernel = nullptr;  ///< The plan's.
  kir::KernelFn fn = nullptr;
  std::vector<Place> buffers;  ///< base == kNoBase: a local or the tile.
  std::vector<int64_t> params;
  int64_t scratch_bytes = 0;
  bool has_locals = false;
  int32_t signal = -1;  ///< The buffer by which a cancelled run ends its loops; -1 for none.
};

class KernelOp final : public BoundOp {
 public:
  KernelOp(BoundKernel kernel, int64_t total, int64_t grain, int64_t cost_ns)
      : kernel_(std::move(kernel)), total_(total), grain_(grain), cost_ns_(cost_ns) {}
  Status Run(const Frame& frame) const override;

 private:
  BoundKernel kernel_;
  int64_t total_;
  int64_t grain_;
  int64_t cost_ns_;
};

/// A copy between two strided arrays, shared by threads where it is large. Strides in bytes.
class SharedCopy {
 public:
  SharedCopy(Dims from_strides, Dims to_strides, Dims dims, int64_t element_bytes);
  void Run(const std::byte* from, std::byte* to, threads::ThreadPool& pool) const;
  bool same_strides() const { return from_strides_ == to_strides_; }

 private:
  Dims from_strides_, to_strides_, dims_;
  int64_t element_bytes_;
  int64_t bytes_;
  int64_t piece_ = 0;  ///< Of the first dim, that one thread copies at once; 0: all of it.
};

class CopyOp final : public BoundOp {
 public:
  CopyOp(Place from, Dims from_strides, Place to, Dims to_strides, Dims dims, int64_t element_bytes);
  Status Run(const Frame& frame) const override;

 private:
  Place from_, to_;
  SharedCopy copy_;
};

/// Copies one after the other; some values wait in memory of the op's own until what they overwrite was read.
class CarryOp final : public BoundOp {
 public:
  enum class Way : uint8_t { kCopy, kSave, kRestore };
  struct Move {
    Way way = Way::kCopy;
    Place from, to;
    Dims from_strides, to_strides, dims;  ///< In elements.
    int64_t element_bytes = 0;
    int64_t offset_bytes = 0;  ///< Where a value waits that is saved and restored.
  };
  /// `waiting_bytes`: of all values that wait.
  CarryOp(std::vector<Move> moves, int64_t waiting_bytes);
  Status Run(const Frame& frame) const override;

 private:
  std::vector<Move> moves_;
  std::vector<SharedCopy> copies_;  ///< By move.
  int64_t waiting_bytes_;
};

class WhileOp final : public BoundOp {
 public:
  /// Inside, base `num_bases` + i is where area i of `turns` lies at the time.
  WhileOp(OpList condition, Place predicate, int64_t trip_count, OpList body, Turns turns, uint32_t num_bases)
      : condition_(std::move(condition)),
        predicate_(predicate),
        trip_count_(trip_count),
        body_(std::move(body)),
        turns_(std::move(turns)),
        num_bases_(num_bases) {}
  Status Run(const Frame& frame) const override;

 private:
  Status RunTrips(const Frame& frame, std::byte** areas) const;
  void BringHome(const Frame& frame, std::byte** areas) const;

  OpList condition_;
  Place predicate_;
  int64_t trip_count_;
  OpList body_;  ///< The carries' copies included.
  Turns turns_;
  uint32_t num_bases_;
};

class CaseOp final : public BoundOp {
 public:
  CaseOp(Place index, bool is_pred, std::vector<OpList> branches)
      : index_(index), is_pred_(is_pred), branches_(std::move(branches)) {}
  Status Run(const Frame& frame) const override;

 private:
  Place index_;
  bool is_pred_;
  std::vector<OpList> branches_;
};

/// An evaluate or custom-call step, served by the embedder.
template <class StepT>
class ServiceOp final : public BoundOp {
 public:
  struct Operand {
    Place place;
    const plan::Slot* slot = nullptr;  ///< Null: a token.
  };
  ServiceOp(const StepT& step, std::vector<Operand> operands, std::vector<Operand> results)
      : step_(step), operands_(std::move(operands)), results_(std::move(results)) {}
  Status Run(const Frame& frame) const override;
  /// Of a custom call: Services::begin_custom_call, which must be there.
  Status Begin(CallStage stage, const Frame& frame) const;

 private:
  /// Calls f(operands, results) with their views.
  template <class F>
  Status WithViews(const Frame& frame, F&& f) const;

  const StepT& step_;  ///< Lives in the program's plan.
  std::vector<Operand> operands_, results_;
};

/// A driver's call, its hooks being kernels.
class DriverOp final : public BoundOp {
 public:
  /// One per hook point of the family; `fn` is null where there is none.
  using Hooks = std::vector<BoundKernel>;
  DriverOp(std::unique_ptr<const drivers::Call> call, std::vector<Place> inputs, std::vector<Place> outputs,
           Place scratch, Hooks hooks)
      : call_(std::move(call)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        scratch_(scratch),
        hooks_(std::move(hooks)) {}
  Status Run(const Frame& frame) const override;

 private:
  std::unique_ptr<const drivers::Call> call_;
  std::vector<Place> inputs_, outputs_;
  Place scratch_;
  Hooks hooks_;  ///< Empty when there is none at all.
};

using CallOp = ServiceOp<plan::CustomCallStep>;

/// What an accelerator runs, from one step of the host to the next.
class SegmentOp final : public BoundOp {
 public:
  SegmentOp(std::unique_ptr<const Accelerator::Segment> segment, int64_t launches)
      : segment_(std::move(segment)), launches_(launches) {}
  Status Run(const Frame& frame) const override;

 private:
  std::optional<activity::Label> MakeLabel(const plan::Plan&) const override;

  std::unique_ptr<const Accelerator::Segment> segment_;
  int64_t launches_;
};

/// A loop that an accelerator runs and decides on.
class DataLoopOp final : public BoundOp {
 public:
  explicit DataLoopOp(std::unique_ptr<const Accelerator::Segment> loop) : loop_(std::move(loop)) {}
  Status Run(const Frame& frame) const override;

 private:
  std::unique_ptr<const Accelerator::Segment> loop_;
};

/// A step of the host in a program of an accelerator.
class HostOp final : public BoundOp {
 public:
  HostOp(std::unique_ptr<BoundOp> op, std::vector<Span> touched, std::vector<Span> written)
      : op_(std::move(op)), touched_(std::move(touched)), written_(std::move(written)) {}
  Status Run(const Frame& frame) const override;

 private:
  std::unique_ptr<BoundOp> op_;
  std::vector<Span> touched_, written_;
};

/// All custom calls of the plan, those inside loops and branches too. The plan must outlive them.
std::vector<std::unique_ptr<const CallOp>> BuildCalls(const plan::Plan& plan);

/// Another op, and how long it took.
class TimedOp final : public BoundOp {
 public:
  TimedOp(std::unique_ptr<BoundOp> op, StepProfile* record) : op_(std::move(op)), record_(record) {}
  Status Run(const Frame& frame) const override;

 private:
  std::unique_ptr<BoundOp> op_;
  StepProfile* record_;
};

/// What Build says of a program of an accelerator.
struct Share {
  int64_t waiting_bytes = 0;  ///< As Program::waiting_bytes.
  Program::HostSteps host;
};

/// Turns the steps of a plan that plan::Verify accepted with `families` into ops. The plan must outlive them, and so
/// must `profile`, which gets a record of each step and may be null. `accelerator` may be null.
Result<OpList> Build(const plan::Plan& plan, const std::vector<KernelCode>& code, const drivers::Registry& families,
                     const target::Target& target, Profile* profile, Accelerator* accelerator, Share& share);

}  // namespace tenon::runtime::internal
