#pragma once

/// What the executions of all plugins share: who knows of them, how they wait and are handed to a queue, and how their
/// outcome is told.

#include <memory>
#include <span>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/host/device_queue.h"
#include "tenon/host/in_flight.h"
#include "tenon/plan/plan.h"
#include "tenon/plugin/executable.h"

namespace tenon::host {

/// Storages of the devices of a program, [argument or output][device].
using StorageTable = std::vector<std::vector<plugin::Ref<plugin::Storage>>>;

/// An execution that waits for its arguments or runs on a queue. Run is the work.
class ExecutionTask : public DeviceQueue::Task {
 public:
  /// The event of its outputs: ready when it has ended, with its outcome, or when it was poisoned.
  plugin::EventRef done() const { return plugin::EventRef(done_); }
  /// Ready when it has ended: nothing of the caller's is used any more. With the outcome of its outputs.
  plugin::EventRef ended() const { return plugin::EventRef(ended_); }

  /// Enters `list`, which hears what the execution is called and refers to, until End. Before it can run. The first on
  /// one device, the second on all devices of a program.
  void Enter(InFlight& list, int launch_id, const plugin::Device& device, std::span<const plugin::Argument> arguments,
             std::span<const plugin::Ref<plugin::Storage>> outputs);
  void Enter(InFlight& list, int launch_id, const StorageTable& arguments, const StorageTable& outputs);

  void End(const Status& status) final;

 private:
  friend void SubmitWhenReady(std::span<const plugin::EventRef> waits, DeviceQueue& queue, DeviceQueue::Kind kind,
                              std::unique_ptr<ExecutionTask> task);
  /// Gives up arguments and outputs: they are free before anyone hears of the outcome.
  virtual void Release() = 0;
  /// The outcome when no queue takes it, for `why`.
  virtual Status Refused(const Status& why) { return why; }

  InFlight::Entry entry_;
  plugin::Ref<plugin::Event> done_ = plugin::Event::Make(), ended_ = plugin::Event::Make();
};

/// Hands the task to the queue when all of `waits` are ready; with the first error among them it ends instead. What the
/// task refers to must keep the queue.
void SubmitWhenReady(std::span<const plugin::EventRef> waits, DeviceQueue& queue, DeviceQueue::Kind kind,
                     std::unique_ptr<ExecutionTask> task);

/// Holds the caller back while too many executions wait on the queue: fewer where the plan's outputs are large.
void WaitForRoom(DeviceQueue& queue, const plan::Plan& plan);

/// Starts an execution device by device, by launch(DeviceExecution&) -> Status. An error of the first is the caller's;
/// when another cannot start, those before it run already, and it and the rest have the error for outputs.
template <class Launch>
Status LaunchEach(const plugin::LoadedExecutable& executable, plugin::ExecuteRequest& request, Launch launch) {
  for (size_t i = 0; i < request.devices.size(); ++i) {
    Status status = launch(request.devices[i]);
    if (status.ok()) continue;
    if (i == 0) return status;
    for (plugin::DeviceExecution& device : request.devices.subspan(i)) executable.Fail(device, status);
    return OkStatus();
  }
  return OkStatus();
}

}  // namespace tenon::host
