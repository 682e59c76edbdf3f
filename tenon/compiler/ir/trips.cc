#include "tenon/compiler/ir/trips.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "tenon/compiler/ir/kir_op.h"
#include "tenon/compiler/ir/policy.h"

namespace tenon::compiler {

namespace {

/// Holds the values of every integer type, and sums and differences of them.
__extension__ typedef __int128 Integer;

/// The number that an integer scalar constant is, of a signed type or not.
std::optional<Integer> IntegerConstant(const Program& program, Ref r) {
  const Shape& shape = program.shape(r);
  if (shape.rank() != 0 || !IsInteger(shape.dtype)) return std::nullopt;
  const std::optional<uint64_t> bits = SplatBits(program, r);
  if (!bits) return std::nullopt;
  const int unused = 64 - DTypeBits(shape.dtype);
  if (IsSigned(shape.dtype)) return static_cast<int64_t>(*bits << unused) >> unused;
  return *bits << unused >> unused;
}

/// `a ? b` as `b ? a`.
kir::Cmp Mirrored(kir::Cmp direction) {
  switch (direction) {
    case kir::kLt:
      return kir::kGt;
    case kir::kLe:
      return kir::kGe;
    case kir::kGt:
      return kir::kLt;
    case kir::kGe:
      return kir::kLe;
    default:
      return direction;
  }
}

/// x, x + step, x + 2 step ..., each modulo 2^bits.
struct Counter {
  Integer x;
  Integer step;
  Integer lowest, highest;  ///< Of the type.
  int bits;
};

/// The first k with x + k * step == limit modulo 2^bits; nothing when there is none.
std::optional<Integer> TripsUntilEqual(const Counter& c, Integer limit) {
  const uint64_t mask = c.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << c.bits) - 1;
  const uint64_t away = static_cast<uint64_t>(limit - c.x) & mask;
  const uint64_t step = static_cast<uint64_t>(c.step) & mask;
  if (away == 0) return 0;
  if (step == 0) return std::nullopt;
  const int even = std::countr_zero(step);
  if (std::countr_zero(away) < even) return std::nullopt;
  const uint64_t odd = step >> even;
  uint64_t inverse = odd;  // Of odd modulo 2^64; each round doubles the bits that are right, of which this has three.
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;  // structural: steps of an inverse modulo 2^64
  return (away >> even) * inverse & (mask >> even);
}

/// The first k for which the comparison does not hold of x + k * step; nothing when there is none, or only after a
/// wrap-around.
std::optional<Integer> TripsWhile(const Counter& c, kir::Cmp direction, Integer limit) {
  if (!Holds(direction, c.x, limit)) return 0;
  switch (direction) {
    case kir::kEq:
      return c.step % (Integer{1} << c.bits) == 0 ? std::nullopt : std::optional<Integer>(1);
    case kir::kNe:
      return TripsUntilEqual(c, limit);
    case kir::kLe:
      ++limit;
      break;
    case kir::kGe:
      --limit;
      break;
    default:
      break;
  }
  const bool up = direction == kir::kLt || direction == kir::kLe;
  Integer step = up ? c.step : -c.step;
  // Of an unsigned type, what is added is the same number modulo 2^bits.
  if (step < 0 && c.lowest == 0) step += Integer{1} << c.bits;
  if (step <= 0) return std::nullopt;
  const Integer span = up ? limit - c.x : c.x - limit;
  const Integer trips = (span + step - 1) / step;
  if (up ? c.x + trips * step > c.highest : c.x - trips * step < c.lowest) return std::nullopt;
  return trips;
}

/// What a trip adds to an integer carry, where that is a constant.
std::optional<Integer> StepOf(const Program& p, const Block& body, size_t carry) {
  const GraphNode& next = p[body.results[carry].node];
  const Ref self{body.args[carry], 0};
  if (next.op == OpCode::kAdd && (next.in[0] == self || next.in[1] == self))
    return IntegerConstant(p, next.in[next.in[0] == self ? 1 : 0]);
  if (next.op != OpCode::kSubtract || next.in[0] != self) return std::nullopt;
  const std::optional<Integer> step = IntegerConstant(p, next.in[1]);
  return step ? std::optional<Integer>(-*step) : std::nullopt;
}

}  // namespace

int64_t KnownTrips(const Program& p, const GraphNode& loop) {
  return KnownTrips(p, loop, p, {loop.in.data(), loop.in.size()});
}

int64_t KnownTrips(const Program& p, const GraphNode& loop, const Program& outer, std::span<const Ref> init) {
  const Block& condition = loop.blocks[0];
  const Block& body = loop.blocks[1];
  const GraphNode& compare = p[condition.results[0].node];
  if (compare.op != OpCode::kCompare) return -1;
  kir::Cmp direction = compare.attrs<CompareAttrs>().comparison_direction;
  for (size_t side = 0; side < 2; ++side, direction = Mirrored(direction)) {
    size_t carry = 0;
    while (carry < condition.args.size() && compare.in[side] != Ref{condition.args[carry], 0}) ++carry;
    if (carry == condition.args.size()) continue;
    const std::optional<Integer> start = IntegerConstant(outer, init[carry]);
    const std::optional<Integer> limit = IntegerConstant(p, compare.in[1 - side]);
    if (!start || !limit) return -1;
    const std::optional<Integer> step = StepOf(p, body, carry);
    if (!step) return -1;
    const DType type = loop.out[carry].dtype;
    const int bits = DTypeBits(type);
    const Integer lowest = IsSigned(type) ? -(Integer{1} << (bits - 1)) : Integer{0};
    const std::optional<Integer> trips =
        TripsWhile({*start, *step, lowest, lowest + (Integer{1} << bits) - 1, bits}, direction, *limit);
    return trips && *trips <= kMaxKnownTrips ? static_cast<int64_t>(*trips) : -1;
  }
  return -1;
}

namespace {

/// Operations that are followed back from a value: what places in arrays are reckoned with.
constexpr int kMaxProgressionDepth = 16;  // structural: guards the stack

bool Fits(DType type, Integer x) {
  const Integer lowest = IsSigned(type) ? -(Integer{1} << (DTypeBits(type) - 1)) : Integer{0};
  return x >= lowest && x < lowest + (Integer{1} << DTypeBits(type));
}

/// The progressions in one loop.
class Progressions {
 public:
  Progressions(const Program& p, const GraphNode& loop, int64_t trips) : p_(p), loop_(loop), last_(trips - 1) {}

  std::optional<Progression> Of(Ref r, int depth = kMaxProgressionDepth) {
    if (depth == 0 || r.result != 0 || !IsInteger(p_.shape(r).dtype) || p_.shape(r).rank() != 0) return std::nullopt;
    if (const auto it = known_.find(r.node); it != known_.end()) return it->second;
    const std::optional<Progression> made = Make(r, depth);
    return known_[r.node] = made;
  }

 private:
  std::optional<Progression> Make(Ref r, int depth) {
    const DType type = p_.shape(r).dtype;
    if (const std::optional<Integer> constant = IntegerConstant(p_, r)) return Kept(type, *constant, 0);
    const GraphNode& node = p_[r.node];
    const auto in = [&](size_t i) { return Of(node.in[i], depth - 1); };
    switch (node.op) {
      case OpCode::kParameter:
        return OfCarry(r);
      case OpCode::kConvert: {
        const std::optional<Progression> x = in(0);
        return x ? Kept(type, x->first, x->step) : std::nullopt;
      }
      case OpCode::kNegate: {
        const std::optional<Progression> x = in(0);
        return x ? Kept(type, -Integer{x->first}, -Integer{x->step}) : std::nullopt;
      }
      case OpCode::kAdd:
      case OpCode::kSubtract:
      case OpCode::kMultiply: {
        const std::optional<Progression> a = in(0), b = in(1);
        if (!a || !b) return std::nullopt;
        const Integer a0 = a->first, a1 = a->step, b0 = b->first, b1 = b->step;
        if (node.op == OpCode::kAdd) return Kept(type, a0 + b0, a1 + b1);
        if (node.op == OpCode::kSubtract) return Kept(type, a0 - b0, a1 - b1);
        if (a1 != 0 && b1 != 0) return std::nullopt;
        return Kept(type, a0 * b0, a0 * b1 + a1 * b0);
      }
      case OpCode::kSelect: {
        const std::optional<bool> taken = Holds(node.in[0], depth - 1);
        return taken ? in(*taken ? 1 : 2) : std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  /// The progression, if all its numbers are of the type, and of int64_t.
  std::optional<Progression> Kept(DType type, Integer first, Integer step) const {
    for (const Integer x : {first, first + step * last_}) {
      if (!Fits(type, x) || !Fits(DType::kS64, x)) return std::nullopt;
    }
    return Progression{static_cast<int64_t>(first), static_cast<int64_t>(step)};
  }
  /// A carry to which each trip adds a constant.
  std::optional<Progression> OfCarry(Ref self) const {
    const Block& body = loop_.blocks[1];
    const auto at = std::find(body.args.begin(), body.args.end(), self.node);
    if (at == body.args.end()) return std::nullopt;
    const auto carry = static_cast<size_t>(at - body.args.begin());
    const std::optional<Integer> first = IntegerConstant(p_, loop_.in[carry]);
    const std::optional<Integer> step = StepOf(p_, body, carry);
    return first && step ? Kept(p_.shape(self).dtype, *first, *step) : std::nullopt;
  }
  /// Whether a comparison of two progressions is the same in all trips; what it is then.
  std::optional<bool> Holds(Ref r, int depth) {
    const GraphNode& node = p_[r.node];
    if (node.op != OpCode::kCompare || p_.shape(r).rank() != 0) return std::nullopt;
    const kir::Cmp direction = node.attrs<CompareAttrs>().comparison_direction;
    if (direction == kir::kEq || direction == kir::kNe) return std::nullopt;
    const std::optional<Progression> a = Of(node.in[0], depth), b = Of(node.in[1], depth);
    if (!a || !b) return std::nullopt;
    // Their difference grows or falls throughout, so that both ends tell of what lies between.
    const bool before = compiler::Holds(direction, a->first, b->first);
    if (before != compiler::Holds(direction, a->At(last_), b->At(last_))) return std::nullopt;
    return before;
  }

  const Program& p_;
  const GraphNode& loop_;
  const int64_t last_;
  std::unordered_map<NodeId, std::optional<Progression>> known_;
};

}  // namespace

std::optional<Progression> ProgressionOf(const Program& program, const GraphNode& loop, int64_t trips, Ref value) {
  return Progressions(program, loop, trips).Of(value);
}

bool RepaysCopies(int64_t trips) { return trips < 0 || trips >= policy::kLeastLastingTrips; }

}  // namespace tenon::compiler
