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

template <int kNr>
void PackBF64(const BPanels& b) {
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

}  // namespace
