// The dims of small structs and short rows: too short to fill vectors, so something else runs in lanes.
#include "tenon/compiler/fuse/short_dims.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <vector>

#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/lane_cost.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/ir/kir_op.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/walk.h"

namespace tenon::compiler {
namespace {

using kir::DimId;
using kir::DimMask;
using kir::Op;
using kir::Size;
using kir::Val;

/// Whether combine(x, identity) == x too, whatever the identity of `graph` is.
bool IdentityOnBothSides(const kir::Graph& graph) {
  if (graph.arguments.size() != 2 || graph.results.size() != 1) return false;
  const kir::Node& root = graph.nodes[graph.results[0]];
  switch (root.op) {
    case Op::kAdd:
    case Op::kMul:
    case Op::kMin:
    case Op::kMax:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      break;
    default:
      return false;
  }
  const kir::Node& x = graph.nodes[root.in[0]];
  const kir::Node& y = graph.nodes[root.in[1]];
  return x.op == Op::kArgument && y.op == Op::kArgument && x.imm != y.imm;
}

class Writer {
 public:
  Writer(const kir::Kernel& k, DimMask dims) : k_(k), dims_(dims), known_(k.dims.size(), 0), made_(k.nodes.size()) {}

  /// The kernel with `dims` written out; nothing where that cannot be.
  std::optional<kir::Kernel> Run() {
    kir::Kernel& to = b_.kernel();
    place_.assign(k_.dims.size(), 0);
    for (size_t d = 0; d < k_.dims.size(); ++d) {
      if (dims_ & Bit(d)) continue;
      place_[d] = static_cast<DimId>(to.dims.size());
      to.dims.push_back(k_.dims[d]);
    }
    to.outer = k_.outer;
    to.buffers = k_.buffers;
    for (const kir::Step& step : k_.seq) {
      if (!AddStage(std::get<kir::Stage>(step.is))) return std::nullopt;
    }
    // Nothing is left around stages that are single points: what was around them are their dims.
    bool points = true;
    for (const kir::Step& step : to.seq) {
      const auto& stage = std::get<kir::Stage>(step.is);
      points = points && stage.dims.empty() && stage.reduces.empty();
    }
    if (points && to.seq.size() == 1) {
      auto& stage = std::get<kir::Stage>(to.seq[0].is);
      for (size_t d = 0; d < to.outer; ++d) stage.dims.push_back(static_cast<DimId>(d));
      to.outer = 0;
    }
    if (failed_) return std::nullopt;
    return b_.Finish();
  }

 private:
  struct Interval {
    int64_t lo, hi;
  };

  Interval RangeIn(const kir::Stage& stage, DimId d) const {
    Interval range{0, k_.dims[d].extent.baked};
    for (const kir::Range& r : stage.domain) {
      if (r.dim == d) range = {std::max(range.lo, r.lo.baked), std::min(range.hi, r.hi.baked)};
    }
    return range;
  }

  /// f() at every place of these dims, in order; false when f is.
  template <class F>
  bool ForPlaces(const kir::Stage& stage, const std::vector<DimId>& dims, size_t next, const F& f) {
    if (next == dims.size()) {
      ++place_number_;
      return f() && !failed_;
    }
    const Interval range = RangeIn(stage, dims[next]);
    for (int64_t i = range.lo; i < range.hi; ++i) {
      known_[dims[next]] = i;
      if (!ForPlaces(stage, dims, next + 1, f)) return false;
    }
    return true;
  }

  bool AddStage(const kir::Stage& stage) {
    DimMask reduced = 0;
    for (const kir::Reduce& r : stage.reduces) reduced |= r.dims;
    kir::Stage made;
    std::vector<DimId> points, sums;
    DimMask sums_left = 0;
    for (DimId d : stage.dims) {
      const bool here = dims_ & Bit(d);
      if (!here) {
        made.dims.push_back(place_[d]);
        if (reduced & Bit(d)) sums_left |= Bit(d);
      } else {
        (reduced & Bit(d) ? sums : points).push_back(d);
      }
    }
    for (const kir::Range& r : stage.domain) {
      if (!(dims_ & Bit(r.dim))) made.domain.push_back({place_[r.dim], r.lo, r.hi});
    }
    // Of sums that stay loops only the innermost dim may go: its places have accumulators of their own.
    if (sums_left != 0 && !sums.empty() && (sums.size() != 1 || sums[0] != stage.dims.back())) return false;
    const bool ok = ForPlaces(stage, points, 0, [&] {
      std::vector<kir::Reduce> left;
      for (const kir::Reduce& r : stage.reduces) {
        if (!AddReduce(stage, r, sums, sums_left, left)) return false;
      }
      made.reduces.insert(made.reduces.end(), left.begin(), left.end());
      // Stores that do not wait for a sum run at each of its places.
      for (const kir::Store& s : stage.stores) {
        const bool after = stage.reduces.empty() || IsAfter(stage, s);
        if (!ForPlaces(stage, after ? std::vector<DimId>() : sums, 0, [&] { return AddStore(s, made); })) return false;
      }
      return true;
    });
    if (!ok) return false;
    if (made.stores.empty() && made.reduces.empty()) return true;
    // Their order is no matter (Suits): those to one memory follow one another, so that emitters join them.
    std::ranges::stable_sort(made.stores, {}, &kir::Store::buf);
    // Points of equal dims run together.
    kir::Seq& seq = b_.kernel().seq;
    if (!seq.empty() && made.reduces.empty()) {
      auto& last = std::get<kir::Stage>(seq.back().is);
      if (last.dims == made.dims && last.reduces.empty() && last.domain == made.domain) {
        last.stores.insert(last.stores.end(), made.stores.begin(), made.stores.end());
        return true;
      }
    }
    b_.AddStage(std::move(made));
    return true;
  }

  /// Whether the store depends on a sum of its own stage.
  bool IsAfter(const kir::Stage& stage, const kir::Store& store) const {
    std::vector<Val> open = {store.value};
    std::vector<bool> seen(k_.nodes.size(), false);
    while (!open.empty()) {
      const Val v = open.back();
      open.pop_back();
      if (seen[v]) continue;
      seen[v] = true;
      const kir::Node& node = k_.nodes[v];
      if (node.op == Op::kReduced) {
        for (const kir::Reduce& r : stage.reduces) {
          if (r.id == node.attr) return true;
        }
      }
      for (Val in : node.in) open.push_back(in);
      if (node.op == Op::kRead && k_.reads[node.attr].otherwise != kir::kNone)
        open.push_back(k_.reads[node.attr].otherwise);
    }
    return false;
  }

  using Values = SmallVector<Val, 4>;
  Values Combine(const kir::Reduce& r, const Values& x, const Values& y) {
    Values arguments = x;
    for (Val v : y) arguments.push_back(v);
    Values sum;
    for (Val v : b_.Inline(k_.graphs[r.combiner], arguments)) sum.push_back(v);
    return sum;
  }

  bool AddReduce(const kir::Stage& stage, const kir::Reduce& r, const std::vector<DimId>& sums, DimMask sums_left,
                 std::vector<kir::Reduce>& left) {
    ++place_number_;
    Values init;
    for (Val v : r.init) init.push_back(Copy(v));
    Values result;
    const bool in_lanes = r.order == kir::ReduceOrder::kLanes;
    if (sums.empty()) {
      kir::Reduce copy = r;
      copy.in.clear();
      copy.init.clear();
      copy.identity.clear();
      for (Val v : r.in) copy.in.push_back(Copy(v));
      for (Val v : init) copy.init.push_back(v);
      for (Val v : r.identity) copy.identity.push_back(Copy(v));
      result = KeepReduce(std::move(copy), r, left);
    } else if (!in_lanes) {
      if (sums_left != 0) return false;
      result = init;
      const bool ok = ForPlaces(stage, sums, 0, [&] {
        Values element;
        for (Val v : r.in) element.push_back(Copy(v));
        result = Combine(r, result, element);
        return true;
      });
      if (!ok) return false;
    } else {
      if (r.in.size() != 1 || !IdentityOnBothSides(k_.graphs[r.combiner])) return false;
      // The accumulators that get elements; what meets others is the identity, which changes nothing.
      const int64_t lanes = 64 / ByteWidth(k_.nodes[r.in[0]].type);  // structural: kir::ReduceOrder::kLanes
      const int64_t low = RangeIn(stage, sums.back()).lo;
      std::vector<Val> sum(static_cast<size_t>(4 * lanes), kir::kNone);
      if (sums_left != 0 && k_.dims[sums.back()].extent.baked > 4 * lanes) return false;
      const bool ok = ForPlaces(stage, sums, 0, [&] {
        Val& at = sum[static_cast<size_t>((known_[sums.back()] - low) % (4 * lanes))];
        const Val element = Copy(r.in[0]);
        if (sums_left != 0) {
          kir::Reduce chain = r;
          chain.order = kir::ReduceOrder::kSequential;
          chain.in = {element};
          chain.init = {Copy(r.identity[0])};
          chain.identity.clear();
          at = KeepReduce(std::move(chain), r, left)[0];
        } else {
          at = at == kir::kNone ? element : Combine(r, {at}, {element})[0];
        }
        return true;
      });
      if (!ok) return false;
      const auto meet = [&](Val x, Val y) {
        if (x == kir::kNone) return y;
        return y == kir::kNone ? x : Combine(r, {x}, {y})[0];
      };
      const auto n = static_cast<size_t>(lanes);
      std::vector<Val> v(n);
      for (size_t l = 0; l < n; ++l) v[l] = meet(meet(sum[l], sum[l + n]), meet(sum[l + 2 * n], sum[l + 3 * n]));
      for (size_t half = n / 2; half >= 1; half /= 2) {
        for (size_t l = 0; l < half; ++l) v[l] = meet(v[l], v[l + half]);
      }
      result = init;
      if (v[0] != kir::kNone) result = Combine(r, init, {v[0]});
    }
    reduced_[{r.id, PlaceOf(stage)}] = result;
    place_of_sum_[r.id] = &stage;
    return true;
  }

  /// A reduction that stays one; its results.
  Values KeepReduce(kir::Reduce reduce, const kir::Reduce& like, std::vector<kir::Reduce>& left) {
    reduce.id = b_.NewId();
    DimMask dims = 0;
    for (size_t d = 0; d < k_.dims.size(); ++d) {
      if ((like.dims & Bit(d)) && !(dims_ & Bit(d))) dims |= Bit(place_[d]);
    }
    reduce.dims = dims;
    reduce.combiner = b_.AddGraph(k_.graphs[like.combiner]);
    Values results;
    for (size_t i = 0; i < reduce.in.size(); ++i)
      results.push_back(b_.Reduced(reduce.id, i, k_.nodes[like.in[i]].type));
    left.push_back(std::move(reduce));
    return results;
  }

  /// The places of the stage's dims that are written out and not summed.
  std::vector<int64_t> PlaceOf(const kir::Stage& stage) const {
    std::vector<int64_t> place;
    DimMask reduced = 0;
    for (const kir::Reduce& r : stage.reduces) reduced |= r.dims;
    for (DimId d : stage.dims) {
      if ((dims_ & Bit(d)) && !(reduced & Bit(d))) place.push_back(known_[d]);
    }
    return place;
  }

  bool AddStore(const kir::Store& store, kir::Stage& to) {
    kir::Store made = store;
    made.guard.clear();
    for (const kir::Guard& g : store.guard) {
      const std::optional<bool> holds = Settle(g);
      if (!holds) {
        made.guard.push_back(CopyGuard(g));
      } else if (!*holds) {
        return true;
      }
    }
    made.at.clear();
    for (const kir::Axis& a : store.at) made.at.push_back(CopyAxis(a));
    made.value = Copy(store.value);
    if (k_.buffers[store.buf].kind == kir::BufKind::kLocal) {
      // Of one iteration of the outer dims, all of it written out: no memory.
      const std::optional<int64_t> at = FixedPlace(store.buf, made.at);
      if (!at || !made.guard.empty() || store.combine >= 0) return false;
      locals_[{store.buf, *at}] = made.value;
      return true;
    }
    if (store.combine >= 0)
      made.combine = static_cast<int32_t>(b_.AddGraph(k_.graphs[static_cast<size_t>(store.combine)]));
    to.stores.push_back(std::move(made));
    return true;
  }

  std::optional<int64_t> FixedPlace(kir::Buf buf, const SmallVector<kir::Axis, 4>& at) const {
    int64_t place = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      if (!at[i].terms.empty() || at[i].start != kir::kNone) return std::nullopt;
      place += at[i].offset.baked * k_.buffers[buf].stride[i].baked;
    }
    return place;
  }

  kir::Axis CopyAxis(const kir::Axis& a) {
    kir::Axis made;
    made.offset = a.offset;
    for (const kir::Term& t : a.terms) {
      if (dims_ & Bit(t.dim)) {
        made.offset.baked += t.coef.baked * known_[t.dim];
      } else {
        made.terms.push_back({place_[t.dim], t.coef});
      }
    }
    if (a.start != kir::kNone) made.start = Copy(a.start);
    return made;
  }
  kir::Guard CopyGuard(const kir::Guard& g) {
    kir::Guard made = g;
    made.e = CopyAxis(g.e);
    return made;
  }
  /// Whether the guard holds, where that is known.
  std::optional<bool> Settle(const kir::Guard& g) const {
    if (g.e.start != kir::kNone) return std::nullopt;
    int64_t at = g.e.offset.baked;
    for (const kir::Term& t : g.e.terms) {
      if (!(dims_ & Bit(t.dim))) return std::nullopt;
      at += t.coef.baked * known_[t.dim];
    }
    return at >= g.lo.baked && at < g.hi.baked && (at - g.lo.baked) % g.mod == 0;
  }

  Val Copy(Val v) {
    if (failed_) return Fail();
    if (made_[v].place == place_number_) return made_[v].copy;
    const Val copy = Make(v);
    made_[v] = {copy, place_number_};
    if (static_cast<int64_t>(b_.num_nodes()) > policy::kWrittenOutNodes) failed_ = true;
    return copy;
  }

  std::optional<int64_t> Whole(Val made) const {
    const kir::Node& n = b_.node(made);
    if (n.op != Op::kConst) return std::nullopt;
    const uint64_t bits = Literal(n);
    if (n.type == DType::kS64) return static_cast<int64_t>(bits);
    if (n.type == DType::kS32) return static_cast<int32_t>(bits);
    if (n.type == DType::kPred) return static_cast<int64_t>(bits);
    return std::nullopt;
  }
  uint64_t Literal(const kir::Node& n) const { return const_cast<kir::KernelBuilder&>(b_).kernel().literals[n.attr]; }

  Val Make(Val v) {
    const kir::Node& n = k_.nodes[v];
    switch (n.op) {
      case Op::kConst:
        return b_.ConstBits(n.type, k_.literals[n.attr]);
      case Op::kIndex:
        return dims_ & Bit(n.attr) ? b_.ConstS64(known_[n.attr]) : b_.Index(place_[n.attr]);
      case Op::kRead:
        return MakeRead(n);
      case Op::kReduced: {
        const auto stage = place_of_sum_.find(n.attr);
        if (stage == place_of_sum_.end()) return Fail();
        const auto it = reduced_.find({n.attr, PlaceOf(*stage->second)});
        return it == reduced_.end() ? Fail() : it->second[n.imm];
      }
      case Op::kCarried:
        return Fail();
      case Op::kSelect: {
        const Val predicate = Copy(n.in[0]);
        if (const auto known = Whole(predicate)) return Copy(n.in[*known != 0 ? 1 : 2]);
        break;
      }
      default:
        break;
    }
    kir::Node made = n;
    for (Val& in : made.in) in = Copy(in);
    if (failed_) return Fail();
    if (const std::optional<Val> folded = Fold(made)) return *folded;
    return b_.Emit(std::move(made));
  }

  /// Arithmetic of places.
  std::optional<Val> Fold(const kir::Node& n) {
    if (n.op == Op::kConvert) {
      const auto x = Whole(n.in[0]);
      if (!x || b_.type(n.in[0]) == DType::kPred || !KnownConvert(n.type, *x)) return std::nullopt;
      return b_.ConstBits(n.type, kir::LiteralBits(n.type, *x));
    }
    if (n.in.size() != 2) return std::nullopt;
    const auto x = Whole(n.in[0]), y = Whole(n.in[1]);
    if (n.type == DType::kPred && (n.op == Op::kAnd || n.op == Op::kOr)) {
      if (x) return (*x != 0) == (n.op == Op::kAnd) ? n.in[1] : n.in[0];
      if (y) return (*y != 0) == (n.op == Op::kAnd) ? n.in[0] : n.in[1];
      return std::nullopt;
    }
    if (!x || !y) return std::nullopt;
    if (n.op == Op::kCompare) {
      if (n.imm > kir::kGe) return std::nullopt;
      return b_.ConstPred(Holds(static_cast<kir::Cmp>(n.imm), *x, *y));
    }
    if (n.type != DType::kS32 && n.type != DType::kS64) return std::nullopt;
    constexpr int64_t kSmall = int64_t{1} << 30;  // structural: a sum of two fits s32
    const auto small = [](int64_t value) { return -kSmall <= value && value <= kSmall; };
    if (!small(*x) || !small(*y)) return std::nullopt;
    if (n.op == Op::kAdd) return b_.ConstBits(n.type, kir::LiteralBits(n.type, *x + *y));
    if (n.op == Op::kSub) return b_.ConstBits(n.type, kir::LiteralBits(n.type, *x - *y));
    return std::nullopt;
  }
  /// Small whole numbers are the same in every type that is asked for them.
  static bool KnownConvert(DType to, int64_t x) {
    return (to == DType::kS32 || to == DType::kS64 || to == DType::kF32 || to == DType::kF64) && x >= 0 &&
           x < (int64_t{1} << 20);  // structural: exact in f32
  }

  Val MakeRead(const kir::Node& n) {
    kir::Read made = k_.reads[n.attr];
    SmallVector<kir::Guard, 1> guards;
    for (const kir::Guard& g : made.guard) {
      const std::optional<bool> holds = Settle(g);
      if (!holds) {
        guards.push_back(CopyGuard(g));
      } else if (!*holds) {
        return Copy(made.otherwise);
      }
    }
    made.guard = std::move(guards);
    for (kir::Axis& a : made.at) a = CopyAxis(a);
    made.otherwise = made.guard.empty() ? kir::kNone : Copy(made.otherwise);
    if (k_.buffers[made.buf].kind == kir::BufKind::kLocal) {
      const std::optional<int64_t> at = FixedPlace(made.buf, made.at);
      if (!at || !made.guard.empty()) return Fail();
      const auto it = locals_.find({made.buf, *at});
      return it == locals_.end() ? Fail() : it->second;
    }
    if (failed_) return Fail();
    return b_.Read(made, n.imm);
  }

  /// A node of no meaning: what is made is thrown away.
  Val Fail() {
    failed_ = true;
    return b_.ConstPred(false);
  }

  const kir::Kernel& k_;
  const DimMask dims_;
  std::vector<int64_t> known_;  // By dim that is written out: where we are.
  kir::KernelBuilder b_;
  std::vector<DimId> place_;  // By dim that is left: its number.
  struct Made {
    Val copy = 0;
    uint32_t place = 0;
  };
  std::vector<Made> made_;  // By node: what it is at the place where it was asked for last.
  uint32_t place_number_ = 1;
  std::map<std::pair<kir::Buf, int64_t>, Val> locals_;
  std::map<std::pair<uint32_t, std::vector<int64_t>>, Values> reduced_;
  std::map<uint32_t, const kir::Stage*> place_of_sum_;
  bool failed_ = false;
};

/// Whether every stage writes its own, so that points may be dealt out anew.
bool Suits(const kir::Kernel& k) {
  for (const kir::Step& step : k.seq) {
    const auto* stage = std::get_if<kir::Stage>(&step.is);
    if (stage == nullptr) return false;
    for (const kir::Store& s : stage->stores) {
      if (s.order != kir::StoreOrder::kDisjoint || s.combine >= 0) return false;
    }
  }
  for (const kir::Dim& d : k.dims) {
    if (d.kind == kir::DimKind::kSerial || d.extent.is_param()) return false;
  }
  for (const kir::Buffer& b : k.buffers) {
    if (b.in_place_of != kir::kNoBuf || b.kind == kir::BufKind::kTile) return false;
  }
  for (const kir::Read& r : k.reads) {
    if (k.buffers[r.buf].kind == kir::BufKind::kOut) return false;
  }
  return true;
}

/// Instructions, roughly: those of functions are as many as their cost.
int64_t CodeOf(const kir::Node& node, const target::Target& target) {
  const int cost = target.costs.Of(node);
  return node.op == Op::kMath ? cost : std::min(cost, policy::kOperationCode);
}

int64_t CodeOf(const kir::Kernel& k, const target::Target& target) {
  int64_t cost = 0;
  for (const kir::Node& n : k.nodes) cost += CodeOf(n, target);
  for (const kir::Step& step : k.seq) {
    for (const kir::Store& s : std::get<kir::Stage>(step.is).stores) cost += s.component >= 0 ? 1 : 0;
  }
  return cost;
}

/// For accesses that move by more than one along a dim that may run in lanes: the short dims that move in between,
/// which fill the vectors that lie there. One alone that crosses another short one is left to tiles.
std::vector<DimMask> InBetween(const kir::Kernel& k, DimMask short_dims) {
  std::vector<DimMask> found;
  kir::Kernel& kernel = const_cast<kir::Kernel&>(k);  // The walkers serve rewriting too.
  ForEachAccess(kernel, [&](kir::Buf buf, const SmallVector<kir::Axis, 4>& at, const SmallVector<kir::Guard, 1>&) {
    const std::vector<int64_t> moves = MovesOf(k, k.buffers[buf], at);
    for (size_t lane = 0; lane < moves.size(); ++lane) {
      if (std::abs(moves[lane]) < 2 || k.dims[lane].extent.baked < policy::kMinLanePoints) continue;
      DimMask between = 0;
      for (size_t d = 0; d < moves.size(); ++d) {
        if ((short_dims & Bit(d)) && moves[d] != 0 && std::abs(moves[d]) < std::abs(moves[lane])) between |= Bit(d);
      }
      const bool enough = (short_dims & Bit(lane)) ? std::popcount(between) > 1 : between != 0;
      if (enough && std::find(found.begin(), found.end(), between) == found.end()) found.push_back(between);
    }
  });
  return found;
}

/// The innermost short dims of stages: two of them, and each time one more.
std::vector<DimMask> InnermostOnes(const kir::Kernel& k, DimMask short_dims) {
  std::vector<DimMask> found;
  for (const kir::Step& step : k.seq) {
    const auto& stage = std::get<kir::Stage>(step.is);
    DimMask inner = 0;
    for (size_t i = stage.dims.size(); i-- > 0 && (short_dims & Bit(stage.dims[i]));) {
      inner |= Bit(stage.dims[i]);
      if (std::popcount(inner) > 1 && std::find(found.begin(), found.end(), inner) == found.end())
        found.push_back(inner);
    }
  }
  return found;
}

/// Whether all accesses lie side by side along these dims, or do not move.
bool AreRows(const kir::Kernel& k, DimMask dims) {
  bool rows = true;
  kir::Kernel& kernel = const_cast<kir::Kernel&>(k);  // The walkers serve rewriting too.
  ForEachAccess(kernel, [&](kir::Buf buf, const SmallVector<kir::Axis, 4>& at, const SmallVector<kir::Guard, 1>&) {
    const std::vector<int64_t> moves = MovesOf(k, k.buffers[buf], at);
    for (size_t d = 0; d < moves.size(); ++d) rows = rows && (!(dims & Bit(d)) || std::abs(moves[d]) <= 1);
  });
  return rows;
}

/// The most places of one buffer that the kernel's points go through at once: rows that follow one another are one.
int64_t StreamsOf(const kir::Kernel& k) {
  struct Stream {
    kir::Buf buf;
    bool store;
    std::vector<int64_t> moves;
    std::vector<int64_t> offsets;
  };
  std::vector<Stream> streams;
  const auto add = [&](kir::Buf buf, const SmallVector<kir::Axis, 4>& at, bool store) {
    std::vector<int64_t> moves = MovesOf(k, k.buffers[buf], at);
    auto it = std::find_if(streams.begin(), streams.end(),
                           [&](const Stream& s) { return s.buf == buf && s.store == store && s.moves == moves; });
    if (it == streams.end()) it = streams.insert(streams.end(), Stream{buf, store, std::move(moves), {}});
    it->offsets.push_back(OffsetOf(at, k.buffers[buf]));
  };
  for (const kir::Read& r : k.reads) add(r.buf, r.at, false);
  for (const kir::Step& step : k.seq) {
    for (const kir::Store& s : std::get<kir::Stage>(step.is).stores) add(s.buf, s.at, true);
  }
  int64_t most = 0;
  for (Stream& s : streams) {
    int64_t row = 1;
    for (size_t d = 0; d < s.moves.size(); ++d) {
      if (std::abs(s.moves[d]) == 1) row = k.dims[d].extent.baked;
    }
    std::ranges::sort(s.offsets);
    int64_t apart = 1;
    for (size_t i = 1; i < s.offsets.size(); ++i) apart += s.offsets[i] - s.offsets[i - 1] > row ? 1 : 0;
    most = std::max(most, apart);
  }
  return most;
}

/// What a stage needs, and the places that its dims have in it.
struct Extent {
  std::vector<bool> needed;
  std::vector<int64_t> places;
};

std::vector<Extent> ExtentsOf(const kir::Kernel& k) {
  std::vector<Extent> extents;
  for (const kir::Step& step : k.seq) {
    const auto& stage = std::get<kir::Stage>(step.is);
    Extent e{std::vector<bool>(k.nodes.size(), false), {}};
    for (const kir::Dim& d : k.dims) e.places.push_back(d.extent.baked);
    for (const kir::Range& r : stage.domain)
      e.places[r.dim] = std::max<int64_t>(0, std::min(e.places[r.dim], r.hi.baked) - std::max<int64_t>(0, r.lo.baked));
    const auto need = [&](Val v) { e.needed[v] = true; };
    for (const kir::Reduce& r : stage.reduces) {
      for (Val v : r.in) need(v);
      for (Val v : r.init) need(v);
    }
    for (const kir::Store& s : stage.stores) kir::ForEachRoot(s, need);
    for (size_t v = k.nodes.size(); v-- > 0;) {
      if (e.needed[v]) kir::ForEachInput(k, k.nodes[v], need);
    }
    extents.push_back(std::move(e));
  }
  return extents;
}

}  // namespace

std::optional<kir::Kernel> WrittenOut(const kir::Kernel& k, DimMask dims) {
  if (!Suits(k)) return std::nullopt;
  return Writer(k, dims).Run();
}

bool WriteOutShortDims(kir::Kernel& k, const target::Target& target) {
  if (!Suits(k)) return false;
  // Inner dims that are short in every stage, all of them or the innermost ones.
  DimMask all = 0, innermost = 0;
  for (const kir::Step& step : k.seq) {
    const auto& stage = std::get<kir::Stage>(step.is);
    for (DimId d : stage.dims) {
      if (d >= k.outer && k.dims[d].extent.baked <= policy::kShortDim) all |= Bit(d);
    }
    if (!stage.dims.empty() && (all & Bit(stage.dims.back()))) innermost |= Bit(stage.dims.back());
  }
  if (all == 0) return false;
  std::optional<kir::Kernel> best;
  DimMask written = 0;  // Of the best so far.
  // Loops become one kernel where their short steps are written out: how rows move is no matter there.
  LaneCost now = LaneCostOf(k, target, {.tiled = false});
  const bool by_row = PointsStayApart(k) && now.cycles >= policy::kRowsMatterCycles;
  const LaneModel model{.by_row = by_row, .tiled = false};
  if (by_row) now = LaneCostOf(k, target, model);
  if (now.cycles <= policy::kWriteOutCycles) return false;
  LaneCost so_far = now;
  const double enough = std::min(now.cycles * policy::kWriteOutGain, now.cycles - policy::kWriteOutCycles);
  double least = enough;
  const std::vector<DimMask> deps = kir::DependentDims(k);
  const int64_t most_code = std::max(
      target.limits.cost, static_cast<int64_t>(policy::kWrittenOutGrowth * static_cast<double>(CodeOf(k, target))));
  const std::vector<Extent> extents = ExtentsOf(k);
  std::vector<int64_t> all_places;
  for (const kir::Dim& d : k.dims) all_places.push_back(d.extent.baked);
  // `few`: rows stay whole, of which few are gone through at once.
  const auto consider = [&](DimMask dims, bool few) {
    // How often a node is written out tells what the code comes to before it is made.
    const auto places = [&](DimMask of, const std::vector<int64_t>& extent) {
      int64_t n = 1;
      for (size_t d = 0; d < k.dims.size(); ++d) {
        if (dims & of & Bit(d)) n *= extent[d];
      }
      return n;
    };
    for (const kir::Step& step : k.seq) {
      DimMask here = 0;
      for (DimId d : std::get<kir::Stage>(step.is).dims) here |= Bit(d);
      if (places(here, all_places) > policy::kMaxWrittenOut) return;
    }
    int64_t code = 0;
    bool settles = false;  // Selects that are answered leave some of it out.
    for (size_t v = 0; v < deps.size(); ++v) {
      const kir::Node& node = k.nodes[v];
      // Stages share what they need at the same places.
      int64_t apart = 0;
      for (const Extent& e : extents) {
        if (e.needed[v]) apart += places(deps[v], e.places);
      }
      code += CodeOf(node, target) * std::min(apart, places(deps[v], all_places));
      settles = settles || (node.op == Op::kSelect && deps[node.in[0]] != 0 && (deps[node.in[0]] & ~dims) == 0);
    }
    if (code > most_code && !settles) return;
    std::optional<kir::Kernel> made = Writer(k, dims).Run();
    if (!made || made->seq.empty() || CodeOf(*made, target) > most_code) return;
    const LaneCost cost = LaneCostOf(*made, target, model);
    // Fewer loops alone are no gain where many rows only move: each would go to memory of its own, and caches and
    // prefetchers follow few such at a time.
    const auto shares_loops = [&](const LaneCost& fewer, const LaneCost& more, const kir::Kernel& written_out) {
      const double shared = fewer.cycles - fewer.of_loops - (more.cycles - more.of_loops);
      return shared < policy::kSharedByRows * fewer.cycles && StreamsOf(written_out) > policy::kStreamsTogether;
    };
    const bool goes_back = best && dims != written && (dims & written) == dims && cost.cycles < enough &&
                           shares_loops(cost, so_far, *best);
    if (cost.cycles >= least && !goes_back) return;
    const bool goes_on = (dims & written) == written;
    if ((goes_on || (dims & innermost) == 0) && !goes_back &&
        (shares_loops(goes_on ? so_far : now, cost, *made) || (few && StreamsOf(*made) > policy::kStreamsTogether)))
      return;
    // What is left of loops is known less well than what vectors do: it must save as much twice over.
    if (few && cost.cycles > now.cycles * policy::kWriteOutGain * policy::kWriteOutGain) return;
    least = cost.cycles;
    so_far = cost;
    written = dims;
    best = std::move(made);
  };
  std::vector<DimMask> considered;
  const auto consider_once = [&](DimMask dims, bool few = false) {
    if (dims == 0 || std::find(considered.begin(), considered.end(), dims) != considered.end()) return;
    considered.push_back(dims);
    consider(dims, few);
  };
  consider_once(innermost);
  consider_once(all);
  // Rows that are one vector each, a shorter one if need be, what is around them written out.
  bool vectors = innermost != 0;
  for (size_t d = 0; d < k.dims.size(); ++d) {
    const auto extent = static_cast<uint64_t>(k.dims[d].extent.baked);
    if (innermost & Bit(d))
      vectors = vectors && extent >= 4 && extent <= 16 && std::has_single_bit(extent);  // structural: lanes
  }
  if (vectors) consider_once(all & ~innermost);
  std::vector<DimMask> inner = InBetween(k, all);
  for (DimMask dims : inner) consider_once(dims);
  // Whatever crosses the innermost dims, and the same with rows left whole that are rows everywhere.
  for (DimMask dims : InnermostOnes(k, all)) inner.push_back(dims);
  const bool rows = AreRows(k, innermost);
  for (DimMask dims : inner) {
    consider_once(dims);
    if (rows) consider_once(dims & ~innermost, true);
  }
  if (!best) return false;
  k = std::move(*best);
  return true;
}

}  // namespace tenon::compiler
