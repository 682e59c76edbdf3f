#pragma once

/// What it costs to bring elements into the lanes of a vector, in cycles of one core per vector. The emitter chooses
/// the dim that runs in lanes by these numbers, and fusion what it offers to choose from; bits do not depend on them.

namespace tenon::target {

inline constexpr double kContiguousMove = 1;
inline constexpr double kReversedMove = 2;
/// Lane by lane, each at a place of its own.
inline constexpr double kStridedMove = 12;
/// The same for all lanes: moved once, before a loop.
inline constexpr double kUniformMove = 0.2;

/// Vectors of `lanes` that hold, at each of `lanes` points `stride` elements apart, `components` of the elements in
/// between: whole vectors are moved, and as many shuffles as it takes bring each component into its own.
double InterleavedMove(int lanes, int stride, int components);

/// Strides beyond this share no cache lines worth the shuffles.
inline constexpr int kMaxInterleaved = 64;

}  // namespace tenon::target
