#pragma once

/// How often a loop runs, when its program says so.

#include <cstdint>
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

}  // namespace tenon::compiler
