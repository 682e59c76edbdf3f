#pragma once

// The tile loop over an `Ops` of the including x86_*.cc: Sum (a register of C), Words (a register of B), Mask, kLanes,
// kSumWords, kHasStart; LoadC, StoreC and their masked forms, ZeroC, AddC; LoadB and its masked form, BroadcastA,
// MulAdd.

#include <cstdint>

#include "tenon/kernels/gemm/internal/kernel.h"

namespace {

using tenon::kernels::internal::MicroTile;
using tenon::kernels::internal::Word;

// kRows x (kVecs * lanes) elements of C stay in registers; with kMasked the last vector is `tail` lanes wide.
template <class Ops, int kRows, int kVecs, bool kMasked>
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

  // Rows are addressed from every third one, so that few registers hold addresses.
  constexpr int kBases = (kRows + 2) / 3;
  const Word* a[kBases];
  const int64_t row_stride = t.a_row_stride;
#pragma clang loop unroll(full)
  for (int g = 0; g < kBases; ++g) a[g] = t.a + 3 * g * row_stride;
  const Word* b = t.b;
  const int64_t a_step = t.a_k_stride, b_step = t.b_k_stride;
  for (int64_t q = t.steps; q > 0; --q) {
    typename Ops::Words bv[kVecs];
#pragma clang loop unroll(full)
    for (int v = 0; v < kVecs; ++v)
      bv[v] = masked(v) ? Ops::LoadFirstB(b + v * kVecWords, mask) : Ops::LoadB(b + v * kVecWords);
    b += b_step;
#pragma clang loop unroll(full)
    for (int i = 0; i < kRows; ++i) {
      const typename Ops::Words av = Ops::BroadcastA(a[i / 3] + (i % 3) * row_stride);
#pragma clang loop unroll(full)
      for (int v = 0; v < kVecs; ++v) acc[i][v] = Ops::MulAdd(av, bv[v], acc[i][v]);
    }
#pragma clang loop unroll(full)
    for (int g = 0; g < kBases; ++g) a[g] += a_step;
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

// Calls the instance for `rows` of 1 ... kRows and the width.
template <class Ops, int kRows, int kVecs>
void MicroRows(const MicroTile& tile, int rows, int cols) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return MicroRows<Ops, kRows - 1, kVecs>(tile, rows, cols);
  }
  const int tail = cols - (kVecs - 1) * Ops::kLanes;
  if (tail == Ops::kLanes) return Micro<Ops, kRows, kVecs, false>(tile, tail);
  Micro<Ops, kRows, kVecs, true>(tile, tail);
}

template <class Ops, int kMr, int kNr>
void MicroAny(const MicroTile& tile, int rows, int cols) {
  static_assert(kNr == 2 * Ops::kLanes);
  if (cols > Ops::kLanes) return MicroRows<Ops, kMr, 2>(tile, rows, cols);
  MicroRows<Ops, kMr, 1>(tile, rows, cols);
}

}  // namespace
