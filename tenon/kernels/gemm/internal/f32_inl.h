#pragma once

// f32 over `Vec` of the including x86_*.cc: the operations of the tile loop, and packing.

#include <cstdint>
#include <cstring>

#include "tenon/kernels/gemm/internal/kernel.h"

namespace {

using tenon::kernels::internal::BPanels;
using tenon::kernels::internal::Word;

template <class V>
struct F32OpsOf {
  using Sum = V::Reg;
  using Words = V::Reg;
  using Mask = V::Mask;
  static constexpr int kLanes = V::kLanes;
  static constexpr int kSumWords = 1;
  static constexpr bool kHasStart = false;
  static const float* F(const Word* p) { return reinterpret_cast<const float*>(p); }
  static float* F(Word* p) { return reinterpret_cast<float*>(p); }
  static Mask First(int n) { return V::First(n); }
  static Sum ZeroC() { return V::Zero(); }
  static Sum LoadC(const Word* p) { return V::Load(F(p)); }
  static Sum LoadFirstC(const Word* p, Mask m) { return V::LoadFirst(F(p), m); }
  static void StoreC(Word* p, Sum x) { V::Store(F(p), x); }
  static void StoreFirstC(Word* p, Sum x, Mask m) { V::StoreFirst(F(p), x, m); }
  static Sum AddC(Sum a, Sum b) { return V::Add(a, b); }
  static Words LoadB(const Word* p) { return V::Load(F(p)); }
  static Words LoadFirstB(const Word* p, Mask m) { return V::LoadFirst(F(p), m); }
  static Words BroadcastA(const Word* p) { return V::Broadcast(F(p)); }
  static Sum MulAdd(Words a, Words b, Sum c) { return V::Fma(a, b, c); }
};

template <>
struct F32OpsOf<void>;  // There is no such vector.

struct F32Ops : F32OpsOf<Vec> {
  using Half = F32OpsOf<Vec::Half>;
};

inline Word LoadWord(const void* p) {
  Word w;
  __builtin_memcpy(&w, p, sizeof(w));
  return w;
}

// dst[q * kNr + j] = the word at src + j * col_stride_bytes + 4 * q, for j < cols; zero for the other j < kNr.
template <int kNr>
void PackWordColumns(const char* src, int64_t col_stride_bytes, int64_t steps, int cols, Word* dst) {
  constexpr int kLanes = Vec::kLanes;
  const int64_t whole = steps / kLanes * kLanes;
  // As few columns at once as a vector has lanes: the hardware does not see where more of them go on.
  for (int j = 0; j < kNr; j += kLanes) {
    for (int64_t q = 0; q < whole; q += kLanes) {
      Vec::Reg r[kLanes];
#pragma clang loop unroll(full)
      for (int i = 0; i < kLanes; ++i) {
        r[i] = j + i < cols ? Vec::Load(reinterpret_cast<const float*>(src + (j + i) * col_stride_bytes + 4 * q))
                            : Vec::Zero();
      }
      Vec::Transpose(r);
#pragma clang loop unroll(full)
      for (int i = 0; i < kLanes; ++i) Vec::Store(F32Ops::F(dst + (q + i) * kNr + j), r[i]);
    }
  }
  for (int64_t q = whole; q < steps; ++q) {
    for (int j = 0; j < cols; ++j) dst[q * kNr + j] = LoadWord(src + j * col_stride_bytes + 4 * q);
    for (int j = cols; j < kNr; ++j) dst[q * kNr + j] = 0;
  }
}

// One row of words, `cols` <= kNr of them, filled up with zeros.
template <int kNr>
void CopyWordRow(const float* from, int cols, float* to) {
  constexpr int kLanes = Vec::kLanes;
  if (cols == kNr) {
#pragma clang loop unroll(full)
    for (int j = 0; j < kNr; j += kLanes) Vec::Store(to + j, Vec::Load(from + j));
    return;
  }
  for (int j = 0; j < kNr; j += kLanes) {
    const int left = cols - j;
    Vec::Store(to + j, left >= kLanes ? Vec::Load(from + j)
                       : left <= 0    ? Vec::Zero()
                                      : Vec::LoadFirst(from + j, Vec::First(left)));
  }
}

template <int kNr>
void PackBWords(const BPanels& b) {
  const float* const src = static_cast<const float*>(b.src);
  if (b.col_stride == 1) {
    // Rows are read one after another, over all panels.
    for (int64_t p = 0; p < b.k; ++p) {
      const float* from = src + p * b.k_stride;
      Word* to = b.dst + p * kNr;
      for (int64_t left = b.cols; left > 0; left -= kNr, from += kNr, to += b.panel_stride) {
        CopyWordRow<kNr>(from, left < kNr ? static_cast<int>(left) : kNr, F32Ops::F(to));
      }
    }
    return;
  }
  Word* to = b.dst;
  for (int64_t first = 0; first < b.cols; first += kNr, to += b.panel_stride) {
    const int cols = b.cols - first < kNr ? static_cast<int>(b.cols - first) : kNr;
    const float* const panel = src + first * b.col_stride;
    if (b.k_stride == 1) {
      PackWordColumns<kNr>(reinterpret_cast<const char*>(panel), 4 * b.col_stride, b.k, cols, to);
      continue;
    }
    for (int64_t p = 0; p < b.k; ++p) {
      for (int j = 0; j < cols; ++j) to[p * kNr + j] = LoadWord(panel + p * b.k_stride + j * b.col_stride);
      for (int j = cols; j < kNr; ++j) to[p * kNr + j] = 0;
    }
  }
}

inline void PackAWords(const void* src, int64_t row_stride, int64_t k_stride, int rows, int64_t k, Word* dst,
                       int64_t dst_row_stride) {
  for (int r = 0; r < rows; ++r) {
    const float* const from = static_cast<const float*>(src) + r * row_stride;
    Word* const to = dst + r * dst_row_stride;
    if (k_stride == 1) {
      __builtin_memcpy(to, from, static_cast<size_t>(k) * sizeof(float));
    } else {
      for (int64_t p = 0; p < k; ++p) to[p] = LoadWord(from + p * k_stride);
    }
  }
}

}  // namespace
