#include "tenon/compiler/ir/trips.h"

#include <bit>
#include <utility>

#include "tenon/compiler/ir/kir_op.h"

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
    const GraphNode& next = p[body.results[carry].node];
    const Ref self{body.args[carry], 0};
    std::optional<Integer> step;
    if (next.op == OpCode::kAdd) {
      if (next.in[0] == self || next.in[1] == self) step = IntegerConstant(p, next.in[next.in[0] == self ? 1 : 0]);
    } else if (next.op == OpCode::kSubtract && next.in[0] == self) {
      step = IntegerConstant(p, next.in[1]);
      if (step) step = -*step;
    }
    if (!step) return -1;
    const DType type = p.shape(self).dtype;
    const int bits = DTypeBits(type);
    const Integer lowest = IsSigned(type) ? -(Integer{1} << (bits - 1)) : Integer{0};
    const std::optional<Integer> trips =
        TripsWhile({*start, *step, lowest, lowest + (Integer{1} << bits) - 1, bits}, direction, *limit);
    return trips && *trips <= kMaxKnownTrips ? static_cast<int64_t>(*trips) : -1;
  }
  return -1;
}

}  // namespace tenon::compiler
