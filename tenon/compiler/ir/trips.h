#pragma once

/// How often a loop runs, when its program says so.

#include <cstdint>
#include <optional>
#include <span>

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// More trips than this count as unknown: estimates that multiply with a count stay within 64 bits.
inline constexpr int64_t kMaxKnownTrips = int64_t{1} << 40;  // structural: a guard against overflow

/// Trips of a while node that adds a constant to an integer carry, or takes one away, while the carry compares so with
/// another constant: exact for every integer type, its wrap-around included. -1 when the loop is of another form, never
/// ends, or wraps around before it ends.
int64_t KnownTrips(const Program& program, const GraphNode& loop);
/// The same when the carries start at other values than the node's operands: at init[i] of `outer`.
int64_t KnownTrips(const Program& program, const GraphNode& loop, const Program& outer, std::span<const Ref> init);
/// Whether a loop of so many trips, less than 0 for unknown, repays copies of matrices that lie as its products want
/// them.
bool RepaysCopies(int64_t trips);

/// first, first + step, first + 2 step ...: a number per trip.
struct Progression {
  int64_t first = 0;
  int64_t step = 0;
  int64_t At(int64_t trip) const { return first + trip * step; }
  friend bool operator==(const Progression&, const Progression&) = default;
};
/// What an integer scalar in the body of a while node of `trips` trips, at least one, is in each of them: without a
/// wrap-around on the way. Nothing for values of another kind.
std::optional<Progression> ProgressionOf(const Program& program, const GraphNode& loop, int64_t trips, Ref value);

}  // namespace tenon::compiler
