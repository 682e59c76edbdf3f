#pragma once

// Products of rows with few vectors over `Vec` of the including x86_*.cc, each sum a chain.

#include <cstdint>

#include "tenon/kernels/gemm/internal/kernel.h"

namespace {

// A vector of rows at once; rows that are not there are the last one.
template <int kCount>
void DotFewSquares(const float* a, int64_t row_stride, const float* x, int64_t k, int rows, Vec::Reg (&acc)[kCount]) {
  constexpr int kLanes = Vec::kLanes;
  constexpr int64_t kAhead = 256;  // More rows at once than the hardware follows.
  const float* row[kLanes];
#pragma clang loop unroll(full)
  for (int r = 0; r < kLanes; ++r) row[r] = a + (r < rows ? r : rows - 1) * row_stride;
  Vec::Reg square[kLanes];
  const auto multiply = [&](int q, int64_t p) {
#pragma clang loop unroll(full)
    for (int j = 0; j < kCount; ++j) acc[j] = Vec::Fma(square[q], Vec::Broadcast(x + (p + q) * kCount + j), acc[j]);
  };
  int64_t p = 0;
  for (; p + kLanes <= k; p += kLanes) {
#pragma clang loop unroll(full)
    for (int r = 0; r < kLanes; ++r) {
      __builtin_prefetch(row[r] + p + kAhead);
      square[r] = Vec::Load(row[r] + p);
    }
    Vec::Transpose(square);
#pragma clang loop unroll(full)
    for (int q = 0; q < kLanes; ++q) multiply(q, p);
  }
  if (p == k) return;
  const Vec::Mask mask = Vec::First(static_cast<int>(k - p));
#pragma clang loop unroll(full)
  for (int r = 0; r < kLanes; ++r) square[r] = Vec::LoadFirst(row[r] + p, mask);
  Vec::Transpose(square);
#pragma clang loop unroll(full)
  for (int q = 0; q < kLanes; ++q) {
    if (p + q < k) multiply(q, p);
  }
}

template <int kCount>
void DotFewRows(const float* a, int64_t row_stride, const float* x, int64_t k, int64_t rows, bool accumulate, float* y,
                int64_t y_row_stride, int64_t y_col_stride) {
  constexpr int kLanes = Vec::kLanes;
  for (int64_t r = 0; r < rows; r += kLanes) {
    const int count = static_cast<int>(rows - r < kLanes ? rows - r : kLanes);
    float* const out = y + r * y_row_stride;
    alignas(64) float sums[kCount][kLanes] = {};
    for (int j = 0; accumulate && j < kCount; ++j) {
      for (int i = 0; i < count; ++i) sums[j][i] = out[i * y_row_stride + j * y_col_stride];
    }
    Vec::Reg acc[kCount];
#pragma clang loop unroll(full)
    for (int j = 0; j < kCount; ++j) acc[j] = Vec::Load(sums[j]);
    DotFewSquares<kCount>(a + r * row_stride, row_stride, x, k, count, acc);
    if (y_row_stride == 1 && count == kLanes) {
#pragma clang loop unroll(full)
      for (int j = 0; j < kCount; ++j) Vec::Store(out + j * y_col_stride, acc[j]);
      continue;
    }
#pragma clang loop unroll(full)
    for (int j = 0; j < kCount; ++j) Vec::Store(sums[j], acc[j]);
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < kCount; ++j) out[i * y_row_stride + j * y_col_stride] = sums[j][i];
    }
  }
}

void DotFewF32(const float* a, int64_t row_stride, const float* x, int64_t k, int64_t rows, int count, bool accumulate,
               float* y, int64_t y_row_stride, int64_t y_col_stride) {
  const auto dot = [&]<int kCount>() {
    DotFewRows<kCount>(a, row_stride, x, k, rows, accumulate, y, y_row_stride, y_col_stride);
  };
  switch (count) {
    case 2:
      return dot.template operator()<2>();
    case 3:
      return dot.template operator()<3>();
    case 4:
      return dot.template operator()<4>();
    case 5:
      return dot.template operator()<5>();
    case 6:
      return dot.template operator()<6>();
    case 7:
      return dot.template operator()<7>();
    default:
      static_assert(tenon::kernels::internal::kFewVectors == 8);
      return dot.template operator()<8>();
  }
}

}  // namespace
