#pragma once

// The f32 matrix-vector loops over `Vec` of the including x86_*.cc, in the order GemmOrder::kLanes64.

#include <cstdint>
#include <cstring>

#include "tenon/kernels/gemm/internal/kernel.h"

namespace {

using tenon::kernels::internal::GemvLanesApart;
using tenon::kernels::internal::kGemvGroupLanes;
using tenon::kernels::internal::kGemvGroups;
using tenon::kernels::internal::kGemvLanes;
using tenon::kernels::internal::kGemvRows;
using tenon::kernels::internal::Place;

constexpr int kLaneRegs = kGemvLanes / Vec::kLanes;
constexpr bool kManyRegisters = Vec::kLanes == 16;

// Whether vectors of a matrix lie in one cache line each, as far as its start and what is between its rows tell.
inline bool InLines(const float* a, int64_t stride) {
  constexpr int64_t kLine = 64;
  return reinterpret_cast<uintptr_t>(a) % kLine == 0 && stride * static_cast<int64_t>(sizeof(float)) % kLine == 0;
}

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
      for (; r + 4 <= rows; r += 4)
        DotGroups<4, kLaneRegs>(a + r * row_stride, row_stride, x, groups, lanes + r * kGemvLanes);
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

// kRows rows at once with nothing but registers between; each is fetched kAhead bytes ahead, if that is not 0.
template <int kRows, int kAhead>
void DotWholeRows(const float* a, int64_t row_stride, const float* x, int64_t k, bool accumulate, float* y,
                  int64_t y_stride) {
  Vec::Reg acc[kRows][kLaneRegs];
#pragma clang loop unroll(full)
  for (int r = 0; r < kRows; ++r) {
#pragma clang loop unroll(full)
    for (int v = 0; v < kLaneRegs; ++v) acc[r][v] = Vec::Zero();
  }
  int64_t p = 0;
  for (; p + kGemvLanes <= k; p += kGemvLanes) {
#pragma clang loop unroll(full)
    for (int v = 0; v < kLaneRegs; ++v) {
      const Vec::Reg xv = Vec::Load(x + p + v * Vec::kLanes);
#pragma clang loop unroll(full)
      for (int r = 0; r < kRows; ++r) {
        const float* const from = a + r * row_stride + p + v * Vec::kLanes;
        if (kAhead > 0 && v * Vec::kLanes % 16 == 0) __builtin_prefetch(reinterpret_cast<const char*>(from) + kAhead);
        acc[r][v] = Vec::Fma(Vec::Load(from), xv, acc[r][v]);
      }
    }
  }
  // The last k < 64: lanes without a product stay as they are. A break would leave the count of trips open, and the
  // sums of levels with many vectors in memory.
#pragma clang loop unroll(full)
  for (int v = 0; v < kLaneRegs; ++v, p += Vec::kLanes) {
    if (p < k) {
      const Vec::Mask mask = Vec::First(k - p < Vec::kLanes ? static_cast<int>(k - p) : Vec::kLanes);
      const Vec::Reg xv = Vec::LoadFirst(x + p, mask);
#pragma clang loop unroll(full)
      for (int r = 0; r < kRows; ++r) {
        const Vec::Reg sum = Vec::Fma(Vec::LoadFirst(a + r * row_stride + p, mask), xv, acc[r][v]);
        acc[r][v] = Vec::Select(mask, sum, acc[r][v]);
      }
    }
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < kRows; ++r) {
#pragma clang loop unroll(full)
    for (int half = kLaneRegs / 2; half > 0; half /= 2) {
#pragma clang loop unroll(full)
      for (int v = 0; v < half; ++v) acc[r][v] = Vec::Add(acc[r][v], acc[r][v + half]);
    }
    const float sum = Vec::Fold(acc[r][0]);
    y[r * y_stride] = accumulate ? y[r * y_stride] + sum : sum;
  }
}

// The rows of each part follow one another, where they lie together as one long run of memory.
template <int kParts, int kAhead>
void DotWholeBy(const float* a, int64_t row_stride, const float* x, int64_t k, int64_t rows, bool accumulate, float* y,
                int64_t y_stride) {
  const int64_t part = rows / kParts;
  for (int64_t r = 0; r < part; ++r) {
    DotWholeRows<kParts, kAhead>(a + r * row_stride, part * row_stride, x, k, accumulate, y + r * y_stride,
                                 part * y_stride);
  }
  for (int64_t r = part * kParts; r < rows; ++r)
    DotWholeRows<1, kAhead>(a + r * row_stride, row_stride, x, k, accumulate, y + r * y_stride, y_stride);
}

// The hardware fetches several rows at once better than one; it needs help where vectors lie across lines.
void DotWholeF32(const float* a, int64_t row_stride, const float* x, int64_t k, int64_t rows, Place place,
                 bool accumulate, float* y, int64_t y_stride) {
  if constexpr (kManyRegisters) {
    const auto dot = place == Place::kFar && !InLines(a, row_stride) ? DotWholeBy<4, 1024> : DotWholeBy<4, 0>;
    dot(a, row_stride, x, k, rows, accumulate, y, y_stride);
  } else {
    const auto dot = place == Place::kClose ? DotWholeBy<1, 0> : DotWholeBy<1, 2048>;
    dot(a, row_stride, x, k, rows, accumulate, y, y_stride);
  }
}

// Adds the columns at a, a + step ... to one lane of `rows` adjacent rows, behind which the lane has room for a whole
// vector. With kFetch the columns of the next lane, one k_stride on, are fetched meanwhile.
template <int kColumns, bool kFetch>
void DotLane(const float* a, int64_t step, int64_t k_stride, const float* x, int rows, float* lane) {
  constexpr int kLanes = Vec::kLanes;
  Vec::Reg xv[kColumns];
#pragma clang loop unroll(full)
  for (int q = 0; q < kColumns; ++q) xv[q] = Vec::Broadcast(x + q * kGemvLanes);
  int r = 0;
  for (; r + kLanes <= rows; r += kLanes) {
    Vec::Reg sum = Vec::Load(lane + r);
#pragma clang loop unroll(full)
    for (int q = 0; q < kColumns; ++q) {
      if (kFetch && r % 16 == 0) __builtin_prefetch(a + q * step + k_stride + r);
      sum = Vec::Fma(Vec::Load(a + q * step + r), xv[q], sum);
    }
    Vec::Store(lane + r, sum);
  }
  if (r == rows) return;
  const Vec::Mask mask = Vec::First(rows - r);
  Vec::Reg sum = Vec::Load(lane + r);
#pragma clang loop unroll(full)
  for (int q = 0; q < kColumns; ++q) sum = Vec::Fma(Vec::LoadFirst(a + q * step + r, mask), xv[q], sum);
  Vec::Store(lane + r, sum);
}

template <bool kFetch>
void DotColsOf(const float* a, int64_t k_stride, const float* x, int64_t k, int rows, float* lanes) {
  constexpr int kColumns = 4;
  constexpr int64_t kGroup = kColumns * kGemvLanes;
  const int64_t apart = GemvLanesApart(rows);
  const int64_t step = kGemvLanes * k_stride;
  int64_t p = 0;
  for (; p + kGroup <= k; p += kGroup) {
    for (int l = 0; l < kGemvLanes; ++l) {
      DotLane<kColumns, kFetch>(a + (p + l) * k_stride, step, k_stride, x + p + l, rows, lanes + l * apart);
    }
  }
  for (; p < k; ++p) {
    DotLane<1, kFetch>(a + p * k_stride, step, k_stride, x + p, rows, lanes + p % kGemvLanes * apart);
  }
}

// Columns are too short for the hardware to notice in time where the next one is, unless they come from memory and
// lie in lines: then help only disturbs it.
void DotColsF32(const float* a, int64_t k_stride, const float* x, int64_t k, int rows, Place place, float* lanes) {
  const auto dot = place == Place::kFar && InLines(a, k_stride) ? DotColsOf<false> : DotColsOf<true>;
  dot(a, k_stride, x, k, rows, lanes);
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

// kSums sums of each of `rows` adjacent rows, `apart` floats from one sum to the next.
template <int kSums>
void ReduceAdjacent(const float* sums, int64_t apart, int64_t rows, bool accumulate, float* y, int64_t y_stride) {
  for (int64_t r = 0; r < rows; r += Vec::kLanes) {
    Vec::Reg v[kSums / 2];
    for (int i = 0; i < kSums / 2; ++i)
      v[i] = Vec::Add(Vec::Load(sums + i * apart + r), Vec::Load(sums + (i + kSums / 2) * apart + r));
    for (int half = kSums / 4; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) v[i] = Vec::Add(v[i], v[i + half]);
    }
    alignas(64) float all[Vec::kLanes];
    Vec::Store(all, v[0]);
    for (int i = 0; i < Vec::kLanes && r + i < rows; ++i) {
      float& out = y[(r + i) * y_stride];
      out = accumulate ? out + all[i] : all[i];
    }
  }
}

void ReduceColsF32(const float* lanes, int rows, bool accumulate, float* y, int64_t y_stride) {
  ReduceAdjacent<kGemvLanes>(lanes, GemvLanesApart(rows), rows, accumulate, y, y_stride);
}

void ReduceGroupsF32(const float* sums, int64_t apart, int64_t rows, bool accumulate, float* y, int64_t y_stride) {
  ReduceAdjacent<kGemvGroups>(sums, apart, rows, accumulate, y, y_stride);
}

// One lane after the other, so that each is in the nearest cache while columns of the matrix, which are far apart, come
// by, several at once.
void DotGroupF32(const float* a, int64_t k_stride, const float* x, int64_t k, int group, int rows, float* sums) {
  const int64_t apart = GemvLanesApart(rows), step = kGemvLanes * k_stride;
  std::memset(sums, 0, static_cast<size_t>(kGemvGroupLanes * apart) * sizeof(float));
  for (int i = 0; i < kGemvGroupLanes; ++i) {
    int64_t p = group + i * kGemvGroups;
    const auto columns = [&]<int kColumns>() {
      for (; p + (kColumns - 1) * kGemvLanes < k; p += kColumns * kGemvLanes)
        DotLane<kColumns, false>(a + p * k_stride, step, k_stride, x + p, rows, sums + i * apart);
    };
    columns.template operator()<8>();
    columns.template operator()<4>();
    columns.template operator()<2>();
    columns.template operator()<1>();
  }
  for (int half = kGemvGroupLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) {
      for (int r = 0; r < rows; r += Vec::kLanes) {
        float* const to = sums + i * apart + r;
        Vec::Store(to, Vec::Add(Vec::Load(to), Vec::Load(to + half * apart)));
      }
    }
  }
}

// As many adjacent rows as kRegs registers hold, the last of them under a mask: lane after lane in the order in which
// the tree takes them, so that few sums wait for their other half and none goes to memory as a lane.
template <int kRegs, bool kMasked>
void DotTreeRows(const float* a, int64_t k_stride, const float* x, int64_t k, Vec::Mask mask, Vec::Reg* sums) {
  constexpr int kHalf = kGemvLanes / 2, kLevels = 5;
  static_assert(kHalf == 1 << kLevels);
  constexpr auto kLoad = [](const float* from, int v, Vec::Mask m) {
    return kMasked && v == kRegs - 1 ? Vec::LoadFirst(from + v * Vec::kLanes, m) : Vec::Load(from + v * Vec::kLanes);
  };
  Vec::Reg waiting[kLevels + 1][kRegs];
  for (int i = 0; i < kHalf; ++i) {
    int64_t p = 0;  // The lane: the bits of i, the last one first.
    for (int bit = 0; bit < kLevels; ++bit) p |= static_cast<int64_t>(i >> bit & 1) << (kLevels - 1 - bit);
    Vec::Reg low[kRegs], high[kRegs];
#pragma clang loop unroll(full)
    for (int v = 0; v < kRegs; ++v) low[v] = high[v] = Vec::Zero();
    for (; p < k; p += kGemvLanes) {
      const float* const from = a + p * k_stride;
      const Vec::Reg xl = Vec::Broadcast(x + p);
#pragma clang loop unroll(full)
      for (int v = 0; v < kRegs; ++v) low[v] = Vec::Fma(kLoad(from, v, mask), xl, low[v]);
      if (p + kHalf >= k) break;
      const Vec::Reg xh = Vec::Broadcast(x + p + kHalf);
#pragma clang loop unroll(full)
      for (int v = 0; v < kRegs; ++v) high[v] = Vec::Fma(kLoad(from + kHalf * k_stride, v, mask), xh, high[v]);
    }
#pragma clang loop unroll(full)
    for (int v = 0; v < kRegs; ++v) low[v] = Vec::Add(low[v], high[v]);
    int level = 0;
    for (int done = i; (done & 1) != 0; done >>= 1, ++level) {
#pragma clang loop unroll(full)
      for (int v = 0; v < kRegs; ++v) low[v] = Vec::Add(waiting[level][v], low[v]);
    }
#pragma clang loop unroll(full)
    for (int v = 0; v < kRegs; ++v) waiting[level][v] = low[v];
  }
#pragma clang loop unroll(full)
  for (int v = 0; v < kRegs; ++v) sums[v] = waiting[kLevels][v];
}

void DotTreeF32(const float* a, int64_t k_stride, const float* x, int64_t k, int64_t rows, bool accumulate, float* y,
                int64_t y_stride) {
  constexpr int kLanes = Vec::kLanes, kRegs = 4;
  for (int64_t r = 0; r < rows; r += kRegs * kLanes) {
    const int count = static_cast<int>(rows - r < kRegs * kLanes ? rows - r : kRegs * kLanes);
    Vec::Reg sums[kRegs];
    if (count == kRegs * kLanes) {
      DotTreeRows<kRegs, false>(a + r, k_stride, x, k, Vec::First(kLanes), sums);
    } else {
      for (int done = 0; done < count; done += kLanes) {
        const int left = count - done;
        if (left >= kLanes) {
          DotTreeRows<1, false>(a + r + done, k_stride, x, k, Vec::First(kLanes), sums + done / kLanes);
        } else {
          DotTreeRows<1, true>(a + r + done, k_stride, x, k, Vec::First(left), sums + done / kLanes);
        }
      }
    }
    alignas(64) float out[kRegs * kLanes];
    for (int v = 0; v * kLanes < count; ++v) Vec::Store(out + v * kLanes, sums[v]);
    for (int i = 0; i < count; ++i) {
      float& to = y[(r + i) * y_stride];
      to = accumulate ? to + out[i] : out[i];
    }
  }
}

inline float FmaOrTwoRoundings(float a, float b, float c) {
#if defined(__FMA__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// Several rows side by side, so that chains do not wait for themselves; with so short a k nothing more is needed to
// keep up with memory.
template <int kRows>
void DotShortRows(const float* a, int64_t row_stride, int64_t k_stride, const float* x, int64_t k, bool accumulate,
                  float* y, int64_t y_stride) {
  float acc[kRows];
#pragma clang loop unroll(full)
  for (int r = 0; r < kRows; ++r) acc[r] = accumulate ? y[r * y_stride] : 0;
  for (int64_t p = 0; p < k; ++p) {
#pragma clang loop unroll(full)
    for (int r = 0; r < kRows; ++r) {
      acc[r] = FmaOrTwoRoundings(a[r * row_stride + p * k_stride], x[p], acc[r]);
    }
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < kRows; ++r) y[r * y_stride] = acc[r];
}

// Adjacent rows, as many as kRegs registers hold; with kMasked the last register has `tail` of them.
template <int kRegs, bool kMasked>
void DotShortColumns(const float* a, int64_t k_stride, const float* x, int64_t k, bool accumulate, float* y,
                     int64_t y_stride, int tail) {
  constexpr int kLanes = Vec::kLanes;
  const Vec::Mask mask = Vec::First(tail);
  const int rows = (kRegs - 1) * kLanes + tail;
  alignas(64) float sums[kRegs * kLanes] = {};
  if (accumulate) {
    for (int r = 0; r < rows; ++r) sums[r] = y[r * y_stride];
  }
  Vec::Reg acc[kRegs];
#pragma clang loop unroll(full)
  for (int v = 0; v < kRegs; ++v) acc[v] = Vec::Load(sums + v * kLanes);
  for (int64_t p = 0; p < k; ++p) {
    const Vec::Reg xv = Vec::Broadcast(x + p);
#pragma clang loop unroll(full)
    for (int v = 0; v < kRegs; ++v) {
      const float* const from = a + p * k_stride + v * kLanes;
      acc[v] = Vec::Fma(kMasked && v == kRegs - 1 ? Vec::LoadFirst(from, mask) : Vec::Load(from), xv, acc[v]);
    }
  }
#pragma clang loop unroll(full)
  for (int v = 0; v < kRegs; ++v) Vec::Store(sums + v * kLanes, acc[v]);
  for (int r = 0; r < rows; ++r) y[r * y_stride] = sums[r];
}

// As many rows as lanes, whose elements are adjacent: squares of them turned in registers.
inline void DotShortTurned(const float* a, int64_t row_stride, const float* x, int64_t k, bool accumulate, float* y,
                           int64_t y_stride) {
  constexpr int kLanes = Vec::kLanes;
  alignas(64) float sums[kLanes] = {};
  if (accumulate) {
    for (int r = 0; r < kLanes; ++r) sums[r] = y[r * y_stride];
  }
  Vec::Reg acc = Vec::Load(sums);
  Vec::Reg square[kLanes];
  int64_t p = 0;
  for (; p + kLanes <= k; p += kLanes) {
#pragma clang loop unroll(full)
    for (int r = 0; r < kLanes; ++r) square[r] = Vec::Load(a + r * row_stride + p);
    Vec::Transpose(square);
#pragma clang loop unroll(full)
    for (int q = 0; q < kLanes; ++q) acc = Vec::Fma(square[q], Vec::Broadcast(x + p + q), acc);
  }
  if (k - p > kLanes / 4) {
    const Vec::Mask mask = Vec::First(static_cast<int>(k - p));
#pragma clang loop unroll(full)
    for (int r = 0; r < kLanes; ++r) square[r] = Vec::LoadFirst(a + r * row_stride + p, mask);
    Vec::Transpose(square);
#pragma clang loop unroll(full)
    for (int q = 0; q < kLanes; ++q) {
      if (p + q < k) acc = Vec::Fma(square[q], Vec::Broadcast(x + p + q), acc);
    }
  } else {
    // Few columns are sooner brought together one by one.
    for (; p < k; ++p) {
      alignas(64) float column[kLanes];
#pragma clang loop unroll(full)
      for (int r = 0; r < kLanes; ++r) column[r] = a[r * row_stride + p];
      acc = Vec::Fma(Vec::Load(column), Vec::Broadcast(x + p), acc);
    }
  }
  Vec::Store(sums, acc);
  for (int r = 0; r < kLanes; ++r) y[r * y_stride] = sums[r];
}

void DotShortF32(const float* a, int64_t row_stride, int64_t k_stride, const float* x, int64_t k, int64_t rows,
                 bool accumulate, float* y, int64_t y_stride) {
  int64_t r = 0;
  if (row_stride == 1) {
    constexpr int kLanes = Vec::kLanes;
    for (; r + 4 * kLanes <= rows; r += 4 * kLanes)
      DotShortColumns<4, false>(a + r, k_stride, x, k, accumulate, y + r * y_stride, y_stride, kLanes);
    for (; r + kLanes <= rows; r += kLanes)
      DotShortColumns<1, false>(a + r, k_stride, x, k, accumulate, y + r * y_stride, y_stride, kLanes);
    if (r < rows) {
      DotShortColumns<1, true>(a + r, k_stride, x, k, accumulate, y + r * y_stride, y_stride,
                               static_cast<int>(rows - r));
    }
    return;
  }
  if (k_stride == 1 && k >= Vec::kLanes / 2) {
    for (; r + Vec::kLanes <= rows; r += Vec::kLanes)
      DotShortTurned(a + r * row_stride, row_stride, x, k, accumulate, y + r * y_stride, y_stride);
  }
  for (; r + 8 <= rows; r += 8)
    DotShortRows<8>(a + r * row_stride, row_stride, k_stride, x, k, accumulate, y + r * y_stride, y_stride);
  for (; r < rows; ++r)
    DotShortRows<1>(a + r * row_stride, row_stride, k_stride, x, k, accumulate, y + r * y_stride, y_stride);
}

}  // namespace
