#pragma once

// Packing f64, whose elements are two words.

#include <cstdint>

#include "tenon/kernels/gemm/internal/kernel.h"

namespace {

using tenon::kernels::internal::BPanels;
using tenon::kernels::internal::Word;

inline void PackAF64(const void* src, int64_t row_stride, int64_t k_stride, int rows, int64_t k, Word* dst,
                     int64_t dst_row_stride) {
  for (int r = 0; r < rows; ++r) {
    const double* const from = static_cast<const double*>(src) + r * row_stride;
    double* const to = reinterpret_cast<double*>(dst + r * dst_row_stride);
    if (k_stride == 1) {
      __builtin_memcpy(to, from, static_cast<size_t>(k) * sizeof(double));
    } else {
      for (int64_t p = 0; p < k; ++p) to[p] = from[p * k_stride];
    }
  }
}

// Four columns of four neighbours along k as four rows.
inline void TurnFour(const double* from, int64_t col_stride, double* to, int64_t row_stride) {
  using Four = double __attribute__((vector_size(32)));
  const auto col = [&](int j) {
    Four four;
    __builtin_memcpy(&four, from + j * col_stride, sizeof(four));
    return four;
  };
  const Four a = col(0), b = col(1), c = col(2), d = col(3);
  const Four ab_even = __builtin_shufflevector(a, b, 0, 4, 2, 6), ab_odd = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  const Four cd_even = __builtin_shufflevector(c, d, 0, 4, 2, 6), cd_odd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  const auto put = [&](int q, Four four) { __builtin_memcpy(to + q * row_stride, &four, sizeof(four)); };
  put(0, __builtin_shufflevector(ab_even, cd_even, 0, 1, 4, 5));
  put(1, __builtin_shufflevector(ab_odd, cd_odd, 0, 1, 4, 5));
  put(2, __builtin_shufflevector(ab_even, cd_even, 2, 3, 6, 7));
  put(3, __builtin_shufflevector(ab_odd, cd_odd, 2, 3, 6, 7));
}

// Whole columns along which k runs, each read from end to end.
template <int kNr>
void PackColumnsF64(const double* src, int64_t col_stride, int64_t k, double* dst) {
  constexpr int kAtOnce = kNr < 8 ? kNr : 8;
  const int64_t whole = k / 4 * 4;
  for (int j = 0; j < kNr; j += kAtOnce) {
    for (int64_t q = 0; q < whole; q += 4) {
      for (int i = j; i < j + kAtOnce; i += 4) TurnFour(src + i * col_stride + q, col_stride, dst + q * kNr + i, kNr);
    }
  }
  for (int64_t q = whole; q < k; ++q) {
    for (int j = 0; j < kNr; ++j) dst[q * kNr + j] = src[j * col_stride + q];
  }
}

template <int kNr>
void PackAnyF64(const BPanels& b) {
  const double* const src = static_cast<const double*>(b.src);
  // Eight steps at a time, so that columns that are rows in memory are read by whole cache lines.
  for (int64_t q0 = 0; q0 < b.k; q0 += 8) {
    const int64_t q1 = q0 + 8 < b.k ? q0 + 8 : b.k;
    Word* panel = b.dst;
    for (int64_t first = 0; first < b.cols; first += kNr, panel += b.panel_stride) {
      const int cols = b.cols - first < kNr ? static_cast<int>(b.cols - first) : kNr;
      for (int64_t q = q0; q < q1; ++q) {
        const double* const from = src + q * b.k_stride + first * b.col_stride;
        double* const to = reinterpret_cast<double*>(panel) + q * kNr;
        if (b.col_stride == 1 && cols == kNr) {
          __builtin_memcpy(to, from, kNr * sizeof(double));
          continue;
        }
        for (int j = 0; j < cols; ++j) to[j] = from[j * b.col_stride];
        for (int j = cols; j < kNr; ++j) to[j] = 0;
      }
    }
  }
}

template <int kNr>
void PackBF64(const BPanels& b) {
  const double* const src = static_cast<const double*>(b.src);
  if (b.k_stride == 1 && b.col_stride != 1) {
    const int64_t panels = b.cols / kNr;
    for (int64_t i = 0; i < panels; ++i) {
      double* const to = reinterpret_cast<double*>(b.dst + i * b.panel_stride);
      PackColumnsF64<kNr>(src + i * kNr * b.col_stride, b.col_stride, b.k, to);
    }
    BPanels rest = b;
    rest.src = src + panels * kNr * b.col_stride;
    rest.dst += panels * b.panel_stride;
    rest.cols -= panels * kNr;
    return PackAnyF64<kNr>(rest);
  }
  PackAnyF64<kNr>(b);
}

}  // namespace
