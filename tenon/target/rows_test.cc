// What rows share: which conditions are asked where, and what is computed ahead of many rows.
#include "tenon/target/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tenon/kir/builder.h"

namespace tenon::target {
namespace {

using kir::At;
using kir::AtOffset;
using kir::BufKind;
using kir::DimId;
using kir::DimMask;
using kir::Size;
using kir::Val;

constexpr DType f32 = DType::kF32;
constexpr DimId kPicture = 0, kRow = 1, kPoint = 2;
constexpr int64_t kPictures = 5, kRows = 30;

/// Pictures of rows, of whose points `make` says what they come to.
template <class Make>
kir::Kernel Pictures(int64_t row, const Make& make, BufKind of_numbers = BufKind::kArg) {
  kir::KernelBuilder b;
  b.AddDim(Size::Of(kPictures));
  b.AddDim(Size::Of(kRows));
  b.AddDim(Size::Of(row));
  const kir::Buf in = b.AddDense(BufKind::kArg, f32, {kPictures, kRows, row}),
                 out = b.AddDense(BufKind::kOut, f32, {kPictures, kRows, row}),
                 numbers = b.AddDense(of_numbers, f32, {kPictures, kRows});
  const Val point = b.Read(in, {At(kPicture), At(kRow), At(kPoint)});
  const Val number = b.Read(numbers, {At(kPicture), At(kRow)});
  const Val of_picture = b.Read(in, {At(kPicture), AtOffset(Size::Of(0)), AtOffset(Size::Of(0))});
  kir::Stage stage;
  stage.dims = {kPicture, kRow, kPoint};
  stage.stores.push_back({.buf = out,
                          .at = {At(kPicture), At(kRow), At(kPoint)},
                          .guard = {},
                          .value = make(b, point, number, of_picture)});
  b.AddStage(stage);
  return b.Finish();
}

struct Rows {
  explicit Rows(const kir::Kernel& k)
      : deps(kir::DependentDims(k)),
        needed(k.nodes.size()),
        stage{.kernel = k,
              .stage = std::get<kir::Stage>(k.seq[0].is),
              .needed = needed,
              .deps = deps,
              .around = {kPicture, kRow},
              .row = DimMask{1} << kPoint,
              .known = 7,
              .lanes = 16} {
    std::iota(needed.begin(), needed.end(), Val{0});
  }
  std::vector<DimMask> deps;
  std::vector<Val> needed;
  RowStage stage;
};

Val Below(kir::KernelBuilder& b, Val x, double limit) { return b.Compare(kir::kLt, x, b.Const(f32, limit)); }
Val Costly(kir::KernelBuilder& b, Val x) { return b.Sqrt(b.Div(b.Const(f32, 3), b.Add(b.Abs(x), b.Const(f32, 1)))); }

int Ways(const RowChoices& choices) { return choices.ways.empty() ? 1 : Ways(choices.ways[0]) + Ways(choices.ways[1]); }
bool Has(const std::vector<Val>& nodes, Val v) { return std::ranges::find(nodes, v) != nodes.end(); }

TEST(Rows, AskOutsideOfTheLoopsThatChangeNoAnswer) {
  for (const int64_t row : {3, 300}) {
    Val condition = 0, first = 0, second = 0;
    const kir::Kernel k = Pictures(row, [&](kir::KernelBuilder& b, Val point, Val, Val of_picture) {
      condition = Below(b, of_picture, 0);
      first = Costly(b, point);
      second = b.Neg(Costly(b, b.Mul(point, point)));
      return b.Select(condition, first, second);
    });
    const RowChoices choices = ChoicesOf(Rows(k).stage);
    ASSERT_EQ(choices.condition, condition) << row;
    EXPECT_EQ(choices.loops, 1U);
    ASSERT_EQ(choices.ways.size(), 2U);
    EXPECT_TRUE(Has(choices.ways[0].needed, first) && !Has(choices.ways[0].needed, second));
    EXPECT_TRUE(!Has(choices.ways[1].needed, first) && Has(choices.ways[1].needed, second));
  }
}

TEST(Rows, AskForEachRowWhereThatSavesMoreThanABranchTakes) {
  const auto choices_of = [](int64_t row) {
    const kir::Kernel k = Pictures(row, [&](kir::KernelBuilder& b, Val point, Val number, Val) {
      return b.Select(Below(b, number, 0), Costly(b, point), b.Neg(point));
    });
    return ChoicesOf(Rows(k).stage);
  };
  EXPECT_EQ(choices_of(300).loops, 2U);
  EXPECT_EQ(Ways(choices_of(300)), 2);
  EXPECT_EQ(Ways(choices_of(3)), 1);
}

// One of four: three conditions, each asked where it is open. Five of them are too many ways.
TEST(Rows, AskOnlyWhatIsStillOpen) {
  for (const int cases : {4, 6}) {
    const kir::Kernel k = Pictures(64, [&](kir::KernelBuilder& b, Val point, Val, Val of_picture) {
      Val chosen = point;
      for (int i = 1; i < cases; ++i)
        chosen = b.Select(Below(b, of_picture, i), chosen, Costly(b, b.Add(point, b.Const(f32, i))));
      return chosen;
    });
    EXPECT_EQ(Ways(ChoicesOf(Rows(k).stage)), 4);
  }
}

TEST(Rows, DoNotAskWhatTheirPointsAnswerOneByOne) {
  const kir::Kernel k = Pictures(300, [&](kir::KernelBuilder& b, Val point, Val, Val) {
    return b.Select(Below(b, point, 0), Costly(b, point), b.Neg(point));
  });
  EXPECT_EQ(Ways(ChoicesOf(Rows(k).stage)), 1);
}

// Code copied for next to nothing is not worth it, however many points there are.
TEST(Rows, DoNotAskWhatSavesASmallShare) {
  const kir::Kernel k = Pictures(300, [&](kir::KernelBuilder& b, Val point, Val, Val of_picture) {
    Val x = point;
    for (int i = 0; i < 8; ++i) x = Costly(b, x);
    return b.Select(Below(b, of_picture, 0), x, b.Neg(x));
  });
  EXPECT_EQ(Ways(ChoicesOf(Rows(k).stage)), 1);
}

TEST(Rows, AreAheadOfWhatTheKernelWritesInNothing) {
  const auto shared = [](int64_t row, BufKind of_numbers) {
    return Pictures(
        row,
        [&](kir::KernelBuilder& b, Val point, Val number, Val) {
          return b.Mul(point, Costly(b, Costly(b, Costly(b, number))));
        },
        of_numbers);
  };
  const kir::Kernel read = shared(3, BufKind::kArg), written = shared(3, BufKind::kOut),
                    many = shared(300, BufKind::kArg);
  const auto ahead = AheadOf(Rows(read).stage);
  ASSERT_TRUE(ahead.has_value());
  EXPECT_EQ(ahead->handed.size(), 1U);
  for (const Val v : ahead->early) EXPECT_EQ(Has(ahead->late, v), Has(ahead->handed, v));
  EXPECT_FALSE(AheadOf(Rows(written).stage).has_value());
  EXPECT_FALSE(AheadOf(Rows(many).stage).has_value());
}

}  // namespace
}  // namespace tenon::target
