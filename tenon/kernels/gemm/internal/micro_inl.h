#pragma once

// The tile loop over an `Ops` of the including x86_*.cc: Sum (a register of C), Words (a register of B), Mask, kLanes,
// kSumWords, kHasStart; LoadC, StoreC and their masked forms, ZeroC, AddC; LoadB and its masked form, BroadcastA,
// MulAdd.

#include <cstdint>

#include "tenon/kernels/gemm/internal/fetch_inl.h"
#include "tenon/kernels/gemm/internal/kernel.h"

namespace {

using tenon::kernels::internal::MicroTile;
using tenon::kernels::internal::Word;

// Adds `steps` steps from `a` and `b` on to kRows x (kVecs * lanes) sums in registers; with kMasked the last vector of
// a row of B has only the lanes of `mask`; with kAhead the next columns of each row come to L2 meanwhile.
template <class Ops, int kRows, int kVecs, bool kMasked, bool kAhead = false>
[[gnu::always_inline]] inline void AddSteps(const MicroTile& t, const Word* first_a, const Word* first_b, int64_t steps,
                                            typename Ops::Mask mask, typename Ops::Sum (&acc)[kRows][kVecs]) {
  constexpr int kVecWords = Ops::kLanes * Ops::kSumWords;
  // Rows are addressed from every third one, so that few registers hold addresses.
  constexpr int kBases = (kRows + 2) / 3;
  const Word* a[kBases];
  const int64_t row_stride = t.a_row_stride;
#pragma clang loop unroll(full)
  for (int g = 0; g < kBases; ++g) a[g] = first_a + 3 * g * row_stride;
  const Word* b = first_b;
  const int64_t a_step = t.a_k_stride, b_step = t.b_k_stride;
  for (int64_t q = steps; q > 0; --q) {
    if constexpr (kRows < kVecs) {
      // Fewer registers hold a column of A than a row of B.
      typename Ops::Words av[kRows];
#pragma clang loop unroll(full)
      for (int i = 0; i < kRows; ++i) av[i] = Ops::BroadcastA(a[i / 3] + (i % 3) * row_stride);
#pragma clang loop unroll(full)
      for (int v = 0; v < kVecs; ++v) {
        const bool masked = kMasked && v == kVecs - 1;
        const typename Ops::Words bv =
            masked ? Ops::LoadFirstB(b + v * kVecWords, mask) : Ops::LoadB(b + v * kVecWords);
#pragma clang loop unroll(full)
        for (int i = 0; i < kRows; ++i) acc[i][v] = Ops::MulAdd(av[i], bv, acc[i][v]);
      }
    } else {
      typename Ops::Words bv[kVecs];
#pragma clang loop unroll(full)
      for (int v = 0; v < kVecs; ++v) {
        bv[v] = kMasked && v == kVecs - 1 ? Ops::LoadFirstB(b + v * kVecWords, mask) : Ops::LoadB(b + v * kVecWords);
      }
#pragma clang loop unroll(full)
      for (int i = 0; i < kRows; ++i) {
        const typename Ops::Words av = Ops::BroadcastA(a[i / 3] + (i % 3) * row_stride);
#pragma clang loop unroll(full)
        for (int v = 0; v < kVecs; ++v) acc[i][v] = Ops::MulAdd(av, bv[v], acc[i][v]);
      }
    }
    if constexpr (kAhead) {
      // Of each line's worth the last word: where rows begin within a line, its first ones lie in one that is there.
      constexpr int kLineWords = 16, kNext = kVecs * kVecWords + kLineWords - 1;
#pragma clang loop unroll(full)
      for (int v = 0; v < kVecs * kVecWords; v += kLineWords) __builtin_prefetch(b + kNext + v, 0, 2);
    }
    b += b_step;
#pragma clang loop unroll(full)
    for (int g = 0; g < kBases; ++g) a[g] += a_step;
  }
}

// The same over `count` elements of a placed A: those of row i at rows[i] + depth[q].
template <class Ops, int kRows, int kVecs, bool kMasked>
[[gnu::always_inline]] inline void AddPlacedA(const MicroTile& t, const int64_t* depth, const Word* first_b,
                                              int64_t count, typename Ops::Mask mask,
                                              typename Ops::Sum (&acc)[kRows][kVecs]) {
  constexpr int kVecWords = Ops::kLanes * Ops::kSumWords;
  const Word* a[kRows];
#pragma clang loop unroll(full)
  for (int i = 0; i < kRows; ++i) a[i] = t.rows[i];
  const Word* b = first_b;
  const int64_t b_step = t.b_k_stride;
  for (const int64_t* const end = depth + count; depth != end; ++depth) {
    typename Ops::Words bv[kVecs];
#pragma clang loop unroll(full)
    for (int v = 0; v < kVecs; ++v) {
      bv[v] = kMasked && v == kVecs - 1 ? Ops::LoadFirstB(b + v * kVecWords, mask) : Ops::LoadB(b + v * kVecWords);
    }
    b += b_step;
    int64_t at = *depth;
#pragma clang loop unroll(full)
    for (int i = 0; i < kRows; ++i) {
      const typename Ops::Words av = Ops::BroadcastA(a[i] + at);
#pragma clang loop unroll(full)
      for (int v = 0; v < kVecs; ++v) {
        acc[i][v] = Ops::MulAdd(av, bv[v], acc[i][v]);
        // Rows in turn: what is read ahead pushes sums out of registers.
        asm("" : "+r"(at), "+v"(acc[i][v]));
      }
    }
  }
}

// The same with a placed B, whose columns are adjacent at b + depth[q].
template <class Ops, int kRows, int kVecs, bool kMasked>
[[gnu::always_inline]] inline void AddPlacedB(const MicroTile& t, typename Ops::Mask mask,
                                              typename Ops::Sum (&acc)[kRows][kVecs]) {
  constexpr int kVecWords = Ops::kLanes * Ops::kSumWords;
  constexpr int kBases = (kRows + 2) / 3;
  const Word* a[kBases];
  const int64_t row_stride = t.a_row_stride, a_step = t.a_k_stride;
#pragma clang loop unroll(full)
  for (int g = 0; g < kBases; ++g) a[g] = t.a + 3 * g * row_stride;
  const int64_t* depth = t.depth;
  for (const int64_t* const end = depth + t.elements; depth != end; ++depth) {
    const Word* const b = t.b + *depth;
    typename Ops::Words bv[kVecs];
#pragma clang loop unroll(full)
    for (int v = 0; v < kVecs; ++v) {
      bv[v] = kMasked && v == kVecs - 1 ? Ops::LoadFirstB(b + v * kVecWords, mask) : Ops::LoadB(b + v * kVecWords);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < kRows; ++i) {
      const typename Ops::Words av = Ops::BroadcastA(a[i / 3] + (i % 3) * row_stride);
#pragma clang loop unroll(full)
      for (int v = 0; v < kVecs; ++v) acc[i][v] = Ops::MulAdd(av, bv[v], acc[i][v]);
    }
#pragma clang loop unroll(full)
    for (int g = 0; g < kBases; ++g) a[g] += a_step;
  }
}

// How the operands lie: as matrices, or A or B placed.
enum class Lie { kMatrices, kPlacedA, kPlacedB };

template <class Ops>
constexpr int kRegisters = Ops::kLanes * Ops::kSumWords == 16 ? 32 : 16;

// Steps between which a tile fetches lines, so that the loop around them costs little. Those of few rows, which there
// is one of at the end, fetch all at once.
constexpr int64_t kAtOnce = INT64_MAX;
template <class Ops, int kRows, int kVecs>
constexpr int64_t kStepsPerFetch = kRows * 2 < kRegisters<Ops> * 3 / 4 ? kAtOnce
                                   : kVecs == 1                        ? 4 * kFetchSteps
                                                                       : kFetchSteps;

// kRows x (kVecs * lanes) elements of C stay in registers; with kMasked the last vector is `tail` lanes wide.
template <class Ops, int kRows, int kVecs, bool kMasked, Lie kLie, bool kAhead = false>
void Micro(const MicroTile& t, int tail) {
  constexpr int kVecWords = Ops::kLanes * Ops::kSumWords;
  const typename Ops::Mask mask = Ops::First(tail);
  const auto masked = [](int v) { return kMasked && v == kVecs - 1; };
  typename Ops::Sum acc[kRows][kVecs];
#pragma clang loop unroll(full)
  for (int i = 0; i < kRows; ++i) {
#pragma clang loop unroll(full)
    for (int v = 0; v < kVecs; ++v) acc[i][v] = Ops::ZeroC();
  }
  if (t.load_c) {
#pragma clang loop unroll(full)
    for (int i = 0; i < kRows; ++i) {
#pragma clang loop unroll(full)
      for (int v = 0; v < kVecs; ++v) {
        const Word* const c = t.c + i * t.c_row_stride + v * kVecWords;
        acc[i][v] = masked(v) ? Ops::LoadFirstC(c, mask) : Ops::LoadC(c);
      }
    }
  }
  if (Ops::kHasStart && t.start != nullptr) {
#pragma clang loop unroll(full)
    for (int v = 0; v < kVecs; ++v) {
      const typename Ops::Sum start = Ops::LoadC(t.start + v * kVecWords);
#pragma clang loop unroll(full)
      for (int i = 0; i < kRows; ++i) acc[i][v] = Ops::AddC(acc[i][v], start);
    }
  }

  constexpr int64_t kChunk = kLie == Lie::kMatrices && !kAhead ? kStepsPerFetch<Ops, kRows, kVecs> : kAtOnce;
  const bool chunks = t.soon != nullptr && kChunk < t.steps;
  if (t.soon != nullptr && !chunks) [[unlikely]]
    Fetch(*t.soon, t.steps);
  if constexpr (kLie == Lie::kPlacedA) {
    AddPlacedA<Ops, kRows, kVecs, kMasked>(t, t.depth, t.b, t.elements, mask, acc);
  } else if constexpr (kLie == Lie::kPlacedB) {
    AddPlacedB<Ops, kRows, kVecs, kMasked>(t, mask, acc);
  } else if (!chunks) {
    AddSteps<Ops, kRows, kVecs, kMasked, kAhead>(t, t.a, t.b, t.steps, mask, acc);
  } else if constexpr (kChunk != kAtOnce) {
    const Word *a = t.a, *b = t.b;
    for (int64_t left = t.steps; left > 0; left -= kChunk) {
      Fetch(*t.soon, kChunk);
      AddSteps<Ops, kRows, kVecs, kMasked>(t, a, b, left < kChunk ? left : kChunk, mask, acc);
      a += kChunk * t.a_k_stride;
      b += kChunk * t.b_k_stride;
    }
  }

#pragma clang loop unroll(full)
  for (int i = 0; i < kRows; ++i) {
    Word* const c = t.c + i * t.c_row_stride;
#pragma clang loop unroll(full)
    for (int v = 0; v < kVecs; ++v) {
      if (masked(v)) {
        Ops::StoreFirstC(c + v * kVecWords, acc[i][v], mask);
      } else {
        Ops::StoreC(c + v * kVecWords, acc[i][v]);
      }
    }
  }
}

// Rows of a tile whose sums of both halves registers hold, beside a row of B and an element of A.
template <class Ops, int kVecs>
constexpr int kRowsOfHalves = (kRegisters<Ops> - kVecs - 1) / (2 * kVecs);

// The same for GemmOrder::kHalves: blocks of two halves of kHalf steps each, or fewer in the last one, whose sums are
// made apart, added, and then added to C. B is packed.
template <class Ops, int kRows, int kVecs, bool kMasked, int kHalf, Lie kLie>
void MicroHalves(const MicroTile& t, int tail) {
  using Acc = typename Ops::Sum[kRows][kVecs];
  constexpr int kVecWords = Ops::kLanes * Ops::kSumWords;
  const typename Ops::Mask mask = Ops::First(tail);
  const auto masked = [](int v) { return kMasked && v == kVecs - 1; };
  const auto clear = [](Acc& acc) __attribute__((always_inline)) {
#pragma clang loop unroll(full)
    for (int i = 0; i < kRows; ++i) {
#pragma clang loop unroll(full)
      for (int v = 0; v < kVecs; ++v) acc[i][v] = Ops::ZeroC();
    }
  };
  if (t.soon != nullptr) Fetch(*t.soon, t.steps);
  // Sums that wait for their turn. They are to be in memory where no register is free for them.
  constexpr bool kHeld = kRows <= kRowsOfHalves<Ops, kVecs>;
  alignas(64) Word sums[kRows * kVecs * kVecWords], even[kHeld ? 1 : kRows * kVecs * kVecWords];
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVecs; ++v) {
      const Word* const c = t.c + i * t.c_row_stride + v * kVecWords;
      Ops::StoreC(sums + (i * kVecs + v) * kVecWords, !t.load_c   ? Ops::ZeroC()
                                                      : masked(v) ? Ops::LoadFirstC(c, mask)
                                                                  : Ops::LoadC(c));
    }
  }
  const Word *a = t.a, *b = t.b;
  const int64_t* depth = t.depth;
  int64_t elements = t.elements;
  // One half's products, `present` of them of elements that are there; what fills it up is one 0 * 0 at least.
  const auto add = [&](Acc& acc, int64_t half, int64_t present) __attribute__((always_inline)) {
    clear(acc);
    if constexpr (kLie == Lie::kPlacedA) {
      AddPlacedA<Ops, kRows, kVecs, false>(t, depth, b, present, mask, acc);
      depth += present;
      if (present < half) {
#pragma clang loop unroll(full)
        for (int i = 0; i < kRows; ++i) {
#pragma clang loop unroll(full)
          for (int v = 0; v < kVecs; ++v) acc[i][v] = Ops::AddC(acc[i][v], Ops::ZeroC());
        }
      }
    } else {
      AddSteps<Ops, kRows, kVecs, false>(t, a, b, half, mask, acc);
      a += half * t.a_k_stride;
    }
    b += half * t.b_k_stride;
  };
  for (int64_t left = t.steps; left > 0; left -= 2 * kHalf, elements -= 2 * kHalf) {
    const int64_t half = left < 2 * kHalf ? left / 2 : kHalf, block = elements < 2 * kHalf ? elements : 2 * kHalf;
    Acc first, acc;
    add(first, half, (block + 1) / 2);
    if constexpr (!kHeld) {
#pragma clang loop unroll(full)
      for (int i = 0; i < kRows; ++i) {
#pragma clang loop unroll(full)
        for (int v = 0; v < kVecs; ++v) Ops::StoreC(even + (i * kVecs + v) * kVecWords, first[i][v]);
      }
      asm volatile("" : : "r"(even), "r"(sums) : "memory");
    }
    add(acc, half, block / 2);
#pragma clang loop unroll(full)
    for (int i = 0; i < kRows; ++i) {
#pragma clang loop unroll(full)
      for (int v = 0; v < kVecs; ++v) {
        const int at = (i * kVecs + v) * kVecWords;
        if constexpr (!kHeld) first[i][v] = Ops::LoadC(even + at);
        Ops::StoreC(sums + at, Ops::AddC(Ops::LoadC(sums + at), Ops::AddC(first[i][v], acc[i][v])));
      }
    }
    asm volatile("" : : "r"(even), "r"(sums) : "memory");
  }
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVecs; ++v) {
      Word* const c = t.c + i * t.c_row_stride + v * kVecWords;
      const typename Ops::Sum sum = Ops::LoadC(sums + (i * kVecs + v) * kVecWords);
      if (masked(v)) {
        Ops::StoreFirstC(c, sum, mask);
      } else {
        Ops::StoreC(c, sum);
      }
    }
  }
}

// Calls the instance for `rows` of 1 ... kRows and the width; kHalf 0 is Micro.
template <class Ops, int kRows, int kVecs, int kHalf, Lie kLie>
void MicroRows(const MicroTile& tile, int rows, int cols) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return MicroRows<Ops, kRows - 1, kVecs, kHalf, kLie>(tile, rows, cols);
  }
  const int tail = cols - (kVecs - 1) * Ops::kLanes;
  if constexpr (kHalf != 0) {
    if (tail == Ops::kLanes) return MicroHalves<Ops, kRows, kVecs, false, kHalf, kLie>(tile, tail);
    MicroHalves<Ops, kRows, kVecs, true, kHalf, kLie>(tile, tail);
  } else {
    if (tail == Ops::kLanes) return Micro<Ops, kRows, kVecs, false, kLie>(tile, tail);
    Micro<Ops, kRows, kVecs, true, kLie>(tile, tail);
  }
}

// The same for GemmOrder::kHalves, in pieces of kRowsOfHalves where those are enough sums to keep a core busy.
template <class Ops, int kMr, int kVecs, int kHalf, Lie kLie>
void MicroPieces(MicroTile tile, int rows, int cols) {
  constexpr int kBusySums = 14, kHeld = kRowsOfHalves<Ops, kVecs>;
  constexpr int kMost = kHeld < kMr && kHeld * kVecs >= kBusySums ? kHeld : kMr;
  for (const int piece = rows > kMost ? (rows + 1) / 2 : rows; rows > 0; rows -= piece) {
    MicroRows<Ops, kMost, kVecs, kHalf, kLie>(tile, rows < piece ? rows : piece, cols);
    if constexpr (kLie == Lie::kPlacedA) {
      tile.rows += piece;
    } else {
      tile.a += piece * tile.a_row_stride;
    }
    tile.c += piece * tile.c_row_stride;
    tile.soon = nullptr;
  }
}

// Vectors of the widest tile of so many rows: what registers hold beside a vector of B and a column of A, or the other
// way round.
template <class Ops>
constexpr int WideVecs(int rows) {
  for (int vecs : {8, 4, 3}) {
    if (rows * vecs + (rows < vecs ? rows : vecs) + 1 <= kRegisters<Ops>) return vecs;
  }
  return 2;
}

/// GemmKernel::wide_cols.
template <class Ops>
int WideCols(int rows) {
  return WideVecs<Ops>(rows) * Ops::kLanes;
}

// A tile of WideCols, or of two vectors.
template <class Ops, int kRows, Lie kLie = Lie::kMatrices, bool kAhead = false>
void MicroWide(const MicroTile& tile, int rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return MicroWide<Ops, kRows - 1, kLie, kAhead>(tile, rows);
  }
  Micro<Ops, kRows, WideVecs<Ops>(kRows), false, kLie, kAhead>(tile, Ops::kLanes);
}

/// GemmKernel::has_half.
template <class Ops>
inline constexpr bool kHasHalf = requires { Ops::Half::kLanes; };

template <class Ops, int kMr, int kNr, int kHalf = 0, Lie kLie = Lie::kMatrices>
void MicroAny(const MicroTile& tile, int rows, int cols) {
  static_assert(kNr == 2 * Ops::kLanes);
  if constexpr (kHasHalf<Ops>) {
    if (cols <= Ops::Half::kLanes) return MicroRows<typename Ops::Half, kMr, 1, kHalf, kLie>(tile, rows, cols);
  }
  if (cols > Ops::kLanes) {
    if constexpr (kHalf != 0) {
      static_assert(2 * kRowsOfHalves<Ops, 2> >= kMr);
      return MicroPieces<Ops, kMr, 2, kHalf, kLie>(tile, rows, cols);
    }
    return MicroRows<Ops, kMr, 2, kHalf, kLie>(tile, rows, cols);
  }
  MicroRows<Ops, kMr, 1, kHalf, kLie>(tile, rows, cols);
}

/// For a B that may be read in place: tiles of WideCols too, and MicroTile::ahead.
template <class Ops, int kMr, int kNr>
void MicroInPlace(const MicroTile& tile, int rows, int cols) {
  if (tile.ahead && cols == WideCols<Ops>(rows)) return MicroWide<Ops, kMr, Lie::kMatrices, true>(tile, rows);
  if (cols > kNr) return MicroWide<Ops, kMr>(tile, rows);
  MicroAny<Ops, kMr, kNr>(tile, rows, cols);
}

/// GemmKernel::micro_placed_b, of WideCols too.
template <class Ops, int kMr, int kNr>
void MicroPlacedB(const MicroTile& tile, int rows, int cols) {
  if (cols > kNr) return MicroWide<Ops, kMr, Lie::kPlacedB>(tile, rows);
  MicroAny<Ops, kMr, kNr, 0, Lie::kPlacedB>(tile, rows, cols);
}

}  // namespace
