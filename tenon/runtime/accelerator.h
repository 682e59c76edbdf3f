#pragma once

/// The seam to a machine beside the host's: which steps of a plan it takes, and what it is told while a program runs.
/// The runtime walks the plan, makes maximal runs of steps that the machine takes into segments, and runs the others on
/// the host, between them.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/kir/kir.h"
#include "tenon/plan/plan.h"
#include "tenon/runtime/profile.h"

namespace tenon::runtime {

/// A place in what a program works on. Bases, in this order: inputs, outputs, the arena, constants, and the memory in
/// which carries of loops wait (Program::waiting_bytes).
struct Place {
  uint32_t base = 0;
  int64_t offset_bytes = 0;
  friend bool operator==(const Place&, const Place&) = default;
};
inline constexpr uint32_t kNoBase = ~0u;

/// Bytes [begin, end) of a base.
struct Span {
  uint32_t base = 0;
  int64_t begin = 0, end = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

/// A kernel on its buffers; or `trips` times what is in `body`; or, where there are `branches`, one of them.
struct Command {
  std::shared_ptr<const kir::Kernel> kernel;  ///< Null: a loop or a choice.
  std::vector<Place> buffers;                 ///< base == kNoBase: a local, or the signal.
  std::vector<int64_t> params;
  /// The step that it is or belongs to, in the program's plan.
  const plan::Step* step = nullptr;
  /// Where to record how long each run of it took; null: nowhere.
  StepProfile* profile = nullptr;

  int64_t trips = 0;
  std::vector<Command> body;

  /// The branch is `index` when the commands come to it: as plan::CaseStep's.
  std::vector<std::vector<Command>> branches;
  Place index;
  bool is_pred = false;
};

/// A loop that begins another trip whenever `condition` has left a true pred at `predicate`.
struct DataLoop {
  std::vector<Command> condition;
  Place predicate;
  std::vector<Command> body;
  /// Trips until somebody looks whether it goes on: first so many, then so many, from the last one on always that.
  std::vector<int64_t> trips;
};

/// What takes steps. Lives as long as the programs that were made with it. Thread-safe.
class Accelerator {
 public:
  virtual ~Accelerator() = default;
  /// OK when it runs the kernel with these params, else why it does not. May compile.
  virtual Status Takes(const kir::Kernel& kernel, std::span<const int64_t> params) = 0;

  class Segment {
   public:
    virtual ~Segment() = default;
  };
  /// Makes commands, all of whose kernels it takes, ready to run one after the other.
  virtual Result<std::unique_ptr<const Segment>> Bind(std::vector<Command> commands) = 0;
  /// The same of a loop, all of whose kernels it takes.
  virtual Result<std::unique_ptr<const Segment>> BindLoop(DataLoop loop) = 0;
};

/// One run of a program on an accelerator, made by who runs the program. Used by one thread.
class AcceleratorRun {
 public:
  virtual ~AcceleratorRun() = default;
  /// Has the segment run behind what was launched before; need not wait.
  virtual Status Launch(const Accelerator::Segment& segment) = 0;
  /// Has the loop run on behind what was launched before: DataLoop::trips[look] trips, or fewer where it ends. Waits,
  /// and says whether it has ended.
  virtual Result<bool> LaunchTrips(const Accelerator::Segment& loop, size_t look) = 0;
  /// The host looks at these bytes next, or writes them: everything launched before has ended when this returns, and
  /// the host sees its results at the addresses of RunArguments.
  virtual Status BeginHost(std::span<const Span> touched) = 0;
  /// The host has written these bytes, which BeginHost named too.
  virtual Status EndHost(std::span<const Span> written) = 0;
};

}  // namespace tenon::runtime
