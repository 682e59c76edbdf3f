// What rows are expected to take.
#include "tenon/compiler/fuse/lane_cost.h"

#include <gtest/gtest.h>

#include "tenon/kir/builder.h"

namespace tenon::compiler {
namespace {

using kir::At;
using kir::AtOffset;
using kir::BufKind;
using kir::DimId;
using kir::Size;
using kir::Val;

constexpr DType f32 = DType::kF32;

enum class Asked { kOnce, kOfPictures, kOfRows, kOfPoints };

/// One of two functions for each picture, row or point.
kir::Kernel Chosen(Asked asked, int64_t row) {
  kir::KernelBuilder b;
  const DimId n = b.AddDim(Size::Of(50)), i = b.AddDim(Size::Of(40)), j = b.AddDim(Size::Of(row));
  const kir::Buf in = b.AddDense(BufKind::kArg, f32, {50, 40, row}),
                 out = b.AddDense(BufKind::kOut, f32, {50, 40, row}), kinds = b.AddDense(BufKind::kArg, f32, {50, 40});
  const Val x = b.Read(in, {At(n), At(i), At(j)});
  const auto first = AtOffset(Size::Of(0));
  const Val kind = asked == Asked::kOnce         ? b.Read(kinds, {first, first})
                   : asked == Asked::kOfPictures ? b.Read(kinds, {At(n), first})
                   : asked == Asked::kOfRows     ? b.Read(kinds, {At(n), At(i)})
                                                 : x;
  const Val root = b.Sqrt(b.Div(b.Const(f32, 3), b.Add(b.Abs(x), b.Const(f32, 1))));
  const Val part = b.Div(b.Sqrt(b.Abs(b.Sub(x, b.Const(f32, 2)))), b.Const(f32, 7));
  kir::Stage stage;
  stage.dims = {n, i, j};
  stage.stores.push_back({.buf = out,
                          .at = {At(n), At(i), At(j)},
                          .guard = {},
                          .value = b.Select(b.Compare(kir::kLt, kind, b.Const(f32, 0)), root, part)});
  b.AddStage(stage);
  return b.Finish();
}

double Cycles(Asked asked, int64_t row) { return LaneCycles(Chosen(asked, row), *target::StandardTarget()); }

// Emitters branch on what points share (target::ChoicesOf): on a picture's condition whatever its rows are, on a row's
// where it is long.
TEST(LaneCost, CountsWhatConditionsLetCount) {
  for (const int64_t row : {3, 200}) {
    const double both = Cycles(Asked::kOfPoints, row);
    EXPECT_LT(Cycles(Asked::kOnce, row), .8 * both) << row;
    EXPECT_LT(Cycles(Asked::kOfPictures, row), .8 * both) << row;
    if (row == 200) EXPECT_LT(Cycles(Asked::kOfRows, row), .8 * both);
  }
}

}  // namespace
}  // namespace tenon::compiler
