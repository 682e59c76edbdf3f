#include "tenon/base/strided_runs.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>

namespace tenon {
namespace {

std::set<int64_t> MembersOf(const StridedRuns& runs) {
  std::set<int64_t> members;
  runs.ForEach([&](int64_t x, int64_t y) {
    for (int64_t i = x; i < y; ++i) members.insert(i);
  });
  return members;
}

TEST(StridedRuns, RunsThatTouchBecomeOne) {
  const StridedDim dense[] = {{12, 5}, {4, 3}};
  EXPECT_EQ(MakeStridedRuns(8, 4, dense).run, 60);
  EXPECT_TRUE(MakeStridedRuns(8, 4, dense).outer.empty());
  const StridedDim backwards[] = {{-4, 3}, {0, 7}};
  EXPECT_EQ(MakeStridedRuns(8, 4, backwards).begin, 0);
  EXPECT_EQ(MakeStridedRuns(8, 4, backwards).run, 12);
  const StridedDim half[] = {{16, 5}, {4, 2}};
  EXPECT_EQ(MakeStridedRuns(0, 4, half).outer, (std::vector<StridedDim>{{16, 5}}));
  const StridedDim none[] = {{4, 0}};
  EXPECT_EQ(MakeStridedRuns(0, 4, none).run, 0);
}

TEST(RunUnion, PartsAlongOneDimBecomeContiguous) {
  RunUnion all;
  const StridedDim rows[] = {{10, 4}};
  EXPECT_FALSE(all.Add(MakeStridedRuns(0, 3, rows)));
  EXPECT_FALSE(all.Add(MakeStridedRuns(6, 4, rows)));
  EXPECT_FALSE(all.HasLike(MakeStridedRuns(2, 2, rows)));
  EXPECT_TRUE(all.HasLike(MakeStridedRuns(1, 2, rows)));
  EXPECT_EQ(all.Add(MakeStridedRuns(3, 3, rows)), std::pair(int64_t{0}, int64_t{40}));
}

TEST(RunUnion, PartsThatLieBetweenOthers) {
  // Rows of 9, of which each third one comes with each part, and their last column with another one.
  const StridedDim thirds[] = {{27, 50}}, column[] = {{9, 150}};
  RunUnion all;
  EXPECT_FALSE(all.Add(MakeStridedRuns(9, 8, thirds)));
  EXPECT_FALSE(all.Add(MakeStridedRuns(8, 1, column)));
  EXPECT_FALSE(all.Add(MakeStridedRuns(0, 8, thirds)));
  EXPECT_EQ(all.Add(MakeStridedRuns(18, 8, thirds)), std::pair(int64_t{0}, int64_t{9 * 150}));
  // None of them is there twice or too far off.
  RunUnion some;
  EXPECT_FALSE(some.Add(MakeStridedRuns(0, 9, thirds)));
  EXPECT_FALSE(some.Add(MakeStridedRuns(0, 9, thirds)));
  EXPECT_FALSE(some.Add(MakeStridedRuns(18, 9, thirds)));
  EXPECT_FALSE(some.Add(MakeStridedRuns(36, 9, thirds)));
}

// Rows of 21: the first three places of each, and of the other 18 every third one in pieces that only fill up together.
TEST(RunUnion, PartsThatMakeUpRowsOnlyTogether) {
  RunUnion parts;
  const auto add = [&](int64_t begin, int64_t width, int64_t count) {
    const StridedDim dims[] = {{3, count}, {21, 5000}};
    parts.Add(MakeStridedRuns(begin, width, dims));
  };
  add(0, 3, 1);
  add(3, 1, 6);
  add(4, 1, 5);
  add(5, 1, 6);
  const StridedRuns all{0, 21 * 5000, {}};
  EXPECT_FALSE(parts.Flattened(100)->HasLike(all)) << "a place of each row is missing";
  add(19, 1, 1);
  EXPECT_FALSE(parts.HasLike(all));
  EXPECT_TRUE(parts.Flattened(100)->HasLike(all));
}

// Whatever is said to be a member was added.
TEST(RunUnion, SaysNothingThatIsNotSo) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 3000; ++round) {
    RunUnion all;
    std::set<int64_t> added;
    const int64_t pitch = 2 + static_cast<int64_t>(random() % 5), rows = 1 + static_cast<int64_t>(random() % 4);
    for (int part = 0; part < 5; ++part) {
      const StridedDim dims[] = {{pitch, rows - static_cast<int64_t>(random() % 2)},
                                 {pitch * rows, 1 + static_cast<int64_t>(random() % 2)}};
      const StridedRuns runs =
          MakeStridedRuns(static_cast<int64_t>(random() % 6), 1 + static_cast<int64_t>(random() % 4), dims);
      const std::set<int64_t> members = MembersOf(runs);
      added.insert(members.begin(), members.end());
      const auto contiguous = all.Add(runs);
      for (int64_t i = contiguous ? contiguous->first : 0; contiguous && i < contiguous->second; ++i)
        ASSERT_TRUE(added.contains(i)) << round;
      if (runs.run > 0) {
        EXPECT_TRUE(contiguous || all.HasLike(runs));
      }
    }
    const std::optional<RunUnion> flat = all.Flattened(100000);
    ASSERT_TRUE(flat);
    for (const RunUnion* u : {&std::as_const(all), &*flat}) {
      std::set<int64_t> expanded;
      const std::optional<RangeSet> runs = u->Expand(100000);
      ASSERT_TRUE(runs);
      for (const auto& [from, to] : *runs) {
        for (int64_t i = from; i < to; ++i) expanded.insert(i);
      }
      ASSERT_EQ(expanded, added) << round;
    }
  }
}

}  // namespace
}  // namespace tenon
