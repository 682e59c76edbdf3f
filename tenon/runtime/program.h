#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/drivers/registry.h"
#include "tenon/kir/kir.h"
#include "tenon/plan/plan.h"
#include "tenon/runtime/memory_pool.h"
#include "tenon/runtime/services.h"
#include "tenon/threads/pool.h"

namespace tenon::runtime {

class Accelerator;
class AcceleratorRun;
class Profile;

/// The code of one kernel of a plan; `owner` keeps it alive.
struct KernelCode {
  kir::KernelFn fn = nullptr;
  std::shared_ptr<const void> owner;
};

struct RunArguments {
  /// One per Plan::inputs and Plan::outputs, each the whole array in its layout, element-aligned. An output whose plan
  /// entry has alias_contents holds the aliased argument's contents already (the caller copied them or passes the
  /// donated memory); one that takes over a donated argument's memory equals that input's pointer. Otherwise outputs
  /// overlap nothing.
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  /// Handed to the services.
  void* user = nullptr;
  /// Set by anyone to make the run end early with CANCELLED; may be null. Looked at between the trips of loops.
  const std::atomic<bool>* cancelled = nullptr;
  /// Asked, with `user`, when `cancelled` is set: the run goes on while it says no. Null: it ends.
  bool (*may_end)(void* user) = nullptr;

  /// Of programs that were made with an accelerator, and of these alone: `inputs` and `outputs` are then where the host
  /// sees the arrays between BeginHost and EndHost, and may be null where the program has no steps of the host.
  AcceleratorRun* accelerator = nullptr;
  /// Where the host sees the arena; likewise.
  void* arena = nullptr;
};

/// A plan bound to its code, ready to run. Immutable; any number of threads may Run it at once.
class Program {
 public:
  /// `code`: one entry per plan.kernels. `families`: the drivers that there are; needed until Create returns.
  /// `target` says how long steps take, hence which ones are shared out.
  /// `profile`: gets a record of each step, which the runs then add to; null, and nothing is timed.
  /// `accelerator`: runs what it takes, and must outlive the program; null: everything runs on the host. With one,
  /// kernels need code where KernelsOnHost says so.
  /// INVALID_ARGUMENT for a plan that plan::Verify rejects with them.
  static Result<std::unique_ptr<const Program>> Create(plan::Plan plan, std::vector<KernelCode> code, Services services,
                                                       const drivers::Registry& families,
                                                       const target::Target& target = *target::StandardTarget(),
                                                       std::shared_ptr<Profile> profile = nullptr,
                                                       Accelerator* accelerator = nullptr);
  ~Program();

  const plan::Plan& plan() const { return plan_; }

  /// Steps that run on the host in a program of an accelerator, those in loops and branches counted once.
  struct HostSteps {
    int64_t kernels = 0, drivers = 0, copies = 0, evaluates = 0, custom_calls = 0;
    /// Loops and branches of which the host decides how they go on.
    int64_t decisions = 0;
    /// Loops of which the accelerator decides it, and the host looks now and then whether they have ended.
    int64_t data_loops = 0;
    int64_t segments = 0;  ///< Of the accelerator, between them.
    /// Why the accelerator takes kernels or copies not, each reason once.
    std::vector<std::string> reasons;
    int64_t all() const { return kernels + drivers + copies + evaluates + custom_calls; }
  };
  const HostSteps& host_steps() const { return host_steps_; }
  /// Bytes in which carries of loops wait that an accelerator runs: the last base of a Place.
  int64_t waiting_bytes() const { return waiting_bytes_; }

  /// Runs all steps, on the calling thread and `pool`; the arena comes from `memory`, or is the accelerator's. The
  /// calling thread must be in the compute float state (threads/flush_denormals.h). Outputs are unspecified after an
  /// error.
  Status Run(const RunArguments& arguments, threads::ThreadPool& pool, MemoryPool& memory) const;

 private:
  struct Body;
  Program();

  plan::Plan plan_;
  std::vector<KernelCode> code_;
  Services services_;
  std::shared_ptr<Profile> profile_;
  std::unique_ptr<Body> body_;
  HostSteps host_steps_;
  int64_t waiting_bytes_ = 0;
};

/// Per kernel of the plan, whether it needs code for the host: a hook of a driver does, and so does what the
/// accelerator takes not.
std::vector<bool> KernelsOnHost(const plan::Plan& plan, Accelerator& accelerator);

}  // namespace tenon::runtime
