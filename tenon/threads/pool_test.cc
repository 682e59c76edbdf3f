#include "tenon/threads/pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tenon/threads/flush_denormals.h"
#include "tenon/threads/futex.h"

namespace tenon::threads {
namespace {

constexpr int64_t kDear = 1'000'000'000;

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool kThreadSanitizer = false;
#endif

std::unique_ptr<ThreadPool> MakePool(int threads) { return *ThreadPool::Create(threads); }

class PoolTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, PoolTest, testing::Values(1, 2, 3, 8));

TEST_P(PoolTest, EveryChunkRunsOnceAndIsVisible) {
  const auto pool = MakePool(GetParam());
  EXPECT_EQ(pool->num_threads(), GetParam());
  for (int64_t chunks : {0, 1, 2, 3, 7, 64, 1000}) {
    for (int round = 0; round < 50; ++round) {
      std::vector<int> ran(static_cast<size_t>(chunks), 0);  // Plain ints: a chunk run twice at once is a race.
      pool->ParallelFor(chunks, kDear, [&](int64_t i) { ran[static_cast<size_t>(i)] += 1; });
      for (int count : ran) ASSERT_EQ(count, 1);
    }
  }
}

TEST_P(PoolTest, NestedLoopsFinish) {
  const auto pool = MakePool(GetParam());
  std::atomic<int64_t> sum{0};
  pool->ParallelFor(9, kDear, [&](int64_t i) {
    pool->ParallelFor(
        11, kDear, [&](int64_t j) { pool->ParallelFor(3, kDear, [&](int64_t k) { sum += 10000 * i + 100 * j + k; }); });
  });
  int64_t expected = 0;
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 11; ++j)
      for (int k = 0; k < 3; ++k) expected += 10000 * i + 100 * j + k;
  EXPECT_EQ(sum, expected);
}

TEST_P(PoolTest, ManyCallersAtOnce) {
  const auto pool = MakePool(GetParam());
  constexpr int kCallers = 40;  // More than the pool has slots for.
  std::vector<int64_t> sums(kCallers, 0);
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.emplace_back([&, c] {
      for (int round = 0; round < 20; ++round) {
        std::vector<int64_t> parts(17, 0);
        pool->ParallelFor(17, kDear, [&](int64_t i) { parts[static_cast<size_t>(i)] = c * i; });
        sums[static_cast<size_t>(c)] += std::accumulate(parts.begin(), parts.end(), int64_t{0});
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (int c = 0; c < kCallers; ++c) EXPECT_EQ(sums[static_cast<size_t>(c)], 20 * 136 * c);
}

TEST_P(PoolTest, WhatAChunkThrowsReachesTheCallerWhenAllAreOut) {
  const auto pool = MakePool(GetParam());
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> inside{0};
    const auto chunk = [&](int64_t i) {
      ++inside;
      for (int k = 0; k < 100 * (static_cast<int>(i) % 7); ++k) internal::CpuRelax();
      --inside;
      if (i % 5 == 3) throw std::runtime_error("chunk");
    };
    EXPECT_THROW(pool->ParallelFor(64, kDear, chunk), std::runtime_error);
    EXPECT_EQ(inside.load(), 0);
  }
  std::atomic<int> ran{0};  // The pool is as it was.
  pool->ParallelFor(100, kDear, [&](int64_t) { ++ran; });
  EXPECT_EQ(ran.load(), 100);
}

TEST(Pool, CheapLoopsStayOnTheCallerInOrder) {
  const auto pool = MakePool(4);
  std::vector<int64_t> order;
  const std::thread::id caller = std::this_thread::get_id();
  pool->ParallelFor(100, kMinSharedNs - 1, [&](int64_t i) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    order.push_back(i);
  });
  std::vector<int64_t> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST(Pool, ManyShortLoopsWakeAWorker) {
  const auto pool = MakePool(2);
  std::set<std::thread::id> ids;
  std::mutex mutex;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (ids.size() < 2 && std::chrono::steady_clock::now() < end) {
    pool->ParallelFor(8, kMinSharedNs, [&](int64_t) {
      const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
      while (std::chrono::steady_clock::now() < until) {
      }
      const std::lock_guard<std::mutex> lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
  }
  EXPECT_EQ(ids.size(), 2u);
}

TEST(Pool, WorkersHelpAndTheCallerDoesNotWaitForThem) {
  const auto pool = MakePool(2);
  for (int round = 0; round < 2; ++round) {
    // Both chunks must be running at once for either to end.
    std::atomic<int> inside{0};
    std::mutex mutex;
    std::set<std::thread::id> ids;
    pool->ParallelFor(2, kDear, [&](int64_t) {
      {
        const std::lock_guard<std::mutex> lock(mutex);
        ids.insert(std::this_thread::get_id());
      }
      ++inside;
      while (inside.load() < 2) std::this_thread::yield();
    });
    EXPECT_EQ(ids.size(), 2u);
    EXPECT_TRUE(ids.count(std::this_thread::get_id()));
    // Long enough for the worker to fall asleep before the second round.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(Pool, EachThreadBeginsWithChunksOfItsOwn) {
  const auto pool = MakePool(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> begun{0};
    std::atomic<int64_t> first_of_caller{-1}, first_of_worker{-1};
    const std::thread::id caller = std::this_thread::get_id();
    pool->ParallelFor(8, kDear, [&](int64_t i) {
      std::atomic<int64_t>& first = std::this_thread::get_id() == caller ? first_of_caller : first_of_worker;
      if (first.load() >= 0) return;
      first = i;
      ++begun;
      while (begun.load() < 2) std::this_thread::yield();
    });
    EXPECT_EQ(first_of_caller.load(), 0);
    EXPECT_EQ(first_of_worker.load(), 4);
  }
}

TEST(Pool, WorkersFlushDenormals) {
  const auto pool = MakePool(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> inside{0};
  pool->ParallelFor(2, kDear, [&](int64_t) {
    if (std::this_thread::get_id() != caller) EXPECT_EQ(FloatControl() & ~0x3fu, kComputeFloatControl & ~0x3fu);
    ++inside;
    while (inside.load() < 2) std::this_thread::yield();
  });
}

TEST(Pool, BadCountsAreRefused) {
  for (int bad : {0, -1, 1 << 20}) EXPECT_EQ(ThreadPool::Create(bad).status().code(), Code::kInvalidArgument);
}

TEST(Pool, WorksInAForkedChildOnItsCallerAlone) {
  if (kThreadSanitizer) GTEST_SKIP() << "TSan ends forked children of processes with threads";
  auto pool = MakePool(3);
  pool->ParallelFor(8, kDear, [](int64_t) {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int ran = 0;
    pool->ParallelFor(100, kDear, [&](int64_t) { ++ran; });
    pool.reset();
    _exit(ran == 100 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// What a forked child inherits of the workers names threads that it has not: moving one of them would move the caller.
TEST(Pool, AForkedChildMovesNoWorkers) {
  if (kThreadSanitizer) GTEST_SKIP() << "TSan ends forked children of processes with threads";
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "this process may use one CPU only";
  const auto pool = MakePool(2);
  const auto caller = std::this_thread::get_id();
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> bed{-1};
    pool->ParallelFor(2, kDear, [&](int64_t) {
      if (std::this_thread::get_id() != caller) bed.store(sched_getcpu());
      while (bed.load() < 0) std::this_thread::yield();
    });
    // It falls asleep, most likely where it is.
    std::this_thread::sleep_for(std::chrono::nanoseconds(10 * kSpinNs));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      cpu_set_t there, allowed;
      CPU_ZERO(&there);
      CPU_ZERO(&allowed);
      CPU_SET(static_cast<size_t>(bed.load()), &there);
      bool same = sched_setaffinity(0, sizeof there, &there) == 0 && sched_setaffinity(0, sizeof all, &all) == 0;
      pool->ParallelFor(2, kDear, [](int64_t) {});
      same = same && sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_EQUAL(&allowed, &all);
      _exit(same ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

// A worker that fell asleep on the CPU where its caller now runs is woken on another one, and may run anywhere after.
TEST(Pool, SleepersAreNotWokenOnTheirCallersCpu) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "this process may use one CPU only";
  const auto pool = MakePool(2);
  const auto caller = std::this_thread::get_id();
  // f() on the worker, while the caller waits for it within the loop.
  const auto on_worker = [&](const std::function<void()>& f) {
    std::atomic<bool> ran{false};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    pool->ParallelFor(2, kDear, [&](int64_t) {
      if (std::this_thread::get_id() != caller) {
        if (!ran.load()) f();
        ran.store(true);
      }
      while (!ran.load() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    EXPECT_TRUE(ran.load());
  };
  for (int round = 0; round < 20; ++round) {
    int bed = -1, woken = -1;
    on_worker([&] {
      // From here it goes to sleep where it is now.
      bed = sched_getcpu();
      cpu_set_t here;
      CPU_ZERO(&here);
      CPU_SET(static_cast<size_t>(bed), &here);
      sched_setaffinity(0, sizeof here, &here);
      sched_setaffinity(0, sizeof all, &all);
    });
    cpu_set_t there;
    CPU_ZERO(&there);
    CPU_SET(static_cast<size_t>(bed), &there);
    std::this_thread::sleep_for(std::chrono::nanoseconds(10 * kSpinNs));
    ASSERT_EQ(sched_setaffinity(0, sizeof there, &there), 0);
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    on_worker([&] {
      woken = sched_getcpu();
      sched_getaffinity(0, sizeof allowed, &allowed);
    });
    ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
    EXPECT_TRUE(CPU_EQUAL(&allowed, &all));
    // It may have moved before it fell asleep.
    if (woken != bed) return;
  }
  ADD_FAILURE() << "woken on its caller's CPU each time";
}

TEST(ProcessPool, IsSharedAndMadeAnewWhenLetGo) {
  auto first = *AcquireProcessPool();
  auto second = *AcquireProcessPool();
  EXPECT_EQ(first, second);
  first.reset();
  second.reset();
  const auto third = *AcquireProcessPool();
  int ran = 0;
  third->ParallelFor(1, kDear, [&](int64_t) { ++ran; });
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace tenon::threads
