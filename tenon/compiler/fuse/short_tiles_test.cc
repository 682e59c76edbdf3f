// Kernels whose short dims change places keep their bits, and go through tiles where that is faster.
#include "tenon/compiler/fuse/short_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/lane_cost.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/evaluate.h"

namespace tenon::compiler {
namespace {

using kir::DimId;
using kir::DimMask;
using kir::Size;

/// out[i0, i1, ...] = x[i_order[0], i_order[1], ...] of f32, both dense.
kir::Kernel Permuted(const std::vector<int64_t>& extents, const std::vector<size_t>& order) {
  kir::KernelBuilder b;
  int64_t points = 1;
  kir::Stage stage;
  for (const int64_t e : extents) {
    stage.dims.push_back(b.AddDim(Size::Of(e)));
    points *= e;
  }
  kir::Axis to, from;
  int64_t stride = 1, other = 1;
  for (size_t d = extents.size(); d-- > 0;) {
    to.terms.push_back({static_cast<DimId>(d), Size::Of(stride)});
    stride *= extents[d];
    from.terms.push_back({static_cast<DimId>(order[d]), Size::Of(other)});
    other *= extents[order[d]];
  }
  const kir::Buf x = b.AddBuffer(kir::BufKind::kArg, DType::kF32, {Size::Of(points)}, {Size::Of(1)}),
                 out = b.AddBuffer(kir::BufKind::kOut, DType::kF32, {Size::Of(points)}, {Size::Of(1)});
  stage.stores.push_back({.buf = out, .at = {to}, .guard = {}, .value = b.Read(x, {from})});
  b.AddStage(std::move(stage));
  return b.Finish();
}

/// What the evaluator makes of the numbers 0, 1, 2 and so on.
std::vector<float> Results(const kir::Kernel& k) {
  std::vector<float> x(static_cast<size_t>(k.buffers[0].extent[0].baked)), out(x.size());
  std::iota(x.begin(), x.end(), 0.0f);
  const std::vector<kir::BufferRef> refs = {{x.data(), x.data(), static_cast<int64_t>(4 * x.size())},
                                            {out.data(), out.data(), static_cast<int64_t>(4 * out.size())}};
  EXPECT_TRUE(kir::Evaluate(k, refs, {}).ok());
  return out;
}

TEST(ShortTiles, KernelsKeepTheirBits) {
  int tiled = 0;
  for (const std::vector<int64_t>& extents :
       {std::vector<int64_t>{3, 5, 3, 5, 3, 5}, std::vector<int64_t>(11, 2),
        std::vector<int64_t>{5, 4, 2, 3, 5, 2, 4, 3}, std::vector<int64_t>{4, 4, 4, 4, 4, 4},
        std::vector<int64_t>{7, 9, 8, 9}}) {
    std::vector<size_t> order(extents.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = order.size() - 1 - d;
    for (int turn = 0; turn < 3; ++turn) {
      std::rotate(order.begin(), order.begin() + 1, order.end());
      const kir::Kernel before = Permuted(extents, order);
      kir::Kernel after = before;
      if (!TileShortDims(after, *target::StandardTarget())) continue;
      ++tiled;
      ASSERT_TRUE(kir::Verify(after).ok());
      ASSERT_EQ(Results(after), Results(before));
    }
  }
  EXPECT_GT(tiled, 4);
}

// What lies side by side on either side is last then, and code knows how far it moves.
TEST(ShortTiles, NearDimsOfBothSidesAreTogether) {
  kir::Kernel k = Permuted({5, 4, 2, 3, 5, 2, 4, 3}, {7, 6, 5, 4, 3, 2, 1, 0});
  const auto target = target::StandardTarget();
  ASSERT_TRUE(TileShortDims(k, *target));
  const DimMask tiled = TiledDims(k, *target);
  ASSERT_NE(tiled, 0u);
  bool writes_neighbours = false, reads_neighbours = false;
  const kir::Stage& stage = std::get<kir::Stage>(k.seq[0].is);
  for (const kir::Term& t : stage.stores[0].at[0].terms) writes_neighbours |= t.coef.baked == 1 && (tiled >> t.dim & 1);
  for (const kir::Term& t : k.reads[0].at[0].terms) reads_neighbours |= t.coef.baked == 1 && (tiled >> t.dim & 1);
  EXPECT_TRUE(writes_neighbours && reads_neighbours);
  std::vector<int64_t> params;
  Parameterise(k, params, tiled);
  for (const kir::Term& t : k.reads[0].at[0].terms) EXPECT_FALSE((tiled >> t.dim & 1) && t.coef.is_param());
}

// Blocks whose rows fill no vector are tiles; of longer rows, as many as there are in a block are written out.
TEST(ShortTiles, BlocksAreTilesWhereRowsAreShort) {
  for (const int64_t width : {2, 8}) {
    kir::Kernel k = Permuted({20, 20, 20, 2, 2, width}, {0, 3, 1, 4, 2, 5});
    EXPECT_EQ(ArrangeShortDims(k, *target::StandardTarget()), width == 8) << width;
    EXPECT_EQ(TiledDims(k, *target::StandardTarget()) != 0, width == 2) << width;
  }
}

// Long rows on both sides are no tile of short dims, nor is what fills vectors as it lies.
TEST(ShortTiles, LongRowsStay) {
  kir::Kernel transpose = Permuted({300, 400}, {1, 0});
  EXPECT_FALSE(TileShortDims(transpose, *target::StandardTarget()));
  kir::Kernel rows = Permuted({4, 5, 256}, {1, 0, 2});
  EXPECT_FALSE(TileShortDims(rows, *target::StandardTarget()));
}

}  // namespace
}  // namespace tenon::compiler
