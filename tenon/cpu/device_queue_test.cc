#include "tenon/cpu/device_queue.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <future>

namespace tenon::cpu {
namespace {

TEST(DeviceQueue, RunsInOrder) {
  std::vector<int> seen;
  {
    DeviceQueue queue("q");
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(queue.Submit([&seen, i] { seen.push_back(i); }, false).ok());
  }
  ASSERT_EQ(seen.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
}

TEST(DeviceQueue, TasksThatBlockHoldNobodyUp) {
  DeviceQueue queue("q");
  std::promise<void> first, second;
  // Each waits for what a later task does.
  ASSERT_TRUE(queue.Submit([&] { first.get_future().wait(); }, true).ok());
  ASSERT_TRUE(queue
                  .Submit(
                      [&] {
                        second.get_future().wait();
                        first.set_value();
                      },
                      true)
                  .ok());
  ASSERT_TRUE(queue.Submit([&] { second.set_value(); }, false).ok());
  while (queue.pending() > 0) std::this_thread::yield();
}

TEST(DeviceQueue, WaitingForRoomIsNotWaitingForTasksThatBlock) {
  DeviceQueue queue("q");
  std::promise<void> go, waited;
  ASSERT_TRUE(queue.Submit([&] { go.get_future().wait(); }, true).ok());
  // A task that blocks may itself be the one that asks for room.
  ASSERT_TRUE(queue
                  .Submit(
                      [&] {
                        queue.WaitBelow(1);
                        waited.set_value();
                      },
                      true)
                  .ok());
  waited.get_future().wait();
  EXPECT_GE(queue.pending(), 1);
  go.set_value();
}

TEST(DeviceQueue, ItsThreadsLeaveSignalsToTheHost) {
  DeviceQueue queue("a long name of a queue");
  for (const bool may_block : {false, true}) {
    std::promise<bool> blocked;
    ASSERT_TRUE(queue
                    .Submit(
                        [&] {
                          sigset_t mask;
                          pthread_sigmask(SIG_SETMASK, nullptr, &mask);
                          blocked.set_value(sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGALRM) == 1);
                        },
                        may_block)
                    .ok());
    EXPECT_TRUE(blocked.get_future().get());
  }
}

TEST(DeviceQueue, MayEndOnItsOwnThread) {
  auto queue = std::make_shared<DeviceQueue>("q");
  std::promise<void> go, gone;
  ASSERT_TRUE(queue
                  ->Submit(
                      [held = queue, &go, &gone]() mutable {
                        go.get_future().wait();
                        held.reset();  // The last reference.
                        gone.set_value();
                      },
                      false)
                  .ok());
  queue.reset();
  go.set_value();
  gone.get_future().wait();
}

}  // namespace
}  // namespace tenon::cpu
