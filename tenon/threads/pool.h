#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/threads/function_ref.h"
#include "tenon/threads/policy.h"

namespace tenon::threads {

/// Threads that help callers with loops. Any number of threads may call ParallelFor at once, from inside a chunk too.
/// Workers run in the compute float state (flush_denormals.h) with all signals blocked.
///
/// Chunks must not block on other chunks. After fork the child's pool has no workers and runs everything on its caller.
class ThreadPool {
 public:
  /// `num_threads` counts the caller: 1 makes no thread at all. RESOURCE_EXHAUSTED when the system gives none; a pool
  /// that got only some of its workers works with them. Requires 1 <= num_threads <= kMaxThreads.
  static Result<std::unique_ptr<ThreadPool>> Create(int num_threads);
  /// Joins the workers; no ParallelFor may be running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls fn(0) ... fn(num_chunks - 1), each once, in no particular order, on the caller and on whichever workers are
  /// free; returns when all are done, and what they wrote is visible. `cost_ns` is a guess at the time that one thread
  /// would need for all: below kMinSharedNs, or with one chunk, everything runs on the caller in ascending order. The
  /// caller starts at once and never waits for a worker that has not begun a chunk. Does not allocate. What a chunk
  /// throws is thrown here once all threads are out of `fn`; some chunks may not have run then.
  ///
  /// Results must not depend on who runs a chunk; num_chunks must not depend on num_threads().
  void ParallelFor(int64_t num_chunks, int64_t cost_ns, FunctionRef<void(int64_t)> fn);

 private:
  struct alignas(64) Slot;
  struct alignas(64) Bed;
  static constexpr int kSlots = 32;

  explicit ThreadPool(int num_threads);
  void WorkerMain(int index);
  bool RunSome(int member);
  Slot* Post(uint32_t num_chunks, FunctionRef<void(int64_t)>* fn, int64_t cost_ns);
  void WaitFor(Slot& slot, uint32_t num_chunks);
  bool ShouldShare(int64_t cost_ns);
  /// Keeps workers that sleep on the caller's CPU from being woken there.
  void MakeRoom();

  std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<Bed[]> beds_;  // One per worker.
  const uint32_t members_;       // Threads asked for, the caller being number 0.
  // Counts posted loops and the shutdown; workers without work watch it, and sleep on it.
  alignas(64) std::atomic<uint32_t> epoch_{0};
  alignas(64) std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  // Work of loops too short to wake anybody for that followed closely, and when, as steady_clock counts, the last of
  // them ended.
  std::atomic<int64_t> kept_ns_{0};
  std::atomic<int64_t> kept_until_{0};
  pid_t owner_pid_;
  std::vector<std::thread> workers_;
};

/// The pool of the process, with DefaultNumThreads(): made at the first call, joined when the last holder lets go, made
/// anew afterwards. In a forked child, a new one. Thread-safe.
Result<std::shared_ptr<ThreadPool>> AcquireProcessPool();

}  // namespace tenon::threads
