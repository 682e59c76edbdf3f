#include "tenon/host/execution.h"

#include <utility>

#include "tenon/host/policy.h"

namespace tenon::host {

void ExecutionTask::Enter(InFlight& list, int launch_id, const plugin::Device& device,
                          std::span<const plugin::Argument> arguments,
                          std::span<const plugin::Ref<plugin::Storage>> outputs) {
  entry_.Names(&device, launch_id, done_.get());
  for (const plugin::Argument& a : arguments) entry_.Holds(a.storage.get(), false);
  for (const auto& storage : outputs) entry_.Holds(storage.get(), true);
  entry_.Enter(list);
}

void ExecutionTask::Enter(InFlight& list, int launch_id, const StorageTable& arguments, const StorageTable& outputs) {
  entry_.Names(nullptr, launch_id, done_.get());
  for (const StorageTable* table : {&arguments, &outputs}) {
    for (const auto& of_devices : *table) {
      for (const auto& storage : of_devices) entry_.Holds(storage.get(), table == &outputs);
    }
  }
  entry_.Enter(list);
}

void ExecutionTask::End(const Status& status) {
  entry_.Leave();
  Release();
  done_->Set(status);
  ended_->Set(done().Wait());  // Poison may be setting it now.
}

void SubmitWhenReady(std::span<const plugin::EventRef> waits, DeviceQueue& queue, DeviceQueue::Kind kind,
                     std::unique_ptr<ExecutionTask> task) {
  plugin::WhenAll(waits).OnReady([task = std::move(task), &queue, kind](const Status& arguments) mutable {
    if (!arguments.ok()) {
      task->End(arguments);
      return;
    }
    ExecutionTask* const execution = task.get();
    std::unique_ptr<DeviceQueue::Task> queued = std::move(task);
    if (const Status status = queue.Submit(queued, kind); !status.ok()) execution->End(execution->Refused(status));
  });
}

void WaitForRoom(DeviceQueue& queue, const plan::Plan& plan) {
  int64_t output_bytes = 0;
  for (const plan::Output& out : plan.outputs) output_bytes += SizeBytes(out.shape);
  queue.WaitBelow(output_bytes < policy::kLargeOutputBytes ? policy::kMaxPending : policy::kMaxPendingLarge);
}

}  // namespace tenon::host
