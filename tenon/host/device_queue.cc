#include "tenon/host/device_queue.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/base/contain.h"
#include "tenon/base/log.h"
#include "tenon/host/policy.h"
#include "tenon/threads/flush_denormals.h"
#include "tenon/threads/thread_start.h"
#include "tenon/threads/topology.h"

namespace tenon::host {
namespace {

using Clock = std::chrono::steady_clock;

// The library stays for good: a thread of it runs that nobody can join.
void PinLibrary() {
  static const char here = 0;
  Dl_info info;
  if (dladdr(&here, &info) != 0) (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace

// The right to run the tasks that compute is a role that one thread has at a time. It has it from then on, unless it
// does not come back from telling an outcome: then the watcher, a thread that is there while tasks wait behind such a
// telling, takes over, and the other one is a thread like all when it comes back. Guarded by `mutex` but for what is
// atomic.
struct DeviceQueue::State {
  struct Tasks {
    std::unique_ptr<Task> first;
    Task* last = nullptr;

    bool empty() const { return first == nullptr; }
    void Push(std::unique_ptr<Task> task) {
      Task* const added = task.get();
      (last == nullptr ? first : last->next_) = std::move(task);
      last = added;
    }
    std::unique_ptr<Task> Pop() {
      std::unique_ptr<Task> task = std::move(first);
      first = std::move(task->next_);
      if (first == nullptr) last = nullptr;
      return task;
    }
  };

  enum class Role { kNone, kComputes, kBlocks, kWatches };
  struct Thread {
    Role role = Role::kNone;
    std::unique_ptr<Task> task;  // What to begin with, in role kBlocks.
    bool nested = false;         // The task is above the count.
    std::condition_variable wake;
    std::thread thread;
  };

  explicit State(std::string name_of_threads) : name(std::move(name_of_threads)) {}

  const std::string name;
  std::mutex mutex;
  std::condition_variable ended;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<Thread*> idle;                      // In role kNone, the last to become idle at the end.
  std::vector<std::unique_ptr<Thread>> finished;  // To be joined.

  Tasks computing;
  Tasks blocking;
  Thread* runner = nullptr;
  Thread* watcher = nullptr;
  bool telling = false;  // The runner is.
  int64_t tellings = 0;
  std::atomic<bool> has_work{false};  // For the runner that spins.
  int blocked = 0;                    // Tasks in role kBlocks that count.
  int64_t pending = 0;
  int64_t pending_computing = 0;
  bool stop = false;

  struct Start {
    std::shared_ptr<State> state;
    Thread* thread;
  };
  static void Begin(void* context, int) {
    const std::unique_ptr<Start> start(static_cast<Start*>(context));
    start->state->Main(start->state, start->thread);
  }

  // A thread without a role: an idle one, or a new one.
  Result<Thread*> GetThread(const std::shared_ptr<State>& self) {
    if (!idle.empty()) {
      Thread* const thread = idle.back();
      idle.pop_back();
      return thread;
    }
    for (std::unique_ptr<Thread>& gone : finished) gone->thread.join();
    finished.clear();
    if (threads.size() >= static_cast<size_t>(policy::kMaxThreads))
      return ResourceExhausted(name + " has " + std::to_string(threads.size()) + " threads, which all wait");
    auto thread = std::make_unique<Thread>();
    auto start = std::make_unique<Start>(Start{self, thread.get()});
    // Room for all lists that the thread may ever be in: nothing is to fail later.
    threads.reserve(threads.size() + 1);
    idle.reserve(threads.size() + 1);
    finished.reserve(threads.size() + 1);
    TENON_ASSIGN_OR_RETURN(thread->thread, threads::internal::StartThread(name, &State::Begin, start.get(), 0));
    (void)start.release();  // The thread's now.
    threads.push_back(std::move(thread));
    return threads.back().get();
  }

  void Give(Thread* thread, Role role) {
    thread->role = role;
    thread->wake.notify_one();
  }

  // Sees to it that somebody takes the tasks over that wait behind a telling.
  void Watch(const std::shared_ptr<State>& self) {
    if (watcher != nullptr || stop) return;
    const Status status = Contain(name, [&]() -> Status {
      TENON_ASSIGN_OR_RETURN(watcher, GetThread(self));
      return OkStatus();
    });
    if (status.ok())
      Give(watcher, Role::kWatches);
    else
      Log(LogLevel::kWarning, "no thread watches " + name + ": " + status.ToString());
  }

  void Tell(std::unique_ptr<Task> task, const Status& status) const {
    const Status told = Contain(name, [&] {
      task->End(status);
      task.reset();
    });
    if (!told.ok()) Log(LogLevel::kError, "while an outcome was told: " + told.ToString());
  }

  // Runs a task and tells its outcome. Called and returns with the lock.
  void RunTask(std::unique_lock<std::mutex>& lock, const std::shared_ptr<State>& self, Thread* me,
               std::unique_ptr<Task> task, bool computes) {
    lock.unlock();
    inside = {true, computes ? this : nullptr};
    Status status = Contain(name, [&] { return task->Run(); });
    inside = {};
    lock.lock();
    --pending;
    if (computes) {
      --pending_computing;
      telling = true;
      ++tellings;
      if (!computing.empty()) Watch(self);
    }
    ended.notify_all();
    lock.unlock();
    Tell(std::move(task), status);
    status = OkStatus();
    lock.lock();
    if (computes && runner == me) telling = false;
  }

  void Compute(std::unique_lock<std::mutex>& lock, const std::shared_ptr<State>& self, Thread* me) {
    while (runner == me) {
      if (!computing.empty()) {
        RunTask(lock, self, me, computing.Pop(), true);
        continue;
      }
      if (stop) return;
      has_work.store(false, std::memory_order_relaxed);
      // The next task often comes at once, and waking a sleeper takes longer than that. But not where it comes from a
      // thread that this one keeps from its only CPU.
      static const bool is_alone = threads::AvailableCpus() == 1;
      lock.unlock();
      const auto until = Clock::now() + (is_alone ? std::chrono::microseconds(0) : policy::kQueueSpin);
      while (!has_work.load(std::memory_order_acquire) && Clock::now() < until) __builtin_ia32_pause();
      lock.lock();
      me->wake.wait(lock, [&] { return !computing.empty() || stop || runner != me; });
    }
    me->role = Role::kNone;  // Another thread has taken over.
  }

  void Block(std::unique_lock<std::mutex>& lock, const std::shared_ptr<State>& self, Thread* me) {
    RunTask(lock, self, me, std::move(me->task), false);
    if (!me->nested) --blocked;
    if (blocking.empty() || blocked >= policy::kMaxBlocking) {
      me->role = Role::kNone;
      return;
    }
    me->task = blocking.Pop();
    me->nested = false;
    ++blocked;
  }

  void WatchTellings(std::unique_lock<std::mutex>& lock, Thread* me) {
    int64_t seen = -1;
    for (int quiet = 0; !stop; ++quiet) {
      if (!telling || computing.empty()) {
        // Goes right after a look: what begins later asks for another watcher.
        if (quiet >= policy::kQuietLooks) break;
      } else {
        if (tellings == seen) {
          watcher = nullptr;
          runner = me;
          telling = false;
          me->role = Role::kComputes;
          return;
        }
        seen = tellings;
        quiet = 0;
      }
      me->wake.wait_for(lock, policy::kPatience);
    }
    watcher = nullptr;
    me->role = Role::kNone;
  }

  // Waits for a role; false when the thread shall end.
  bool Idle(std::unique_lock<std::mutex>& lock, Thread* me) {
    idle.push_back(me);
    me->wake.wait_for(lock, policy::kIdleThread, [&] { return me->role != Role::kNone || stop; });
    if (me->role != Role::kNone) return true;
    std::erase(idle, me);
    if (stop) return false;  // The queue's destructor joins all threads.
    const auto own = std::find_if(threads.begin(), threads.end(), [&](const auto& t) { return t.get() == me; });
    finished.push_back(std::move(*own));
    threads.erase(own);
    return false;
  }

  void Main(const std::shared_ptr<State>& self, Thread* me) {
    std::unique_lock lock(mutex);
    while (true) {
      switch (me->role) {
        case Role::kComputes:
          Compute(lock, self, me);
          if (runner == me) return;  // The queue ends.
          break;
        case Role::kBlocks:
          Block(lock, self, me);
          break;
        case Role::kWatches:
          WatchTellings(lock, me);
          break;
        case Role::kNone:
          if (!Idle(lock, me)) return;
          break;
      }
    }
  }

  Status Submit(const std::shared_ptr<State>& self, std::unique_ptr<Task>& task, Kind kind) {
    std::lock_guard lock(mutex);
    if (stop) return Internal(name + " ends and takes no more tasks");
    if (kind == Kind::kComputes) {
      if (runner == nullptr) {
        TENON_ASSIGN_OR_RETURN(runner, GetThread(self));
        runner->role = Role::kComputes;
      }
      computing.Push(std::move(task));
      ++pending_computing;
      has_work.store(true, std::memory_order_release);
      runner->wake.notify_one();
      if (telling) Watch(self);
    } else {
      // What a task submits it may wait for, so that it cannot stand in line behind other tasks.
      const bool nested = inside.task;
      if (nested || blocked < policy::kMaxBlocking) {
        Result<Thread*> thread = GetThread(self);
        if (!thread.ok() && (nested || blocked == 0)) return thread.status();
        if (thread.ok()) {
          (*thread)->task = std::move(task);
          (*thread)->nested = nested;
          if (!nested) ++blocked;
          Give(*thread, Role::kBlocks);
        }
      }
      if (task != nullptr) blocking.Push(std::move(task));
    }
    ++pending;
    return OkStatus();
  }

  struct Inside {
    bool task = false;                 // The thread is in some task's Run ...
    const State* computing = nullptr;  // ... which is one of this queue's that compute.
  };
  static thread_local constinit Inside inside;
};

thread_local constinit DeviceQueue::State::Inside DeviceQueue::State::inside;

DeviceQueue::DeviceQueue(std::string name) : owner_pid_(getpid()), state_(std::make_shared<State>(std::move(name))) {}

DeviceQueue::~DeviceQueue() {
  if (getpid() != owner_pid_) {
    // A thread that is not there may hold the mutex: nothing in the state may be touched, or freed.
    new std::shared_ptr<State>(std::move(state_));
    return;
  }
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
    for (auto& thread : state_->threads) thread->wake.notify_all();
  }
  // From here on the lists of threads stay as they are.
  for (auto* list : {&state_->threads, &state_->finished}) {
    for (auto& thread : *list) {
      // The last reference to a client may go inside one of its own tasks.
      if (thread->thread.get_id() == std::this_thread::get_id()) {
        PinLibrary();
        thread->thread.detach();
      } else {
        thread->thread.join();
      }
    }
  }
}

Status DeviceQueue::Submit(std::unique_ptr<Task>& task, Kind kind) {
  return Contain(state_->name, [&] { return state_->Submit(state_, task, kind); });
}

void DeviceQueue::RunHere(std::unique_ptr<Task> task) {
  const std::shared_ptr<State> state = state_;  // The task's end may be this queue's.
  const threads::ScopedFlushDenormals compute_state;
  const bool was_inside = std::exchange(State::inside.task, true);
  const Status status = Contain(state->name, [&] { return task->Run(); });
  State::inside.task = was_inside;
  state->Tell(std::move(task), status);
}

void DeviceQueue::Schedule(std::function<void()> work) {
  struct Work final : Task {
    explicit Work(std::function<void()> w) : work(std::move(w)) {}
    Status Run() override {
      work();
      return OkStatus();
    }
    void End(const Status& status) override {
      if (!status.ok()) Log(LogLevel::kError, "scheduled work: " + status.ToString());
    }
    std::function<void()> work;
  };
  std::unique_ptr<Task> task = std::make_unique<Work>(std::move(work));
  if (!Submit(task, Kind::kMayBlock).ok()) task->End(Contain(state_->name, [&] { return task->Run(); }));
}

int64_t DeviceQueue::pending() const {
  std::lock_guard lock(state_->mutex);
  return state_->pending;
}

int DeviceQueue::num_threads() const {
  std::lock_guard lock(state_->mutex);
  return static_cast<int>(state_->threads.size());
}

void DeviceQueue::WaitBelow(int64_t limit) {
  if (State::inside.computing == state_.get()) return;
  std::unique_lock lock(state_->mutex);
  state_->ended.wait(lock, [&] { return state_->pending_computing < limit; });
}

}  // namespace tenon::host
