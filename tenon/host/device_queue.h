#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tenon/base/status.h"

namespace tenon::host {

/// Threads that run the work of one device, and the boundary behind which nothing that the work does ends the process.
///
/// Tasks that only compute run one after the other, in the order in which they came. Tasks that may block (host
/// callbacks, copies, whatever waits for other tasks) run beside them, up to policy::kMaxBlocking at once; those that
/// come from inside a task are above that count, as the task may wait for them. Threads start when first needed, block
/// every signal, run in the compute float state and end when idle for policy::kIdleThread, but for the one that
/// computes.
///
/// A task's outcome is told on the thread that ran it, when the task itself has ended and no longer counts as pending:
/// whoever hears of it may use the device and wait for it. A thread that does not come back from telling is replaced.
/// All functions are thread-safe.
class DeviceQueue {
 public:
  class Task {
   public:
    virtual ~Task() = default;
    /// The work. What it throws becomes its status.
    virtual Status Run() = 0;
    /// Tells the outcome, after Run. What it throws is dropped. Followed by the destructor, on the same thread.
    virtual void End(const Status& status) = 0;

   private:
    friend class DeviceQueue;
    std::unique_ptr<Task> next_;
  };
  enum class Kind { kComputes, kMayBlock };

  explicit DeviceQueue(std::string name);
  /// Runs what was submitted, then joins. May be called on one of its own threads, which then ends by itself. In a
  /// forked child, where the threads are not, it waits for nothing.
  ~DeviceQueue();
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  /// Takes the task, or leaves it with the caller: RESOURCE_EXHAUSTED when no thread can be made. Allocates nothing
  /// unless a thread has to be started.
  Status Submit(std::unique_ptr<Task>& task, Kind kind);
  /// Runs a task that may block on the calling thread, which would wait for it anyway, and tells its outcome: waking
  /// another thread takes longer than many a task, and foreign code that a task calls may keep state by thread. What it
  /// submits is above the count, as inside any task.
  void RunHere(std::unique_ptr<Task> task);
  /// Runs `work` as a task that may block; at once, on this thread, when no thread can be made. What it throws is
  /// logged.
  void Schedule(std::function<void()> work);

  /// Tasks submitted whose Run has not ended.
  int64_t pending() const;
  /// Threads that there are now.
  int num_threads() const;
  /// Waits until fewer than `limit` of the tasks that compute are pending; not at all on the thread that runs one.
  /// Never for tasks that may block: they may be what the caller is part of.
  void WaitBelow(int64_t limit);

 private:
  struct State;
  const pid_t owner_pid_;
  std::shared_ptr<State> state_;
};

}  // namespace tenon::host
