#include "tenon/channel/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace tenon::channel {
namespace {

// Blocks in use never overlap, whatever is freed between.
TEST(Arena, BlocksAreApart) {
  Arena arena(1, 0);
  std::mt19937 random(5);
  struct Held {
    Arena::Block block;
    uint64_t size;
    char mark;
  };
  std::vector<Held> held;
  for (int i = 0; i < 4000; ++i) {
    if (held.empty() || random() % 5 < 3) {
      const uint64_t size = random() % 40 == 0 ? random() % (12 << 20) : random() % 3000;
      Result<Arena::Block> block = arena.Allocate(size);
      ASSERT_TRUE(block.ok());
      ASSERT_GE(block->size_bytes, size);
      ASSERT_LE(block->offset + block->size_bytes, block->piece->memory.size());
      ASSERT_EQ(reinterpret_cast<uintptr_t>(block->data()) % 64, 0u);
      std::memset(block->data(), i, std::min<uint64_t>(size, 4096));
      held.push_back({std::move(*block), size, static_cast<char>(i)});
      if (held.size() > 200) held.erase(held.begin());  // Leaked on purpose: its bytes must stay its own.
    } else {
      const size_t k = random() % held.size();
      for (uint64_t b = 0; b < std::min<uint64_t>(held[k].size, 4096); ++b)
        ASSERT_EQ(held[k].block.data()[b], held[k].mark);
      arena.Free(std::move(held[k].block));
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
}

TEST(Arena, BlocksAreUsedAgain) {
  Arena arena(1, 0);
  for (const uint64_t size : {uint64_t{1}, uint64_t{5000}, uint64_t{20} << 20}) {
    Result<Arena::Block> block = arena.Allocate(size);
    ASSERT_TRUE(block.ok());
    const char* const data = block->data();
    arena.Free(std::move(*block));
    Result<Arena::Block> again = arena.Allocate(size);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->data(), data);
    arena.Free(std::move(*again));
  }
  EXPECT_EQ(arena.bytes_in_use(), 0u);
}

TEST(Arena, LargeBlocksGoBackInTime) {
  Arena arena(1, 0);
  constexpr uint64_t kLarge = uint64_t{256} << 20;
  Result<Arena::Block> block = arena.Allocate(kLarge);
  ASSERT_TRUE(block.ok());
  arena.Free(std::move(*block));
  for (int i = 0; i < 1000; ++i) {
    Result<Arena::Block> other = arena.Allocate(uint64_t{9} << 20);
    ASSERT_TRUE(other.ok());
    arena.Free(std::move(*other));
  }
  EXPECT_LT(arena.bytes_held(), kLarge);
}

TEST(Arena, TheLimitHolds) {
  Arena arena(1, 1 << 20);
  Result<Arena::Block> block = arena.Allocate(800 << 10);
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(arena.Allocate(800 << 10).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(arena.Allocate(UINT64_MAX).status().code(), Code::kResourceExhausted);
  arena.Free(std::move(*block));
  EXPECT_TRUE(arena.Allocate(800 << 10).ok());
}

// Sizes that come one after another: what was held for one is not left beside what is held for the next.
TEST(Arena, WhatIsHeldIsLimitedToo) {
  constexpr uint64_t kLimit = uint64_t{64} << 20;
  Arena arena(1, kLimit);
  uint64_t most = 0;
  std::vector<uint32_t> gone;
  for (uint64_t size = 64 << 10; size <= Arena::kLargeBytes; size += size / 4) {
    std::vector<Arena::Block> blocks;
    for (uint64_t left = kLimit; left >= size + size / 3; left -= size + size / 3) {
      Result<Arena::Block> block = arena.Allocate(size);
      ASSERT_TRUE(block.ok()) << size << ": " << block.status().ToString();
      std::memset(block->data(), 1, 64);
      blocks.push_back(std::move(*block));
    }
    for (Arena::Block& block : blocks) arena.Free(std::move(block));
    most = std::max(most, arena.bytes_held());
    for (const uint32_t piece : arena.TakeGone()) gone.push_back(piece);
  }
  EXPECT_LE(most, 2 * kLimit + 2 * Arena::kPieceBytes);
  EXPECT_FALSE(gone.empty());
}

// One block of each piece stays in use, so that none can go back.
TEST(Arena, WhatIsHeldForOtherSizesServes) {
  constexpr uint64_t kLimit = uint64_t{256} << 20;
  Arena arena(1, kLimit);
  std::vector<Arena::Block> kept;
  Status refused;
  for (uint64_t size = 64 << 10; size < Arena::kLargeBytes; size += size / 4) {
    std::vector<Arena::Block> blocks;
    for (uint64_t left = kLimit / 2; left >= 2 * size; left -= 2 * size) {
      Result<Arena::Block> block = arena.Allocate(size);
      if (!block.ok()) refused = block.status();
      if (!block.ok()) break;
      blocks.push_back(std::move(*block));
    }
    uint32_t piece = 0;
    for (Arena::Block& block : blocks) {
      if (block.piece->number != piece) {
        piece = block.piece->number;
        kept.push_back(std::move(block));
      } else {
        arena.Free(std::move(block));
      }
    }
    ASSERT_LE(arena.bytes_held(), 2 * kLimit + 2 * Arena::kPieceBytes);
  }
  if (!refused.ok()) {
    EXPECT_NE(refused.message().find("are held"), std::string::npos) << refused.ToString();
  }
  for (Arena::Block& block : kept) arena.Free(std::move(block));
  EXPECT_EQ(arena.bytes_in_use(), 0u);
  EXPECT_TRUE(arena.Allocate(kLimit - Arena::kPieceBytes).ok());
}

}  // namespace
}  // namespace tenon::channel
