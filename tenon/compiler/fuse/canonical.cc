#include "tenon/compiler/fuse/canonical.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "tenon/compiler/fuse/in_place.h"
#include "tenon/compiler/fuse/integers.h"
#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/kernel_work.h"
#include "tenon/compiler/fuse/lane_cost.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/short_tiles.h"
#include "tenon/kir/math.h"
#include "tenon/target/lanes.h"
#include "tenon/target/work.h"

namespace tenon::compiler {

using kir::DimId;
using kir::Size;
using kir::Val;

namespace {

bool IsFma(DType type) { return type == DType::kF32 || type == DType::kF64; }

/// Node v's inputs through reads included.
template <class F>
void ForEachInput(kir::Kernel& k, kir::Node& node, const F& f) {
  for (Val& v : node.in) f(v);
  if (node.op == kir::Op::kRead) ForEachUse(k.reads[node.attr], f);
}

}  // namespace

void ContractFma(kir::Kernel& k) {
  std::vector<uint32_t> uses(k.nodes.size(), 0);
  for (kir::Node& n : k.nodes) ForEachInput(k, n, [&](Val& v) { ++uses[v]; });
  ForEachRootUse(k, [&](Val& v) { ++uses[v]; });
  bool any = false;
  for (const kir::Node& n : k.nodes) any |= n.op == kir::Op::kMul && IsFma(n.type);
  if (!any) return;
  std::vector<kir::Node> nodes;
  nodes.reserve(k.nodes.size() + 8);
  std::vector<Val> map(k.nodes.size());
  auto add = [&](kir::Node n) {
    nodes.push_back(std::move(n));
    return static_cast<Val>(nodes.size() - 1);
  };
  auto single_mul = [&](Val v) { return k.nodes[v].op == kir::Op::kMul && uses[v] == 1; };
  for (size_t i = 0; i < k.nodes.size(); ++i) {
    kir::Node n = k.nodes[i];
    const bool sum = (n.op == kir::Op::kAdd || n.op == kir::Op::kSub) && IsFma(n.type);
    const int which = !sum ? -1 : single_mul(n.in[0]) ? 0 : single_mul(n.in[1]) ? 1 : -1;
    if (which < 0) {
      for (Val& v : n.in) v = map[v];
      map[i] = add(std::move(n));
      continue;
    }
    const kir::Node& product = k.nodes[n.in[static_cast<size_t>(which)]];
    Val a = map[product.in[0]];
    const Val b = map[product.in[1]];
    Val c = map[n.in[static_cast<size_t>(1 - which)]];
    auto negate = [&](Val v) {
      kir::Node neg;
      neg.op = kir::Op::kNeg;
      neg.type = n.type;
      neg.in.push_back(v);
      return add(std::move(neg));
    };
    if (n.op == kir::Op::kSub) (which == 0 ? c : a) = negate(which == 0 ? c : a);
    kir::Node fma;
    fma.op = kir::Op::kFma;
    fma.type = n.type;
    fma.in = {a, b, c};
    map[i] = add(std::move(fma));
  }
  Renumber(k, std::move(nodes), map);
}

void DropDead(kir::Kernel& k) {
  std::vector<bool> live(k.nodes.size(), false);
  ForEachRootUse(k, [&](Val& v) { live[v] = true; });
  for (size_t i = k.nodes.size(); i-- > 0;) {
    if (live[i]) ForEachInput(k, k.nodes[i], [&](Val& v) { live[v] = true; });
  }
  // kReduced nodes stand behind their reduce's operands, which are root uses: nothing more to follow.
  std::vector<kir::Node> nodes;
  std::vector<Val> map(k.nodes.size(), kir::kNone);
  std::vector<kir::Read> reads;
  std::vector<uint64_t> literals;
  std::unordered_map<uint64_t, uint32_t> literal_of;
  std::map<uint32_t, uint32_t> read_of;
  for (size_t i = 0; i < k.nodes.size(); ++i) {
    if (!live[i]) continue;
    kir::Node n = k.nodes[i];
    for (Val& v : n.in) v = map[v];
    if (n.op == kir::Op::kRead) {
      auto [it, fresh] = read_of.try_emplace(n.attr, static_cast<uint32_t>(reads.size()));
      if (fresh) {
        kir::Read r = k.reads[n.attr];
        ForEachUse(r, [&](Val& v) { v = map[v]; });
        reads.push_back(std::move(r));
      }
      n.attr = it->second;
    } else if (n.op == kir::Op::kConst) {
      auto [it, fresh] = literal_of.try_emplace(k.literals[n.attr], static_cast<uint32_t>(literals.size()));
      if (fresh) literals.push_back(k.literals[n.attr]);
      n.attr = it->second;
    }
    map[i] = static_cast<Val>(nodes.size());
    nodes.push_back(std::move(n));
  }
  k.nodes = std::move(nodes);
  k.reads = std::move(reads);
  k.literals = std::move(literals);
  ForEachRootUse(k, [&](Val& v) { v = map[v]; });
}

/// Dims get these numbers, in all that names them but the kernel's own list of them.
void RenameDims(kir::Kernel& k, const std::vector<DimId>& place) {
  const auto rename = [&](kir::Axis& a) {
    for (kir::Term& t : a.terms) t.dim = place[t.dim];
  };
  ForEachAccess(k, [&](kir::Buf, auto& at, auto& guard) {
    for (kir::Axis& a : at) rename(a);
    for (kir::Guard& g : guard) rename(g.e);
  });
  for (kir::Node& n : k.nodes) {
    if (n.op == kir::Op::kIndex) n.attr = place[n.attr];
  }
  ForEachStage(k.seq, [&](kir::Stage& stage) {
    for (DimId& d : stage.dims) d = place[d];
    for (kir::Range& r : stage.domain) r.dim = place[r.dim];
  });
}

/// By how many elements of its buffer an access moves along the dim; nothing where data say so.
std::optional<int64_t> StepAlong(const kir::Kernel& k, kir::Buf buf, const SmallVector<kir::Axis, 4>& at, DimId dim) {
  int64_t step = 0;
  for (size_t i = 0; i < at.size(); ++i) {
    if (at[i].start != kir::kNone) return std::nullopt;
    step += CoefOf(at[i], dim) * k.buffers[buf].stride[i].baked;
  }
  return step;
}

/// The only stage's points in the order in which they are stored, unless something is read that lies along the dim
/// that was the last, as tiles serve both then, or computed that rows of the other order share.
void FollowStores(kir::Kernel& k, const target::Target& target) {
  if (k.outer != 0 || k.seq.size() != 1 || !std::holds_alternative<kir::Stage>(k.seq[0].is)) return;
  const kir::Stage& stage = std::get<kir::Stage>(k.seq[0].is);
  const size_t n = stage.dims.size();
  if (!stage.reduces.empty() || !stage.domain.empty() || n < 2 || n != k.dims.size()) return;
  std::vector<std::pair<int64_t, DimId>> order;  // Widest steps first.
  for (size_t d = 0; d < n; ++d) {
    if (stage.dims[d] != d || k.dims[d].kind != kir::DimKind::kParallel) return;
    const auto dim = static_cast<DimId>(d);
    std::optional<int64_t> common;
    for (const kir::Store& s : stage.stores) {
      const std::optional<int64_t> step = StepAlong(k, s.buf, s.at, dim);
      if (!step || *step <= 0 || s.combine >= 0 || s.order != kir::StoreOrder::kDisjoint || !s.guard.empty() ||
          (common && *common != *step))
        return;
      common = step;
    }
    if (!common) return;
    order.emplace_back(-*common, dim);
  }
  std::ranges::stable_sort(order, {}, &std::pair<int64_t, DimId>::first);
  const DimId last = static_cast<DimId>(n - 1), next = order.back().second;
  if (next == last || order.back().first != -1) return;
  for (const kir::Read& r : k.reads) {
    const std::optional<int64_t> now = StepAlong(k, r.buf, r.at, last), then = StepAlong(k, r.buf, r.at, next);
    if (!r.guard.empty() || !now || !then || (*now == 1 && *then != 0)) return;
  }
  std::vector<DimId> place(n);
  std::vector<kir::Dim> dims;
  for (const auto& [step, dim] : order) {
    place[dim] = static_cast<DimId>(dims.size());
    dims.push_back(k.dims[dim]);
  }
  // What rows of this order share is computed for each point of the other's.
  double shared = 0;
  const std::vector<kir::DimMask> deps = kir::DependentDims(k);
  for (size_t v = 0; v < k.nodes.size(); ++v) {
    if ((deps[v] & Bit(next)) != 0 && (deps[v] & Bit(last)) == 0) shared += target.costs.Of(k.nodes[v]);
  }
  if (shared * policy::kLaneCyclesPerCost > target::kStridedMove * static_cast<double>(stage.stores.size())) return;
  RenameDims(k, place);
  k.dims = std::move(dims);
  std::ranges::sort(std::get<kir::Stage>(k.seq[0].is).dims);
}

void UnifyDims(kir::Kernel& k) {
  std::vector<DimId> same(k.dims.size());
  for (size_t d = 0; d < same.size(); ++d) same[d] = static_cast<DimId>(d);
  const kir::Stage* first = nullptr;
  for (const kir::Step& step : k.seq) {
    const auto* stage = std::get_if<kir::Stage>(&step.is);
    if (stage == nullptr || !stage->reduces.empty()) return;
    if (first == nullptr) {
      first = stage;
      continue;
    }
    // Dims that run alike, outermost first. Twins of one stage stay apart.
    for (size_t i = 0; i < std::min(first->dims.size(), stage->dims.size()); ++i) {
      const DimId mine = stage->dims[i], theirs = first->dims[i];
      if (mine < theirs || !(k.dims[mine] == k.dims[theirs])) break;
      if (std::find(stage->dims.begin(), stage->dims.end(), theirs) != stage->dims.end() && mine != theirs) break;
      same[mine] = theirs;
    }
  }
  std::vector<DimId> place(k.dims.size());
  std::vector<kir::Dim> dims;
  for (size_t d = 0; d < k.dims.size(); ++d) {
    if (same[d] == d) dims.push_back(k.dims[d]);
    place[d] = same[d] == d ? static_cast<DimId>(dims.size() - 1) : place[same[d]];
  }
  if (dims.size() == k.dims.size()) return;
  RenameDims(k, place);
  k.dims = std::move(dims);
}

namespace {

/// What a store writes of a point's neighbours: places that differ by less than the smallest step of any dim.
bool AreInterleaved(const kir::Store& a, const kir::Store& b) {
  if (a.buf != b.buf || a.at.size() != 1 || a.at[0].start != kir::kNone || a.at[0].terms.empty() ||
      !DifferInOffset(a.at, b.at))
    return false;
  int64_t least = INT64_MAX;
  for (const kir::Term& t : a.at[0].terms) least = std::min(least, std::abs(t.coef.baked));
  return least <= target::kMaxInterleaved && std::abs(a.at[0].offset.baked - b.at[0].offset.baked) < least;
}

bool StoresPlainly(const kir::Stage& stage) {
  return stage.reduces.empty() && !stage.stores.empty() &&
         std::all_of(stage.stores.begin(), stage.stores.end(), [](const kir::Store& s) {
           return s.order == kir::StoreOrder::kDisjoint && s.combine < 0 && s.guard.empty();
         });
}

}  // namespace

void JoinStages(kir::Kernel& k) {
  if (k.seq.size() < 2) return;
  for (const kir::Step& step : k.seq) {
    if (!std::holds_alternative<kir::Stage>(step.is)) return;
  }
  // What one stage writes no other one reads.
  for (const kir::Buffer& b : k.buffers) {
    if (b.in_place_of != kir::kNoBuf) return;
  }
  for (const kir::Read& r : k.reads) {
    if (k.buffers[r.buf].kind != kir::BufKind::kArg && k.buffers[r.buf].kind != kir::BufKind::kConst) return;
  }
  kir::Seq joined;
  for (kir::Step& step : k.seq) {
    auto& stage = std::get<kir::Stage>(step.is);
    auto* last = joined.empty() ? nullptr : &std::get<kir::Stage>(joined.back().is);
    if (last != nullptr && last->dims == stage.dims && last->domain == stage.domain && StoresPlainly(*last) &&
        StoresPlainly(stage) && std::all_of(stage.stores.begin(), stage.stores.end(), [&](const kir::Store& s) {
          return AreInterleaved(s, last->stores.front());
        })) {
      last->stores.insert(last->stores.end(), stage.stores.begin(), stage.stores.end());
    } else {
      joined.push_back(std::move(step));
    }
  }
  k.seq = std::move(joined);
  // A single stage of points has the dims around it as its own.
  auto& only = std::get<kir::Stage>(k.seq.front().is);
  if (k.seq.size() > 1 || k.outer == 0 || !only.dims.empty() || !StoresPlainly(only)) return;
  for (DimId d = 0; d < k.outer; ++d) {
    if (k.dims[d].kind != kir::DimKind::kParallel) return;
  }
  for (DimId d = 0; d < k.outer; ++d) only.dims.push_back(d);
  k.outer = 0;
}

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

}  // namespace

namespace {

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

namespace {

/// Pieces of whole tiles of the stage's last dims.
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

}  // namespace

void FindInPlace(MadeKernel& made) {
  for (size_t out = 0; out < made.buffers.size(); ++out) {
    if (made.buffers[out].kind != BoundBuffer::Kind::kWrite) continue;
    for (size_t in = 0; in < made.buffers.size(); ++in) {
      const auto pair = std::pair(static_cast<kir::Buf>(out), static_cast<kir::Buf>(in));
      if (made.buffers[in].kind == BoundBuffer::Kind::kRead && MayTakeOver(made.kernel, pair.first, pair.second))
        made.in_place.push_back(pair);
    }
  }
}

namespace {

/// Accesses of one buffer that differ by constants in their last axis: emitters see neighbours in them where the
/// numbers are baked.
struct InterleavedSet {
  kir::Buf buf = 0;
  SmallVector<kir::Axis, 4> like;
  bool Has(kir::Buf other, const SmallVector<kir::Axis, 4>& at) const {
    return buf == other && DifferInOffset(like, at);
  }
};

std::vector<InterleavedSet> InterleavedSets(kir::Kernel& k) {
  struct Seen {
    InterleavedSet set;
    std::vector<int64_t> offsets;
  };
  std::vector<Seen> seen;
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto&) {
    if (at.empty() || at.back().terms.empty() || k.buffers[buf].stride.back().baked != 1) return;
    for (Seen& s : seen) {
      if (!s.set.Has(buf, at)) continue;
      s.offsets.push_back(at.back().offset.baked);
      return;
    }
    seen.push_back({{buf, at}, {at.back().offset.baked}});
  });
  std::vector<InterleavedSet> sets;
  for (Seen& s : seen) {
    int64_t least = INT64_MAX;
    for (const kir::Term& t : s.set.like.back().terms) least = std::min(least, std::abs(t.coef.baked));
    if (least <= 1 || least > target::kMaxInterleaved) continue;
    std::sort(s.offsets.begin(), s.offsets.end());
    const bool neighbours = std::adjacent_find(s.offsets.begin(), s.offsets.end(), [&](int64_t x, int64_t y) {
                              return x != y && y - x < least;
                            }) != s.offsets.end();
    if (neighbours) sets.push_back(std::move(s.set));
  }
  return sets;
}

/// Dims about whose places an access asks.
kir::DimMask AskedDims(const kir::Kernel& k) {
  kir::DimMask asked = 0;
  ForEachAccess(k, [&](kir::Buf, auto&, auto& guard) {
    for (const kir::Guard& g : guard) {
      for (const kir::Term& t : g.e.terms) asked |= Bit(t.dim);
    }
  });
  return asked;
}

/// Innermost dims of few places: `alone` also where there is nothing but this row.
kir::DimMask ShortRows(const kir::Kernel& k, bool alone) {
  kir::DimMask rows = 0;
  ForEachStage(k.seq, [&](const kir::Stage& stage) {
    if (stage.dims.size() + k.outer < (alone ? 1 : 2) || stage.dims.empty()) return;
    const DimId d = stage.dims.back();
    const Size extent = k.dims[d].extent;
    if (!extent.is_param() && extent.baked <= policy::kKnownRow) rows |= Bit(d);
  });
  return rows;
}

/// Whether accesses lie at more places than addresses can be kept of: as parameters they would be loaded and added, all
/// of them, before the first point.
bool ManyOffsets(const kir::Kernel& k) {
  std::set<int64_t> offsets;
  ForEachAccess(k, [&](kir::Buf, auto& at, auto&) {
    for (const kir::Axis& a : at) {
      if (!a.offset.is_param() && std::abs(a.offset.baked) > policy::kSmallNumber) offsets.insert(a.offset.baked);
    }
  });
  return offsets.size() > policy::kOffsetsAsParameters;
}

/// Short rows about whose places an access asks, which their length settles; and all that keep their length.
kir::DimMask AskedRows(const kir::Kernel& k) { return ShortRows(k, true) & AskedDims(k); }
kir::DimMask KnownRows(const kir::Kernel& k) { return ShortRows(k, ManyOffsets(k)) | AskedRows(k); }

}  // namespace

kir::DimMask KeptExtents(const kir::Kernel& k) {
  const kir::DimMask rows = KnownRows(k);
  kir::DimMask kept = 0;
  for (size_t d = 0; d < k.dims.size(); ++d) {
    const int64_t most = rows & Bit(d)                             ? policy::kKnownRow
                         : k.dims[d].kind == kir::DimKind::kReduce ? policy::kShortRow
                                                                   : policy::kSmallNumber;
    if (!k.dims[d].extent.is_param() && k.dims[d].extent.baked <= most) kept |= Bit(d);
  }
  return kept;
}

void Parameterise(kir::Kernel& k, std::vector<int64_t>& params, kir::DimMask tiled) {
  std::map<int64_t, int32_t> slots;
  auto turn = [&](Size& s, int64_t keep) {
    if (s.is_param() || (s.baked <= keep && s.baked >= -keep)) return;
    auto [it, fresh] = slots.try_emplace(s.baked, static_cast<int32_t>(params.size()));
    if (fresh) params.push_back(s.baked);
    s = Size::Param(it->second);
  };
  // Short rows are summed, or gone through, without a loop and masks where their length is known, and what is asked
  // about their places is known then.
  const kir::DimMask known = AskedRows(k), rows = KnownRows(k), kept = KeptExtents(k);
  for (size_t d = 0; d < k.dims.size(); ++d) {
    if (!((kept | tiled) & Bit(d))) turn(k.dims[d].extent, policy::kSmallNumber);
  }
  // What lies rows apart is found by one address, and so is what lies at many places.
  const int64_t near = ManyOffsets(k) ? std::numeric_limits<int32_t>::max() / 16  // structural: bytes
                       : rows != 0    ? policy::kKnownRow * policy::kKnownRow
                                      : policy::kSmallNumber;
  for (kir::Buffer& b : k.buffers) {
    for (Size& s : b.extent) turn(s, policy::kSmallNumber);
    for (Size& s : b.stride) turn(s, policy::kSmallNumber);
  }
  auto axis = [&](kir::Axis& a, int64_t keep) {
    for (kir::Term& t : a.terms) turn(t.coef, keep);
    turn(a.offset, keep);
  };
  // Elements of short sums are written out, and lie at known distances.
  const auto written_out = [&](const kir::Term& t) {
    return (tiled & Bit(t.dim)) || (k.dims[t.dim].kind == kir::DimKind::kReduce && (kept & Bit(t.dim)));
  };
  const std::vector<InterleavedSet> interleaved = InterleavedSets(k);
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto& guard) {
    const bool together = std::ranges::any_of(interleaved, [&](const InterleavedSet& s) { return s.Has(buf, at); });
    for (kir::Axis& a : at) {
      if (!together || &a != &at.back()) {
        for (kir::Term& t : a.terms) {
          if (!written_out(t)) turn(t.coef, policy::kSmallNumber);
        }
        turn(a.offset, near);
        continue;
      }
      for (kir::Term& t : a.terms) {
        if (!written_out(t)) turn(t.coef, target::kMaxInterleaved);
      }
    }
    for (kir::Guard& g : guard) {
      if (g.e.terms.size() == 1 && (known & Bit(g.e.terms[0].dim))) continue;
      axis(g.e, policy::kSmallNumber);
      turn(g.lo, 0);
      turn(g.hi, policy::kSmallNumber);
    }
  });
  ForEachStage(k.seq, [&](kir::Stage& stage) {
    for (kir::Range& r : stage.domain) {
      if (known & Bit(r.dim)) continue;
      turn(r.lo, 0);
      turn(r.hi, policy::kSmallNumber);
    }
  });
  ForEachLoop(k.seq, [&](kir::Loop& loop) { turn(loop.trip_count, 0); });
  turn(k.split.grain, k.outer > 0 ? policy::kPointsTogether - 1 : 1);
  k.num_params = static_cast<uint16_t>(params.size());
}

namespace {

/// How far from the first element that lies which every evaluation reads, where there is one.
std::optional<int64_t> FixedElement(const kir::Buffer& buffer, const kir::Read& read) {
  if (!read.guard.empty()) return std::nullopt;
  int64_t element = 0;
  for (size_t i = 0; i < read.at.size(); ++i) {
    const kir::Axis& axis = read.at[i];
    if (!axis.terms.empty() || axis.start != kir::kNone) return std::nullopt;
    element += axis.offset.baked * buffer.stride[i].baked;
  }
  return element;
}

/// The buffers of constants of which the kernel reads fixed elements alone.
std::vector<bool> FixedConstants(const MadeKernel& made) {
  const kir::Kernel& k = made.kernel;
  std::vector<bool> fixed(k.buffers.size());
  for (size_t i = 0; i < fixed.size(); ++i) {
    fixed[i] = made.buffers[i].literal != nullptr && IsFloat(k.buffers[i].type);
  }
  for (const kir::Read& read : k.reads) {
    if (fixed[read.buf]) fixed[read.buf] = FixedElement(k.buffers[read.buf], read).has_value();
  }
  return fixed;
}

/// Takes out buffers that nothing uses any more.
void DropBuffers(MadeKernel& made, const std::vector<bool>& unused) {
  kir::Kernel& k = made.kernel;
  std::vector<kir::Buf> place(k.buffers.size());
  kir::Buf next = 0;
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    place[i] = next;
    if (unused[i]) continue;
    k.buffers[next] = k.buffers[i];
    made.buffers[next] = made.buffers[i];
    ++next;
  }
  k.buffers.resize(next);
  made.buffers.resize(next);
  for (kir::Read& r : k.reads) r.buf = place[r.buf];
  ForEachStage(k.seq, [&](kir::Stage& stage) {
    for (kir::Store& s : stage.stores) s.buf = place[s.buf];
  });
}

void DropLocals(MadeKernel& made) {
  std::vector<bool> local;
  for (const kir::Buffer& b : made.kernel.buffers) local.push_back(b.kind == kir::BufKind::kLocal);
  DropBuffers(made, local);
}

/// Quotients by known numbers are products where what is divided is known not to come close to zero, which takes the
/// other constants on the way to it, too. A kernel that has some reads no element that it can know.
void KnowElements(MadeKernel& made) {
  kir::Kernel& k = made.kernel;
  const std::vector<bool> fixed = FixedConstants(made);
  if (std::ranges::find(fixed, true) == fixed.end()) return;
  const auto is_fixed = [&](const kir::Node& n) { return n.op == kir::Op::kRead && fixed[k.reads[n.attr].buf]; };
  const bool divides = std::ranges::any_of(k.nodes, [&](const kir::Node& n) {
    if (n.op != kir::Op::kDiv || !IsFloat(n.type)) return false;
    const kir::Node& divisor = k.nodes[n.in[1]];
    return divisor.op == kir::Op::kConst || is_fixed(divisor);
  });
  if (!divides) return;
  for (kir::Node& n : k.nodes) {
    if (!is_fixed(n)) continue;
    const kir::Read& read = k.reads[n.attr];
    const int64_t element = *FixedElement(k.buffers[read.buf], read);
    const std::string& bytes = *made.buffers[read.buf].literal->bytes;
    n = {kir::Op::kConst, n.type, 0, static_cast<uint32_t>(k.literals.size()), {}};
    k.literals.push_back(ElementBits(n.type, bytes.data() + element * ByteWidth(n.type)));
  }
  DropDead(k);
  DropBuffers(made, fixed);
}

}  // namespace

void KernelChecks::After(const char* step, const kir::Kernel& kernel) {
  if (!on || !failed.ok()) return;
  if (Status s = kir::Verify(kernel); !s.ok()) failed = Internal(std::string(s.message())).WithContext(step);
}

void ReformKernel(MadeKernel& made, const target::Target& target, KernelChecks* checks) {
  kir::Kernel& k = made.kernel;
  const auto done = [&](const char* step) {
    if (checks != nullptr) checks->After(step, k);
  };
  done("a kernel as traced");
  // CPUs without the instruction round products where others do not (target::Numerics); a GPU says what it has.
  const bool gpu = target.kind == target::Kind::kGpu;
  if (!gpu || target.numerics.fused_multiply_add) ContractFma(k);
  done("a kernel after contraction");
  SimplifyIntegers(k);
  done("a kernel with ranges of integers");
  FoldConstants(k);
  DropDead(k);
  done("a kernel without dead nodes");
  if (!gpu) ShortenNumbers(k);
  DropDead(k);
  done("a kernel with short numbers");
  // Regions and short dims are about vectors of neighbours; invocations branch and stride for themselves.
  if (!gpu) SplitRegions(k, target);
  done("a kernel cut into regions");
  FollowStores(k, target);
  MergeDims(k);
  done("a kernel with merged dims");
  UnifyDims(k);
  JoinStages(k);
  done("a kernel with shared dims");
  if (!gpu && ArrangeShortDims(k, target)) {
    DropLocals(made);
    DropDead(k);
    KnowElements(made);
    MergeDims(k);
    done("a kernel with short dims written out");
  }
}

void FinishKernel(MadeKernel& made, const target::Target& target, KernelChecks* checks) {
  ReformKernel(made, target, checks);
  kir::Kernel& k = made.kernel;
  const auto done = [&](const char* step) {
    if (checks != nullptr) checks->After(step, k);
  };
  ShortenPlaces(k);
  DropDead(k);
  const kir::DimMask tiled = target.kind == target::Kind::kGpu ? 0 : TiledDims(k, target);
  if (tiled != 0) {
    SplitAroundTiles(k, tiled, target);
  } else {
    DecideSplit(k, target);
  }
  // One piece needs no order of its points, which leaves the choice of loops and lanes to code generation.
  if (kir::SplitTotal(k, nullptr) <= k.split.grain.baked) k.split = {};
  done("a kernel with a split");
  FindInPlace(made);
  made.work = KernelWork(k, target);
  Parameterise(k, made.params, tiled);
  done("a kernel with parameters");
}

}  // namespace tenon::compiler
