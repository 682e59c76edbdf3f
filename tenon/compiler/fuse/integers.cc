#include "tenon/compiler/fuse/integers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {

using kir::kNone;
using kir::Op;
using kir::Val;

namespace {

using Wide = __int128;

/// lo <= x <= hi. Types that have no range here (floats, unsigned ones of 64 bits) are unknown.
struct Range {
  int64_t lo = 0, hi = 0;
  bool known = false;

  bool is_one() const { return known && lo == hi; }
  Wide size() const { return Wide{hi} - lo; }
  friend bool operator==(const Range&, const Range&) = default;
};

Range RangeOfType(DType type) {
  if (type == DType::kPred) return {0, 1, true};
  if (!IsInteger(type)) return {};
  const int bits = DTypeBits(type);
  if (IsSigned(type)) {
    const int64_t high = bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (bits - 1)) - 1;
    return {-high - 1, high, true};
  }
  if (bits == 64) return {};
  return {0, (int64_t{1} << bits) - 1, true};
}

/// The range, or the type's where some of it would wrap.
Range Within(DType type, Wide lo, Wide hi) {
  const Range whole = RangeOfType(type);
  if (!whole.known || lo < whole.lo || hi > whole.hi) return whole;
  return {static_cast<int64_t>(lo), static_cast<int64_t>(hi), true};
}

Range Hull(const Range& a, const Range& b) {
  if (!a.known || !b.known) return {};
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi), true};
}

/// lo <= x <= hi, where x is a number at all.
struct Bounds {
  double lo = -std::numeric_limits<double>::infinity(), hi = std::numeric_limits<double>::infinity();
};

constexpr int kMostBoundedSteps = 16;  // structural: the way to a float's bounds, whose nodes may be shared
constexpr double kExact = 1 << 24;     // structural: f32 has all whole numbers up to here

/// All ones up to and including the highest bit of `value`.
int64_t Ones(int64_t value) {
  return value == 0 ? 0 : static_cast<int64_t>(~uint64_t{0} >> std::countl_zero(static_cast<uint64_t>(value)));
}

class Walk {
 public:
  explicit Walk(kir::Kernel& k) : k_(k) {
    ForEachLoop(k.seq, [&](kir::Loop& loop) { loops_[loop.id] = &loop; });
  }

  void Run() {
    for (const kir::Node& n : k_.nodes) any_ |= n.type != DType::kPred && IsInteger(n.type) && n.op != Op::kConst;
    if (!any_) return;
    if (!loops_.empty()) {
      // What a carry starts as and becomes, whatever it is in between: places that wrap around.
      Ranges();
      for (const auto& [id, loop] : loops_) {
        for (size_t i = 0; i < loop->types.size(); ++i) {
          Range range = Hull(ranges_[loop->init[i]], ranges_[loop->next[i]]);
          if (const Range counted = Counted(*loop, i); counted.known && (!range.known || counted.size() < range.size()))
            range = counted;
          carried_[{id, i}] = range;
        }
      }
    }
    Rewrite();
  }

 private:
  std::optional<int64_t> ConstantOf(const kir::Node& node) const {
    if (node.op != Op::kConst) return std::nullopt;
    const uint64_t bits = k_.literals[node.attr];
    if (node.type == DType::kPred) return bits != 0;
    if (!RangeOfType(node.type).known) return std::nullopt;
    const int width = DTypeBits(node.type);
    if (!IsSigned(node.type) || width == 64) return static_cast<int64_t>(bits);
    const int shift = 64 - width;
    return static_cast<int64_t>(bits << shift) >> shift;
  }

  void Ranges() {
    ranges_.clear();
    for (const kir::Node& node : k_.nodes) ranges_.push_back(RangeOf(node, k_.nodes));
  }

  /// A carry that goes up by a constant for so many trips, or as long as it is below a constant.
  Range Counted(const kir::Loop& loop, size_t carry) const {
    const kir::Node& next = k_.nodes[loop.next[carry]];
    const Range init = ranges_[loop.init[carry]];
    if (!init.known || next.op != Op::kAdd) return {};
    const auto is_carry = [&](Val v) {
      const kir::Node& n = k_.nodes[v];
      return n.op == Op::kCarried && n.attr == loop.id && n.imm == carry;
    };
    const size_t which = is_carry(next.in[0]) ? 1 : 0;
    if (!is_carry(next.in[1 - which])) return {};
    const std::optional<int64_t> step = ConstantOf(k_.nodes[next.in[which]]);
    if (!step || *step <= 0) return {};
    Wide last;
    if (loop.condition == kNone) {
      if (loop.trip_count.is_param()) return {};
      last = Wide{init.hi} + Wide{*step} * loop.trip_count.baked;
    } else {
      const std::optional<int64_t> limit = LimitOf(loop.condition, is_carry);
      if (!limit) return {};
      last = std::max<Wide>(init.hi, Wide{*limit} - 1 + *step);
    }
    const Range whole = RangeOfType(next.type);
    if (!whole.known || last > whole.hi) return {};
    return {init.lo, static_cast<int64_t>(last), true};
  }

  /// A constant that the carry is below wherever the condition holds.
  template <class F>
  std::optional<int64_t> LimitOf(Val condition, const F& is_carry) const {
    const kir::Node& node = k_.nodes[condition];
    if (node.op == Op::kAnd) {
      const std::optional<int64_t> first = LimitOf(node.in[0], is_carry);
      return first ? first : LimitOf(node.in[1], is_carry);
    }
    if (node.op != Op::kCompare || node.imm != kir::kLt || !is_carry(node.in[0])) return std::nullopt;
    return ConstantOf(k_.nodes[node.in[1]]);
  }

  /// Of a float: clamped and rounded places.
  Bounds BoundsOf(Val v, const std::vector<kir::Node>& nodes, int& steps) const {
    const kir::Node& n = nodes[v];
    if (--steps < 0) return {};
    const auto in = [&](size_t i) { return BoundsOf(n.in[i], nodes, steps); };
    const auto rounded = [](const Bounds& b, double (*round)(double)) { return Bounds{round(b.lo), round(b.hi)}; };
    switch (n.op) {
      case Op::kConst: {
        const double c = kir::LiteralValue(n.type, k_.literals[n.attr]);
        return std::isnan(c) ? Bounds{} : Bounds{c, c};
      }
      case Op::kMin:
      case Op::kMax: {
        const auto meet = [&](double a, double b) { return n.op == Op::kMin ? std::min(a, b) : std::max(a, b); };
        const Bounds a = in(0), b = in(1);
        return {meet(a.lo, b.lo), meet(a.hi, b.hi)};
      }
      case Op::kFloor:
        return rounded(in(0), std::floor);
      case Op::kCeil:
        return rounded(in(0), std::ceil);
      case Op::kTrunc:
        return rounded(in(0), std::trunc);
      case Op::kRoundEven:
      case Op::kRoundAway: {
        const Bounds b = in(0);
        return {std::floor(b.lo), std::ceil(b.hi)};
      }
      case Op::kConvert: {
        const Range from = ranges_[n.in[0]];
        if (!from.known || ByteWidth(n.type) < 4 || from.lo < -kExact || from.hi > kExact) return {};
        return {static_cast<double>(from.lo), static_cast<double>(from.hi)};
      }
      default:
        return {};
    }
  }

  /// Of a float that becomes an integer: towards zero, and zero where it is no number.
  Range OfFloat(Val v, const Range& whole, const std::vector<kir::Node>& nodes) const {
    int steps = kMostBoundedSteps;
    const Bounds b = BoundsOf(v, nodes, steps);
    const auto end = [&](double bound, int64_t otherwise) {
      return std::abs(bound) <= kExact ? static_cast<int64_t>(bound) : otherwise;
    };
    return {std::clamp<int64_t>(std::min<int64_t>(0, end(b.lo, whole.lo)), whole.lo, whole.hi),
            std::clamp<int64_t>(std::max<int64_t>(0, end(b.hi, whole.hi)), whole.lo, whole.hi), true};
  }

  /// The range of a node whose inputs, in `nodes`, have theirs in ranges_.
  Range RangeOf(const kir::Node& n, const std::vector<kir::Node>& nodes) const {
    const Range whole = RangeOfType(n.type);
    if (!whole.known) return whole;
    const auto in = [&](size_t i) { return ranges_[n.in[i]]; };
    if (n.op == Op::kConvert && n.type != DType::kPred && IsFloat(nodes[n.in[0]].type))
      return OfFloat(n.in[0], whole, nodes);
    for (size_t i = 0; i < n.in.size(); ++i) {
      const bool chooses = n.op == Op::kSelect && i == 0;
      if (!chooses && !in(i).known) return whole;
    }
    const DType type = n.type;
    switch (n.op) {
      case Op::kConst:
        if (const std::optional<int64_t> c = ConstantOf(n)) return {*c, *c, true};
        return whole;
      case Op::kIndex: {
        const kir::Size extent = k_.dims[n.attr].extent;
        if (extent.is_param() || extent.baked < 1) return whole;
        return {0, extent.baked - 1, true};
      }
      case Op::kCarried: {
        const auto it = carried_.find({n.attr, n.imm});
        return it != carried_.end() && it->second.known ? it->second : whole;
      }
      case Op::kAdd:
        if (type == DType::kPred) return {std::max(in(0).lo, in(1).lo), std::max(in(0).hi, in(1).hi), true};
        return Within(type, Wide{in(0).lo} + in(1).lo, Wide{in(0).hi} + in(1).hi);
      case Op::kSub:
        return type == DType::kPred ? whole : Within(type, Wide{in(0).lo} - in(1).hi, Wide{in(0).hi} - in(1).lo);
      case Op::kMul: {
        const Wide products[] = {Wide{in(0).lo} * in(1).lo, Wide{in(0).lo} * in(1).hi, Wide{in(0).hi} * in(1).lo,
                                 Wide{in(0).hi} * in(1).hi};
        return Within(type, *std::min_element(std::begin(products), std::end(products)),
                      *std::max_element(std::begin(products), std::end(products)));
      }
      case Op::kDiv:
        if (!in(1).is_one() || in(1).lo <= 0) return whole;
        return {in(0).lo / in(1).lo, in(0).hi / in(1).lo, true};
      case Op::kRem: {
        if (!in(1).is_one() || in(1).lo <= 0) return whole;
        const int64_t most = in(1).lo - 1;
        return {in(0).lo >= 0 ? 0 : std::max(in(0).lo, -most), in(0).hi <= 0 ? 0 : std::min(in(0).hi, most), true};
      }
      case Op::kMin:
        return {std::min(in(0).lo, in(1).lo), std::min(in(0).hi, in(1).hi), true};
      case Op::kMax:
        return {std::max(in(0).lo, in(1).lo), std::max(in(0).hi, in(1).hi), true};
      case Op::kAnd:
        if (in(0).lo >= 0 && in(1).lo >= 0)
          return {type == DType::kPred ? std::min(in(0).lo, in(1).lo) : 0, std::min(in(0).hi, in(1).hi), true};
        for (size_t i = 0; i < 2; ++i) {
          if (in(i).lo >= 0) return {0, in(i).hi, true};
        }
        return whole;
      case Op::kOr:
      case Op::kXor: {
        if (in(0).lo < 0 || in(1).lo < 0) return whole;
        const int64_t lo = n.op == Op::kOr ? std::max(in(0).lo, in(1).lo) : 0;
        return {lo, Ones(in(0).hi | in(1).hi), true};
      }
      case Op::kShrLogical:
      case Op::kShrArith:
        if (!in(1).is_one() || in(1).lo < 0 || in(1).lo >= DTypeBits(type)) return whole;
        if (n.op == Op::kShrLogical && in(0).lo < 0) return whole;
        // The highest bit of an unsigned number counts as its sign.
        if (n.op == Op::kShrArith && IsUnsigned(type) && in(0).hi > RangeOfType(type).hi / 2) return whole;
        return {in(0).lo >> in(1).lo, in(0).hi >> in(1).lo, true};
      case Op::kNot:
        return type == DType::kPred ? Range{1 - in(0).hi, 1 - in(0).lo, true} : whole;
      case Op::kSign:
        return {in(0).lo > 0 ? 1 : in(0).lo == 0 ? 0 : -1, in(0).hi > 0 ? 1 : in(0).hi == 0 ? 0 : -1, true};
      case Op::kClz:
      case Op::kPopcnt:
        return Within(type, 0, DTypeBits(type));
      case Op::kConvert:
        if (type == DType::kPred) {
          if (in(0).lo > 0 || in(0).hi < 0) return {1, 1, true};
          return in(0).is_one() ? Range{0, 0, true} : whole;
        }
        return Within(type, in(0).lo, in(0).hi);
      case Op::kCompare:
        return Compared(static_cast<kir::Cmp>(n.imm), in(0), in(1));
      case Op::kSelect:
        return Chosen(n, nodes);
      default:
        return whole;
    }
  }

  static Range Compared(kir::Cmp how, const Range& a, const Range& b) {
    const Range no{0, 0, true}, yes{1, 1, true}, maybe{0, 1, true};
    const bool below = a.hi<b.lo, above = a.lo> b.hi;
    switch (how) {
      case kir::kEq:
        return below || above ? no : a.is_one() && b.is_one() ? yes : maybe;
      case kir::kNe:
        return below || above ? yes : a.is_one() && b.is_one() ? no : maybe;
      case kir::kLt:
        return below ? yes : a.lo >= b.hi ? no : maybe;
      case kir::kLe:
        return a.hi <= b.lo ? yes : above ? no : maybe;
      case kir::kGt:
        return above ? yes : a.hi <= b.lo ? no : maybe;
      case kir::kGe:
        return a.lo >= b.hi ? yes : below ? no : maybe;
    }
    return maybe;
  }

  /// Of x < 0 ? x + c : x, what is below zero comes back moved.
  Range Chosen(const kir::Node& n, const std::vector<kir::Node>& nodes) const {
    const Range yes = ranges_[n.in[1]], no = ranges_[n.in[2]], when = ranges_[n.in[0]];
    if (when.is_one()) return when.lo != 0 ? yes : no;
    const kir::Node& p = nodes[n.in[0]];
    const kir::Node& moved = nodes[n.in[1]];
    const Val x = n.in[2];
    if (IsBelowZero(p, x) && moved.op == Op::kAdd && no.lo < 0) {
      const size_t which = moved.in[0] == x ? 1 : 0;
      const Range by = ranges_[moved.in[which]];
      if (moved.in[1 - which] == x && by.is_one()) {
        const Range below = Within(n.type, Wide{no.lo} + by.lo, Wide{std::min<int64_t>(no.hi, -1)} + by.lo);
        return no.hi < 0 ? below : Hull(below, {0, no.hi, true});
      }
    }
    return Hull(yes, no);
  }

  bool IsBelowZero(const kir::Node& p, Val x) const {
    return p.op == Op::kCompare && p.imm == kir::kLt && p.in[0] == x && ranges_[p.in[1]] == Range{0, 0, true};
  }

  // Rewriting
  // ------------------------------------------------------------------------------------------------------------------

  Val Add(kir::Node n) {
    const auto key = std::tuple(n.op, n.type, n.imm, n.attr, std::vector<Val>(n.in.begin(), n.in.end()));
    const auto [it, fresh] = same_.try_emplace(key, static_cast<Val>(nodes_.size()));
    if (fresh) {
      ranges_.push_back(RangeOf(n, nodes_));
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
    ranges_.clear();
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
    const Range range = RangeOf(n, nodes_);
    if (range.is_one() && n.op != Op::kCarried) return Constant(n.type, range.lo);
    const auto in = [&](size_t i) { return ranges_[n.in[i]]; };
    switch (n.op) {
      case Op::kCompare: {
        // p != false and p == true are p.
        if (nodes_[n.in[0]].type != DType::kPred || !in(1).is_one()) break;
        if ((n.imm == kir::kNe && in(1).lo == 0) || (n.imm == kir::kEq && in(1).lo == 1)) return n.in[0];
        break;
      }
      case Op::kAnd:
        for (size_t i = 0; i < 2; ++i) {
          const Val here = n.in[i], there = n.in[1 - i];
          // What is below zero is not zero.
          if (nodes_[here].op == Op::kCompare && nodes_[here].imm == kir::kLt &&
              IsNotZero(nodes_[there], nodes_[here].in[0]) && IsBelowZero(nodes_[here], nodes_[here].in[0]))
            return here;
          if (n.type == DType::kPred
                  ? in(i).is_one() && in(i).lo == 1
                  : in(i).is_one() && in(1 - i).lo >= 0 && Ones(in(1 - i).hi) == (Ones(in(1 - i).hi) & in(i).lo))
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
  bool any_ = false;
  std::map<uint32_t, const kir::Loop*> loops_;
  std::map<std::pair<uint32_t, size_t>, Range> carried_;
  std::vector<Range> ranges_;  ///< By node: of the kernel, then of nodes_.
  std::vector<kir::Node> nodes_;
  std::map<std::tuple<Op, DType, uint8_t, uint32_t, std::vector<Val>>, Val> same_;
  std::map<uint32_t, bool> moved_;  ///< Reads whose nodes are new ones.
};

}  // namespace

void SimplifyIntegers(kir::Kernel& kernel) { Walk(kernel).Run(); }

}  // namespace tenon::compiler
