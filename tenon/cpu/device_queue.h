#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tenon/base/status.h"

namespace tenon::cpu {

/// Threads that run the executions of one device in the order in which they became ready. Tasks may block (collectives,
/// host callbacks): a task that says so gets a thread of its own. Threads start when first needed, block every signal,
/// spin briefly between tasks and end with the queue. All functions are thread-safe; tasks run in the compute float
/// state.
class DeviceQueue {
 public:
  explicit DeviceQueue(std::string name);
  /// Runs what was submitted, then joins. May be called on one of its own threads, which then ends by itself. In a
  /// forked child, where the threads are not, it waits for nothing.
  ~DeviceQueue();

  /// `may_block`: the task waits for things that other tasks of this queue may have to do. RESOURCE_EXHAUSTED when no
  /// thread can be made; the task was not taken then.
  Status Submit(std::function<void()> task, bool may_block);

  /// Tasks submitted and not yet ended.
  int64_t pending() const;
  /// Waits until fewer than `limit` of the tasks that do not block are pending. Never for those that do: they may be
  /// what the caller is part of.
  void WaitBelow(int64_t limit);

 private:
  struct State;
  const std::string name_;
  const pid_t owner_pid_;
  std::shared_ptr<State> state_;
};

}  // namespace tenon::cpu
