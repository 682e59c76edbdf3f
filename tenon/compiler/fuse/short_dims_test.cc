// A kernel with short dims written out does what it did: every byte, by the evaluator's word.
#include "tenon/compiler/fuse/short_dims.h"

#include <gtest/gtest.h>

#include "tenon/compiler/fuse/kernel_work.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/testing/random_kernel.h"

namespace tenon::compiler {
namespace {

using kir::DimId;
using kir::DimKind;
using kir::DimMask;
using kir::Size;
using kir::Val;
constexpr DType f32 = DType::kF32;

TEST(ShortDims, WrittenOutKernelsKeepTheirBits) {
  kir::testing::RandomKernelOptions options;
  options.params = false;
  int written = 0, sums = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    options.scatters = options.loops = seed % 4 == 0;
    const kir::testing::Sample s = kir::testing::RandomKernel(seed, options);
    DimMask inner = 0;
    for (size_t d = s.kernel.outer; d < s.kernel.dims.size(); ++d) inner |= DimMask{1} << d;
    for (DimMask dims : {inner, inner & (inner - 1), inner & ~(inner & (inner - 1)), inner & 0x55555555u}) {
      if (dims == 0) continue;
      const std::optional<kir::Kernel> made = WrittenOut(s.kernel, dims);
      if (!made) continue;
      ++written;
      for (const kir::Step& step : s.kernel.seq) {
        const auto* stage = std::get_if<kir::Stage>(&step.is);
        sums += stage != nullptr && !stage->reduces.empty();
      }
      const Status verified = kir::Verify(*made);
      ASSERT_TRUE(verified.ok()) << "seed " << seed << ": " << verified.ToString() << "\n"
                                 << kir::Print(s.kernel) << kir::Print(*made);
      kir::testing::Memory before = s.memory, after = s.memory;
      ASSERT_TRUE(kir::Evaluate(s.kernel, before.Refs(), s.params).ok());
      const Status run = kir::Evaluate(*made, after.Refs(), s.params);
      ASSERT_TRUE(run.ok()) << "seed " << seed << ": " << run.ToString() << "\n"
                            << kir::Print(s.kernel) << kir::Print(*made);
      ASSERT_EQ(kir::testing::FirstDifference(s.kernel, s.params, after, before), "")
          << "seed " << seed << "\n"
          << kir::Print(s.kernel) << kir::Print(*made);
    }
  }
  EXPECT_GT(written, 50);
  EXPECT_GT(sums, 10);
}

/// out[i] = sum over j of x[i][j], for rows of `width`.
kir::Kernel RowSums(int64_t rows, int64_t width) {
  kir::KernelBuilder b;
  const DimId i = b.AddDim(Size::Of(rows)), j = b.AddDim(Size::Of(width), DimKind::kReduce);
  b.kernel().outer = 1;
  const kir::Buf x = b.AddBuffer(kir::BufKind::kArg, f32, {Size::Of(rows * width)}, {Size::Of(1)});
  const kir::Buf out = b.AddBuffer(kir::BufKind::kOut, f32, {Size::Of(rows)}, {Size::Of(1)});
  kir::Axis at;
  at.terms.push_back({i, Size::Of(width)});
  at.terms.push_back({j, Size::Of(1)});
  kir::Stage sum;
  sum.dims = {j};
  const Val total = b.AddReduce(sum, DimMask{1} << j, kir::Op::kAdd, b.Read(x, {at}), b.Const(f32, 0),
                                kir::ReduceOrder::kLanes, b.ConstBits(f32, 0x80000000u));
  b.AddStage(sum);
  kir::Stage put;
  put.stores.push_back({.buf = out, .at = {kir::At(i)}, .guard = {}, .value = total});
  b.AddStage(put);
  return b.Finish();
}

// Rows of a few elements: their dim goes, and rows run in lanes. Long ones, and few of them, stay.
TEST(ShortDims, TheModelChooses) {
  kir::Kernel k = RowSums(4096, 12);
  ASSERT_TRUE(WriteOutShortDims(k, *target::StandardTarget()));
  EXPECT_EQ(k.outer, 0);
  ASSERT_EQ(k.seq.size(), 1u);
  const auto& stage = std::get<kir::Stage>(k.seq[0].is);
  EXPECT_TRUE(stage.reduces.empty());
  EXPECT_EQ(stage.dims.size(), 1u);
  EXPECT_EQ(k.reads.size(), 12u);

  k = RowSums(4096, 512);
  EXPECT_FALSE(WriteOutShortDims(k, *target::StandardTarget()));
  k = RowSums(1, 12);
  EXPECT_FALSE(WriteOutShortDims(k, *target::StandardTarget()));
}

/// out[h][i][j] = x[i][h][j]: `rows` of `heads` parts of `width` elements each.
kir::Kernel PartsApart(int64_t rows, int64_t heads, int64_t width) {
  kir::KernelBuilder b;
  const DimId h = b.AddDim(Size::Of(heads)), i = b.AddDim(Size::Of(rows)), j = b.AddDim(Size::Of(width));
  const kir::Buf x = b.AddBuffer(kir::BufKind::kArg, f32, {Size::Of(rows), Size::Of(heads), Size::Of(width)},
                                 {Size::Of(heads * width), Size::Of(width), Size::Of(1)});
  const kir::Buf out = b.AddBuffer(kir::BufKind::kOut, f32, {Size::Of(heads), Size::Of(rows), Size::Of(width)},
                                   {Size::Of(rows * width), Size::Of(width), Size::Of(1)});
  kir::Stage stage;
  stage.dims = {h, i, j};
  stage.stores.push_back({.buf = out,
                          .at = {kir::At(h), kir::At(i), kir::At(j)},
                          .guard = {},
                          .value = b.Read(x, {kir::At(i), kir::At(h), kir::At(j)})});
  b.AddStage(stage);
  return b.Finish();
}

// Rows that only move stay rows: written out, each would go to memory of its own.
TEST(ShortDims, RowsThatOnlyMoveStay) {
  for (const int64_t width : {16, 64, 100}) {
    kir::Kernel k = PartsApart(2048, 8, width);
    EXPECT_FALSE(WriteOutShortDims(k, *target::StandardTarget())) << width;
  }
}

// Rows that data choose are moved as rows, where there are many: lanes of different rows would take a load each.
TEST(ShortDims, RowsThatDataChooseStay) {
  for (const int64_t width : {6, 8, 12, 15}) {
    kir::KernelBuilder b;
    const DimId i = b.AddDim(Size::Of(20'000)), j = b.AddDim(Size::Of(width));
    const kir::Buf which = b.AddBuffer(kir::BufKind::kArg, DType::kS32, {Size::Of(20'000)}, {Size::Of(1)});
    const kir::Buf table =
        b.AddBuffer(kir::BufKind::kArg, f32, {Size::Of(1000), Size::Of(width)}, {Size::Of(width), Size::Of(1)});
    const kir::Buf out =
        b.AddBuffer(kir::BufKind::kOut, f32, {Size::Of(20'000), Size::Of(width)}, {Size::Of(width), Size::Of(1)});
    const Val row = b.Min(b.Max(b.Read(which, {kir::At(i)}), b.Const(DType::kS32, 0)), b.Const(DType::kS32, 999));
    kir::Stage stage;
    stage.dims = {i, j};
    stage.stores.push_back({.buf = out,
                            .at = {kir::At(i), kir::At(j)},
                            .guard = {},
                            .value = b.Read(table, {kir::AtStart(row), kir::At(j)})});
    b.AddStage(stage);
    kir::Kernel k = b.Finish();
    EXPECT_FALSE(WriteOutShortDims(k, *target::StandardTarget())) << width;
  }
}

/// out[z][y][x][a][b][c] = in[z][a][y][b][x][c] of `side` blocks each way, with rows c of `width`: blocks of 2 x 2.
kir::Kernel Blocks(int64_t side, int64_t width) {
  kir::KernelBuilder b;
  const DimId z = b.AddDim(Size::Of(side)), y = b.AddDim(Size::Of(side)), x = b.AddDim(Size::Of(side));
  const DimId i = b.AddDim(Size::Of(2)), j = b.AddDim(Size::Of(2)), c = b.AddDim(Size::Of(width));
  const Size all = Size::Of(side * side * side * 4 * width);
  const kir::Buf in = b.AddBuffer(kir::BufKind::kArg, f32, {all}, {Size::Of(1)});
  const kir::Buf out = b.AddBuffer(kir::BufKind::kOut, f32, {all}, {Size::Of(1)});
  kir::Axis from, to;
  const int64_t row = side * width;
  for (const auto& [dim, step] : std::vector<std::pair<DimId, int64_t>>{
           {z, 4 * side * row}, {y, 2 * row}, {x, width}, {i, 2 * side * row}, {j, row}, {c, 1}})
    from.terms.push_back({dim, Size::Of(step)});
  for (const auto& [dim, step] : std::vector<std::pair<DimId, int64_t>>{
           {z, 4 * side * row}, {y, 4 * row}, {x, 4 * width}, {i, 2 * width}, {j, width}, {c, 1}})
    to.terms.push_back({dim, Size::Of(step)});
  kir::Stage stage;
  stage.dims = {z, y, x, i, j, c};
  stage.stores.push_back({.buf = out, .at = {to}, .guard = {}, .value = b.Read(in, {from})});
  b.AddStage(stage);
  return b.Finish();
}

// All dims of a block are short, those around it too: rows of a few elements go along the blocks, longer ones stay.
TEST(ShortDims, BlocksOfShortRowsAreDealtOut) {
  for (const int64_t width : {2, 8, 16}) {
    kir::Kernel k = Blocks(20, width);
    ASSERT_TRUE(WriteOutShortDims(k, *target::StandardTarget())) << width;
    const auto& stage = std::get<kir::Stage>(k.seq[0].is);
    EXPECT_EQ(stage.stores.size(), width == 2 ? 8 : 4) << kir::Print(k);
    EXPECT_EQ(stage.dims.size(), width == 2 ? 3 : 4) << kir::Print(k);
  }
}

// Squares of short rows that are turned have tiles.
TEST(ShortDims, TurnedSquaresStay) {
  kir::KernelBuilder b;
  const DimId n = b.AddDim(Size::Of(30)), i = b.AddDim(Size::Of(20)), j = b.AddDim(Size::Of(20));
  const kir::Buf in = b.AddBuffer(kir::BufKind::kArg, DType::kU8, {Size::Of(30), Size::Of(20), Size::Of(20)},
                                  {Size::Of(400), Size::Of(20), Size::Of(1)});
  const kir::Buf out = b.AddBuffer(kir::BufKind::kOut, DType::kU8, {Size::Of(30), Size::Of(20), Size::Of(20)},
                                   {Size::Of(400), Size::Of(20), Size::Of(1)});
  kir::Stage stage;
  stage.dims = {n, i, j};
  stage.stores.push_back({.buf = out,
                          .at = {kir::At(n), kir::At(i), kir::At(j)},
                          .guard = {},
                          .value = b.Read(in, {kir::At(n), kir::At(j), kir::At(i)})});
  b.AddStage(stage);
  kir::Kernel k = b.Finish();
  EXPECT_FALSE(WriteOutShortDims(k, *target::StandardTarget())) << kir::Print(k);
}

// What points come to does not depend on whether a dim is a loop or written out.
TEST(ShortDims, WhatIsMovedIsCountedAsBefore) {
  const kir::Kernel k = PartsApart(256, 4, 48);
  const std::optional<kir::Kernel> made = WrittenOut(k, DimMask{1} << 0);
  ASSERT_TRUE(made.has_value());
  for (const kir::Kernel* kernel : {&k, &*made}) {
    const target::Work work = KernelWork(*kernel, *target::StandardTarget());
    EXPECT_EQ(work.bytes_read, 256 * 4 * 48 * 4);
    EXPECT_EQ(work.bytes_written, 256 * 4 * 48 * 4);
  }
}

// Two results with the same short rows: what goes to one memory follows one another, so that emitters write it at once.
TEST(ShortDims, StoresToOneMemoryFollowOneAnother) {
  kir::KernelBuilder b;
  const DimId i = b.AddDim(Size::Of(4096)), j = b.AddDim(Size::Of(3));
  const auto rows = [&](kir::BufKind kind) {
    return b.AddBuffer(kind, f32, {Size::Of(4096), Size::Of(3)}, {Size::Of(3), Size::Of(1)});
  };
  const kir::Buf x = rows(kir::BufKind::kArg), first = rows(kir::BufKind::kOut), second = rows(kir::BufKind::kOut);
  const Val element = b.Read(x, {kir::At(i), kir::At(j)});
  kir::Stage stage;
  stage.dims = {i, j};
  stage.stores.push_back({.buf = first, .at = {kir::At(i), kir::At(j)}, .guard = {}, .value = element});
  stage.stores.push_back(
      {.buf = second, .at = {kir::At(i), kir::At(j)}, .guard = {}, .value = b.Add(element, element)});
  b.AddStage(stage);
  const std::optional<kir::Kernel> made = WrittenOut(b.Finish(), DimMask{1} << j);
  ASSERT_TRUE(made.has_value());
  std::vector<kir::Buf> stored;
  for (const kir::Store& s : std::get<kir::Stage>(made->seq[0].is).stores) stored.push_back(s.buf);
  EXPECT_EQ(stored, (std::vector<kir::Buf>{first, first, first, second, second, second}));
}

}  // namespace
}  // namespace tenon::compiler
