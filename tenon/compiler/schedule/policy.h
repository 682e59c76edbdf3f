#pragma once

/// The numbers behind schedule's choices, each with its reason. No bit depends on them.

#include <cstdint>

namespace tenon::compiler::policy {

/// Smaller temporaries are not written in place: the second form of the kernel would cost more than the memory.
inline constexpr int64_t kWorthInPlace = 256 << 10;
/// Outputs of its shape whose memory a donor may not have, before it gives up.
inline constexpr int kMostOutputsTried = 256;
/// How many neighbours in time are looked at when memory is dealt out: so many in all, and so many more for each piece.
inline constexpr int64_t kNeighbours = 1 << 20;
inline constexpr int64_t kNeighboursPerLife = 16;

}  // namespace tenon::compiler::policy
