#pragma once

// bf16 operands as f32 words for the f32 tile loop in GemmOrder::kHalves, and C in bf16. A block of k is packed as its
// even elements and then its odd ones; where it is not full, at least one zero ends either half.

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

constexpr int kBlockBf16 = 32;  // Elements along k.

// Steps of either half of a block of `k` elements.
inline int HalfStepsBf16(int64_t k) { return k >= kBlockBf16 - 1 ? kBlockBf16 / 2 : static_cast<int>((k + 1) / 2) + 1; }

inline void PackABf16(const void* src, int64_t row_stride, int64_t k_stride, int rows, int64_t k, Word* dst,
                      int64_t dst_row_stride) {
  for (int r = 0; r < rows; ++r) {
    const uint16_t* const from = static_cast<const uint16_t*>(src) + r * row_stride;
    Word* to = dst + r * dst_row_stride;
    int64_t p = 0;
    for (; p + kBlockBf16 <= k; p += kBlockBf16, to += kBlockBf16) {
      if (k_stride == 1) {
        for (int i = 0; i < kBlockBf16 / 2; ++i) {
          Word pair;
          __builtin_memcpy(&pair, from + p + 2 * i, sizeof(pair));
          to[i] = pair << 16;
          to[kBlockBf16 / 2 + i] = pair & 0xffff0000u;
        }
      } else {
        for (int i = 0; i < kBlockBf16 / 2; ++i) {
          to[i] = ExpandBf16(from[(p + 2 * i) * k_stride]);
          to[kBlockBf16 / 2 + i] = ExpandBf16(from[(p + 2 * i + 1) * k_stride]);
        }
      }
    }
    if (p == k) continue;
    const int half = HalfStepsBf16(k - p);
    for (int i = 0; i < 2 * half; ++i) {
      const int64_t at = p + (i < half ? 2 * i : 2 * (i - half) + 1);
      to[i] = at < k ? ExpandBf16(from[at * k_stride]) : 0;
    }
  }
}

template <int kNr>
void PackBBf16(const BPanels& b) {
  const uint16_t* const src = static_cast<const uint16_t*>(b.src);
  Word* block = b.dst;
  for (int64_t p0 = 0; p0 < b.k; p0 += kBlockBf16, block += kBlockBf16 * kNr) {
    const int half = HalfStepsBf16(b.k - p0);
    for (int i = 0; i < 2 * half; ++i) {
      const int64_t p = p0 + (i < half ? 2 * i : 2 * (i - half) + 1);
      Word* to = block + i * kNr;
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
}

}  // namespace
