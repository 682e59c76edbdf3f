#include "tenon/emit_llvm/internal/pool.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace tenon::emit_llvm {
namespace {

/// One RunOnPool call: tasks are taken by counter, by whoever comes.
struct Batch {
  std::vector<std::function<void()>> tasks;
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::condition_variable all_done;
  size_t done = 0;

  void Work() {
    for (size_t i = next.fetch_add(1); i < tasks.size(); i = next.fetch_add(1)) {
      try {
        tasks[i]();
      } catch (...) {  // the others go on, and nobody waits for this one
      }
      std::lock_guard lock(mutex);
      if (++done == tasks.size()) all_done.notify_all();
    }
  }
};

class Pool {
 public:
  void Offer(const std::shared_ptr<Batch>& batch, size_t helpers) {
    {
      std::lock_guard lock(mutex_);
      if (owner_ != getpid()) {  // first use, or a forked child in which the threads do not exist
        new (&threads_) std::vector<std::thread>;
        offers_.clear();
        owner_ = getpid();
      }
      stopping_ = false;
      try {
        while (threads_.size() + 1 < PoolWidth()) threads_.emplace_back([this] { Serve(); });
        for (size_t i = 0; i < helpers; ++i) offers_.push_back(batch);
      } catch (...) {  // no thread or no memory: whoever is there does it, the caller at the least
      }
    }
    wake_.notify_all();
  }
  void Stop() {
    std::vector<std::thread> threads;
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      if (owner_ == getpid()) threads.swap(threads_);
    }
    wake_.notify_all();
    for (std::thread& t : threads) t.join();
  }

 private:
  void Serve() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_setname_np(pthread_self(), "tenon-codegen");
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stopping_ || !offers_.empty(); });
      if (stopping_) return;
      std::shared_ptr<Batch> batch = std::move(offers_.front());
      offers_.pop_front();
      lock.unlock();
      batch->Work();
      batch.reset();
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Batch>> offers_;
  std::vector<std::thread> threads_;
  pid_t owner_ = 0;
  bool stopping_ = false;
};

Pool& ThePool() {
  static Pool* pool = new Pool;  // never destroyed: threads may outlive static destruction
  return *pool;
}

}  // namespace

unsigned PoolWidth() {
  static const unsigned width = std::max(1u, std::thread::hardware_concurrency());
  return width;
}

void RunOnPool(std::vector<std::function<void()>> tasks) {
  if (tasks.empty()) return;
  auto batch = std::make_shared<Batch>();
  batch->tasks = std::move(tasks);
  if (batch->tasks.size() > 1 && PoolWidth() > 1)
    ThePool().Offer(batch, std::min<size_t>(batch->tasks.size() - 1, PoolWidth() - 1));
  batch->Work();
  std::unique_lock lock(batch->mutex);
  batch->all_done.wait(lock, [&] { return batch->done == batch->tasks.size(); });
}

void StopPool() { ThePool().Stop(); }

}  // namespace tenon::emit_llvm
