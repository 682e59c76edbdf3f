#include "tenon/plugin/queue.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

namespace tenon::plugin {
namespace {

TEST(Queue, DoesTasksInOrderOnAnotherThread) {
  std::vector<int> order;
  std::thread::id where;
  Queue queue;
  for (int i = 0; i < 100; ++i) {
    queue.Enqueue([&, i] {
      order.push_back(i);
      where = std::this_thread::get_id();
      return OkStatus();
    });
  }
  EXPECT_TRUE(queue.Enqueue([] { return OkStatus(); }).Wait().ok());
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST(Queue, OutcomesAndExceptions) {
  Queue queue;
  EXPECT_EQ(queue.Enqueue([] { return Unavailable("gone"); }).Wait().code(), Code::kUnavailable);
  const Status thrown = queue.Enqueue([]() -> Status { throw std::runtime_error("broken"); }).Wait();
  EXPECT_EQ(thrown.code(), Code::kInternal);
  EXPECT_NE(thrown.message().find("broken"), std::string::npos) << thrown.ToString();
  EXPECT_EQ(queue.Enqueue([]() -> Status { throw std::bad_alloc(); }).Wait().code(), Code::kResourceExhausted);
}

// What a task holds goes before its event is told, and may enqueue when it goes, as blocks of device memory do.
TEST(Queue, WhatATaskHoldsMayEnqueue) {
  int freed = 0;
  {
    Queue queue;
    struct Block {
      Queue& queue;
      int& freed;
      ~Block() {
        queue.Enqueue([&count = freed] {
          ++count;
          return OkStatus();
        });
      }
    };
    auto block = std::make_shared<Block>(queue, freed);
    const std::weak_ptr<Block> held = block;
    bool gone = false;
    queue.Enqueue([block = std::move(block)] { return OkStatus(); }).OnReady([&](const Status&) {
      gone = held.expired();
    });
    EXPECT_TRUE(queue.Enqueue([] { return OkStatus(); }).Wait().ok());
    EXPECT_TRUE(gone);
  }  // Does what is left.
  EXPECT_EQ(freed, 1);
}

TEST(Queue, ForkedChildrenAreRefused) {
  ForkSafeMutex counts_forks;
  auto queue = std::make_unique<Queue>();
  // The thread waits for the next task when the fork comes.
  ASSERT_TRUE(queue->Enqueue([] { return OkStatus(); }).Wait().ok());
  usleep(10000);
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = queue->Enqueue([] { return OkStatus(); }).Wait().code() == Code::kFailedPrecondition;
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    _exit(refused ? 0 : 1);  // It ends the process where a thread of before the fork is detached.
#endif
#endif
    queue.reset();  // Does not wait for a thread that is not there.
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(queue->Enqueue([] { return OkStatus(); }).Wait().ok());
}

}  // namespace
}  // namespace tenon::plugin
