#include "tenon/host/device_queue.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/host/policy.h"
#include "tenon/threads/flush_denormals.h"

namespace tenon::host {
namespace {

using Kind = DeviceQueue::Kind;

struct FunctionTask final : DeviceQueue::Task {
  FunctionTask(std::function<void()> r, std::function<void(const Status&)> e) : run(std::move(r)), end(std::move(e)) {}
  Status Run() override {
    run();
    return OkStatus();
  }
  void End(const Status& status) override {
    if (end) end(status);
  }
  std::function<void()> run;
  std::function<void(const Status&)> end;
};

Status Submit(DeviceQueue& queue, std::function<void()> run, Kind kind, std::function<void(const Status&)> end = {}) {
  std::unique_ptr<DeviceQueue::Task> task = std::make_unique<FunctionTask>(std::move(run), std::move(end));
  return queue.Submit(task, kind);
}

/// Ends a test that hangs.
class Watchdog {
 public:
  Watchdog() { alarm(60); }
  ~Watchdog() { alarm(0); }
};

TEST(DeviceQueue, RunsInOrder) {
  std::vector<int> seen;
  {
    DeviceQueue queue("q");
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(Submit(queue, [&seen, i] { seen.push_back(i); }, Kind::kComputes).ok());
  }
  ASSERT_EQ(seen.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
}

TEST(DeviceQueue, TasksThatBlockHoldNobodyUp) {
  const Watchdog watchdog;
  DeviceQueue queue("q");
  std::promise<void> first, second;
  const auto wait_and_set = [&] {
    second.get_future().wait();
    first.set_value();
  };
  // Each waits for what a later task does.
  ASSERT_TRUE(Submit(queue, [&] { first.get_future().wait(); }, Kind::kMayBlock).ok());
  ASSERT_TRUE(Submit(queue, wait_and_set, Kind::kMayBlock).ok());
  ASSERT_TRUE(Submit(queue, [&] { second.set_value(); }, Kind::kComputes).ok());
  while (queue.pending() > 0) std::this_thread::yield();
}

TEST(DeviceQueue, WaitingForRoomIsNotWaitingForTasksThatBlock) {
  const Watchdog watchdog;
  DeviceQueue queue("q");
  std::promise<void> go, waited;
  const auto gone = std::make_shared<std::future<void>>(go.get_future());
  const auto wait = [&] {
    queue.WaitBelow(1);
    waited.set_value();
  };
  ASSERT_TRUE(Submit(queue, [gone] { gone->wait(); }, Kind::kMayBlock).ok());  // It may outlive this function.
  // A task that blocks may itself be the one that asks for room.
  ASSERT_TRUE(Submit(queue, wait, Kind::kMayBlock).ok());
  waited.get_future().wait();
  EXPECT_GE(queue.pending(), 1);
  go.set_value();
}

TEST(DeviceQueue, WhatATaskThrowsIsItsStatus) {
  DeviceQueue queue("q");
  for (const Kind kind : {Kind::kComputes, Kind::kMayBlock}) {
    std::promise<Status> error, memory, other;
    ASSERT_TRUE(
        Submit(
            queue, [] { throw std::runtime_error("too much"); }, kind, [&](const Status& s) { error.set_value(s); })
            .ok());
    ASSERT_TRUE(
        Submit(queue, [] { throw std::bad_alloc(); }, kind, [&](const Status& s) { memory.set_value(s); }).ok());
    ASSERT_TRUE(Submit(queue, [] { throw 5; }, kind, [&](const Status& s) { other.set_value(s); }).ok());
    EXPECT_EQ(error.get_future().get().ToString(), "INTERNAL: q: too much");
    EXPECT_EQ(memory.get_future().get().code(), Code::kResourceExhausted);
    EXPECT_EQ(other.get_future().get().code(), Code::kInternal);
  }
}

TEST(DeviceQueue, WhatAListenerThrowsEndsNothing) {
  DeviceQueue queue("q");
  std::promise<void> after;
  ASSERT_TRUE(Submit(queue, [] {}, Kind::kComputes, [](const Status&) { throw std::runtime_error("listener"); }).ok());
  ASSERT_TRUE(Submit(queue, [&] { after.set_value(); }, Kind::kComputes).ok());
  after.get_future().wait();
}

// Whoever hears of a task's end may use the device, whatever waits in it already.
TEST(DeviceQueue, AListenerMayWaitForTheTasksBehind) {
  const Watchdog watchdog;
  DeviceQueue queue("q");
  for (int round = 0; round < 20; ++round) {
    std::promise<void> submitted, told;
    std::promise<void> behind, later;
    const auto listener = [&](const Status&) {
      submitted.get_future().wait();
      queue.WaitBelow(2);
      EXPECT_TRUE(Submit(queue, [&] { later.set_value(); }, Kind::kComputes).ok());
      behind.get_future().wait();
      later.get_future().wait();
      queue.WaitBelow(1);
      told.set_value();
    };
    ASSERT_TRUE(Submit(queue, [] {}, Kind::kComputes, listener).ok());
    ASSERT_TRUE(Submit(queue, [&] { behind.set_value(); }, Kind::kComputes).ok());
    ASSERT_TRUE(Submit(queue, [] {}, Kind::kComputes).ok());
    submitted.set_value();
    told.get_future().wait();
  }
  // Rounds add none. On a busy machine each of a round's four tasks may be kept for so long while it tells that it is
  // replaced, and one thread watches.
  EXPECT_LE(queue.num_threads(), 4 + 1);
}

TEST(DeviceQueue, ListenersThatWaitForEachOtherAreReplaced) {
  const Watchdog watchdog;
  DeviceQueue queue("q");
  constexpr int kTasks = 12;
  std::vector<std::promise<void>> next(kTasks + 1);
  std::vector<int> order;
  for (int i = 0; i < kTasks; ++i) {
    // Each waits for the listener of the next task.
    const auto listener = [&next, i](const Status&) {
      if (i + 1 < kTasks) next[static_cast<size_t>(i) + 1].get_future().wait();
      next[static_cast<size_t>(i)].set_value();
    };
    ASSERT_TRUE(Submit(queue, [&order, i] { order.push_back(i); }, Kind::kComputes, listener).ok());
  }
  next[0].get_future().wait();
  for (int i = 0; i < kTasks; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

// Whoever watches the tellings goes when they have long been short. A long one may begin in that moment.
TEST(DeviceQueue, NoListenerWaitsForAWatcherThatIsJustGone) {
  const Watchdog watchdog;
  DeviceQueue queue("q");
  const auto nothing = [] {};
  const auto life = policy::kPatience * policy::kQuietLooks;
  for (int i = -20; i <= 40; ++i) {
    // A task behind a short telling brings the watcher.
    std::promise<void> behind;
    ASSERT_TRUE(Submit(queue, nothing, Kind::kComputes, [&](const Status&) {
                  EXPECT_TRUE(Submit(queue, nothing, Kind::kComputes, [&](const Status&) { behind.set_value(); }).ok());
                }).ok());
    behind.get_future().wait();
    std::this_thread::sleep_for(life + i * policy::kPatience / 8);
    std::promise<void> told;
    ASSERT_TRUE(Submit(queue, nothing, Kind::kComputes, [&](const Status&) {
                  std::promise<void> ran;
                  EXPECT_TRUE(Submit(queue, [&] { ran.set_value(); }, Kind::kComputes).ok());
                  ran.get_future().wait();
                  told.set_value();
                }).ok());
    told.get_future().wait();
  }
}

TEST(DeviceQueue, ThreadsAreCappedAndEnd) {
  const Watchdog watchdog;
  DeviceQueue queue("q");
  constexpr int kTasks = 3 * policy::kMaxBlocking;
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::atomic<int> at_once{0}, most{0}, ran{0};
  for (int i = 0; i < kTasks; ++i) {
    const auto work = [&] {
      const int now = ++at_once;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      gone.wait();
      --at_once;
      ++ran;
    };
    ASSERT_TRUE(Submit(queue, work, Kind::kMayBlock).ok());
  }
  EXPECT_LE(queue.num_threads(), policy::kMaxBlocking);
  go.set_value();
  while (queue.pending() > 0) std::this_thread::yield();
  EXPECT_EQ(ran, kTasks);
  EXPECT_LE(most, policy::kMaxBlocking);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (queue.num_threads() > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(queue.num_threads(), 0);
  std::promise<void> again;
  ASSERT_TRUE(Submit(queue, [&] { again.set_value(); }, Kind::kMayBlock).ok());
  again.get_future().wait();
}

TEST(DeviceQueue, TasksOfTasksAreNotCapped) {
  const Watchdog watchdog;
  DeviceQueue queue("q");
  std::atomic<int> ran{0};
  for (int i = 0; i < policy::kMaxBlocking; ++i) {
    const auto work = [&] {
      std::promise<void> inner;
      EXPECT_TRUE(Submit(queue, [&] { inner.set_value(); }, Kind::kMayBlock).ok());
      inner.get_future().wait();
      ++ran;
    };
    ASSERT_TRUE(Submit(queue, work, Kind::kMayBlock).ok());
  }
  while (queue.pending() > 0) std::this_thread::yield();
  EXPECT_EQ(ran, policy::kMaxBlocking);
}

TEST(DeviceQueue, TasksRunOnTheirCallerWhereItAsksForThat) {
  DeviceQueue queue("q");
  const uint32_t before = threads::FloatControl();
  std::thread::id ran_on;
  uint32_t inside = 0;
  Status outcome = Internal("not told");
  const auto run = [&](std::function<void()> work) {
    queue.RunHere(std::make_unique<FunctionTask>(std::move(work), [&](const Status& status) { outcome = status; }));
  };
  run([&] {
    ran_on = std::this_thread::get_id();
    inside = threads::FloatControl();
  });
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  EXPECT_TRUE(outcome.ok()) << outcome.ToString();
  if (before != 0) EXPECT_EQ(inside, threads::kComputeFloatControl);
  EXPECT_EQ(threads::FloatControl(), before);
  run([] { throw std::runtime_error("thrown by a task"); });
  EXPECT_EQ(outcome.code(), Code::kInternal);
  EXPECT_NE(outcome.message().find("thrown by a task"), std::string::npos) << outcome.ToString();
  EXPECT_EQ(queue.num_threads(), 0);
}

TEST(DeviceQueue, TasksOfATaskOnItsCallerAreNotCapped) {
  const Watchdog watchdog;
  DeviceQueue queue("q");
  std::promise<void> go;
  const auto gone = std::make_shared<std::shared_future<void>>(go.get_future().share());
  for (int i = 0; i < policy::kMaxBlocking; ++i)
    ASSERT_TRUE(Submit(queue, [gone] { gone->wait(); }, Kind::kMayBlock).ok());
  queue.RunHere(std::make_unique<FunctionTask>(
      [&] {
        std::promise<void> inner;
        EXPECT_TRUE(Submit(queue, [&] { inner.set_value(); }, Kind::kMayBlock).ok());
        inner.get_future().wait();
      },
      nullptr));
  // Nor is its caller inside a task afterwards.
  std::atomic<bool> ran{false};
  EXPECT_TRUE(Submit(queue, [&] { ran = true; }, Kind::kMayBlock).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(ran);
  go.set_value();
  while (queue.pending() > 0) std::this_thread::yield();
  EXPECT_TRUE(ran);
}

TEST(DeviceQueue, ItsThreadsLeaveSignalsToTheHost) {
  DeviceQueue queue("a long name of a queue");
  for (const Kind kind : {Kind::kComputes, Kind::kMayBlock}) {
    std::promise<bool> blocked;
    const auto look = [&] {
      sigset_t mask;
      pthread_sigmask(SIG_SETMASK, nullptr, &mask);
      blocked.set_value(sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGALRM) == 1);
    };
    ASSERT_TRUE(Submit(queue, look, kind).ok());
    EXPECT_TRUE(blocked.get_future().get());
  }
}

TEST(DeviceQueue, MayEndOnItsOwnThread) {
  for (const Kind kind : {Kind::kComputes, Kind::kMayBlock}) {
    auto queue = std::make_shared<DeviceQueue>("q");
    std::promise<void> go, gone;
    DeviceQueue& q = *queue;
    auto work = [held = std::move(queue), &go, &gone]() mutable {
      go.get_future().wait();
      held.reset();  // The last reference.
      gone.set_value();
    };
    ASSERT_TRUE(Submit(q, std::move(work), kind).ok());
    go.set_value();
    gone.get_future().wait();
  }
}

}  // namespace
}  // namespace tenon::host
