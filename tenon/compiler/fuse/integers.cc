#include "tenon/compiler/fuse/integers.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/ir/kir_op.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/ranges.h"

namespace tenon::compiler {

using kir::kNone;
using kir::Op;
using kir::Val;

namespace {

using Wide = __int128;
using Range = kir::IntegerRange;
using kir::OnesUpTo;
using kir::RangeOfType;

class Walk {
 public:
  explicit Walk(kir::Kernel& k) : k_(k), rules_(k) {}

  void Run() {
    const auto counts = [](const kir::Node& n) {
      return n.type != DType::kPred && IsInteger(n.type) && n.op != Op::kConst;
    };
    if (std::any_of(k_.nodes.begin(), k_.nodes.end(), counts)) Rewrite();
  }

 private:
  bool IsBelowZero(const kir::Node& p, Val x) const {
    return p.op == Op::kCompare && p.imm == kir::kLt && p.in[0] == x && ranges_[p.in[1]] == Range{0, 0, true};
  }

  // Rewriting
  // ------------------------------------------------------------------------------------------------------------------

  Val Add(kir::Node n) {
    const auto key = std::tuple(n.op, n.type, n.imm, n.attr, std::vector<Val>(n.in.begin(), n.in.end()));
    const auto [it, fresh] = same_.try_emplace(key, static_cast<Val>(nodes_.size()));
    if (fresh) {
      ranges_.push_back(rules_.Of(n, nodes_, ranges_));
      nodes_.push_back(std::move(n));
    }
    return it->second;
  }
  Val Emit(Op op, DType type, std::initializer_list<Val> in, uint8_t imm = 0) {
    kir::Node n;
    n.op = op;
    n.type = type;
    n.imm = imm;
    for (Val v : in) n.in.push_back(v);
    return Add(std::move(n));
  }
  Val Constant(DType type, int64_t value) {
    kir::Node n;
    n.op = Op::kConst;
    n.type = type;
    const uint64_t bits = type == DType::kPred ? static_cast<uint64_t>(value != 0) : kir::LiteralBits(type, value);
    const auto at = std::find(k_.literals.begin(), k_.literals.end(), bits);
    n.attr = static_cast<uint32_t>(at - k_.literals.begin());
    if (at == k_.literals.end()) k_.literals.push_back(bits);
    return Add(std::move(n));
  }

  void Rewrite() {
    std::vector<Val> map(k_.nodes.size());
    for (size_t i = 0; i < k_.nodes.size(); ++i) {
      kir::Node n = k_.nodes[i];
      for (Val& v : n.in) v = map[v];
      if (n.op == Op::kRead) {
        // Reads name nodes too, all of them earlier ones.
        kir::Read& read = k_.reads[n.attr];
        if (!moved_[n.attr]) {
          ForEachUse(read, [&](Val& v) { v = map[v]; });
          for (kir::Axis& axis : read.at) SpellOut(axis);
          DropGuards(read.guard);
          if (read.guard.empty()) read.otherwise = kNone;
          moved_[n.attr] = true;
        }
      }
      map[i] = Simpler(n);
    }
    ForEachRootUse(k_, [&](Val& v) { v = map[v]; });
    ForEachStage(k_.seq, [&](kir::Stage& stage) {
      for (kir::Store& store : stage.stores) {
        for (kir::Axis& axis : store.at) SpellOut(axis);
        DropGuards(store.guard);
      }
    });
    k_.nodes = std::move(nodes_);
  }

  Val Simpler(const kir::Node& n) {
    const Range whole = RangeOfType(n.type);
    if (!whole.known || n.op == Op::kConst) {
      if (n.op == Op::kSelect && ranges_[n.in[0]].is_one()) return n.in[ranges_[n.in[0]].lo != 0 ? 1 : 2];
      return Add(n);
    }
    const Range range = rules_.Of(n, nodes_, ranges_);
    if (range.is_one() && n.op != Op::kCarried) return Constant(n.type, range.lo);
    const auto in = [&](size_t i) { return ranges_[n.in[i]]; };
    switch (n.op) {
      case Op::kCompare: {
        if (const Val v = NarrowComparison(n); v != kNone) return v;
        if (const Val v = AskedOfFlag(n); v != kNone) return v;
        break;
      }
      case Op::kAnd:
        for (size_t i = 0; i < 2; ++i) {
          const Val here = n.in[i], there = n.in[1 - i];
          // What is below zero is not zero.
          if (nodes_[here].op == Op::kCompare && nodes_[here].imm == kir::kLt &&
              IsNotZero(nodes_[there], nodes_[here].in[0]) && IsBelowZero(nodes_[here], nodes_[here].in[0]))
            return here;
          if (n.type == DType::kPred ? in(i).is_one() && in(i).lo == 1
                                     : in(i).is_one() && in(1 - i).lo >= 0 &&
                                           OnesUpTo(in(1 - i).hi) == (OnesUpTo(in(1 - i).hi) & in(i).lo))
            return there;
        }
        break;
      case Op::kOr:
        for (size_t i = 0; i < 2; ++i) {
          if (in(i) == Range{0, 0, true}) return n.in[1 - i];
        }
        break;
      case Op::kRem:
        if (!in(1).is_one() || in(1).lo <= 0 || in(0).lo < 0) break;
        if (in(0).hi < in(1).lo) return n.in[0];
        if (std::has_single_bit(static_cast<uint64_t>(in(1).lo)))
          return Emit(Op::kAnd, n.type, {n.in[0], Constant(n.type, in(1).lo - 1)});
        break;
      case Op::kDiv:
        if (in(1) == Range{1, 1, true}) return n.in[0];
        if (!in(1).is_one() || in(1).lo <= 0 || in(0).lo < 0) break;
        if (std::has_single_bit(static_cast<uint64_t>(in(1).lo)))
          return Emit(Op::kShrLogical, n.type,
                      {n.in[0], Constant(n.type, std::countr_zero(static_cast<uint64_t>(in(1).lo)))});
        break;
      case Op::kMin:
      case Op::kMax:
        for (size_t i = 0; i < 2; ++i) {
          const Range &x = in(i), &y = in(1 - i);
          if (n.type != DType::kPred && IsMasked(n.in[i]) && (n.op == Op::kMin ? x.hi <= y.lo : x.lo >= y.hi))
            return n.in[i];
        }
        break;
      case Op::kSelect:
        if (in(0).is_one()) return n.in[in(0).lo != 0 ? 1 : 2];
        if (n.in[1] == n.in[2]) return n.in[1];
        if (const Val v = FloorMod(n); v != kNone) return v;
        if (const Val v = FloorDiv(n); v != kNone) return v;
        break;
      default:
        break;
    }
    return Add(n);
  }

  /// The value in 32 bits where neither it nor anything that it is made of needs more; kNone where something does, or
  /// is not made of places, constants and narrower numbers. `counts`: set where a dim's places are in it.
  Val Narrowed(Val v, bool& counts, int& steps) {
    const kir::Node n = nodes_[v];
    const Range range = ranges_[v];
    if (--steps < 0 || !range.known || range.lo < INT32_MIN || range.hi > INT32_MAX || n.type == DType::kPred)
      return kNone;
    if (n.type == DType::kS32) return v;
    if (n.type != DType::kS64) return Emit(Op::kConvert, DType::kS32, {v});
    switch (n.op) {
      case Op::kConst:
        return Constant(DType::kS32, range.lo);
      case Op::kIndex:
        counts = true;
        return Emit(Op::kConvert, DType::kS32, {v});
      case Op::kConvert:
        return IsInteger(nodes_[n.in[0]].type) ? Narrowed(n.in[0], counts, steps) : kNone;
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kMin:
      case Op::kMax: {
        const Val a = Narrowed(n.in[0], counts, steps);
        const Val b = a == kNone ? kNone : Narrowed(n.in[1], counts, steps);
        return b == kNone ? kNone : Emit(n.op, DType::kS32, {a, b});
      }
      default:
        return kNone;
    }
  }

  /// Places are numbers of 64 bits, of which a vector holds half as many as of those of 32, and what is chosen by them
  /// comes in vectors as short.
  Val NarrowComparison(const kir::Node& n) {
    if (nodes_[n.in[0]].type != DType::kS64) return kNone;
    bool counts = false;
    int steps = policy::kMostSpelledSteps;
    const Val a = Narrowed(n.in[0], counts, steps);
    const Val b = a == kNone ? kNone : Narrowed(n.in[1], counts, steps);
    return b == kNone || !counts ? kNone : Emit(Op::kCompare, DType::kPred, {a, b}, n.imm);
  }

  /// What is asked of a truth, as it is or as the number 0 or 1, is that truth or its opposite.
  Val AskedOfFlag(const kir::Node& n) {
    const kir::Node& number = nodes_[n.in[0]];
    const Val flag = number.op == Op::kConvert ? number.in[0] : n.in[0];
    const Range limit = ranges_[n.in[1]];
    if (nodes_[flag].type != DType::kPred || !limit.is_one()) return kNone;
    const auto holds = [&](int64_t x) { return compiler::Holds(static_cast<kir::Cmp>(n.imm), x, limit.lo); };
    if (holds(0) == holds(1)) return kNone;
    return holds(1) ? flag : Emit(Op::kNot, DType::kPred, {flag});
  }

  bool IsNotZero(const kir::Node& p, Val x) const {
    return p.op == Op::kCompare && p.imm == kir::kNe && p.in[0] == x && ranges_[p.in[1]] == Range{0, 0, true};
  }

  /// The divisor of a division or remainder by a power of two, or 0.
  int64_t PowerOfTwo(const kir::Node& n) const {
    const Range by = ranges_[n.in[1]];
    return by.is_one() && by.lo > 0 && std::has_single_bit(static_cast<uint64_t>(by.lo)) ? by.lo : 0;
  }

  /// r < 0 ? r + c : r, r being x % c: of a power of two, x's low bits.
  Val FloorMod(const kir::Node& n) {
    const kir::Node& r = nodes_[n.in[2]];
    const kir::Node& moved = nodes_[n.in[1]];
    if (r.op != Op::kRem || !IsBelowZero(nodes_[n.in[0]], n.in[2])) return kNone;
    const int64_t by = PowerOfTwo(r);
    if (by == 0 || moved.op != Op::kAdd) return kNone;
    const size_t which = moved.in[0] == n.in[2] ? 1 : 0;
    if (moved.in[1 - which] != n.in[2] || !(ranges_[moved.in[which]] == Range{by, by, true})) return kNone;
    const Val x = r.in[0];
    return Emit(Op::kAnd, n.type, {x, Constant(n.type, by - 1)});
  }

  /// sign(x) != 1 and x % c != 0 ? x / c - 1 : x / c, which rounds down: of a power of two, a shift.
  Val FloorDiv(const kir::Node& n) {
    const kir::Node& p = nodes_[n.in[0]];
    const kir::Node& down = nodes_[n.in[1]];
    const kir::Node& q = nodes_[n.in[2]];
    if (p.op != Op::kAnd || q.op != Op::kDiv || (down.op != Op::kSub && down.op != Op::kAdd) || down.in[0] != n.in[2])
      return kNone;
    const int64_t by = PowerOfTwo(q), one = down.op == Op::kSub ? 1 : -1;
    if (by == 0 || !(ranges_[down.in[1]] == Range{one, one, true})) return kNone;
    const Val x = q.in[0];
    for (size_t i = 0; i < 2; ++i) {
      const kir::Node& sign = nodes_[p.in[i]];
      const kir::Node& rest = nodes_[p.in[1 - i]];
      if (sign.op != Op::kCompare || sign.imm != kir::kNe || !(ranges_[sign.in[1]] == Range{1, 1, true})) continue;
      const kir::Node& s = nodes_[sign.in[0]];
      if (s.op != Op::kSign || s.in[0] != x || rest.op != Op::kCompare) continue;
      const kir::Node& r = nodes_[rest.in[0]];
      if (r.op != Op::kRem || r.in[0] != x || PowerOfTwo(r) != by || !IsNotZero(rest, rest.in[0])) continue;
      return Emit(Op::kShrArith, n.type, {x, Constant(n.type, std::countr_zero(static_cast<uint64_t>(by)))});
    }
    return kNone;
  }

  /// Whether a mask keeps the value in its range: whoever checks where kernels from outside reach sees that, and what
  /// loops count not.
  bool IsMasked(Val v) const {
    while (nodes_[v].op == Op::kConvert && IsInteger(nodes_[nodes_[v].in[0]].type)) v = nodes_[v].in[0];
    return nodes_[v].op == Op::kAnd;
  }

  /// Indices of dims times constants, and a constant.
  struct Affine {
    std::map<kir::DimId, Wide> coefs;
    Wide offset = 0;
  };

  /// Adds `factor` times the value where it is affine and nothing on the way to it wraps; `steps` bounds the way, whose
  /// nodes may be shared.
  bool AddTo(Affine& sum, Val v, Wide factor, int& steps) const {
    const kir::Node& n = nodes_[v];
    if (--steps < 0 || n.type == DType::kPred || !RangeOfType(n.type).known) return false;
    const auto in = [&](size_t i) { return ranges_[n.in[i]]; };
    const auto fits = [&](Wide lo, Wide hi) {
      const Range whole = RangeOfType(n.type);
      return lo >= whole.lo && hi <= whole.hi;
    };
    if (ranges_[v].known && ranges_[v].is_one()) {
      sum.offset += factor * ranges_[v].lo;
      return true;
    }
    for (size_t i = 0; i < n.in.size(); ++i) {
      if (!in(i).known) return false;
    }
    switch (n.op) {
      case Op::kIndex:
        sum.coefs[n.attr] += factor;
        return true;
      case Op::kConvert:
        return IsInteger(nodes_[n.in[0]].type) && fits(in(0).lo, in(0).hi) && AddTo(sum, n.in[0], factor, steps);
      case Op::kAdd:
        return fits(Wide{in(0).lo} + in(1).lo, Wide{in(0).hi} + in(1).hi) && AddTo(sum, n.in[0], factor, steps) &&
               AddTo(sum, n.in[1], factor, steps);
      case Op::kSub:
        return fits(Wide{in(0).lo} - in(1).hi, Wide{in(0).hi} - in(1).lo) && AddTo(sum, n.in[0], factor, steps) &&
               AddTo(sum, n.in[1], -factor, steps);
      case Op::kMul:
        for (size_t i = 0; i < 2; ++i) {
          const Wide by = in(i).lo, lo = by * in(1 - i).lo, hi = by * in(1 - i).hi;
          if (in(i).is_one())
            return fits(std::min(lo, hi), std::max(lo, hi)) && AddTo(sum, n.in[1 - i], factor * by, steps);
        }
        return false;
      case Op::kMin:
      case Op::kMax:
        for (size_t i = 0; i < 2; ++i) {
          const Range &x = in(i), &y = in(1 - i);
          if (n.op == Op::kMin ? x.hi <= y.lo : x.lo >= y.hi) return AddTo(sum, n.in[i], factor, steps);
        }
        return false;
      default:
        return false;
    }
  }

  /// A place that is computed from indices alone becomes terms of the axis: neighbours then read neighbours.
  void SpellOut(kir::Axis& axis) const {
    if (axis.start == kNone || axis.offset.is_param()) return;
    Affine sum{.coefs = {}, .offset = axis.offset.baked};
    for (const kir::Term& t : axis.terms) {
      if (t.coef.is_param()) return;
      sum.coefs[t.dim] += t.coef.baked;
    }
    int steps = policy::kMostSpelledSteps;
    if (!AddTo(sum, axis.start, 1, steps)) return;
    const auto is_small = [](Wide x) { return x >= INT32_MIN && x <= INT32_MAX; };
    if (!is_small(sum.offset)) return;
    SmallVector<kir::Term, 2> terms;
    for (const auto& [dim, coef] : sum.coefs) {
      if (!is_small(coef)) return;
      if (coef != 0) terms.push_back({dim, kir::Size::Of(static_cast<int64_t>(coef))});
    }
    axis = {.terms = std::move(terms), .offset = kir::Size::Of(static_cast<int64_t>(sum.offset))};
  }

  /// Those that hold everywhere.
  void DropGuards(SmallVector<kir::Guard, 1>& guards) {
    SmallVector<kir::Guard, 1> kept;
    for (kir::Guard& g : guards) {
      SpellOut(g.e);
      if (!Holds(g)) kept.push_back(std::move(g));
    }
    guards = std::move(kept);
  }
  bool Holds(const kir::Guard& g) const {
    if (g.mod != 1 || g.lo.is_param() || g.hi.is_param() || g.e.offset.is_param()) return false;
    if (g.e.start != kNone && !IsMasked(g.e.start)) return false;
    const Range start = g.e.start == kNone ? Range{0, 0, true} : ranges_[g.e.start];
    if (!start.known) return false;
    Wide lo = Wide{g.e.offset.baked} + start.lo, hi = Wide{g.e.offset.baked} + start.hi;
    for (const kir::Term& t : g.e.terms) {
      const kir::Size extent = k_.dims[t.dim].extent;
      if (extent.is_param() || t.coef.is_param() || extent.baked < 1) return false;
      const Wide far = Wide{t.coef.baked} * (extent.baked - 1);
      (far < 0 ? lo : hi) += far;
    }
    return lo >= g.lo.baked && hi < g.hi.baked;
  }

  kir::Kernel& k_;
  const kir::RangeRules rules_;
  std::vector<Range> ranges_;  ///< By node of nodes_.
  std::vector<kir::Node> nodes_;
  std::map<std::tuple<Op, DType, uint8_t, uint32_t, std::vector<Val>>, Val> same_;
  std::map<uint32_t, bool> moved_;  ///< Reads whose nodes are new ones.
};

}  // namespace

void SimplifyIntegers(kir::Kernel& kernel) { Walk(kernel).Run(); }

void ShortenPlaces(kir::Kernel& k) {
  bool by_data = false;
  ForEachAccess(k, [&](kir::Buf, SmallVector<kir::Axis, 4>& at, const auto&) {
    for (const kir::Axis& axis : at) by_data |= axis.start != kNone;
  });
  if (!by_data) return;
  const std::vector<Range> ranges = kir::RangeRules(k).OfAll();
  const auto fits = [](const Range& x, const Range& whole) {
    return x.known && whole.known && x.lo >= whole.lo && x.hi <= whole.hi;
  };
  const auto is_conversion = [&](const kir::Node& n) {
    return n.op == Op::kConvert && IsInteger(n.type) && IsInteger(k.nodes[n.in[0]].type);
  };
  const auto is_clamp = [&](const kir::Node& n) { return (n.op == Op::kMin || n.op == Op::kMax) && IsInteger(n.type); };
  // By types and masks alone; what converts it leaves it as it is.
  const std::function<Range(Val, int)> evident = [&](Val v, int steps) {
    const kir::Node& n = k.nodes[v];
    const Range whole = RangeOfType(n.type);
    if (n.op == Op::kAnd || n.op == Op::kConst) return ranges[v];
    if (steps == 0 || !(is_conversion(n) || is_clamp(n))) return whole;
    const Range x = evident(n.in[0], steps - 1);
    if (is_conversion(n)) return fits(x, whole) ? x : whole;
    const Range y = evident(n.in[1], steps - 1);
    if (!x.known || !y.known) return whole;
    const auto meet = [&](int64_t a, int64_t b) { return n.op == Op::kMin ? std::min(a, b) : std::max(a, b); };
    return Range{meet(x.lo, y.lo), meet(x.hi, y.hi), true};
  };
  const auto same_before = [&](Val v) -> Val {
    const kir::Node& n = k.nodes[v];
    constexpr int kSteps = 8;  // structural: places take fewer
    if (is_conversion(n)) return fits(evident(n.in[0], kSteps), RangeOfType(n.type)) ? n.in[0] : kNone;
    for (size_t i = 0; is_clamp(n) && i < 2; ++i) {
      const Range x = evident(n.in[i], kSteps), limit = ranges[n.in[1 - i]];
      if (x.known && limit.is_one() && (n.op == Op::kMin ? x.hi <= limit.lo : x.lo >= limit.lo)) return n.in[i];
    }
    return kNone;
  };
  ForEachAccess(k, [&](kir::Buf, SmallVector<kir::Axis, 4>& at, const auto& guards) {
    if (!guards.empty()) return;
    for (kir::Axis& axis : at) {
      for (Val v = axis.start; v != kNone; v = same_before(v)) axis.start = v;
    }
  });
}

}  // namespace tenon::compiler
