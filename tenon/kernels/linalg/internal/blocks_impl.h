#pragma once

// Included once per set of vector instructions, with TENON_BLOCKS naming the function that it defines.

#include <algorithm>
#include <cmath>
#include <utility>

#include "tenon/kernels/linalg/internal/blocks.h"

namespace tenon::kernels::internal {
namespace {

template <class T>
void SolveBlock(const T* t, T* x, int64_t n, bool unit_diagonal) {
  constexpr int64_t kLanes = 32;
  for (int64_t c = 0; c < kWidth; c += kLanes) {
    for (int64_t i = 0; i < n; ++i) {
      T sum[kLanes];
      for (int64_t l = 0; l < kLanes; ++l) sum[l] = x[i * kWidth + c + l];
      for (int64_t p = 0; p < i; ++p) {
        const T factor = t[i * kBlock + p];
        for (int64_t l = 0; l < kLanes; ++l) sum[l] -= factor * x[p * kWidth + c + l];
      }
      const T diagonal = unit_diagonal ? T(1) : t[i * kBlock + i];
      for (int64_t l = 0; l < kLanes; ++l) x[i * kWidth + c + l] = sum[l] / diagonal;
    }
  }
}

template <class T>
int64_t CholeskyBlock(T* a, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    T* column = a + j * kBlock;
    const T square = column[j];
    if (!(square > T(0))) return j + 1;
    const T diagonal = std::sqrt(square);
    column[j] = diagonal;
    for (int64_t i = j + 1; i < n; ++i) column[i] /= diagonal;
    // Rows above the diagonal take part for the vectors' sake; nobody reads them.
    for (int64_t k = j + 1; k < n; ++k) {
      const T factor = column[k];
      T* other = a + k * kBlock;
      for (int64_t i = 0; i < kBlock; ++i) other[i] -= factor * column[i];
    }
  }
  return 0;
}

template <class T>
int64_t LuPanel(T* a, int64_t m, int64_t n, int32_t* pivots) {
  int64_t info = 0;
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    T* column = a + j * m;
    int64_t pivot = j;
    T largest = std::abs(column[j]);
    for (int64_t i = j + 1; i < m; ++i) {
      if (std::abs(column[i]) > largest) {
        largest = std::abs(column[i]);
        pivot = i;
      }
    }
    pivots[j] = static_cast<int32_t>(pivot);
    if (column[pivot] == T(0)) {
      if (info == 0) info = j + 1;
      continue;
    }
    if (pivot != j) {
      for (int64_t k = 0; k < n; ++k) std::swap(a[k * m + j], a[k * m + pivot]);
    }
    const T diagonal = column[j];
    for (int64_t i = j + 1; i < m; ++i) column[i] /= diagonal;
    for (int64_t k = j + 1; k < n; ++k) {
      T* other = a + k * m;
      const T factor = other[j];
      for (int64_t i = j + 1; i < m; ++i) other[i] -= factor * column[i];
    }
  }
  return info;
}

}  // namespace

template <class T>
Blocks<T> TENON_BLOCKS() {
  return {&SolveBlock<T>, &CholeskyBlock<T>, &LuPanel<T>};
}
template Blocks<float> TENON_BLOCKS<float>();
template Blocks<double> TENON_BLOCKS<double>();

}  // namespace tenon::kernels::internal
