#pragma once

// Included once per set of vector instructions, with TENON_BLOCKS naming the function that it defines.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
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
void SolveOne(const T* t, T* x, int64_t n, bool unit_diagonal) {
  T left[kBlock];
  for (int64_t l = 0; l < kBlock; ++l) left[l] = x[l];
  for (int64_t p = 0; p < n; ++p) {
    const T* column = t + p * kBlock;
    const T solved = left[p] / (unit_diagonal ? T(1) : column[p]);
    x[p] = solved;
    // What is solved takes part for the vectors' sake; nobody reads it here.
    for (int64_t l = 0; l < kBlock; ++l) left[l] -= column[l] * solved;
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

/// The first row from j on of the largest size in the column; j where that one is NaN, and no other NaN.
template <class T>
int64_t PlaceOfLargest(const T* column, int64_t j, int64_t m) {
  using Number = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  if (std::isnan(column[j])) return j;
  // Sizes in order are integers in order, whose maxima need no branches.
  const auto infinite = std::bit_cast<Number>(std::numeric_limits<T>::infinity());
  Number most[kLuLanes];
  for (int64_t l = 0; l < kLuLanes; ++l) most[l] = -1;
  for (int64_t first = j / kLuLanes * kLuLanes; first < m; first += kLuLanes) {
    for (int64_t l = 0; l < kLuLanes; ++l) {
      const auto row = static_cast<Number>(first + l);
      const Number size = std::bit_cast<Number>(column[first + l]) & std::numeric_limits<Number>::max();
      const bool counts = (row >= static_cast<Number>(j)) & (row < static_cast<Number>(m)) & (size <= infinite);
      most[l] = std::max(most[l], counts ? size : Number{-1});
    }
  }
  for (int64_t half = kLuLanes / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l < half; ++l) most[l] = std::max(most[l], most[l + half]);
  }
  const T largest = std::bit_cast<T>(most[0]);
  int64_t place = j;
  while (std::abs(column[place]) != largest) ++place;
  return place;
}

/// Applies `change` to the rows after j of a column in whole vectors: change(row) gives what the row becomes.
template <class T, class Change>
void ChangeRowsAfter(int64_t j, int64_t m, T* column, const Change& change) {
  int64_t first = (j + 1) / kLuLanes * kLuLanes;
  // The vector in which the rows begin has some that stay.
  for (int64_t l = 0; l < kLuLanes; ++l) {
    const T changed = change(first + l);
    column[first + l] = static_cast<int32_t>(first + l) > static_cast<int32_t>(j) ? changed : column[first + l];
  }
  for (first += kLuLanes; first < m; first += kLuLanes) {
    for (int64_t l = 0; l < kLuLanes; ++l) column[first + l] = change(first + l);
  }
}

template <class T>
int64_t LuPanel(T* a, int64_t m, int64_t n, int32_t* pivots) {
  const int64_t stride = LuStride(m);
  int64_t info = 0;
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    T* column = a + j * stride;
    const int64_t pivot = PlaceOfLargest(column, j, m);
    pivots[j] = static_cast<int32_t>(pivot);
    if (column[pivot] == T(0)) {
      if (info == 0) info = j + 1;
      continue;
    }
    if (pivot != j) {
      for (int64_t k = 0; k < n; ++k) std::swap(a[k * stride + j], a[k * stride + pivot]);
    }
    if (j + 1 == m) break;
    const T diagonal = column[j];
    ChangeRowsAfter(j, m, column, [&](int64_t i) { return column[i] / diagonal; });
    for (int64_t k = j + 1; k < n; ++k) {
      T* other = a + k * stride;
      const T factor = other[j];
      ChangeRowsAfter(j, m, other, [&](int64_t i) { return other[i] - factor * column[i]; });
    }
  }
  return info;
}

/// One element of all lanes' matrices, and what comparing them gives.
template <class T>
struct Lanes {
  typedef T Values __attribute__((vector_size(64)));
  typedef std::conditional_t<sizeof(T) == 4, int32_t, int64_t> Number;
  typedef Number Numbers __attribute__((vector_size(64)));

  static Values* Of(T* elements) { return reinterpret_cast<Values*>(elements); }
  static const Values* Of(const T* elements) { return reinterpret_cast<const Values*>(elements); }
  static Values Abs(Values x) {
    constexpr Number kSign = std::numeric_limits<Number>::min();
    return reinterpret_cast<Values>(reinterpret_cast<Numbers>(x) & ~kSign);
  }
  static Values Sqrt(Values x) {
    for (int64_t l = 0; l < kLanes<T>; ++l) x[l] = std::sqrt(x[l]);
    return x;
  }
  static bool Any(Numbers mask) {
    Number any = 0;
    for (int64_t l = 0; l < kLanes<T>; ++l) any |= mask[l];
    return any != 0;
  }
  /// Those lanes' infos become `order` that were 0.
  static void Note(Numbers failed, int64_t order, int32_t* info) {
    if (!Any(failed)) return;
    for (int64_t l = 0; l < kLanes<T>; ++l) {
      if (failed[l] != 0 && info[l] == 0) info[l] = static_cast<int32_t>(order);
    }
  }
};

template <class T>
void SolveLanes(const T* t_elements, T* x_elements, int64_t n, int64_t columns, bool unit_diagonal) {
  using L = Lanes<T>;
  const typename L::Values* t = L::Of(t_elements);
  typename L::Values* x = L::Of(x_elements);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t p = 0; p < i; ++p) {
      const typename L::Values factor = t[i * n + p];
      for (int64_t c = 0; c < columns; ++c) x[i * columns + c] -= factor * x[p * columns + c];
    }
    if (unit_diagonal) continue;
    for (int64_t c = 0; c < columns; ++c) x[i * columns + c] /= t[i * n + i];
  }
}

template <class T>
void CholeskyLanes(T* elements, int64_t n, int32_t* info) {
  using L = Lanes<T>;
  typename L::Values* a = L::Of(elements);
  std::fill(info, info + kLanes<T>, 0);
  for (int64_t j = 0; j < n; ++j) {
    const typename L::Values square = a[j * n + j];
    L::Note(~(square > T(0)), j + 1, info);
    const typename L::Values diagonal = L::Sqrt(square);
    a[j * n + j] = diagonal;
    for (int64_t i = j + 1; i < n; ++i) a[i * n + j] /= diagonal;
    for (int64_t i = j + 1; i < n; ++i) {
      const typename L::Values factor = a[i * n + j];
      for (int64_t k = j + 1; k <= i; ++k) a[i * n + k] -= a[k * n + j] * factor;
    }
  }
}

template <class T>
void LuLanes(T* elements, int64_t m, int64_t n, int32_t* pivots, int32_t* info) {
  using L = Lanes<T>;
  typename L::Values* a = L::Of(elements);
  std::fill(info, info + kLanes<T>, 0);
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    typename L::Values largest = L::Abs(a[j * n + j]);
    typename L::Numbers pivot = typename L::Numbers{} + static_cast<typename L::Number>(j);
    for (int64_t i = j + 1; i < m; ++i) {
      const typename L::Values size = L::Abs(a[i * n + j]);
      const typename L::Numbers larger = size > largest;
      largest = larger ? size : largest;
      pivot = larger ? typename L::Numbers{} + static_cast<typename L::Number>(i) : pivot;
    }
    for (int64_t l = 0; l < kLanes<T>; ++l) {
      const auto other = static_cast<int64_t>(pivot[l]);
      pivots[j * kLanes<T> + l] = static_cast<int32_t>(other);
      if (other == j) continue;
      for (int64_t k = 0; k < n; ++k)
        std::swap(elements[(j * n + k) * kLanes<T> + l], elements[(other * n + k) * kLanes<T> + l]);
    }
    const typename L::Values diagonal = a[j * n + j];
    const typename L::Numbers zero = diagonal == T(0);
    if (!L::Any(zero)) {
      for (int64_t i = j + 1; i < m; ++i) {
        const typename L::Values factor = a[i * n + j] /= diagonal;
        for (int64_t k = j + 1; k < n; ++k) a[i * n + k] -= a[j * n + k] * factor;
      }
      continue;
    }
    L::Note(zero, j + 1, info);
    for (int64_t i = j + 1; i < m; ++i) {
      const typename L::Values factor = a[i * n + j] / diagonal;
      a[i * n + j] = zero ? a[i * n + j] : factor;
      for (int64_t k = j + 1; k < n; ++k) a[i * n + k] = zero ? a[i * n + k] : a[i * n + k] - a[j * n + k] * factor;
    }
  }
}

}  // namespace

template <class T>
Blocks<T> TENON_BLOCKS() {
  return {&SolveBlock<T>, &SolveOne<T>, &CholeskyBlock<T>, &LuPanel<T>, &SolveLanes<T>, &CholeskyLanes<T>, &LuLanes<T>};
}
template Blocks<float> TENON_BLOCKS<float>();
template Blocks<double> TENON_BLOCKS<double>();

}  // namespace tenon::kernels::internal
