#include "tenon/cpu/device_queue.h"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <utility>

#include "tenon/cpu/policy.h"
#include "tenon/threads/thread_start.h"

namespace tenon::cpu {
struct DeviceQueue::State {
  // One sequence of tasks with the thread that runs it. Lane 0 serves tasks that do not block; the others are lent to
  // one blocking task at a time.
  struct Lane {
    bool ordinary = false;  // Its tasks do not block.
    std::deque<std::function<void()>> tasks;
    std::condition_variable wake;
    std::atomic<bool> has_work{false};
    bool idle = true;
    std::thread thread;
  };

  std::mutex mutex;
  std::condition_variable ended;
  std::vector<std::unique_ptr<Lane>> lanes;
  int64_t pending = 0;
  int64_t pending_ordinary = 0;
  bool stop = false;

  struct Start {
    std::shared_ptr<State> state;
    Lane* lane;
  };
  static void Begin(void* context, int) {
    const std::unique_ptr<Start> start(static_cast<Start*>(context));
    Main(std::move(start->state), start->lane);
  }

  static void Main(std::shared_ptr<State> self, Lane* lane) {
    std::unique_lock lock(self->mutex);
    while (true) {
      if (lane->tasks.empty()) {
        lane->idle = true;
        lane->has_work.store(false, std::memory_order_relaxed);
        if (self->stop) return;
        // The next task often comes at once, and waking a sleeper takes longer than that.
        lock.unlock();
        const auto until = std::chrono::steady_clock::now() + policy::kQueueSpin;
        while (!lane->has_work.load(std::memory_order_acquire) && std::chrono::steady_clock::now() < until)
          __builtin_ia32_pause();
        lock.lock();
        lane->wake.wait(lock, [&] { return !lane->tasks.empty() || self->stop; });
        continue;
      }
      lane->idle = false;
      std::function<void()> task = std::move(lane->tasks.front());
      lane->tasks.pop_front();
      lock.unlock();
      task();
      task = nullptr;  // What it held is freed before anyone hears that it ended.
      lock.lock();
      --self->pending;
      if (lane->ordinary) --self->pending_ordinary;
      self->ended.notify_all();
    }
  }
};

DeviceQueue::DeviceQueue(std::string name)
    : name_(std::move(name)), owner_pid_(getpid()), state_(std::make_shared<State>()) {
  state_->lanes.push_back(std::make_unique<State::Lane>());
  state_->lanes[0]->ordinary = true;
}

DeviceQueue::~DeviceQueue() {
  if (getpid() != owner_pid_) {
    // A thread that is not there may hold the mutex: nothing in the state may be touched, or freed.
    new std::shared_ptr<State>(std::move(state_));
    return;
  }
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
    for (auto& lane : state_->lanes) lane->wake.notify_all();
  }
  // Nobody submits any more, so the lanes stay as they are.
  for (auto& lane : state_->lanes) {
    if (!lane->thread.joinable()) continue;
    // The last reference to a client may go inside one of its own tasks.
    if (lane->thread.get_id() == std::this_thread::get_id())
      lane->thread.detach();
    else
      lane->thread.join();
  }
}

Status DeviceQueue::Submit(std::function<void()> task, bool may_block) {
  std::lock_guard lock(state_->mutex);
  State::Lane* lane = state_->lanes[0].get();
  if (may_block) {
    lane = nullptr;
    for (size_t i = 1; i < state_->lanes.size() && lane == nullptr; ++i) {
      if (state_->lanes[i]->idle && state_->lanes[i]->tasks.empty()) lane = state_->lanes[i].get();
    }
    if (lane == nullptr) lane = state_->lanes.emplace_back(std::make_unique<State::Lane>()).get();
  }
  if (!lane->thread.joinable()) {
    auto start = std::make_unique<State::Start>(State::Start{state_, lane});
    TENON_ASSIGN_OR_RETURN(lane->thread, threads::internal::StartThread(name_, &State::Begin, start.get(), 0));
    (void)start.release();  // The thread's now.
  }
  lane->tasks.push_back(std::move(task));
  ++state_->pending;
  if (lane->ordinary) ++state_->pending_ordinary;
  lane->has_work.store(true, std::memory_order_release);
  lane->wake.notify_one();
  return OkStatus();
}

int64_t DeviceQueue::pending() const {
  std::lock_guard lock(state_->mutex);
  return state_->pending;
}

void DeviceQueue::WaitBelow(int64_t limit) {
  std::unique_lock lock(state_->mutex);
  state_->ended.wait(lock, [&] { return state_->pending_ordinary < limit; });
}

}  // namespace tenon::cpu
