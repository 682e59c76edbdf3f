#pragma once

/// The numbers behind schedule's choices, each with its reason. No bit depends on them.

#include <cstdint>

namespace tenon::compiler::policy {

/// Smaller temporaries are not written in place: the second form of the kernel would cost more than the memory.
inline constexpr int64_t kWorthInPlace = 256 << 10;
/// Outputs of its shape whose memory a donor may not have, before it gives up.
inline constexpr int kMostOutputsTried = 256;
/// Writes in branches that are compared with one read, so that placing all copies takes linear time.
inline constexpr int kMostWritesLookedAt = 64;
/// How many neighbours in time are looked at when memory is dealt out: so many in all, and so many more for each piece.
inline constexpr int64_t kNeighbours = 1 << 20;
inline constexpr int64_t kNeighboursPerLife = 16;

// Loops that become one kernel.

/// Where steps take longer than this on average, the time between them, some 30 ns each, is no matter.
inline constexpr double kLinkedStepNs = 500;
/// One kernel of more steps is slower to compile than they are alone.
inline constexpr int64_t kMaxLinkedSteps = 64;
/// Rows of a kernel of several stages go one by one there, though they might have run in lanes.
inline constexpr int64_t kMaxLinkedRows = 4;
/// A loop inside a kernel that takes longer than this looks whether the run was cancelled.
inline constexpr double kUnpolledNs = 1e6;
/// Each time memory turns out to be indexed in several ways, or a condition to be more than an expression, the loop is
/// written anew.
inline constexpr int kLinkAttempts = 16;

}  // namespace tenon::compiler::policy
