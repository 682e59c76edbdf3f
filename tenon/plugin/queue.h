#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "tenon/base/status.h"
#include "tenon/plugin/event.h"

namespace tenon::plugin {

/// Does tasks one after another on a thread of its own, in the order in which they came: for devices whose driver
/// blocks, or which are told one thing at a time. Any thread may enqueue, tasks too.
class Queue {
 public:
  using Task = std::function<Status()>;

  Queue();
  /// Does what is enqueued, then ends the thread. Not from a task.
  ~Queue();

  /// Returns at once. The event has the task's outcome; what it throws is INTERNAL (RESOURCE_EXHAUSTED for memory).
  /// What the task holds is gone before callbacks of the event run. In a forked child, which has no such thread,
  /// FAILED_PRECONDITION.
  EventRef Enqueue(Task task);

 private:
  struct State;
  std::unique_ptr<State> state_;
  uint32_t generation_;
  std::thread thread_;
};

}  // namespace tenon::plugin
