#pragma once

/// What it costs to bring elements into the lanes of a vector, in cycles of one core per vector. The emitter chooses
/// the dim that runs in lanes by these numbers, and fusion what it offers to choose from; bits do not depend on them.

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tenon::target {

inline constexpr double kContiguousMove = 1;
inline constexpr double kReversedMove = 2;
/// Lane by lane, each at a place of its own, for elements that gathers know; and each lane of narrower ones.
inline constexpr double kStridedMove = 12;
inline constexpr double kNarrowLaneMove = 3;
/// So many times as long where data say which rows: those of one vector have no line in common.
inline constexpr double kRowsFromData = 2;
/// Loops down the columns of arrays whose rows are long take so many times as long: each element brings a line of
/// memory of its own, which is gone when the next column wants it.
inline constexpr double kFarRows = 4;
/// Rows of at most so many registers are permuted by keys, not gathered from: of two registers at a time, and then one
/// of what these give is chosen.
inline constexpr int kTableRegisters = 8;
/// The same for all lanes: moved once, before a loop.
inline constexpr double kUniformMove = 0.2;
/// The same where no register is left for it: with the operation that needs it, two of which a core loads at a time.
inline constexpr double kSpreadMove = 0.5;

/// Elements of a row that is shorter than the shortest register, where no masks leave the others out: they go by way of
/// memory of the core's own, in pieces whose stores its loads wait for.
inline constexpr double kMoveThroughMemory = 12;
/// Whether rows of `extent` elements of `bytes` in a register are moved by registers: masks of narrow elements come
/// with the widest.
inline bool MovesRows(int bytes, int64_t extent, int vector_bytes) {
  return bytes >= 4 || vector_bytes == 64 || extent * bytes >= 16;  // structural: what instructions there are
}

/// Registers of `vector_bytes` that a vector takes; one of those that fill a part of one.
inline double Registers(int bytes, int lanes, int vector_bytes) {
  return bytes * lanes <= vector_bytes ? 1 : bytes * lanes / vector_bytes;  // structural: both powers of two
}
/// A vector's elements, each at a place of its own. A gather of part of a register is that part of one.
inline double StridedMove(int bytes, int lanes, int vector_bytes) {
  if (bytes < 4) return kNarrowLaneMove * lanes;
  return kStridedMove * static_cast<double>(bytes * lanes) / vector_bytes;
}

/// Vectors of `lanes` that hold, at each of `lanes` points `stride` elements apart, `components` of the elements in
/// between: whole vectors are moved, and as many shuffles as it takes bring each component into its own.
double InterleavedMove(int lanes, int stride, int components);
/// Whether that takes least row by row: each point's elements are moved as vectors of their own, from where they begin,
/// and as many points as there are lanes change places with as many components.
bool MovesByRows(int lanes, int stride, int components);

/// A vector of a square tile that lies the other way round: as many of them as lanes are moved whole, and change places
/// in as many rounds of shuffles as the number of lanes has bits.
inline double TransposedMove(int bytes, int lanes, int vector_bytes) {
  const int rounds = std::bit_width(static_cast<unsigned>(lanes)) - 1;
  return (kContiguousMove + rounds) * Registers(bytes, lanes, vector_bytes);
}
/// Tiles have as many copies of their body as lanes: of those that cost at most so much (OpCosts).
inline constexpr int kTileCost = 60;
/// What it takes to find a tile's place and edges, and to go on to the next one.
inline constexpr double kTileCycles = 24;
/// The side of such tiles of elements of `bytes` in vectors of `lanes`, no longer than the extents that are cut into
/// them; 0: too short, or less than half of the shortest register.
inline int TileSide(int bytes, int64_t lanes, int64_t rows, int64_t columns) {
  constexpr int64_t kShortest = 4, kLongest = 16, kHalfRegister = 8;
  const int64_t most = std::min({lanes, kLongest, rows, columns});
  const int64_t side = most <= 0 ? 0 : static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most)));
  return side < kShortest || side * bytes < kHalfRegister ? 0 : static_cast<int>(side);
}

/// Whether two registers of `lanes` elements can be shuffled in one or two instructions, registers being of
/// `vector_bytes`: those of bytes in 16 bytes at a time, those of two bytes in more only at the widest.
inline bool Shuffles(int bytes, int lanes, int vector_bytes) {
  const int all = bytes * lanes;
  if (all < 16 || all > vector_bytes || bytes > 8) return false;
  return bytes >= 4 || all == 16 || (bytes == 2 && vector_bytes == 64);  // structural: what instructions there are
}

/// The lanes of a vector that are shuffled together: all, or of one that takes several registers those of one of them;
/// 0 where there are no shuffles.
inline int ShuffledLanes(int bytes, int lanes, int vector_bytes) {
  while (bytes * lanes > vector_bytes) lanes /= 2;
  return Shuffles(bytes, lanes, vector_bytes) ? lanes : 0;
}
/// InterleavedMove of vectors that are shuffled in parts of ShuffledLanes, which are not 0; each is reversed on the way
/// where the places go down.
double ShuffledMove(int bytes, int lanes, int vector_bytes, int stride, int components, bool down);
/// Lanes of narrow elements that shuffles know at every level; of wider ones they take several registers.
inline int NarrowLanes(int bytes) { return 16 / bytes; }

/// Rows of at most so many elements: what the points of one share is computed for a vector of rows at once, ahead of
/// them, where that costs (OpCosts) so much more than to hand each of its values on, which takes as long as this.
inline constexpr int64_t kRowAhead = 64;
inline constexpr int kLeastAhead = 16;
inline constexpr int kHandedCost = 3;
inline bool ComputesAhead(int cost, int handed, int64_t extent) {
  return extent <= kRowAhead && cost >= kLeastAhead + kHandedCost * handed;
}

/// Operations on floats below f32 cost so much more (OpCosts) for being rounded.
inline constexpr int kNarrowRounding = 4;
/// Where a parameter says how many places a dim has, as many as few never are.
inline constexpr int64_t kManyPlaces = 64;

/// Strides beyond this share no cache lines worth the shuffles.
inline constexpr int kMaxInterleaved = 64;

}  // namespace tenon::target
