#include "tenon/plugin/queue.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "tenon/base/contain.h"
#include "tenon/base/fork.h"

namespace tenon::plugin {

struct Queue::State {
  struct Entry {
    Task task;
    Ref<Event> done;
  };
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Entry> entries;
  bool stop = false;

  void Run() {
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [this] { return stop || !entries.empty(); });
      if (entries.empty()) return;
      Entry entry = std::move(entries.front());
      entries.pop_front();
      lock.unlock();
      const Status status = Contain("task of a queue", entry.task);
      entry.task = nullptr;  // What it holds may enqueue when it goes.
      entry.done->Set(status);
      entry.done = nullptr;
      lock.lock();
    }
  }
};

Queue::Queue() : state_(std::make_unique<State>()), generation_(ForkGeneration()) {
  thread_ = std::thread([state = state_.get()] { state->Run(); });
}

Queue::~Queue() {
  if (generation_ != ForkGeneration()) {
    // The thread runs in the parent alone; destroying what it waited on at the fork would wait for it.
    thread_.detach();
    (void)state_.release();
    return;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_one();
  thread_.join();
}

EventRef Queue::Enqueue(Task task) {
  if (generation_ != ForkGeneration())
    return EventRef::Of(FailedPrecondition("the queue's thread is that of the process which was forked"));
  Ref<Event> done = Event::Make();
  {
    const std::lock_guard lock(state_->mutex);
    state_->entries.push_back({std::move(task), done});
  }
  state_->wake.notify_one();
  return done;
}

}  // namespace tenon::plugin
