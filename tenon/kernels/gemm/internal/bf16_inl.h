#pragma once

// bf16 operands as f32 words, the odd one of each pair along k first (GemmOrder::kPairs), for the f32 tile loop; and C
// in bf16.

#include <cstdint>

#include "tenon/kernels/gemm/internal/kernel.h"

namespace {

using tenon::kernels::internal::BPanels;
using tenon::kernels::internal::Word;

inline Word ExpandBf16(uint16_t x) { return static_cast<Word>(x) << 16; }

// To nearest, ties to even; NaN stays NaN.
inline uint16_t RoundToBf16(Word x) {
  const Word rounded = (x + 0x7fff + ((x >> 16) & 1)) >> 16;
  const Word quiet = (x >> 16) | 0x40;
  return static_cast<uint16_t>((x & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

inline void LoadRowBf16(const void* c, int64_t c_stride, int64_t count, Word* sums) {
  const uint16_t* const from = static_cast<const uint16_t*>(c);
  for (int64_t j = 0; j < count; ++j) sums[j] = ExpandBf16(from[j * c_stride]);
}

inline void StoreRowBf16(const Word* sums, int64_t count, void* c, int64_t c_stride) {
  uint16_t* const to = static_cast<uint16_t*>(c);
  if (c_stride == 1) {
    for (int64_t j = 0; j < count; ++j) to[j] = RoundToBf16(sums[j]);
  } else {
    for (int64_t j = 0; j < count; ++j) to[j * c_stride] = RoundToBf16(sums[j]);
  }
}

// Words 2q and 2q + 1 are elements 2q + 1 and 2q; 0 for an element k.
inline void PackABf16(const void* src, int64_t row_stride, int64_t k_stride, int rows, int64_t k, Word* dst,
                      int64_t dst_row_stride) {
  for (int r = 0; r < rows; ++r) {
    const uint16_t* const from = static_cast<const uint16_t*>(src) + r * row_stride;
    Word* const to = dst + r * dst_row_stride;
    int64_t p = 0;
    for (; p + 2 <= k; p += 2) {
      to[p] = ExpandBf16(from[(p + 1) * k_stride]);
      to[p + 1] = ExpandBf16(from[p * k_stride]);
    }
    if (p < k) {
      to[p] = 0;
      to[p + 1] = ExpandBf16(from[p * k_stride]);
    }
  }
}

template <int kNr>
void PackBBf16(const BPanels& b) {
  const uint16_t* const src = static_cast<const uint16_t*>(b.src);
  const int64_t steps = (b.k + 1) / 2 * 2;
  for (int64_t q = 0; q < steps; ++q) {
    const int64_t p = q ^ 1;
    Word* to = b.dst + q * kNr;
    for (int64_t first = 0; first < b.cols; first += kNr, to += b.panel_stride) {
      const int cols = b.cols - first < kNr ? static_cast<int>(b.cols - first) : kNr;
      const uint16_t* const from = src + p * b.k_stride + first * b.col_stride;
      if (p >= b.k) {
        for (int j = 0; j < kNr; ++j) to[j] = 0;
      } else if (b.col_stride == 1 && cols == kNr) {
        for (int j = 0; j < kNr; ++j) to[j] = ExpandBf16(from[j]);
      } else {
        for (int j = 0; j < cols; ++j) to[j] = ExpandBf16(from[j * b.col_stride]);
        for (int j = cols; j < kNr; ++j) to[j] = 0;
      }
    }
  }
}

}  // namespace
