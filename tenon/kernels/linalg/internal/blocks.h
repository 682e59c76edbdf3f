#pragma once

// The small dense pieces that no matrix product covers, compiled per set of vector instructions. No rounding depends on
// the set.

#include <cstdint>

namespace tenon::kernels::internal {

inline constexpr int64_t kBlock = 32;   ///< Order of the triangles solved and factored directly.
inline constexpr int64_t kWidth = 64;   ///< Right-hand sides in one go.
inline constexpr int64_t kLuPanel = 8;  ///< Columns factored directly.

template <class T>
struct Blocks {
  /// Solves t x = x: t is lower triangular, row-major [n, kBlock]; x is [n, kWidth]. n <= kBlock.
  void (*solve)(const T* t, T* x, int64_t n, bool unit_diagonal);
  /// Factors the lower triangle of the column-major [n, kBlock] matrix in place; 0, or the order of the minor that is
  /// not positive.
  int64_t (*cholesky)(T* a, int64_t n);
  /// Factors the column-major [m, n] panel (columns `m` apart) with row swaps; `pivots` count from 0. 0, or from 1 the
  /// first zero on the diagonal.
  int64_t (*lu)(T* a, int64_t m, int64_t n, int32_t* pivots);
};

template <class T>
Blocks<T> BlocksBaseline();
template <class T>
Blocks<T> BlocksAvx2();

}  // namespace tenon::kernels::internal
