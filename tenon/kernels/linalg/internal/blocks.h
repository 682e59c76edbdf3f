#pragma once

// The small dense pieces that no matrix product covers, compiled per set of vector instructions. No rounding depends on
// the set.

#include <cstdint>

namespace tenon::kernels::internal {

inline constexpr int64_t kBlock = 32;   ///< Order of the triangles solved and factored directly.
inline constexpr int64_t kWidth = 64;   ///< Right-hand sides in one go.
inline constexpr int64_t kLuPanel = 8;  ///< Columns factored directly, of any number of rows.
/// Rows of the matrices whose columns are factored directly up to kBlock of them: of so few, what a product spares is
/// less than what calling it costs.
inline constexpr int64_t kLuRows = 48;

/// Columns that LU factors lie so many elements apart, whole vectors each.
inline constexpr int64_t kLuLanes = 16;
inline constexpr int64_t LuStride(int64_t rows) { return (rows + kLuLanes - 1) / kLuLanes * kLuLanes; }

/// Small matrices of a batch that are worked on together, each in a lane of vectors of 64 bytes.
template <class T>
inline constexpr int64_t kLanes = 64 / static_cast<int64_t>(sizeof(T));

template <class T>
struct Blocks {
  /// Solves t x = x: t is lower triangular, row-major [n, kBlock]; x is [n, kWidth]. n <= kBlock.
  void (*solve)(const T* t, T* x, int64_t n, bool unit_diagonal);
  /// The same of one right-hand side, x [kBlock], and t by columns, [n][kBlock], of which what lies above the diagonal
  /// is any number. In the same order, hence with the same bits.
  void (*solve_one)(const T* t, T* x, int64_t n, bool unit_diagonal);
  /// Factors the lower triangle of the column-major [n, kBlock] matrix in place, around which is any number; 0, or the
  /// order of the minor that is not positive.
  int64_t (*cholesky)(T* a, int64_t n);
  /// Factors the column-major [m, n] panel (columns LuStride(m) apart, finite between them) with row swaps; `pivots`
  /// count from 0. 0, or from 1 the first zero on the diagonal.
  int64_t (*lu)(T* a, int64_t m, int64_t n, int32_t* pivots);

  // The same of kLanes matrices at once: element (i, j) of all of them at [(i * columns + j) * kLanes], 64-byte
  // aligned; `info` by lane. What follows a minor that is not positive means nothing.
  void (*solve_lanes)(const T* t, T* x, int64_t n, int64_t columns, bool unit_diagonal);
  void (*cholesky_lanes)(T* a, int64_t n, int32_t* info);
  /// `pivots`: [min(m, n)][kLanes].
  void (*lu_lanes)(T* a, int64_t m, int64_t n, int32_t* pivots, int32_t* info);
};

template <class T>
Blocks<T> BlocksBaseline();
template <class T>
Blocks<T> BlocksAvx2();
template <class T>
Blocks<T> BlocksAvx512();

}  // namespace tenon::kernels::internal
