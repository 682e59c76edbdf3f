#include "tenon/threads/pool.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <utility>

#include "tenon/base/activity.h"
#include "tenon/threads/futex.h"
#include "tenon/threads/thread_start.h"
#include "tenon/threads/topology.h"

namespace tenon::threads {

using internal::CpuRelax;
using internal::FutexWait;
using internal::FutexWake;

namespace {

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Until `done` or for so long; whether it was.
template <class Done>
bool SpinUntil(int64_t ns, const Done& done) {
  const int64_t end = NowNs() + ns;
  for (int i = 1; !done(); ++i) {
    CpuRelax();
    if (i % 16 == 0 && NowNs() >= end) return false;
  }
  return true;
}

}  // namespace

// One loop in progress. Slots live as long as the pool, so a worker may look at one at any time; having claimed a chunk
// it may use the rest, which stays as it is until that chunk is counted in `done`.
struct alignas(64) ThreadPool::Slot {
  // Neighbouring chunks, of which a thread has the same ones in every loop of so many chunks: what one loop wrote, the
  // next one finds in the cache of the core that asks for it. Its own share it begins at the front, those of others,
  // once that is done, at the back.
  struct alignas(64) Share {
    std::atomic<uint64_t> left{0};  // Chunks that nobody has begun: the first one, and << 32 the one behind the last.

    static uint64_t Of(uint32_t first, uint32_t end) { return uint64_t{end} << 32 | first; }
  };

  std::atomic<bool> taken{false};
  std::atomic<uint32_t> num_shares{0};  // 0 while no loop is posted.
  FunctionRef<void(int64_t)>* fn = nullptr;
  uint32_t num_chunks = 0;
  activity::Handover handover;  // What the caller is at, for whoever helps.
  alignas(64) std::atomic<uint32_t> done{0};
  std::atomic<uint32_t> waiting{0};
  std::atomic<bool> threw{false};
  std::exception_ptr exception;  // Of the first chunk that threw.
  Share shares[kMaxShares];

  void SetShares(uint32_t chunks, uint32_t members) {
    const uint32_t n = std::min({chunks, members, kMaxShares});
    const auto begin = [&](uint32_t i) { return static_cast<uint32_t>((uint64_t{chunks} * i + n - 1) / n); };
    for (uint32_t i = 0; i < n; ++i) shares[i].left.store(Share::Of(begin(i), begin(i + 1)), std::memory_order_release);
    num_shares.store(n, std::memory_order_release);
  }

  // Runs some of the chunks that are left, by preference those of thread number `member` of so many, or returns false
  // when there are none.
  bool RunSome(uint32_t member, uint32_t members) {
    const uint32_t n = num_shares.load(std::memory_order_acquire);
    const auto home = static_cast<uint32_t>(uint64_t{member} * n / members);
    for (uint32_t i = 0; i < n; ++i) {
      if (RunSomeOf(shares[(home + i) % n], i == 0, kClaimsPerThread * ((members + n - 1) / n))) return true;
    }
    return false;
  }

  // The same of one share: one chunk, or as many as there are for each of so many claims.
  bool RunSomeOf(Share& share, bool front, uint32_t claims) {
    uint64_t left = share.left.load(std::memory_order_acquire);
    uint32_t first, claimed;
    uint64_t rest;
    do {
      const auto begin = static_cast<uint32_t>(left), end = static_cast<uint32_t>(left >> 32);
      if (begin >= end) return false;
      claimed = std::max((end - begin) / claims, 1u);
      first = front ? begin : end - claimed;
      rest = front ? Share::Of(begin + claimed, end) : Share::Of(begin, first);
    } while (!share.left.compare_exchange_weak(left, rest, std::memory_order_acq_rel, std::memory_order_acquire));
    const uint32_t total = num_chunks;
    try {
      // The caller is within this span already.
      const activity::Scope scope(
          [this] { return activity::Handover().label() == handover.label() ? nullptr : handover.label(); },
          handover.run());
      for (uint32_t i = 0; i < claimed; ++i) (*fn)(first + i);
    } catch (...) {
      // Counted as done like the others: the caller's frame, which all of them use, must outlast them.
      if (!threw.exchange(true, std::memory_order_relaxed)) exception = std::current_exception();
    }
    // After this addition the loop may be over and the slot another loop's. A wake for nobody does no harm.
    if (done.fetch_add(claimed, std::memory_order_seq_cst) + claimed == total &&
        waiting.load(std::memory_order_seq_cst) != 0) {
      FutexWake(done);
    }
    return true;
  }
};

// Where a worker sleeps. The kernel wakes threads where they were when it takes the other CPUs for busy, and a worker
// that is woken on its caller's CPU runs once that one sleeps, or some milliseconds later.
struct alignas(64) ThreadPool::Bed {
  enum : uint8_t { kFree, kMoving, kMoved };

  std::atomic<int> cpu{-1};  // -1: it is awake.
  std::atomic<uint8_t> state{kFree};
  cpu_set_t allowed = {};  // Where it may run, once it is awake again.

  void Lie() { cpu.store(sched_getcpu(), std::memory_order_relaxed); }
  void Rise() {
    cpu.store(-1, std::memory_order_relaxed);
    if (state.load(std::memory_order_acquire) != kMoved) return;
    pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
    state.store(kFree, std::memory_order_release);
  }
  void MoveFrom(int here, pthread_t worker) {
    uint8_t free = kFree;
    if (cpu.load(std::memory_order_relaxed) != here ||
        !state.compare_exchange_strong(free, kMoving, std::memory_order_acq_rel))
      return;
    bool moved = false;
    if (pthread_getaffinity_np(worker, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 1) {
      cpu_set_t elsewhere = allowed;
      CPU_CLR(static_cast<size_t>(here), &elsewhere);
      moved = pthread_setaffinity_np(worker, sizeof elsewhere, &elsewhere) == 0;
    }
    state.store(moved ? kMoved : kFree, std::memory_order_release);
  }
};

ThreadPool::ThreadPool(int num_threads)
    : slots_(new Slot[kSlots]),
      beds_(new Bed[static_cast<size_t>(num_threads)]),
      members_(static_cast<uint32_t>(num_threads)),
      owner_pid_(getpid()) {}

Result<std::unique_ptr<ThreadPool>> ThreadPool::Create(int num_threads) {
  if (num_threads < 1 || num_threads > kMaxThreads) {
    return InvalidArgument(fmt::format("got {} threads for a pool, wanted 1 to {}", num_threads, kMaxThreads));
  }
  std::unique_ptr<ThreadPool> pool(new ThreadPool(num_threads));
  pool->workers_.reserve(static_cast<size_t>(num_threads - 1));
  for (int i = 1; i < num_threads; ++i) {
    Result<std::thread> worker = internal::StartThread(
        fmt::format("tenon-pool-{}", i),
        [](void* self, int index) { static_cast<ThreadPool*>(self)->WorkerMain(index); }, pool.get(), i);
    if (!worker.ok()) {
      if (pool->workers_.empty()) return worker.status();
      break;
    }
    pool->workers_.push_back(std::move(*worker));
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  if (getpid() != owner_pid_) {
    // The workers exist in the parent only.
    for (std::thread& worker : workers_) worker.detach();
    return;
  }
  stop_.store(true, std::memory_order_seq_cst);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  FutexWake(epoch_);
  for (std::thread& worker : workers_) worker.join();
}

bool ThreadPool::RunSome(int member) {
  bool ran = false;
  for (int i = 0; i < kSlots; ++i) {
    Slot& slot = slots_[(member + i) % kSlots];
    while (slot.RunSome(static_cast<uint32_t>(member), members_)) ran = true;
  }
  return ran;
}

void ThreadPool::WorkerMain(int index) {
  while (true) {
    const uint32_t seen = epoch_.load(std::memory_order_seq_cst);
    if (stop_.load(std::memory_order_seq_cst)) return;
    if (RunSome(index)) continue;
    // Nothing was left of the loops posted up to `seen`.
    if (SpinUntil(kSpinNs, [&] { return epoch_.load(std::memory_order_seq_cst) != seen; })) continue;
    Bed& bed = beds_[static_cast<size_t>(index - 1)];
    bed.Lie();
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    FutexWait(epoch_, seen);
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    bed.Rise();
  }
}

ThreadPool::Slot* ThreadPool::Post(uint32_t num_chunks, FunctionRef<void(int64_t)>* fn, int64_t cost_ns) {
  Slot* slot = nullptr;
  for (int i = 0; i < kSlots && slot == nullptr; ++i) {
    if (!slots_[i].taken.load(std::memory_order_relaxed) &&
        !slots_[i].taken.exchange(true, std::memory_order_acquire)) {
      slot = &slots_[i];
    }
  }
  if (slot == nullptr) return nullptr;
  slot->fn = fn;
  slot->num_chunks = num_chunks;
  slot->handover = activity::Handover();
  slot->done.store(0, std::memory_order_relaxed);
  slot->SetShares(num_chunks, members_);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  const int asleep = sleepers_.load(std::memory_order_seq_cst);
  const bool wake = cost_ns >= kMinParallelNs || asleep == static_cast<int>(workers_.size());
  if (asleep > 0 && wake) {
    MakeRoom();
    const int64_t helpers = std::min<int64_t>(num_chunks - 1, cost_ns / kWorkPerHelperNs);
    FutexWake(epoch_, static_cast<int>(std::clamp<int64_t>(helpers, 1, asleep)));
  }
  return slot;
}

void ThreadPool::MakeRoom() {
  if (getpid() != owner_pid_) return;  // The workers are the parent's, and so are the numbers that name them.
  const int here = sched_getcpu();
  for (size_t i = 0; i < workers_.size(); ++i) beds_[i].MoveFrom(here, workers_[i].native_handle());
}

// Every chunk has been begun; those that others began are still to be finished.
void ThreadPool::WaitFor(Slot& slot, uint32_t num_chunks) {
  if (SpinUntil(kSpinNs, [&] { return slot.done.load(std::memory_order_acquire) == num_chunks; })) return;
  slot.waiting.store(1, std::memory_order_seq_cst);
  for (uint32_t done; (done = slot.done.load(std::memory_order_seq_cst)) != num_chunks;) FutexWait(slot.done, done);
  slot.waiting.store(0, std::memory_order_relaxed);
}

bool ThreadPool::ShouldShare(int64_t cost_ns) {
  if (cost_ns >= kMinParallelNs) return true;
  if (cost_ns < kMinSharedNs) return false;
  const auto asleep = static_cast<size_t>(sleepers_.load(std::memory_order_relaxed));
  if (asleep < workers_.size())
    return cost_ns >= kMinSharedNs + kSharedPerAwakeNs * static_cast<int64_t>(workers_.size() - asleep - 1);
  // Callers that come here at once may lose some of what they keep.
  if (NowNs() > kept_until_.load(std::memory_order_relaxed) + kSpinNs) kept_ns_.store(0, std::memory_order_relaxed);
  if (kept_ns_.fetch_add(cost_ns, std::memory_order_relaxed) + cost_ns < kMaxKeptNs) return false;
  kept_ns_.store(0, std::memory_order_relaxed);
  return true;
}

void ThreadPool::ParallelFor(int64_t num_chunks, int64_t cost_ns, FunctionRef<void(int64_t)> fn) {
  if (num_chunks <= 1 || workers_.empty() || !ShouldShare(cost_ns)) {
    for (int64_t i = 0; i < num_chunks; ++i) fn(i);
    if (cost_ns >= kMinSharedNs) kept_until_.store(NowNs(), std::memory_order_relaxed);
    return;
  }
  for (int64_t first = 0; first < num_chunks; first += kMaxChunksPerPost) {
    const uint32_t count = static_cast<uint32_t>(std::min(num_chunks - first, kMaxChunksPerPost));
    auto shifted = [&](int64_t i) { fn(first + i); };
    FunctionRef<void(int64_t)> piece = first == 0 ? fn : FunctionRef<void(int64_t)>(shifted);
    Slot* slot = Post(count, &piece, cost_ns);
    if (slot == nullptr) {  // As many loops as slots are running: all threads are busy anyway.
      for (int64_t i = 0; i < count; ++i) piece(i);
      continue;
    }
    while (slot->RunSome(0, members_)) {
    }
    WaitFor(*slot, count);
    slot->num_shares.store(0, std::memory_order_relaxed);
    std::exception_ptr exception;
    if (slot->threw.load(std::memory_order_relaxed)) [[unlikely]] {
      exception = std::exchange(slot->exception, nullptr);
      slot->threw.store(false, std::memory_order_relaxed);
    }
    slot->taken.store(false, std::memory_order_release);
    if (exception != nullptr) [[unlikely]]
      std::rethrow_exception(exception);
  }
}

Result<std::shared_ptr<ThreadPool>> AcquireProcessPool() {
  struct Holder {
    std::mutex mutex;
    std::weak_ptr<ThreadPool> pool;
    pid_t pid = 0;
  };
  // Never destroyed: threads that outlive main's return may still come here.
  static Holder* const holder = new Holder();
  const std::lock_guard<std::mutex> lock(holder->mutex);
  std::shared_ptr<ThreadPool> pool = holder->pid == getpid() ? holder->pool.lock() : nullptr;
  if (pool == nullptr) {
    TENON_ASSIGN_OR_RETURN(const int num_threads, DefaultNumThreads());
    TENON_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> made, ThreadPool::Create(num_threads));
    pool = std::move(made);
    holder->pool = pool;
    holder->pid = getpid();
  }
  return pool;
}

}  // namespace tenon::threads
