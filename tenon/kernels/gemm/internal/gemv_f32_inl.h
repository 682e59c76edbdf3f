#pragma once

// The f32 matrix-vector loops over `Vec` of the including x86_*.cc, in the order GemmOrder::kLanes64.

#include <cstdint>

#include "tenon/kernels/gemm/internal/kernel.h"

namespace {

using tenon::kernels::internal::kGemvLanes;
using tenon::kernels::internal::kGemvRows;

constexpr int kLaneRegs = kGemvLanes / Vec::kLanes;
constexpr bool kManyRegisters = Vec::kLanes == 16;

// The last k < 64 products of one row.
inline void DotTail(const float* a, const float* x, int k, float* lanes) {
  int l = 0;
  for (; l + Vec::kLanes <= k; l += Vec::kLanes) {
    Vec::Store(lanes + l, Vec::Fma(Vec::Load(a + l), Vec::Load(x + l), Vec::Load(lanes + l)));
  }
  if (l == k) return;
  // Lanes without a product stay as they are: adding 0 would turn -0 into +0.
  const Vec::Mask mask = Vec::First(k - l);
  const Vec::Reg old = Vec::Load(lanes + l);
  const Vec::Reg sum = Vec::Fma(Vec::LoadFirst(a + l, mask), Vec::LoadFirst(x + l, mask), old);
  Vec::Store(lanes + l, Vec::Select(mask, sum, old));
}

// kRows rows, lanes [kFirst, kFirst + kRegs) of each, over whole groups of 64.
template <int kRows, int kRegs>
void DotGroups(const float* a, int64_t row_stride, const float* x, int64_t groups, float* lanes) {
  Vec::Reg acc[kRows][kRegs];
#pragma clang loop unroll(full)
  for (int r = 0; r < kRows; ++r) {
#pragma clang loop unroll(full)
    for (int v = 0; v < kRegs; ++v) acc[r][v] = Vec::Load(lanes + r * kGemvLanes + v * Vec::kLanes);
  }
  for (int64_t g = 0; g < groups; ++g) {
#pragma clang loop unroll(full)
    for (int v = 0; v < kRegs; ++v) {
      const Vec::Reg xv = Vec::Load(x + v * Vec::kLanes);
#pragma clang loop unroll(full)
      for (int r = 0; r < kRows; ++r) {
        acc[r][v] = Vec::Fma(Vec::Load(a + r * row_stride + v * Vec::kLanes), xv, acc[r][v]);
      }
    }
    a += kGemvLanes;
    x += kGemvLanes;
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < kRows; ++r) {
#pragma clang loop unroll(full)
    for (int v = 0; v < kRegs; ++v) Vec::Store(lanes + r * kGemvLanes + v * Vec::kLanes, acc[r][v]);
  }
}

void DotRowsF32(const float* a, int64_t row_stride, const float* x, int64_t k, int rows, float* lanes) {
  const int64_t groups = k / kGemvLanes;
  const int tail = static_cast<int>(k % kGemvLanes);
  int r = 0;
  if (groups > 0) {
    if constexpr (kManyRegisters) {
      for (; r + 4 <= rows; r += 4) DotGroups<4, kLaneRegs>(a + r * row_stride, row_stride, x, groups, lanes + r * kGemvLanes);
    }
    for (; r < rows; ++r) {
      const float* row = a + r * row_stride;
      if constexpr (kLaneRegs <= 8) {
        DotGroups<1, kLaneRegs>(row, row_stride, x, groups, lanes + r * kGemvLanes);
      } else {
        DotGroups<1, kLaneRegs / 2>(row, row_stride, x, groups, lanes + r * kGemvLanes);
        DotGroups<1, kLaneRegs / 2>(row + kGemvLanes / 2, row_stride, x + kGemvLanes / 2, groups,
                                    lanes + r * kGemvLanes + kGemvLanes / 2);
      }
    }
  }
  if (tail == 0) return;
  const int64_t done = groups * kGemvLanes;
  for (r = 0; r < rows; ++r) DotTail(a + r * row_stride + done, x + done, tail, lanes + r * kGemvLanes);
}

// One lane of kRegs vectors of rows: columns l, l + 64 ...
template <int kRegs, bool kMasked>
void DotLane(const float* a, int64_t step, const float* x, int64_t count, int tail, float* lane) {
  const Vec::Mask mask = Vec::First(tail);
  const auto load = [&](const float* p, int v) {
    return kMasked && v == kRegs - 1 ? Vec::LoadFirst(p + v * Vec::kLanes, mask) : Vec::Load(p + v * Vec::kLanes);
  };
  Vec::Reg acc[kRegs];
#pragma clang loop unroll(full)
  for (int v = 0; v < kRegs; ++v) acc[v] = Vec::Load(lane + v * Vec::kLanes);
  for (int64_t q = 0; q < count; ++q) {
    const Vec::Reg xv = Vec::Broadcast(x + q * kGemvLanes);
#pragma clang loop unroll(full)
    for (int v = 0; v < kRegs; ++v) acc[v] = Vec::Fma(load(a, v), xv, acc[v]);
    a += step;
  }
#pragma clang loop unroll(full)
  for (int v = 0; v < kRegs; ++v) Vec::Store(lane + v * Vec::kLanes, acc[v]);
}

template <int kRegs>
void DotLanes(const float* a, int64_t k_stride, const float* x, int64_t k, int cols, float* lanes) {
  for (int64_t l = 0; l < kGemvLanes && l < k; ++l) {
    const int64_t count = (k - l + kGemvLanes - 1) / kGemvLanes;
    const int tail = cols - (kRegs - 1) * Vec::kLanes;
    if (tail == Vec::kLanes) {
      DotLane<kRegs, false>(a + l * k_stride, kGemvLanes * k_stride, x + l, count, tail, lanes + l * kGemvRows);
    } else {
      DotLane<kRegs, true>(a + l * k_stride, kGemvLanes * k_stride, x + l, count, tail, lanes + l * kGemvRows);
    }
  }
}

void DotColsF32(const float* a, int64_t k_stride, const float* x, int64_t k, int rows, float* lanes) {
  constexpr int kRegs = 4;
  constexpr int kStep = kRegs * Vec::kLanes;
  int r = 0;
  for (; r + kStep <= rows; r += kStep) DotLanes<kRegs>(a + r, k_stride, x, k, kStep, lanes + r);
  for (; r < rows; r += Vec::kLanes) {
    const int left = rows - r;
    DotLanes<1>(a + r, k_stride, x, k, left < Vec::kLanes ? left : Vec::kLanes, lanes + r);
  }
}

void ReduceRowsF32(const float* lanes, int rows, bool accumulate, float* y, int64_t y_stride) {
  for (int r = 0; r < rows; ++r) {
    Vec::Reg v[kLaneRegs];
#pragma clang loop unroll(full)
    for (int i = 0; i < kLaneRegs; ++i) v[i] = Vec::Load(lanes + r * kGemvLanes + i * Vec::kLanes);
#pragma clang loop unroll(full)
    for (int half = kLaneRegs / 2; half > 0; half /= 2) {
#pragma clang loop unroll(full)
      for (int i = 0; i < half; ++i) v[i] = Vec::Add(v[i], v[i + half]);
    }
    const float sum = Vec::Fold(v[0]);
    y[r * y_stride] = accumulate ? y[r * y_stride] + sum : sum;
  }
}

void ReduceColsF32(const float* lanes, int rows, bool accumulate, float* y, int64_t y_stride) {
  for (int r = 0; r < rows; r += Vec::kLanes) {
    Vec::Reg v[kGemvLanes / 2];
    for (int i = 0; i < kGemvLanes / 2; ++i) {
      v[i] = Vec::Add(Vec::Load(lanes + i * kGemvRows + r), Vec::Load(lanes + (i + kGemvLanes / 2) * kGemvRows + r));
    }
    for (int half = kGemvLanes / 4; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) v[i] = Vec::Add(v[i], v[i + half]);
    }
    alignas(64) float sums[Vec::kLanes];
    Vec::Store(sums, v[0]);
    for (int i = 0; i < Vec::kLanes && r + i < rows; ++i) {
      float& out = y[(r + i) * y_stride];
      out = accumulate ? out + sums[i] : sums[i];
    }
  }
}

}  // namespace
