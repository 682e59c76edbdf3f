#pragma once

// Packing where one word holds kUnit neighbours along k: pairs of 16 bits, fours of 8.

#include <cstdint>

#include "tenon/kernels/gemm/internal/kernel.h"

namespace {

using tenon::kernels::internal::BPanels;
using tenon::kernels::internal::Word;

// The number x as another type; int8_t is no character here.
template <class To, class From>
To As(From x) {
  return static_cast<To>(x);
}

// Word q of a row: elements q * kUnit ... of type From, each converted to To with the bits of kFlip turned; zeros
// beyond k.
template <class From, class To, int kUnit, To kFlip = 0>
void PackAGroups(const void* src, int64_t row_stride, int64_t k_stride, int rows, int64_t k, Word* dst,
                 int64_t dst_row_stride) {
  static_assert(sizeof(To) * kUnit == sizeof(Word));
  constexpr int64_t kPiece = 16;  // Rows are short: loops of unknown length would hardly begin.
  const int64_t padded = (k + kUnit - 1) / kUnit * kUnit;
  const auto packed = [](From x) { return As<To>(As<To>(x) ^ kFlip); };
  for (int r = 0; r < rows; ++r) {
    const From* const from = static_cast<const From*>(src) + r * row_stride;
    To* const to = reinterpret_cast<To*>(dst + r * dst_row_stride);
    int64_t p = 0;
    if (k_stride == 1) {
      for (; p + kPiece <= k; p += kPiece) {
        From piece[kPiece];
        To done[kPiece];
        __builtin_memcpy(piece, from + p, sizeof(piece));
        for (int i = 0; i < kPiece; ++i) done[i] = packed(piece[i]);
        __builtin_memcpy(to + p, done, sizeof(done));
      }
    }
#pragma clang loop vectorize(disable)
    for (; p < k; ++p) to[p] = packed(from[p * k_stride]);
    for (; p < padded; ++p) to[p] = kFlip;
  }
}

template <class From, class To, int kUnit, int kNr>
void PackBGroups(const BPanels& b) {
  static_assert(sizeof(To) * kUnit == sizeof(Word));
  const From* const src = static_cast<const From*>(b.src);
  const int64_t steps = (b.k + kUnit - 1) / kUnit, full_steps = b.k / kUnit;
  if (b.col_stride == 1) {
    static const From kZeros[kNr] = {};
    for (int64_t q = 0; q < steps; ++q) {
      Word* to = b.dst + q * kNr;
      for (int64_t first = 0; first < b.cols; first += kNr, to += b.panel_stride) {
        const From* rows[kUnit];
        for (int u = 0; u < kUnit; ++u)
          rows[u] = q * kUnit + u < b.k ? src + (q * kUnit + u) * b.k_stride + first : kZeros;
        To* const out = reinterpret_cast<To*>(to);
        if (b.cols - first >= kNr) {
          for (int j = 0; j < kNr; ++j) {
#pragma clang loop unroll(full)
            for (int u = 0; u < kUnit; ++u) out[j * kUnit + u] = As<To>(rows[u][j]);
          }
        } else {
          const int cols = static_cast<int>(b.cols - first);
          for (int j = 0; j < kNr; ++j) {
            for (int u = 0; u < kUnit; ++u) out[j * kUnit + u] = j < cols ? As<To>(rows[u][j]) : To{0};
          }
        }
      }
    }
    return;
  }
  Word* to = b.dst;
  for (int64_t first = 0; first < b.cols; first += kNr, to += b.panel_stride) {
    const int cols = b.cols - first < kNr ? static_cast<int>(b.cols - first) : kNr;
    const From* const panel = src + first * b.col_stride;
    int64_t q = 0;
    if (sizeof(From) == sizeof(To) && b.k_stride == 1) {
      PackWordColumns<kNr>(reinterpret_cast<const char*>(panel), static_cast<int64_t>(sizeof(From)) * b.col_stride,
                           full_steps, cols, to);
      q = full_steps;
    }
    for (; q < steps; ++q) {
      To* const out = reinterpret_cast<To*>(to + q * kNr);
      for (int j = 0; j < kNr; ++j) {
        for (int u = 0; u < kUnit; ++u) {
          const int64_t p = q * kUnit + u;
          out[j * kUnit + u] = j < cols && p < b.k ? As<To>(panel[p * b.k_stride + j * b.col_stride]) : To{0};
        }
      }
    }
  }
}

}  // namespace
