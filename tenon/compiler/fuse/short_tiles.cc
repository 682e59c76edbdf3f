#include "tenon/compiler/fuse/short_tiles.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/lane_cost.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/short_dims.h"

namespace tenon::compiler {
namespace {

using kir::DimId;
using kir::DimMask;

/// Short dims along which an access moves, its nearest neighbours first.
std::vector<DimId> ByNearness(const kir::Kernel& k, const SmallVector<kir::Axis, 4>& at, const kir::Buffer& buffer) {
  std::vector<std::pair<int64_t, DimId>> moves;
  for (size_t d = 0; d < k.dims.size(); ++d) {
    const int64_t by = std::abs(ElementsAlong(at, buffer, d));
    if (by != 0 && k.dims[d].extent.baked <= policy::kShortDim) moves.emplace_back(by, static_cast<DimId>(d));
  }
  std::ranges::sort(moves);
  std::vector<DimId> dims;
  for (const auto& move : moves) dims.push_back(move.second);
  return dims;
}

int64_t PointsOf(const kir::Kernel& k, DimMask dims) {
  int64_t points = 1;
  for (size_t d = 0; d < k.dims.size(); ++d) {
    if ((dims & Bit(d)) && points <= policy::kMostTiled) points *= std::max<int64_t>(1, k.dims[d].extent.baked);
  }
  return points;
}

/// Sets of dims that are near in the store, each with some that are near in one of the reads.
std::vector<DimMask> SetsOf(const kir::Kernel& k, const kir::Stage& stage) {
  std::vector<DimMask> sets;
  const kir::Store& store = stage.stores[0];
  const std::vector<DimId> results = ByNearness(k, store.at, k.buffers[store.buf]);
  std::vector<std::vector<DimId>> operands;
  for (const kir::Read& read : k.reads) {
    std::vector<DimId> dims = ByNearness(k, read.at, k.buffers[read.buf]);
    if (dims != results && std::ranges::find(operands, dims) == operands.end()) operands.push_back(std::move(dims));
  }
  const auto add = [&](DimMask dims) {
    if (PointsOf(k, dims) > policy::kMostTiled || std::ranges::find(sets, dims) != sets.end()) return false;
    if (sets.size() < policy::kMostTileTrials) sets.push_back(dims);
    return true;
  };
  for (const std::vector<DimId>& operand : operands) {
    DimMask near = 0;
    for (const DimId d : results) {
      near |= Bit(d);
      if (PointsOf(k, near) > policy::kMostTiled) break;
      DimMask both = near;
      add(both);
      for (const DimId e : operand) {
        both |= Bit(e);
        if (PointsOf(k, both) > policy::kMostTiled) break;
        add(both);
      }
    }
  }
  return sets;
}

/// The dims in another order.
void Reorder(kir::Kernel& k, kir::Stage& stage, const SmallVector<DimId, 4>& order) {
  std::vector<DimId> place(k.dims.size());
  std::vector<kir::Dim> dims;
  for (const DimId d : order) {
    place[d] = static_cast<DimId>(dims.size());
    dims.push_back(k.dims[d]);
  }
  const auto rename = [&](kir::Axis& a) {
    for (kir::Term& t : a.terms) t.dim = place[t.dim];
    std::sort(a.terms.begin(), a.terms.end(), [](const kir::Term& x, const kir::Term& y) { return x.dim < y.dim; });
  };
  ForEachAccess(k, [&](kir::Buf, auto& at, auto& guard) {
    for (kir::Axis& a : at) rename(a);
    for (kir::Guard& g : guard) rename(g.e);
  });
  for (kir::Node& n : k.nodes) {
    if (n.op == kir::Op::kIndex) n.attr = place[n.attr];
  }
  for (kir::Range& r : stage.domain) r.dim = place[r.dim];
  for (size_t i = 0; i < stage.dims.size(); ++i) stage.dims[i] = static_cast<DimId>(i);
  k.dims = std::move(dims);
}

/// Whether there is one stage of points, whose dims are all that there are, each in its place.
bool IsPlain(const kir::Kernel& k) {
  const auto* stage = k.seq.size() == 1 ? std::get_if<kir::Stage>(&k.seq[0].is) : nullptr;
  if (stage == nullptr || k.outer > 0 || !stage->reduces.empty() || stage->stores.empty()) return false;
  if (stage->dims.size() != k.dims.size()) return false;
  for (size_t d = 0; d < k.dims.size(); ++d) {
    if (stage->dims[d] != d || k.dims[d].kind != kir::DimKind::kParallel) return false;
  }
  return true;
}

}  // namespace

bool TileShortDims(kir::Kernel& k, const target::Target& target) {
  if (!IsPlain(k) || k.dims.size() < 2) return false;
  auto& stage = std::get<kir::Stage>(k.seq[0].is);
  const double now = LaneCostOf(k, target, {.tiled = false}).cycles;
  double least = std::min(now * policy::kTiledGain, now - policy::kWriteOutCycles);
  if (least <= 0) return false;
  DimMask best = 0;
  for (const DimMask dims : SetsOf(k, stage)) {
    const double cycles = TiledCycles(k, target, dims);
    if (cycles >= least) continue;
    least = cycles;
    best = dims;
  }
  if (best == 0) return false;
  SmallVector<DimId, 4> order;
  for (const bool tiled : {false, true}) {
    for (size_t d = 0; d < k.dims.size(); ++d) {
      if (((best & Bit(d)) != 0) == tiled) order.push_back(static_cast<DimId>(d));
    }
  }
  Reorder(k, stage, order);
  return true;
}

bool ArrangeShortDims(kir::Kernel& k, const target::Target& target) {
  kir::Kernel tiled = k;
  const bool has_tile = TileShortDims(tiled, target);
  const bool written_out = WriteOutShortDims(k, target);
  if (!has_tile) return written_out;
  const double without = LaneCostOf(k, target, {.tiled = false}).cycles;
  if (written_out && LaneCycles(tiled, target) > policy::kTiledGain * without) return true;
  k = std::move(tiled);
  return false;
}

}  // namespace tenon::compiler
