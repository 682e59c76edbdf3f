#include "tenon/proxy/call_threads.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>

#include "tenon/base/contain.h"
#include "tenon/base/fork.h"
#include "tenon/session/session.h"

namespace tenon::proxy {

namespace {

class Threads {
 public:
  Status Run(std::function<void()> work) {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    if (idle_ >= queue_.size()) {
      changed_.notify_one();
      return OkStatus();
    }
    Status started = session::StartThread([this] { Work(); });
    if (started.ok()) {
      ++threads_;
    } else if (threads_ == 0) {
      queue_.pop_back();
      return started;
    }
    return OkStatus();  // Without a new one it waits until another is through.
  }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      const bool more = changed_.wait_for(lock, std::chrono::seconds(10), [this] { return !queue_.empty(); });
      --idle_;
      if (!more) {
        --threads_;
        return;
      }
      std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      (void)Contain("code of the host", work);
      work = nullptr;
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  size_t idle_ = 0, threads_ = 0;
};

}  // namespace

Status RunAside(std::function<void()> work) {
  // Leaked: the threads may outlive the library's destructors. A forked child has none of its parent's.
  static ForkSafeMutex& mutex = *new ForkSafeMutex;
  static Threads* threads = nullptr;
  static uint32_t generation = 0;
  Threads* mine;
  {
    std::lock_guard lock(mutex);
    if (threads == nullptr || generation != ForkGeneration()) {
      threads = new Threads;
      generation = ForkGeneration();
    }
    mine = threads;
  }
  return mine->Run(std::move(work));
}

}  // namespace tenon::proxy
