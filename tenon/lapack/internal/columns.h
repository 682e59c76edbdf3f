#pragma once

// Loops over the columns of a matrix, compiled per set of vector instructions. No rounding depends on the set: sums go
// through vectors of 64 bytes, whatever the registers, and nothing is contracted.

#include <cstdint>

namespace tenon::lapack::internal {

/// Elements of a vector. Columns begin `stride` elements apart and may be read and written up to the end of the vector
/// that their last element lies in: `stride` >= rows + kLanes - 1, where the rest is zero.
template <class T>
inline constexpr int64_t kLanes = 64 / static_cast<int64_t>(sizeof(T));

template <class T>
struct Columns {
  /// a <- (I - tau v v^T) a, a: [rows, columns].
  void (*reflect)(const T* v, T tau, int64_t rows, T* a, int64_t columns, int64_t stride);
  /// y <- a x, a: [rows, columns].
  void (*multiply)(const T* a, int64_t rows, int64_t columns, int64_t stride, const T* x, T* y);
  /// a <- a - v w^T - w v^T, a: [n, n].
  void (*update)(T* a, int64_t n, int64_t stride, const T* v, const T* w);
  /// For i = 0 ... count - 1, each after the last one: columns i and i + 1 of a [rows, count + 1] become
  /// c[i] a_i - s[i] a_(i+1) and s[i] a_i + c[i] a_(i+1).
  void (*rotate)(T* a, int64_t rows, int64_t stride, int64_t count, const T* c, const T* s);
  /// x^T y of two columns.
  T (*dot)(const T* x, const T* y, int64_t rows);
};

template <class T>
Columns<T> ColumnsBaseline();
template <class T>
Columns<T> ColumnsAvx2();
template <class T>
Columns<T> ColumnsAvx512();
/// Those of the best level that this CPU has.
template <class T>
Columns<T> ColumnsHere();

}  // namespace tenon::lapack::internal
