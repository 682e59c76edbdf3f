#include "tenon/compiler/fuse/padding.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace tenon::compiler {
namespace {

constexpr int64_t kHole = -1;

/// All places of a stage's dims, each with the element that would go there; calls back for every one.
void ForEachPlace(const PaddedStage& stage, size_t d, Dims place, Dims element, bool beside,
                  const std::function<void(const Dims&, const Dims&, bool)>& f) {
  if (d == stage.dims.size()) return f(place, element, beside);
  const PaddedDim& dim = stage.dims[d];
  for (int64_t i = 0; i < dim.count; ++i) {
    for (int64_t o = dim.from; o <= dim.until; ++o) {
      place[d] = dim.place + i * dim.step + o;
      element[d] = dim.first + i;
      ForEachPlace(stage, d + 1, place, element, beside || o != 0, f);
    }
  }
}

int64_t RowMajor(const Dims& at, const Dims& dims) {
  int64_t n = 0;
  for (size_t d = 0; d < dims.size(); ++d) n = n * dims[d] + at[d];
  return n;
}

/// What StagesOfPad writes where, or nothing if a place is missed, written twice or outside.
std::optional<std::map<int64_t, int64_t>> Written(const Dims& from, const Dims& to, const PadAttrs& pad) {
  std::map<int64_t, int64_t> written;
  bool fits = true;
  for (const PaddedStage& stage : StagesOfPad(from, to, pad)) {
    int64_t stores = 1;
    for (const PaddedDim& d : stage.dims) stores *= d.until - d.from + 1;
    EXPECT_EQ(stage.stores(), stores);
    ForEachPlace(stage, 0, to, from, false, [&](const Dims& place, const Dims& element, bool beside) {
      for (size_t d = 0; d < to.size(); ++d) fits &= place[d] >= 0 && place[d] < to[d];
      const int64_t value = stage.has_elements && !beside ? RowMajor(element, from) : kHole;
      fits &= written.emplace(RowMajor(place, to), value).second;
    });
  }
  for (int64_t n = 1, d = static_cast<int64_t>(to.size()); d >= 0; --d) {
    if (d > 0) n *= to[static_cast<size_t>(d - 1)];
    if (d == 0) fits &= static_cast<int64_t>(written.size()) == n;
  }
  if (!fits) return std::nullopt;
  return written;
}

std::map<int64_t, int64_t> Wanted(const Dims& from, const Dims& to, const PadAttrs& pad) {
  std::map<int64_t, int64_t> wanted;
  PaddedStage all, elements;
  for (size_t d = 0; d < from.size(); ++d) {
    all.dims.push_back({.count = to[d]});
    elements.dims.push_back({.count = from[d], .place = pad.edge_padding_low[d], .step = pad.interior_padding[d] + 1});
  }
  ForEachPlace(all, 0, to, from, false,
               [&](const Dims& place, const Dims&, bool) { wanted[RowMajor(place, to)] = kHole; });
  ForEachPlace(elements, 0, to, from, false, [&](const Dims& place, const Dims& element, bool) {
    wanted[RowMajor(place, to)] = RowMajor(element, from);
  });
  return wanted;
}

TEST(Padding, EveryPlaceIsWrittenOnce) {
  for (int64_t code = 0; code < 3 * 3 * 3 * 3 * 3 * 3; ++code) {
    int64_t rest = code;
    const auto next = [&] { return std::exchange(rest, rest / 3) % 3; };
    const Dims from{3, 2}, low{next(), next()}, high{next(), next()}, interior{next(), next()};
    Dims to;
    for (size_t d = 0; d < 2; ++d) to.push_back(low[d] + high[d] + from[d] + (from[d] - 1) * interior[d]);
    const PadAttrs pad{low, high, interior};
    const auto written = Written(from, to, pad);
    ASSERT_TRUE(written.has_value()) << code;
    EXPECT_EQ(*written, Wanted(from, to, pad)) << code;
  }
}

TEST(Padding, HolesLieBesideTheElements) {
  // Room behind, in front, and on neither side.
  EXPECT_EQ(StagesOfPad({4}, {8}, {{0}, {1}, {1}}).size(), 1u);
  EXPECT_EQ(StagesOfPad({4}, {8}, {{1}, {0}, {1}}).size(), 1u);
  EXPECT_EQ(StagesOfPad({4}, {7}, {{0}, {0}, {1}}).size(), 2u);
  // Rows of padding between rows are a stage of their own.
  const std::vector<PaddedStage> rows = StagesOfPad({4, 4}, {8, 8}, {{0, 0}, {1, 1}, {1, 1}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].stores(), 2);
  EXPECT_EQ(rows[1].stores(), 1);
}

TEST(Padding, WhatIsCroppedHasNoStages) {
  EXPECT_TRUE(StagesOfPad({4}, {6}, {{-1}, {0}, {1}}).empty());
  EXPECT_TRUE(StagesOfPad({4}, {6}, {{0}, {-1}, {1}}).empty());
}

}  // namespace
}  // namespace tenon::compiler
