#include "tenon/runtime/memory_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace tenon::runtime {
namespace {

TEST(MemoryPool, EveryBlockIsLargeEnoughAlignedAndWritable) {
  MemoryPool pool(int64_t{1} << 30);
  for (int64_t size :
       {0, 1, 63, 64, 65, 256, 257, 320, 321, 4096, 5000, 1 << 20, (1 << 20) + 1, 2 << 20, (2 << 20) + 1, 9 << 20}) {
    Result<Block> block = pool.Allocate(size);
    ASSERT_TRUE(block.ok()) << size;
    EXPECT_GE(block->size_bytes(), size);
    EXPECT_LE(block->size_bytes(), std::max<int64_t>(64, size + size / 4 + 64) + (size >= (1 << 20) ? 2 << 20 : 0))
        << size;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block->data()) % 64, 0u);
    std::memset(block->data(), 1, static_cast<size_t>(block->size_bytes()));
  }
  EXPECT_EQ(pool.statistics().bytes_in_use, 0);
}

TEST(MemoryPool, RecyclesAndTrims) {
  MemoryPool pool(int64_t{1} << 30);
  void* first;
  {
    Block block = *pool.Allocate(1000);
    first = block.data();
  }
  EXPECT_GT(pool.statistics().bytes_cached, 0);
  Block again = *pool.Allocate(990);
  EXPECT_EQ(again.data(), first);
  EXPECT_EQ(pool.statistics().bytes_cached, 0);
  again = Block();
  pool.Trim();
  EXPECT_EQ(pool.statistics().bytes_cached, 0);
}

// A block that waited takes what came back while it did, and nothing older.
TEST(MemoryPool, BlocksTakeWhatCameBackSince) {
  MemoryPool pool(int64_t{1} << 30);
  Block older = *pool.Allocate(1000), waits = *pool.Allocate(1000), newer = *pool.Allocate(1000);
  void* const first = waits.data();
  void* const last = newer.data();
  older = Block();
  const auto since = MemoryPool::Clock::now();
  pool.TakeRecent(waits, since);
  EXPECT_EQ(waits.data(), first);
  while (MemoryPool::Clock::now() == since) {
  }
  newer = Block();
  pool.TakeRecent(waits, since);
  EXPECT_EQ(waits.data(), last);
  EXPECT_EQ((*pool.Allocate(1000)).data(), first);
  Block other = *pool.Allocate(5000);
  pool.TakeRecent(other, since);
  EXPECT_NE(other.data(), first);
}

TEST(MemoryPool, RecyclesEverySize) {
  MemoryPool pool(int64_t{1} << 34, int64_t{1} << 34);
  for (int64_t size = 1; size < (int64_t{1} << 27); size += 1 + size / 3) {
    void* first;
    {
      Block block = *pool.Allocate(size);
      first = block.data();
    }
    Block again = *pool.Allocate(size);
    EXPECT_EQ(again.data(), first) << size;
  }
}

TEST(MemoryPool, LimitsAreErrorsThatNameTheNumbers) {
  MemoryPool pool(10000, 0);
  EXPECT_EQ(pool.Allocate(10001).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(pool.Allocate(-1).status().code(), Code::kResourceExhausted);
  Block held = *pool.Allocate(8192);
  const Status s = pool.Allocate(4096).status();
  EXPECT_EQ(s.code(), Code::kResourceExhausted);
  EXPECT_NE(s.message().find("4096"), std::string_view::npos);
  held = Block();
  EXPECT_TRUE(pool.Allocate(4096).ok());
  EXPECT_EQ(pool.statistics().bytes_cached, 0);  // The cache limit is 0.
}

TEST(MemoryPool, LargeBlocksAreRefusedWhenTheSystemHasTooLittleToSpare) {
  int64_t left = int64_t{300} << 20;
  MemoryPool pool(int64_t{1} << 34, int64_t{1} << 30, [&] { return left; });
  EXPECT_TRUE(pool.Allocate(200 << 20).ok());
  pool.Trim();
  const Status s = pool.Allocate(290 << 20).status();  // Something is left to others.
  EXPECT_EQ(s.code(), Code::kResourceExhausted);
  EXPECT_NE(s.message().find("to spare"), std::string_view::npos) << s.message();
  EXPECT_EQ(pool.statistics().bytes_in_use, 0);
  left = 0;
  EXPECT_TRUE(pool.Allocate(1 << 20).ok());  // Small ones are not asked about.
  left = 0;
  {
    MemoryPool full(int64_t{1} << 34, int64_t{1} << 30, [&] { return full.statistics().bytes_cached > 0 ? 0 : left; });
    left = int64_t{200} << 20;
    {
      const Block block = *full.Allocate(100 << 20);
    }
    EXPECT_GT(full.statistics().bytes_cached, 0);
    EXPECT_TRUE(full.Allocate(140 << 20).ok());  // What is cached goes first.
  }
}

TEST(MemoryPool, IdleMemoryGoesBackThoughNobodyUsesThePool) {
  MemoryPool pool(int64_t{1} << 34);
  for (int round = 0; round < 2; ++round) {
    {
      const Block block = *pool.Allocate(64 << 20);
    }
    EXPECT_GT(pool.statistics().bytes_cached, 0);
    const auto until = std::chrono::steady_clock::now() + 20 * MemoryPool::kMaxIdle;
    while (pool.statistics().bytes_cached > 0 && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(pool.statistics().bytes_cached, 0);
  }
}

TEST(MemoryPool, ManyThreads) {
  MemoryPool pool(int64_t{1} << 30);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      for (int i = 0; i < 500; ++i) {
        Block b = *pool.Allocate(64 * (i % 37) + t);
        std::memset(b.data(), t, static_cast<size_t>(b.size_bytes()));
        EXPECT_EQ(static_cast<unsigned char*>(b.data())[b.size_bytes() - 1], t);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(pool.statistics().bytes_in_use, 0);
  EXPECT_EQ(pool.statistics().num_allocs, 2000);
}

}  // namespace
}  // namespace tenon::runtime
