// How a kernel's points are shared out: pieces of whole rows, vectors or tiles.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/policy.h"

namespace tenon::compiler {

using kir::DimId;
using kir::Size;

namespace {

int64_t BytesPerPoint(kir::Kernel& k) {
  int64_t bytes = 0;
  for (const kir::Buffer& b : k.buffers) bytes += b.kind == kir::BufKind::kLocal ? 0 : ByteWidth(b.type);
  // What short dims written out store at each point besides.
  ForEachStage(k.seq, [&](kir::Stage& stage) {
    for (size_t i = 1; i < stage.stores.size(); ++i) {
      if (stage.stores[i].buf == stage.stores[i - 1].buf && stage.stores[i].component == stage.stores[i - 1].component)
        bytes += ByteWidth(k.buffers[stage.stores[i].buf].type);
    }
  });
  return std::max<int64_t>(bytes, 1);
}

int64_t ExtentsOf(const kir::Kernel& k, const kir::Stage& stage, bool reduce) {
  int64_t n = 1;
  for (DimId d : stage.dims) {
    if (!reduce && k.dims[d].kind == kir::DimKind::kReduce) continue;
    n *= ExtentIn(k, stage, d);
  }
  return n;
}

/// Which dim of the stage, other than the innermost of its first `parallel` ones, along which something is read
/// contiguously that the innermost does not read contiguously: the two want tiles. -1: none.
int TransposedDim(const kir::Kernel& k, const kir::Stage& stage, int parallel) {
  if (!stage.reduces.empty() || parallel < 2) return -1;
  const DimId last = stage.dims[static_cast<size_t>(parallel - 1)];
  for (const kir::Read& read : k.reads) {
    if (read.at.empty() || read.at.back().start != kir::kNone || !read.guard.empty()) continue;
    const kir::Axis& axis = read.at.back();
    const int64_t across = CoefOf(axis, last);
    if (across == 0 || across == 1 || k.buffers[read.buf].stride.back().baked != 1) continue;
    for (int i = parallel - 1; i-- > 0;) {
      const DimId d = stage.dims[static_cast<size_t>(i)];
      if (CoefOf(axis, d) == 1 && k.dims[d].extent.baked >= policy::kMinTransposed) return i;
    }
  }
  return -1;
}

/// Whether some read runs along `dim` through memory.
bool ReadsColumns(const kir::Kernel& k, DimId dim) {
  return std::any_of(k.reads.begin(), k.reads.end(),
                     [&](const kir::Read& r) { return !r.at.empty() && CoefOf(r.at.back(), dim) == 1; });
}

/// Points of `dim` that fill the widest vector of the narrowest array of which columns are reduced along it; 1 for
/// none.
int64_t PointsPerVector(const kir::Kernel& k, DimId dim) {
  const auto reduced = [&](const kir::Axis& axis) {
    return std::ranges::any_of(axis.terms,
                               [&](const kir::Term& t) { return k.dims[t.dim].kind == kir::DimKind::kReduce; });
  };
  int64_t points = 1;
  for (const kir::Read& r : k.reads) {
    if (r.at.empty() || CoefOf(r.at.back(), dim) != 1 || !std::ranges::any_of(r.at, reduced)) continue;
    points = std::max<int64_t>(points, policy::kPointsTogether / std::max(1, ByteWidth(k.buffers[r.buf].type)));
  }
  return points;
}

/// Rows that fill the widest vector where each goes through its elements in order: so many wait at once; else 1.
int64_t RowsInLanes(const kir::Kernel& k) {
  int64_t bytes = 0;
  for (const kir::Step& step : k.seq) {
    for (const kir::Reduce& r : std::get<kir::Stage>(step.is).reduces) {
      if (r.order != kir::ReduceOrder::kSequential || r.in.size() < 2) continue;
      for (const kir::Val v : r.in) bytes = std::max<int64_t>(bytes, ByteWidth(k.nodes[v].type));
    }
  }
  return bytes == 0 ? 1 : std::max<int64_t>(1, policy::kPointsTogether / bytes);
}

/// A store, and the dim that its stage begins with.
struct StoreAlong {
  const kir::Store* store;
  DimId along;
};

/// Whether two stores into one buffer never meet at different places of the dims that their stages begin with.
bool KeepToTheirRows(const kir::Kernel& k, const StoreAlong& x, const StoreAlong& y) {
  const kir::Store &a = *x.store, &b = *y.store;
  if (x.along == y.along && a.at == b.at) return true;
  if (a.at.size() != 1 || b.at.size() != 1 || a.at[0].start != kir::kNone || b.at[0].start != kir::kNone) return false;
  struct Span {
    int64_t low, high;
  };
  // What an access reaches, at the first place of the dim that is cut or everywhere.
  const auto reach = [&](const StoreAlong& s, bool everywhere) {
    const kir::Axis& axis = s.store->at[0];
    Span span{axis.offset.baked, axis.offset.baked};
    for (const kir::Term& t : axis.terms) {
      if (t.dim == s.along && !everywhere) continue;
      const int64_t by = t.coef.baked * (k.dims[t.dim].extent.baked - 1);
      (by < 0 ? span.low : span.high) += by;
    }
    return span;
  };
  const Span all_a = reach(x, true), all_b = reach(y, true);
  if (all_a.high < all_b.low || all_b.high < all_a.low) return true;
  const int64_t row = CoefOf(a.at[0], x.along);
  if (row <= 0 || CoefOf(b.at[0], y.along) != row) return false;
  const Span one_a = reach(x, false), one_b = reach(y, false);
  return std::max(one_a.high, one_b.high) - std::min(one_a.low, one_b.low) < row;
}

/// Several stages can be cut along the dims that they begin with, when none reads what another writes and what they
/// write one over the other stays in one piece.
void SplitStages(kir::Kernel& k, int64_t piece_bytes) {
  int64_t points = 0, total = 1;
  int64_t multiple = 1;
  std::vector<StoreAlong> stores;
  for (const kir::Step& step : k.seq) {
    const auto& stage = std::get<kir::Stage>(step.is);
    if (stage.dims.empty() || k.dims[stage.dims[0]].kind != kir::DimKind::kParallel) return;
    const DimId along = stage.dims[0];
    for (const kir::Store& s : stage.stores) {
      if (s.order != kir::StoreOrder::kDisjoint || s.combine >= 0) return;
      const StoreAlong here = {&s, along};
      for (const StoreAlong& other : stores) {
        if (other.store->buf == s.buf && !KeepToTheirRows(k, here, other)) return;
      }
      stores.push_back(here);
    }
    points += ExtentsOf(k, stage, true);
    total = std::max(total, k.dims[along].extent.baked);
    // Where nothing else runs side by side, neighbours along the dim do, in lanes.
    const bool lanes = std::none_of(stage.dims.begin() + 1, stage.dims.end(),
                                    [&](DimId d) { return k.dims[d].kind == kir::DimKind::kParallel; });
    const auto serial = std::find_if(stage.dims.begin(), stage.dims.end(),
                                     [&](DimId d) { return k.dims[d].kind != kir::DimKind::kParallel; });
    if (TransposedDim(k, stage, static_cast<int>(serial - stage.dims.begin())) == 0)
      multiple = std::max(multiple, policy::kTileRows);
    const bool columns = !stage.reduces.empty() && ReadsColumns(k, along);
    if (lanes) multiple = std::max(multiple, columns ? policy::kColumns : policy::kPointsTogether);
  }
  for (const kir::Read& r : k.reads) {
    if (k.buffers[r.buf].kind == kir::BufKind::kOut) return;
  }
  k.split.dims = 1;
  const int64_t row_points = points / total;
  const int64_t rows = piece_bytes / std::max<int64_t>(1, row_points * policy::kStagePointBytes);
  if (row_points < policy::kPointsTogether) multiple = std::max(multiple, policy::kPointsTogether);
  k.split.grain = Size::Of(std::max(multiple, rows / multiple * multiple));
}

}  // namespace

void DecideSplit(kir::Kernel& k, const target::Target& target) {
  const int64_t piece_bytes = policy::PieceBytes(target);
  k.split = {};
  bool loop = false;
  for (const kir::Step& s : k.seq) loop |= std::holds_alternative<kir::Loop>(s.is);
  const int64_t point_bytes = BytesPerPoint(k);
  if (k.outer > 0) {
    int64_t inner = 1;
    ForEachStage(k.seq, [&](kir::Stage& stage) { inner = std::max(inner, ExtentsOf(k, stage, true)); });
    // A short last dim that runs in lanes stays whole.
    const int64_t last = k.dims[k.outer - 1u].extent.baked;
    int64_t rows = 1;
    bool lanes = k.outer > 1 && last <= policy::kShortDim && !loop;
    for (size_t d = 0; d + 1 < k.outer; ++d) rows *= k.dims[d].extent.baked;
    ForEachStage(k.seq, [&](kir::Stage& stage) {
      for (DimId d : stage.dims) lanes &= k.dims[d].kind == kir::DimKind::kReduce;
    });
    lanes &= rows >= policy::kManyRows;
    if (lanes) inner *= last;
    k.split.dims = (kir::DimMask{1} << (k.outer - (lanes ? 1 : 0))) - 1;
    if (loop) {  // Every point is a whole loop's work.
      k.split.grain = Size::Of(policy::kPointsTogether);
      return;
    }
    int64_t grain = std::max<int64_t>(1, piece_bytes / std::max<int64_t>(1, inner * point_bytes));
    // Rows that lie side by side in what is read run in lanes.
    const int64_t together = std::max(PointsPerVector(k, static_cast<DimId>(k.outer - 1)), RowsInLanes(k));
    grain = std::max(together, grain / together * together);
    // Whether pieces of few rows fill lanes is for code to know; few such numbers, so that kernels are shared.
    if (grain < policy::kPointsTogether) grain = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(grain)));
    k.split.grain = Size::Of(grain);
    return;
  }
  if (loop || k.seq.empty()) return;
  for (const kir::Buffer& b : k.buffers) {
    if (b.kind == kir::BufKind::kLocal) return;
  }
  if (k.seq.size() > 1) return SplitStages(k, piece_bytes);
  const kir::Stage& stage = std::get<kir::Stage>(k.seq[0].is);
  int parallel = 0;
  while (parallel < static_cast<int>(stage.dims.size()) && stage.dims[static_cast<size_t>(parallel)] == parallel &&
         k.dims[static_cast<size_t>(parallel)].kind == kir::DimKind::kParallel) {
    ++parallel;
  }
  if (parallel == 0) return;
  for (const kir::Store& s : stage.stores) {
    if (s.order != kir::StoreOrder::kDisjoint || s.combine >= 0) return;
  }
  const int64_t points = ExtentsOf(k, stage, false);
  const int64_t last = k.dims[static_cast<size_t>(parallel - 1)].extent.baked;
  const int64_t reduced = ExtentsOf(k, stage, true) / std::max<int64_t>(points, 1);
  const int64_t rows = points / std::max<int64_t>(last, 1);
  auto grain_of = [&](int64_t index_points, int64_t multiple) {
    const int64_t grain = piece_bytes / std::max<int64_t>(1, index_points * reduced * point_bytes);
    return Size::Of(std::max(multiple, grain / multiple * multiple));
  };
  if (const int t = TransposedDim(k, stage, parallel); t >= 0) {
    // Whole tiles along the other dim too, and what shares a page with them.
    const int64_t along = k.dims[static_cast<size_t>(t)].extent.baked;
    int64_t inner = 1;
    for (int d = t + 1; d < parallel; ++d) inner *= k.dims[static_cast<size_t>(d)].extent.baked;
    k.split.dims = (kir::DimMask{1} << (t + 1)) - 1;
    k.split.grain =
        grain_of(inner, along % policy::kTileRows == 0 || along > 4 * policy::kTileRows ? policy::kTileRows : along);
  } else if (parallel > 1 && rows >= policy::kManyRows) {
    k.split.dims = (kir::DimMask{1} << (parallel - 1)) - 1;
    // Beside a short last dim the rows run in lanes: pieces of whole vectors of them.
    const bool rows_in_lanes = last <= policy::kShortDim && rows >= 2 * policy::kPointsTogether;
    k.split.grain = grain_of(last, rows_in_lanes ? policy::kPointsTogether : 1);
  } else {
    k.split.dims = (kir::DimMask{1} << parallel) - 1;
    k.split.grain =
        grain_of(1, reduced > 1 && ReadsColumns(k, static_cast<DimId>(parallel - 1)) ? policy::kColumns
                                                                                     : policy::kPointsTogether);
  }
}

void SplitAroundTiles(kir::Kernel& k, kir::DimMask tiled, const target::Target& target) {
  k.split = {};
  const kir::Stage& stage = std::get<kir::Stage>(k.seq[0].is);
  int64_t points = 1;
  for (DimId d : stage.dims) {
    if (tiled & Bit(d)) {
      points *= k.dims[d].extent.baked;
    } else {
      k.split.dims |= Bit(d);
    }
  }
  if (k.split.dims == 0) return;
  k.split.grain = Size::Of(std::max<int64_t>(1, policy::PieceBytes(target) / (points * BytesPerPoint(k))));
}

}  // namespace tenon::compiler
