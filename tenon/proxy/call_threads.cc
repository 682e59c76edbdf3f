#include "tenon/proxy/call_threads.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "tenon/base/contain.h"

namespace tenon::proxy {

namespace {

class Threads {
 public:
  void Run(std::function<void()> work) {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    if (idle_ >= queue_.size()) {
      changed_.notify_one();
      return;
    }
    std::thread([this] { Work(); }).detach();
  }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      const bool more = changed_.wait_for(lock, std::chrono::seconds(10), [this] { return !queue_.empty(); });
      --idle_;
      if (!more) return;
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
  size_t idle_ = 0;
};

}  // namespace

void RunAside(std::function<void()> work) {
  static Threads& threads = *new Threads;  // Leaked: the threads may outlive the library's destructors.
  threads.Run(std::move(work));
}

}  // namespace tenon::proxy
