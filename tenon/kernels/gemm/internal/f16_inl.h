#pragma once

// f16 operands as f32 steps for the f32 tile loop, and C in f16. The compiler turns the conversions into vector
// instructions.

#include <cstdint>

#include "tenon/kernels/gemm/internal/kernel.h"

namespace {

using tenon::kernels::internal::BPanels;
using tenon::kernels::internal::Word;

inline void PackAF16(const void* src, int64_t row_stride, int64_t k_stride, int rows, int64_t k, Word* dst,
                     int64_t dst_row_stride) {
  for (int r = 0; r < rows; ++r) {
    const _Float16* const from = static_cast<const _Float16*>(src) + r * row_stride;
    float* const to = reinterpret_cast<float*>(dst + r * dst_row_stride);
    if (k_stride == 1) {
      for (int64_t p = 0; p < k; ++p) to[p] = static_cast<float>(from[p]);
    } else {
      for (int64_t p = 0; p < k; ++p) to[p] = static_cast<float>(from[p * k_stride]);
    }
  }
}

template <int kNr>
void PackBF16(const BPanels& b) {
  const _Float16* const src = static_cast<const _Float16*>(b.src);
  for (int64_t q = 0; q < b.k; ++q) {
    Word* to_words = b.dst + q * kNr;
    for (int64_t first = 0; first < b.cols; first += kNr, to_words += b.panel_stride) {
      const int cols = b.cols - first < kNr ? static_cast<int>(b.cols - first) : kNr;
      const _Float16* const from = src + q * b.k_stride + first * b.col_stride;
      float* const to = reinterpret_cast<float*>(to_words);
      if (b.col_stride == 1 && cols == kNr) {
        for (int j = 0; j < kNr; ++j) to[j] = static_cast<float>(from[j]);
        continue;
      }
      for (int j = 0; j < cols; ++j) to[j] = static_cast<float>(from[j * b.col_stride]);
      for (int j = cols; j < kNr; ++j) to[j] = 0;
    }
  }
}

inline void LoadRowF16(const void* c, int64_t c_stride, int64_t count, Word* sums) {
  const _Float16* const from = static_cast<const _Float16*>(c);
  float* const to = reinterpret_cast<float*>(sums);
  for (int64_t j = 0; j < count; ++j) to[j] = static_cast<float>(from[j * c_stride]);
}

inline void StoreRowF16(const Word* sums, int64_t count, void* c, int64_t c_stride) {
  const float* const from = reinterpret_cast<const float*>(sums);
  _Float16* const to = static_cast<_Float16*>(c);
  if (c_stride == 1) {
    for (int64_t j = 0; j < count; ++j) to[j] = static_cast<_Float16>(from[j]);
  } else {
    for (int64_t j = 0; j < count; ++j) to[j * c_stride] = static_cast<_Float16>(from[j]);
  }
}

}  // namespace
