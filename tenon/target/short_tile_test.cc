// Tiles of short dims, against places counted out one by one.
#include "tenon/target/short_tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace tenon::target {
namespace {

/// Some dims, how far results move along each (dense, in another order), and how far what is read moves.
struct Sample {
  std::vector<int64_t> extents, stored, moves;
};

Sample Random(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
  Sample s;
  const auto dims = static_cast<size_t>(2 + below(4));
  for (size_t d = 0; d < dims; ++d) s.extents.push_back(1 + below(6));
  const auto dense = [&] {
    std::vector<size_t> order(dims);
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    std::vector<int64_t> strides(dims);
    int64_t stride = 1;
    for (const size_t d : order) {
      strides[d] = stride;
      stride *= s.extents[d] + (below(3) == 0 ? below(3) : 0);
    }
    return strides;
  };
  s.stored = dense();
  s.moves = dense();
  for (int64_t& m : s.moves) m *= below(5) == 0 ? below(2) == 0 ? 0 : -1 : 1;
  return s;
}

TEST(ShortTile, HasEveryPointInVectorsOfNeighbours) {
  std::mt19937 random(1);
  int made = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const Sample s = Random(random);
    for (const int lanes : {2, 4, 8, 16}) {
      const auto tile = ShortTile::Of(s.extents, s.stored, lanes);
      if (!tile) continue;
      ++made;
      std::set<std::vector<int64_t>> seen;
      for (int v = 0; v < tile->vectors(); ++v) {
        for (int lane = 0; lane < lanes; ++lane) {
          const std::vector<int64_t> place = tile->PlaceOf(v, lane);
          int64_t stored = 0, read = 0;
          for (size_t d = 0; d < place.size(); ++d) {
            ASSERT_TRUE(place[d] >= 0 && place[d] < s.extents[d]);
            stored += place[d] * s.stored[d];
            read += place[d] * s.moves[d];
          }
          ASSERT_EQ(stored, tile->OffsetOf(v, 0, s.stored) + lane);
          ASSERT_EQ(read, tile->OffsetOf(v, lane, s.moves));
          seen.insert(place);
        }
      }
      int64_t points = 1;
      for (const int64_t e : s.extents) points *= e;
      ASSERT_EQ(static_cast<int64_t>(seen.size()), points);
      ASSERT_EQ(tile->points(), points);
      ASSERT_LE(tile->vectors(), ShortTile::kMostVectors);
    }
  }
  EXPECT_GT(made, 1000);
}

TEST(ShortTile, ReadsLieInWindowsBetweenTheFirstAndTheLastElement) {
  std::mt19937 random(2);
  int narrow = 0, single = 0, whole = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const Sample s = Random(random);
    const int bytes = 1 << trial % 4;
    for (int lanes = 16 / bytes; lanes <= 16; lanes *= 2) {
      const auto tile = ShortTile::Of(s.extents, s.stored, lanes);
      if (!tile) continue;
      const TileReads reads = ReadsOf(*tile, s.moves, bytes);
      int64_t low = 0, high = 0;
      for (size_t d = 0; d < s.extents.size(); ++d) (s.moves[d] < 0 ? low : high) += s.moves[d] * (s.extents[d] - 1);
      for (const int64_t first : reads.first) ASSERT_TRUE(first >= low && first + reads.width - 1 <= high);
      ASSERT_EQ(static_cast<int>(reads.lanes.size()), tile->vectors());
      for (int v = 0; v < tile->vectors(); ++v) {
        for (int lane = 0; lane < lanes; ++lane) {
          const TileReads::From& from = reads.lanes[static_cast<size_t>(v)][static_cast<size_t>(lane)];
          ASSERT_TRUE(from.lane >= 0 && from.lane < reads.width);
          ASSERT_EQ(reads.first.at(static_cast<size_t>(from.window)) + from.lane, tile->OffsetOf(v, lane, s.moves));
        }
      }
      (reads.width == 1 ? single : reads.width < lanes ? narrow : whole) += 1;
    }
  }
  EXPECT_GT(whole, 500);
  EXPECT_GT(narrow, 20);
  EXPECT_GT(single, 20);
}

TEST(ShortTile, RefusesWhatFillsNoVectors) {
  const std::vector<int64_t> extents = {3, 3};
  // Rows of three; rows of nine, one and a bit.
  EXPECT_FALSE(ShortTile::Of(extents, std::vector<int64_t>{5, 1}, 4));
  EXPECT_TRUE(ShortTile::Of(extents, std::vector<int64_t>{3, 1}, 8));
  // Results that do not move along a dim.
  EXPECT_FALSE(ShortTile::Of(extents, std::vector<int64_t>{0, 1}, 2));
  // More than registers hold.
  EXPECT_FALSE(ShortTile::Of(std::vector<int64_t>{17, 4}, std::vector<int64_t>{4, 1}, 4));
}

TEST(ShortTile, KnowsATranspose) {
  const auto tile = ShortTile::Of(std::vector<int64_t>{2, 4, 8}, std::vector<int64_t>{32, 8, 1}, 8);
  ASSERT_TRUE(tile);
  const TileReads turned = ReadsOf(*tile, std::vector<int64_t>{4, 1, 100}, 4);
  EXPECT_TRUE(IsTransposed(turned));
  EXPECT_EQ(TileReadCycles(turned, 4, 32), 8 + 8 * 3);
  EXPECT_FALSE(AreGathered(turned, 4, 32));
  // As it lies, nothing is shuffled.
  const TileReads straight = ReadsOf(*tile, std::vector<int64_t>{32, 8, 1}, 4);
  EXPECT_FALSE(IsTransposed(straight));
  EXPECT_TRUE(LieAsRead(straight));
  EXPECT_FALSE(LieAsRead(turned));
  EXPECT_TRUE(LieAsRead(ReadsOf(*tile, std::vector<int64_t>{5, 3, 0}, 4)));
  EXPECT_EQ(TileReadCycles(straight, 4, 32), 8);
  // Elements none of which has another one near.
  const TileReads apart = ReadsOf(*tile, std::vector<int64_t>{1000, 5000, 50}, 4);
  EXPECT_TRUE(AreGathered(apart, 4, 32));
  EXPECT_FALSE(AreGathered(apart, 4, 16));
}

}  // namespace
}  // namespace tenon::target
