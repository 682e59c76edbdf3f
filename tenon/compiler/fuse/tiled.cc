#include "tenon/compiler/fuse/tiled.h"

#include <algorithm>

#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/scalar_ops.h"

namespace tenon::compiler {

using kir::Val;

namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Neighbours of which whole tiles are made, if there is such a number not far below the wanted one.
std::optional<DimTile> WholeTile(int64_t extent) {
  for (int64_t n = policy::kTileOwn; n > policy::kTileOwn / 2; --n) {
    if (extent % n == 0) return DimTile{n, 1, 1};
  }
  return std::nullopt;
}

/// About half, such that what was whole stays so.
int64_t Halved(int64_t n) {
  int64_t half = n / 2;
  while (n % half != 0) --half;
  return half;
}

DimTile RowsOf(int64_t extent) { return WholeTile(extent).value_or(DimTile{std::min(extent, policy::kTileOwn), 1, 1}); }

DimTile ColumnsOf(int64_t extent) {
  if (extent < policy::kTileOwn) return {extent, 1, 1};
  DimTile tile = {policy::kTileOwn / policy::kTileVector, policy::kTileLanes, policy::kTileVector};
  while (tile.lanes > 1 && extent < tile.Span()) tile.lanes /= 2;
  // Whole spans, if they need not be much narrower.
  DimTile whole = tile;
  while (whole.lanes > 1 && extent % whole.Span() != 0) whole.lanes /= 2;
  if (extent % whole.Span() == 0 && 4 * whole.lanes >= tile.lanes) return whole;
  // What reaches beyond the end costs a launch that clears the array: more than few lanes do where there are few.
  const bool few = extent < policy::kTileLanes * policy::kTileVector;
  return few ? WholeTile(extent).value_or(tile) : tile;
}

}  // namespace

Tile ChooseTile(int64_t batch, int64_t rows, int64_t columns, const target::Target& target) {
  Tile tile = {RowsOf(rows), ColumnsOf(columns)};
  const auto points = [&] {
    return batch * CeilDiv(rows, tile.rows.Span()) * CeilDiv(columns, tile.columns.Span()) * tile.columns.lanes;
  };
  const int64_t wanted = target.cores * policy::kPointsPerCore;
  while (points() < wanted) {
    if (tile.rows.groups > 1 && tile.rows.Own() >= tile.columns.Own()) {
      tile.rows.groups = Halved(tile.rows.groups);
    } else if (tile.columns.groups > 1) {
      tile.columns.groups = Halved(tile.columns.groups);
    } else if (tile.columns.vec > 1) {
      tile.columns.vec /= 2;
    } else {
      break;
    }
  }
  return tile;
}

std::optional<Tile> MatrixTile(const target::MatrixUnit& unit, int64_t rows, int64_t columns, int64_t terms,
                               const target::Target& target) {
  if (rows < unit.m || columns < unit.n || terms < unit.k) return std::nullopt;
  const auto whole = [](int64_t extent, int64_t most, int64_t unit_extent) {
    return CeilDiv(std::min(extent, most), unit_extent) * unit_extent;
  };
  for (int64_t most = policy::kMatrixTile; most >= std::max(unit.m, unit.n); most /= 2) {
    const int64_t r = whole(rows, most, unit.m), c = whole(columns, most, unit.n);
    if (unit.TileBytes(r, c) <= target.device.local_bytes) return Tile{{1, r, 1}, {1, c, 1}};
  }
  return std::nullopt;
}

void TiledDim::AddSpans(kir::Stage& stage) {
  const int64_t spans = CeilDiv(extent_, tile_.Span());
  if (spans == 1) return;
  spans_ = b_.AddDim(kir::Size::Of(spans));
  stage.dims.push_back(*spans_);
}

void TiledDim::AddLanes(kir::Stage& stage) {
  if (tile_.lanes == 1) return;
  lanes_ = b_.AddDim(kir::Size::Of(tile_.lanes));
  stage.dims.push_back(*lanes_);
}

kir::Axis TiledDim::Plain(int64_t i) const {
  kir::Axis axis;
  if (spans_) axis.terms.push_back({*spans_, kir::Size::Of(tile_.Span())});
  if (lanes_) axis.terms.push_back({*lanes_, kir::Size::Of(tile_.vec)});
  axis.offset = kir::Size::Of(i / tile_.vec * tile_.lanes * tile_.vec + i % tile_.vec);
  return axis;
}

kir::Axis TiledDim::At(int64_t i, int64_t coef, int64_t offset) {
  kir::Axis axis = Plain(i);
  if (!ragged()) {
    for (kir::Term& t : axis.terms) t.coef.baked *= coef;
    axis.offset = kir::Size::Of(axis.offset.baked * coef + offset);
    return axis;
  }
  Val place = b_.ConstS64(axis.offset.baked);
  for (const kir::Term& t : axis.terms) place = b_.Add(b_.Mul(b_.Index(t.dim), b_.ConstS64(t.coef.baked)), place);
  place = b_.Min(place, b_.ConstS64(extent_ - 1));
  if (coef != 1) place = b_.Mul(place, b_.ConstS64(coef));
  return kir::AtStart(place, kir::Size::Of(offset));
}

void TiledDim::AddGuard(int64_t i, kir::Store& store) const {
  if (!ragged()) return;
  kir::Guard guard;
  guard.e = Plain(i);
  guard.hi = kir::Size::Of(extent_);
  store.guard.push_back(std::move(guard));
}

SumOfProducts::SumOfProducts(kir::KernelBuilder& b, DType type, bool fused, bool by_unit)
    : b_(b), type_(type), fused_(fused && IsFloat(type)), by_unit_(by_unit) {
  const DType part = PartType(type);
  if (fused_ || by_unit_) {
    // The second of each pair carries the other factor; what is summed in it is thrown away.
    kir::GraphBuilder g({part, part, part, part});
    const Val x = g.Argument(2), y = g.Argument(3), sum = g.Argument(0);
    combiner_ = b_.AddGraph(g.Finish({fused_ ? g.Fma(x, y, sum) : g.Add(sum, g.Mul(x, y)), g.Argument(1)}));
  } else if (IsComplex(type)) {
    kir::GraphBuilder g({part, part, part, part});
    combiner_ = b_.AddGraph(g.Finish({g.Add(g.Argument(0), g.Argument(2)), g.Add(g.Argument(1), g.Argument(3))}));
  } else {
    combiner_ = b_.AddGraph(kir::BinaryGraph(kir::Op::kAdd, part));
  }
}

SumOfProducts::Factor SumOfProducts::Add(kir::Stage& stage, kir::DimMask dims, Factor x, Factor y) {
  const DType part = PartType(type_);
  const bool complex = IsComplex(type_);
  SmallVector<Val, 2> in;
  if ((fused_ || by_unit_) && dims != 0) {
    in = {x.re, y.re};
  } else if (complex) {
    in = {b_.Sub(b_.Mul(x.re, y.re), b_.Mul(x.im, y.im)), b_.Add(b_.Mul(x.re, y.im), b_.Mul(x.im, y.re))};
  } else {
    in = {b_.Mul(x.re, y.re)};
  }
  if (dims == 0) return {in[0], complex ? in[1] : kir::kNone};
  kir::Reduce reduce;
  reduce.id = b_.NewId();
  reduce.dims = dims;
  reduce.in = in;
  reduce.init.resize(in.size(), b_.Const(part, 0));
  reduce.combiner = combiner_;
  if (by_unit_) reduce.order = kir::ReduceOrder::kMatrix;
  const uint32_t id = reduce.id;
  stage.reduces.push_back(std::move(reduce));
  return {b_.Reduced(id, 0, part), complex ? b_.Reduced(id, 1, part) : kir::kNone};
}

}  // namespace tenon::compiler
