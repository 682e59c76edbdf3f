#include "tenon/kir/ranges.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <variant>

#include "tenon/kir/builder.h"

namespace tenon::kir {

IntegerRange RangeOfType(DType type) {
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

std::optional<int64_t> KeysOf(const IntegerRange& range) {
  constexpr int64_t kMostKeys = 1 << 16;  // structural: more than registers hold of anything
  if (!range.known || range.lo < 0 || range.hi >= kMostKeys) return std::nullopt;
  return range.hi + 1;
}

bool ReadsByData(const Kernel& kernel) {
  return std::any_of(kernel.reads.begin(), kernel.reads.end(), [](const Read& read) {
    return std::any_of(read.at.begin(), read.at.end(), [](const Axis& axis) { return axis.start != kNone; });
  });
}

int64_t OnesUpTo(int64_t value) {
  return value == 0 ? 0 : static_cast<int64_t>(~uint64_t{0} >> std::countl_zero(static_cast<uint64_t>(value)));
}

namespace {

using Wide = __int128;
using Carries = std::map<std::pair<uint32_t, size_t>, IntegerRange>;

/// The range, or the type's where some of it would wrap.
IntegerRange Within(DType type, Wide lo, Wide hi) {
  const IntegerRange whole = RangeOfType(type);
  if (!whole.known || lo < whole.lo || hi > whole.hi) return whole;
  return {static_cast<int64_t>(lo), static_cast<int64_t>(hi), true};
}

IntegerRange Hull(const IntegerRange& a, const IntegerRange& b) {
  if (!a.known || !b.known) return {};
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi), true};
}

/// lo <= x <= hi, where x is a number at all.
struct Bounds {
  double lo = -std::numeric_limits<double>::infinity(), hi = std::numeric_limits<double>::infinity();
};

constexpr int kMostBoundedSteps = 16;  // structural: the way to a float's bounds, whose nodes may be shared
constexpr double kExact = 1 << 24;     // structural: f32 has all whole numbers up to here

class Rules {
 public:
  Rules(const RangeRules& rules, const Kernel& k, const Carries& carried, std::span<const Node> nodes,
        std::span<const IntegerRange> ranges)
      : rules_(rules), k_(k), carried_(carried), nodes_(nodes), ranges_(ranges) {}

  IntegerRange RangeOf(const Node& n) const {
    const IntegerRange whole = RangeOfType(n.type);
    if (!whole.known) return whole;
    const auto in = [&](size_t i) { return ranges_[n.in[i]]; };
    if (n.op == Op::kConvert && n.type != DType::kPred && IsFloat(nodes_[n.in[0]].type)) return OfFloat(n.in[0], whole);
    for (size_t i = 0; i < n.in.size(); ++i) {
      const bool chooses = n.op == Op::kSelect && i == 0;
      if (!chooses && !in(i).known) return whole;
    }
    const DType type = n.type;
    switch (n.op) {
      case Op::kConst:
        if (const std::optional<int64_t> c = rules_.ConstantOf(n)) return {*c, *c, true};
        return whole;
      case Op::kIndex: {
        const Size extent = k_.dims[n.attr].extent;
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
        return {lo, OnesUpTo(in(0).hi | in(1).hi), true};
      }
      case Op::kShrLogical:
      case Op::kShrArith:
        if (!in(1).is_one() || in(1).lo < 0 || in(1).lo >= DTypeBits(type)) return whole;
        if (n.op == Op::kShrLogical && in(0).lo < 0) return whole;
        // The highest bit of an unsigned number counts as its sign.
        if (n.op == Op::kShrArith && IsUnsigned(type) && in(0).hi > RangeOfType(type).hi / 2) return whole;
        return {in(0).lo >> in(1).lo, in(0).hi >> in(1).lo, true};
      case Op::kNot:
        return type == DType::kPred ? IntegerRange{1 - in(0).hi, 1 - in(0).lo, true} : whole;
      case Op::kSign:
        return {in(0).lo > 0 ? 1 : in(0).lo == 0 ? 0 : -1, in(0).hi > 0 ? 1 : in(0).hi == 0 ? 0 : -1, true};
      case Op::kClz:
      case Op::kPopcnt:
        return Within(type, 0, DTypeBits(type));
      case Op::kConvert:
        if (type == DType::kPred) {
          if (in(0).lo > 0 || in(0).hi < 0) return {1, 1, true};
          return in(0).is_one() ? IntegerRange{0, 0, true} : whole;
        }
        return Within(type, in(0).lo, in(0).hi);
      case Op::kCompare:
        return Compared(static_cast<Cmp>(n.imm), in(0), in(1));
      case Op::kSelect:
        return Chosen(n);
      default:
        return whole;
    }
  }

 private:
  /// Of a float: clamped and rounded places.
  Bounds BoundsOf(Val v, int& steps) const {
    const Node& n = nodes_[v];
    if (--steps < 0) return {};
    const auto in = [&](size_t i) { return BoundsOf(n.in[i], steps); };
    const auto rounded = [](const Bounds& b, double (*round)(double)) { return Bounds{round(b.lo), round(b.hi)}; };
    switch (n.op) {
      case Op::kConst: {
        const double c = LiteralValue(n.type, k_.literals[n.attr]);
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
        const IntegerRange from = ranges_[n.in[0]];
        if (!from.known || ByteWidth(n.type) < 4 || from.lo < -kExact || from.hi > kExact) return {};
        return {static_cast<double>(from.lo), static_cast<double>(from.hi)};
      }
      default:
        return {};
    }
  }

  /// Of a float that becomes an integer: towards zero, and zero where it is no number.
  IntegerRange OfFloat(Val v, const IntegerRange& whole) const {
    int steps = kMostBoundedSteps;
    const Bounds b = BoundsOf(v, steps);
    const auto end = [&](double bound, int64_t otherwise) {
      return std::abs(bound) <= kExact ? static_cast<int64_t>(bound) : otherwise;
    };
    return {std::clamp<int64_t>(std::min<int64_t>(0, end(b.lo, whole.lo)), whole.lo, whole.hi),
            std::clamp<int64_t>(std::max<int64_t>(0, end(b.hi, whole.hi)), whole.lo, whole.hi), true};
  }

  static IntegerRange Compared(Cmp how, const IntegerRange& a, const IntegerRange& b) {
    const IntegerRange no{0, 0, true}, yes{1, 1, true}, maybe{0, 1, true};
    const bool below = a.hi<b.lo, above = a.lo> b.hi;
    switch (how) {
      case kEq:
        return below || above ? no : a.is_one() && b.is_one() ? yes : maybe;
      case kNe:
        return below || above ? yes : a.is_one() && b.is_one() ? no : maybe;
      case kLt:
        return below ? yes : a.lo >= b.hi ? no : maybe;
      case kLe:
        return a.hi <= b.lo ? yes : above ? no : maybe;
      case kGt:
        return above ? yes : a.hi <= b.lo ? no : maybe;
      case kGe:
        return a.lo >= b.hi ? yes : below ? no : maybe;
    }
    return maybe;
  }

  /// Of x < 0 ? x + c : x, what is below zero comes back moved.
  IntegerRange Chosen(const Node& n) const {
    const IntegerRange yes = ranges_[n.in[1]], no = ranges_[n.in[2]], when = ranges_[n.in[0]];
    if (when.is_one()) return when.lo != 0 ? yes : no;
    const Node& p = nodes_[n.in[0]];
    const Node& moved = nodes_[n.in[1]];
    const Val x = n.in[2];
    if (IsBelowZero(p, x) && moved.op == Op::kAdd && no.lo < 0) {
      const size_t which = moved.in[0] == x ? 1 : 0;
      const IntegerRange by = ranges_[moved.in[which]];
      if (moved.in[1 - which] == x && by.is_one()) {
        const IntegerRange below = Within(n.type, Wide{no.lo} + by.lo, Wide{std::min<int64_t>(no.hi, -1)} + by.lo);
        return no.hi < 0 ? below : Hull(below, {0, no.hi, true});
      }
    }
    return Hull(yes, no);
  }

  bool IsBelowZero(const Node& p, Val x) const {
    return p.op == Op::kCompare && p.imm == kLt && p.in[0] == x && ranges_[p.in[1]] == IntegerRange{0, 0, true};
  }

  const RangeRules& rules_;
  const Kernel& k_;
  const Carries& carried_;
  std::span<const Node> nodes_;
  std::span<const IntegerRange> ranges_;
};

// A constant that the carry is below wherever the condition holds.
template <class F>
std::optional<int64_t> LimitOf(const RangeRules& rules, const Kernel& k, Val condition, const F& is_carry) {
  const Node& node = k.nodes[condition];
  if (node.op == Op::kAnd) {
    const std::optional<int64_t> first = LimitOf(rules, k, node.in[0], is_carry);
    return first ? first : LimitOf(rules, k, node.in[1], is_carry);
  }
  if (node.op != Op::kCompare || node.imm != kLt || !is_carry(node.in[0])) return std::nullopt;
  return rules.ConstantOf(k.nodes[node.in[1]]);
}

}  // namespace

RangeRules::RangeRules(const Kernel& kernel) : k_(kernel) {
  const auto is_loop = [](const Step& step) { return std::holds_alternative<Loop>(step.is); };
  if (std::any_of(kernel.seq.begin(), kernel.seq.end(), is_loop)) LearnCarries(kernel.seq, OfAll());
}

std::vector<IntegerRange> RangeRules::OfAll() const {
  std::vector<IntegerRange> ranges;
  ranges.reserve(k_.nodes.size());
  for (const Node& node : k_.nodes) ranges.push_back(Of(node, k_.nodes, ranges));
  return ranges;
}

void RangeRules::LearnCarries(const Seq& seq, std::span<const IntegerRange> ranges) {
  for (const Step& step : seq) {
    const auto* loop = std::get_if<Loop>(&step.is);
    if (loop == nullptr) continue;
    for (size_t i = 0; i < loop->types.size(); ++i) {
      IntegerRange range = Hull(ranges[loop->init[i]], ranges[loop->next[i]]);
      if (const IntegerRange counted = Counted(*loop, i, ranges);
          counted.known && (!range.known || counted.size() < range.size()))
        range = counted;
      carried_[{loop->id, i}] = range;
    }
    LearnCarries(loop->body, ranges);
  }
}

std::optional<int64_t> RangeRules::ConstantOf(const Node& node) const {
  if (node.op != Op::kConst) return std::nullopt;
  const uint64_t bits = k_.literals[node.attr];
  if (node.type == DType::kPred) return bits != 0;
  if (!RangeOfType(node.type).known) return std::nullopt;
  const int width = DTypeBits(node.type);
  if (!IsSigned(node.type) || width == 64) return static_cast<int64_t>(bits);
  const int shift = 64 - width;
  return static_cast<int64_t>(bits << shift) >> shift;
}

IntegerRange RangeRules::Of(const Node& node, std::span<const Node> nodes, std::span<const IntegerRange> ranges) const {
  return Rules(*this, k_, carried_, nodes, ranges).RangeOf(node);
}

// A carry that goes up by a constant for so many trips, or as long as it is below a constant.
IntegerRange RangeRules::Counted(const Loop& loop, size_t carry, std::span<const IntegerRange> ranges) const {
  const Node& next = k_.nodes[loop.next[carry]];
  const IntegerRange init = ranges[loop.init[carry]];
  if (!init.known || next.op != Op::kAdd) return {};
  const auto is_carry = [&](Val v) {
    const Node& n = k_.nodes[v];
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
    const std::optional<int64_t> limit = LimitOf(*this, k_, loop.condition, is_carry);
    if (!limit) return {};
    last = std::max<Wide>(init.hi, Wide{*limit} - 1 + *step);
  }
  const IntegerRange whole = RangeOfType(next.type);
  if (!whole.known || last > whole.hi) return {};
  return {init.lo, static_cast<int64_t>(last), true};
}

}  // namespace tenon::kir
