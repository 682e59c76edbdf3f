#include "tenon/base/strided_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tenon/base/small_vector.h"

namespace tenon {
namespace {

struct Loop {
  int64_t extent;
  int64_t to;
  int64_t from;
};

// What starts a loop takes longer than so few of its steps.
constexpr int64_t kShortLoop = 4;
constexpr int64_t kNearBytes = 32 << 10;
constexpr int64_t kLineBytes = 64;
// So many lines and what is beside them stay in the nearest cache.
constexpr int64_t kLinesHeld = 128;

int64_t Reach(const Loop& loop) { return loop.extent * (std::abs(loop.to) + std::abs(loop.from)); }

/// Whether steps of the outer loop go back to lines that the inner one has long left.
bool ComesBack(const Loop& outer, const Loop& inner) {
  if (inner.extent <= kLinesHeld || Reach(inner) <= kNearBytes) return false;
  return std::min(std::abs(outer.to), std::abs(outer.from)) < kLineBytes &&
         std::max(std::abs(inner.to), std::abs(inner.from)) >= kLineBytes;
}

template <class T>
void CopyRow(std::byte* to, const std::byte* from, const Loop& loop) {
  if (loop.from == 0 && loop.to == static_cast<int64_t>(sizeof(T))) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    for (int64_t i = 0; i < loop.extent; ++i) std::memcpy(to + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
    return;
  }
  for (int64_t i = 0; i < loop.extent; ++i) {
    T value;
    std::memcpy(&value, from + i * loop.from, sizeof(T));
    std::memcpy(to + i * loop.to, &value, sizeof(T));
  }
}

struct Bytes16 {
  uint64_t words[2];
};
struct Bytes32 {
  uint64_t words[4];
};

/// Runs of more bytes than a Half, and of two at most: the first and the last ones, which may overlap.
template <class Half>
void CopyShortRuns(std::byte* to, const std::byte* from, const Loop& loop, int64_t bytes) {
  const int64_t second = bytes - static_cast<int64_t>(sizeof(Half));
  for (int64_t i = 0; i < loop.extent; ++i) {
    Half first, last;
    std::memcpy(&first, from + i * loop.from, sizeof(Half));
    std::memcpy(&last, from + i * loop.from + second, sizeof(Half));
    std::memcpy(to + i * loop.to, &first, sizeof(Half));
    std::memcpy(to + i * loop.to + second, &last, sizeof(Half));
  }
}

/// Runs of fewer bytes than a Whole that lie one after another where they go: each store writes into the next run,
/// which comes after it. The last ones, behind which something else lies, move in halves.
template <class Whole, class Half>
void CopyAdjacentRuns(std::byte* to, const std::byte* from, const Loop& loop, int64_t bytes) {
  const int64_t over = (static_cast<int64_t>(sizeof(Whole)) - 1) / bytes;  // Runs that a store reaches beyond its own.
  if (loop.to == bytes && loop.from >= bytes && loop.extent > over) {
    const Loop whole{loop.extent - over, loop.to, loop.from}, rest{over, loop.to, loop.from};
    CopyRow<Whole>(to, from, whole);
    return CopyShortRuns<Half>(to + whole.extent * loop.to, from + whole.extent * loop.from, rest, bytes);
  }
  CopyShortRuns<Half>(to, from, loop, bytes);
}

void CopyInner(std::byte* to, const std::byte* from, const Loop& loop, int64_t bytes) {
  switch (bytes) {
    case 1:
      return CopyRow<uint8_t>(to, from, loop);
    case 2:
      return CopyRow<uint16_t>(to, from, loop);
    case 4:
      return CopyRow<uint32_t>(to, from, loop);
    case 8:
      return CopyRow<uint64_t>(to, from, loop);
    case 16:
      return CopyRow<Bytes16>(to, from, loop);
    case 32:
      return CopyRow<Bytes32>(to, from, loop);
    default:
      if (bytes < 4) return CopyAdjacentRuns<uint32_t, uint16_t>(to, from, loop, bytes);
      if (bytes < 8) return CopyAdjacentRuns<uint64_t, uint32_t>(to, from, loop, bytes);
      if (bytes < 16) return CopyAdjacentRuns<Bytes16, uint64_t>(to, from, loop, bytes);
      if (bytes < 32) return CopyAdjacentRuns<Bytes32, Bytes16>(to, from, loop, bytes);
      if (bytes <= 64) return CopyShortRuns<Bytes32>(to, from, loop, bytes);
      for (int64_t i = 0; i < loop.extent; ++i)
        std::memcpy(to + i * loop.to, from + i * loop.from, static_cast<size_t>(bytes));
  }
}

void CopyLoops(std::byte* to, const std::byte* from, std::span<const Loop> loops, int64_t bytes) {
  if (loops.empty()) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  if (loops.size() == 1) return CopyInner(to, from, loops[0], bytes);
  if (loops.size() == 2 && ComesBack(loops[0], loops[1])) {
    // A piece of the inner loop at a time.
    for (int64_t first = 0; first < loops[1].extent; first += kLinesHeld) {
      const Loop piece{std::min(kLinesHeld, loops[1].extent - first), loops[1].to, loops[1].from};
      std::byte* const piece_to = to + first * piece.to;
      const std::byte* const piece_from = from + first * piece.from;
      for (int64_t i = 0; i < loops[0].extent; ++i)
        CopyInner(piece_to + i * loops[0].to, piece_from + i * loops[0].from, piece, bytes);
    }
    return;
  }
  for (int64_t i = 0; i < loops[0].extent; ++i) {
    CopyLoops(to + i * loops[0].to, from + i * loops[0].from, loops.subspan(1), bytes);
  }
}

}  // namespace

void StridedCopy(void* to, std::span<const int64_t> to_stride_bytes, const void* from,
                 std::span<const int64_t> from_stride_bytes, std::span<const int64_t> dims, int64_t element_bytes) {
  // Innermost dims that are dense on both sides join the unit that moves at once; other neighbours that are dense to
  // each other merge.
  SmallVector<Loop, 12> loops;
  int64_t bytes = element_bytes;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 0) return;
    if (dims[i] == 1) continue;
    const Loop loop{dims[i], to_stride_bytes[i], from_stride_bytes[i]};
    if (loops.empty() && loop.to == bytes && loop.from == bytes) {
      bytes *= dims[i];
    } else if (!loops.empty() && loop.to == loops.back().to * loops.back().extent &&
               loop.from == loops.back().from * loops.back().extent) {
      loops.back().extent *= dims[i];
    } else {
      loops.push_back(loop);
    }
  }
  // Longer loops inside of shorter ones, while what they reach stays in the nearest cache: all of them, or the two
  // innermost ones.
  int64_t reach = 0;
  for (const Loop& loop : loops) reach += Reach(loop);
  if (reach <= kNearBytes) {
    std::ranges::sort(loops, [](const Loop& a, const Loop& b) {
      return a.extent != b.extent ? a.extent > b.extent : Reach(a) < Reach(b);
    });
  } else if (loops.size() > 1 && loops[0].extent <= kShortLoop && loops[1].extent > loops[0].extent &&
             Reach(loops[0]) + Reach(loops[1]) <= kNearBytes) {
    std::swap(loops[0], loops[1]);
  }
  SmallVector<Loop, 12> outermost_first;
  for (size_t i = loops.size(); i-- > 0;) outermost_first.push_back(loops[i]);
  CopyLoops(static_cast<std::byte*>(to), static_cast<const std::byte*>(from),
            {outermost_first.data(), outermost_first.size()}, bytes);
}

}  // namespace tenon
