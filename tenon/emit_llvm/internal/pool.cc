#include "tenon/emit_llvm/internal/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "tenon/base/fork.h"

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
      try {
        while (threads_.size() + 1 < PoolWidth()) threads_.emplace_back([this, epoch = epoch_] { Serve(epoch); });
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
      ++epoch_;
      if (owner_ == getpid()) threads.swap(threads_);
    }
    wake_.notify_all();
    for (std::thread& t : threads) t.join();
  }

 private:
  void Serve(uint64_t epoch) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_setname_np(pthread_self(), "tenon-codegen");
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return epoch_ != epoch || !offers_.empty(); });
      if (epoch_ != epoch) return;
      std::shared_ptr<Batch> batch = std::move(offers_.front());
      offers_.pop_front();
      lock.unlock();
      batch->Work();
      batch.reset();
      lock.lock();
    }
  }
  ForkSafeMutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Batch>> offers_;
  std::vector<std::thread> threads_;
  pid_t owner_ = 0;
  uint64_t epoch_ = 0;  // Threads of another one end.
};

Pool& ThePool() {
  static Pool* pool = new Pool;  // never destroyed: threads may outlive static destruction
  return *pool;
}

}  // namespace

namespace {
std::atomic<unsigned> pool_width{0};  // 0: nobody said
}

unsigned PoolWidth() {
  if (const unsigned width = pool_width.load(std::memory_order_relaxed); width != 0) return width;
  cpu_set_t cpus;
  const int count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 0;
  return count > 0 ? static_cast<unsigned>(count) : std::max(1u, std::thread::hardware_concurrency());
}

void SetPoolWidth(unsigned width) { pool_width.store(std::max(1u, width), std::memory_order_relaxed); }

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

std::shared_ptr<void> KeepPool() {
  struct Keeper {
    bool used = false;
    ~Keeper() {
      if (used) StopPool();
    }
  };
  struct Holder {
    ForkSafeMutex mutex;
    std::weak_ptr<Keeper> keeper;
  };
  static Holder* const holder = new Holder;  // never destroyed, as the pool
  auto made = std::make_shared<Keeper>();
  std::shared_ptr<Keeper> keeper;
  {
    std::lock_guard lock(holder->mutex);
    keeper = holder->keeper.lock();
    if (keeper == nullptr) {
      made->used = true;
      holder->keeper = keeper = made;
    }
  }
  return keeper;
}

}  // namespace tenon::emit_llvm
