#pragma once

// The f32 tile and packing loops over `Vec` of the including x86_*.cc.

#include <cstdint>

#include "tenon/kernels/gemm/internal/kernel.h"

namespace {

using tenon::kernels::internal::MicroTile;

// kRows x (kVecs * lanes) elements of C stay in registers; with kMasked the last vector is `tail` lanes wide.
template <int kRows, int kVecs, bool kMasked>
void MicroF32(const MicroTile& t, int tail) {
  constexpr int kLanes = Vec::kLanes;
  const Vec::Mask mask = Vec::First(tail);
  const auto load = [&](const float* p, int v) {
    return kMasked && v == kVecs - 1 ? Vec::LoadFirst(p + v * kLanes, mask) : Vec::Load(p + v * kLanes);
  };
  Vec::Reg acc[kRows][kVecs];
  if (t.load_c) {
#pragma clang loop unroll(full)
    for (int i = 0; i < kRows; ++i) {
#pragma clang loop unroll(full)
      for (int v = 0; v < kVecs; ++v) acc[i][v] = load(t.c + i * t.c_row_stride, v);
    }
  } else {
#pragma clang loop unroll(full)
    for (int i = 0; i < kRows; ++i) {
#pragma clang loop unroll(full)
      for (int v = 0; v < kVecs; ++v) acc[i][v] = Vec::Zero();
    }
  }

  // Rows are addressed from every third one, so that few registers hold addresses.
  constexpr int kBases = (kRows + 2) / 3;
  const float* a[kBases];
  const int64_t row_stride = t.a_row_stride;
#pragma clang loop unroll(full)
  for (int g = 0; g < kBases; ++g) a[g] = t.a + 3 * g * row_stride;
  const float* b = t.b;
  const int64_t a_step = t.a_k_stride, b_step = t.b_k_stride;
  for (int64_t p = t.k; p > 0; --p) {
    Vec::Reg bv[kVecs];
#pragma clang loop unroll(full)
    for (int v = 0; v < kVecs; ++v) bv[v] = load(b, v);
    b += b_step;
#pragma clang loop unroll(full)
    for (int i = 0; i < kRows; ++i) {
      const Vec::Reg av = Vec::Broadcast(a[i / 3] + (i % 3) * row_stride);
#pragma clang loop unroll(full)
      for (int v = 0; v < kVecs; ++v) acc[i][v] = Vec::Fma(av, bv[v], acc[i][v]);
    }
#pragma clang loop unroll(full)
    for (int g = 0; g < kBases; ++g) a[g] += a_step;
  }

#pragma clang loop unroll(full)
  for (int i = 0; i < kRows; ++i) {
    float* c = t.c + i * t.c_row_stride;
#pragma clang loop unroll(full)
    for (int v = 0; v < kVecs; ++v) {
      if (kMasked && v == kVecs - 1) {
        Vec::StoreFirst(c + v * kLanes, acc[i][v], mask);
      } else {
        Vec::Store(c + v * kLanes, acc[i][v]);
      }
    }
  }
}

// Calls the instance for `rows` of 1 ... kRows and the width.
template <int kRows, int kVecs>
void MicroF32Rows(const MicroTile& tile, int rows, int cols) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return MicroF32Rows<kRows - 1, kVecs>(tile, rows, cols);
  }
  const int tail = cols - (kVecs - 1) * Vec::kLanes;
  if (tail == Vec::kLanes) return MicroF32<kRows, kVecs, false>(tile, tail);
  MicroF32<kRows, kVecs, true>(tile, tail);
}

template <int kMr, int kNr>
void MicroF32Any(const MicroTile& tile, int rows, int cols) {
  static_assert(kNr == 2 * Vec::kLanes);
  if (cols > Vec::kLanes) return MicroF32Rows<kMr, 2>(tile, rows, cols);
  MicroF32Rows<kMr, 1>(tile, rows, cols);
}

// Rows of the source are contiguous: they are read one after another, over all panels, and nothing is turned.
template <int kNr>
void PackRowsF32(const float* src, int64_t k_stride, int64_t k, int64_t cols, float* dst, int64_t panel_stride) {
  constexpr int kLanes = Vec::kLanes;
  const int64_t full = cols / kNr;
  const int rest = static_cast<int>(cols % kNr);
  for (int64_t p = 0; p < k; ++p) {
    const float* from = src + p * k_stride;
    float* to = dst + p * kNr;
    for (int64_t i = 0; i < full; ++i, from += kNr, to += panel_stride) {
#pragma clang loop unroll(full)
      for (int j = 0; j < kNr; j += kLanes) Vec::Store(to + j, Vec::Load(from + j));
    }
    if (rest == 0) continue;
    for (int j = 0; j < kNr; j += kLanes) {
      const int left = rest - j;
      Vec::Store(to + j, left >= kLanes ? Vec::Load(from + j) : left <= 0 ? Vec::Zero() : Vec::LoadFirst(from + j, Vec::First(left)));
    }
  }
}

template <int kNr>
void PackBF32(const float* src, int64_t k_stride, int64_t col_stride, int64_t k, int64_t all_cols, float* dst,
              int64_t panel_stride) {
  constexpr int kLanes = Vec::kLanes;
  if (col_stride == 1) return PackRowsF32<kNr>(src, k_stride, k, all_cols, dst, panel_stride);
  for (int64_t first = 0; first < all_cols; first += kNr, dst += panel_stride) {
    const int cols = static_cast<int>(all_cols - first < kNr ? all_cols - first : kNr);
    const float* const panel = src + first * col_stride;
    int64_t p = 0;
    if (k_stride == 1) {
      for (; p + kLanes <= k; p += kLanes) {
        for (int j = 0; j < kNr; j += kLanes) {
          Vec::Reg r[kLanes];
#pragma clang loop unroll(full)
          for (int i = 0; i < kLanes; ++i) r[i] = j + i < cols ? Vec::Load(panel + (j + i) * col_stride + p) : Vec::Zero();
          Vec::Transpose(r);
#pragma clang loop unroll(full)
          for (int i = 0; i < kLanes; ++i) Vec::Store(dst + (p + i) * kNr + j, r[i]);
        }
      }
    }
    for (; p < k; ++p) {
      for (int j = 0; j < cols; ++j) dst[p * kNr + j] = panel[p * k_stride + j * col_stride];
      for (int j = cols; j < kNr; ++j) dst[p * kNr + j] = 0;
    }
  }
}

}  // namespace
