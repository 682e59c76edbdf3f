#pragma once

#include <cstdint>

namespace tenon::hlo {

// What a program may contain; real programs stay far below. These keep recursive walks within a small stack and stop
// short inputs that expand exponentially.

/// Nesting of tuple types, of literals and of brackets in text.
inline constexpr int kMaxNesting = 64;
/// Arrays in one shape.
inline constexpr int64_t kMaxLeaves = 1 << 20;
inline constexpr uint64_t kMaxRank = 64;
inline constexpr uint64_t kMaxArrayBytes = uint64_t{1} << 60;
/// How deep computations call each other: each level nests a region or inlines a call.
inline constexpr uint32_t kMaxCallDepth = 200;
/// Ops that one program may expand to beyond a few for each of its instructions: computations that are regions are
/// copied to each place that names them.
inline constexpr int64_t kMaxExtraOps = int64_t{1} << 17;
inline constexpr int64_t kMaxOpsPerInstruction = 8;

}  // namespace tenon::hlo
