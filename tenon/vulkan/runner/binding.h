#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tenon/base/fork.h"
#include "tenon/base/status.h"
#include "tenon/runtime/accelerator.h"
#include "tenon/runtime/profile.h"
#include "tenon/vulkan/device.h"
#include "tenon/vulkan/runner/kernel_cache.h"

namespace tenon::vulkan {

/// When the steps of one run began and ended on the device.
class Timing {
 public:
  struct Span {
    const plan::Step* step = nullptr;         ///< Null: carries of a loop that the host decides.
    runtime::StepProfile* profile = nullptr;  ///< Null: nobody wants its time.
    int64_t start_ns = 0, end_ns = 0;         ///< As activity::NowNs.
  };
  /// A span before those inside it, otherwise by start. The run has ended, which the host knew at `ended_ns`.
  Result<std::vector<Span>> Read(Device& device, int64_t ended_ns) const;

 private:
  friend class Binding;
  friend class Run;
  /// A span from one timestamp to another.
  struct Mark {
    const plan::Step* step;
    runtime::StepProfile* profile;
    uint32_t first, last;
  };
  struct Piece {  ///< A segment.
    Commands commands;
    std::unique_ptr<Timestamps> times;
    std::vector<Mark> marks;
  };
  std::vector<Piece> pieces_;  ///< In the order of their submissions.
  int64_t marks_ = 0;          ///< Of all pieces.
};

/// One program on one device: what it takes of the plan, recorded as commands that read everything that changes from
/// run to run out of a frame. A run takes a frame with its commands (an instance), writes the addresses of its arrays
/// there, and submits. Thread-safe once the program is made.
class Binding final : public runtime::Accelerator {
 public:
  explicit Binding(std::shared_ptr<KernelCache> kernels) : kernels_(std::move(kernels)) {}
  ~Binding() override;

  Status Takes(const kir::Kernel& kernel, std::span<const int64_t> params) override;
  Result<std::unique_ptr<const Segment>> Bind(std::vector<runtime::Command> commands) override;
  Result<std::unique_ptr<const Segment>> BindLoop(runtime::DataLoop loop) override;

  Device& device() const { return kernels_->device(); }
  /// What all kernels use one after the other.
  int64_t scratch_bytes() const { return scratch_bytes_; }
  int64_t code_bytes() const { return code_bytes_; }
  int64_t launches() const { return launches_; }

 private:
  friend class Run;
  /// A word of the frame: where a place lies in this run, or one of the cells behind the words, or a number.
  struct Word {
    enum class Kind : uint8_t { kPlace, kScratch, kSignal, kCell, kNumber } kind = Kind::kNumber;
    runtime::Place place;
    int64_t number = 0;
  };
  struct Node {
    std::shared_ptr<const Pipeline> pipeline;  ///< Null: `trips` times `body`.
    uint32_t buffers = 0, params = 0;
    std::array<uint32_t, 3> groups{};
    int64_t sizes = -1;   ///< The first of three cells that say how many groups it has in fact; -1: `groups`.
    bool barrier = true;  ///< Before it.
    int64_t trips = 0;
    std::vector<Node> body;
    const plan::Step* step = nullptr;         ///< As runtime::Command.
    runtime::StepProfile* profile = nullptr;  ///< The same.
  };
  struct DeviceSegment final : Segment {
    uint32_t index = 0;                    ///< Of the first of its lists among those of all segments.
    std::vector<std::vector<Node>> lists;  ///< Of a loop, one per DataLoop::trips; else a single one.
    int64_t goes_on = -1;                  ///< The cell that is 0 when a loop has ended.
  };
  struct Choices;  ///< The table of a chooser (chooser.h).
  struct Instance {
    Block frame;
    std::vector<Commands> commands;  ///< By list of nodes; recorded when first launched.
    uint64_t last = 0;               ///< The last submission that uses it.
    bool taken = false;
  };

  /// All add to `nodes`.
  Status Lower(std::vector<runtime::Command> commands, std::vector<Node>& nodes);
  Status LowerChoice(runtime::Command choice, std::vector<Node>& nodes);
  Status AddLaunches(const runtime::Command& command, std::vector<Node>& nodes);
  Status AddLaunches(const runtime::Command& command, std::span<const Word> buffers, emit_spirv::Places places,
                     std::vector<Node>& nodes);
  Status AddChooser(const plan::Step* step, const runtime::Place& index, bool is_pred, size_t branches,
                    const Choices& choices, std::vector<Node>& nodes);
  /// Has the launches among the nodes, which are in that branch of a choice, wait for what it decides.
  void Settle(std::vector<Node>& nodes, int32_t branch, Choices& choices);
  class TimedRecorder;
  void Record(VkCommandBuffer to, std::span<const Node> nodes, const Block& frame) const;
  /// The same with timestamps between the launches.
  Result<Timing::Piece> RecordTimed(const std::vector<Node>& nodes, const Block& frame) const;
  /// In the frame, in bytes.
  int64_t CellOffset(int64_t cell) const;
  Result<Instance*> TakeInstance();
  void GiveBack(Instance* instance, uint64_t last);

  const std::shared_ptr<KernelCache> kernels_;
  std::vector<Word> words_;
  std::vector<int32_t> cells_;  ///< Behind the words, as they are when a frame is made: tables and what is computed.
  uint32_t lists_ = 0;          ///< Of all segments.
  int64_t scratch_bytes_ = 0;
  int64_t code_bytes_ = 0;
  int64_t launches_ = 0;
  bool wants_times_ = false;  ///< Some step has a profile.

  const uint32_t generation_ = ForkGeneration();
  std::mutex mutex_;
  std::vector<std::unique_ptr<Instance>> instances_;
};

/// Where one base of a program lies for a run.
struct Base {
  uint64_t address = 0;
  const Block* block = nullptr;  ///< Null where nothing has to be brought to the host.
  std::byte* host = nullptr;     ///< Where the host sees it.
};

/// One run. Ends in Finish, or in the destructor, which waits for what was launched.
class Run final : public runtime::AcceleratorRun {
 public:
  /// `bases` in the order of runtime::Place, and `scratch` of scratch_bytes; they must live until what was launched has
  /// ended.
  static Result<std::unique_ptr<Run>> Start(Binding& binding, std::vector<Base> bases, uint64_t scratch);
  ~Run() override;

  Status Launch(const runtime::Accelerator::Segment& segment) override;
  Result<bool> LaunchTrips(const runtime::Accelerator::Segment& loop, size_t look) override;
  Status BeginHost(std::span<const runtime::Span> touched) override;
  Status EndHost(std::span<const runtime::Span> written) override;

  /// Ends the run, without waiting: the number of its last submission, 0 when there was none.
  uint64_t Finish();
  /// When its steps ran, where somebody wanted to know when it started; null otherwise. Must live until it has ended.
  std::unique_ptr<Timing> TakeTiming() { return std::move(timing_); }

 private:
  explicit Run(Binding& binding) : binding_(binding) {}
  Status LaunchList(const Binding::DeviceSegment& segment, size_t list);
  Binding& binding_;
  Binding::Instance* instance_ = nullptr;
  std::vector<Base> bases_;
  std::unique_ptr<Timing> timing_;
  uint64_t last_ = 0;
  bool waited_ = true;
};

}  // namespace tenon::vulkan
