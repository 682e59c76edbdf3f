#pragma once

// What the driver needs from one instruction set's kernels. The x86_*.cc files define one table each; they are the only sources
// compiled with vector flags, and share no inline function with the rest.

#include <cstdint>

#include "tenon/base/dtype.h"
#include "tenon/isa/isa.h"

namespace tenon::kernels::internal {

/// One tile of C of at most mr x nr. Strides in elements.
struct MicroTile {
  const float* a;  ///< Element (i, p) at a[i * a_row_stride + p * a_k_stride].
  int64_t a_row_stride;
  int64_t a_k_stride;
  const float* b;  ///< Element (p, j) at b[p * b_k_stride + j].
  int64_t b_k_stride;
  float* c;  ///< Element (i, j) at c[i * c_row_stride + j].
  int64_t c_row_stride;
  int64_t k;    ///< >= 1.
  bool load_c;  ///< The chains start from C's elements; else from 0 and C is not read.
};

/// Lanes of GemmOrder::kLanes64.
inline constexpr int kGemvLanes = 64;
/// Rows that one call of dot_rows takes at most.
inline constexpr int kGemvRows = 64;
/// The same for dot_cols; more, because only rows are adjacent in memory there.
inline constexpr int kGemvAdjacentRows = 256;

struct GemmKernel {
  const char* name;
  isa::IsaLevel level;
  DType a_type, b_type, c_type;
  int mr, nr;
  bool consistent;

  /// C tile of `rows` x `cols`, 1 <= rows <= mr, 1 <= cols <= nr. Reads and writes nothing outside the named elements.
  void (*micro)(const MicroTile& tile, int rows, int cols);

  /// For the panels i of nr columns each, the last one filled up with zeros, p < k and j < nr:
  /// dst[i * panel_stride + p * nr + j] = src[p * k_stride + (i * nr + j) * col_stride].
  void (*pack_b)(const float* src, int64_t k_stride, int64_t col_stride, int64_t k, int64_t cols, float* dst, int64_t panel_stride);

  /// Lane sums of `rows` <= kGemvRows dot products whose p runs on from where the last call stopped, always at a multiple of 64:
  /// lanes[r * 64 + l] = chain over p = l, l+64 ... of a[r * row_stride + p] * x[p].
  void (*dot_rows)(const float* a, int64_t row_stride, const float* x, int64_t k, int rows, float* lanes);
  /// The same for a matrix whose rows are adjacent, rows <= kGemvAdjacentRows:
  /// lanes[l * kGemvAdjacentRows + r] = chain over p of a[r + p * k_stride] * x[p].
  void (*dot_cols)(const float* a, int64_t k_stride, const float* x, int64_t k, int rows, float* lanes);
  /// y[r * y_stride] (+)= the tree over the lanes, laid out as by dot_rows and dot_cols.
  void (*reduce_rows)(const float* lanes, int rows, bool accumulate, float* y, int64_t y_stride);
  void (*reduce_cols)(const float* lanes, int rows, bool accumulate, float* y, int64_t y_stride);
};

#define TENON_GEMM(level, name, a, b, c, mr, nr, consistent) extern const GemmKernel name;
#include "tenon/kernels/gemm/kernels.inc"
#undef TENON_GEMM

/// The kernel for the types at `level`: that of the highest row not above it. Null when there is none.
const GemmKernel* FindKernel(DType a, DType b, DType c, isa::IsaLevel level);

}  // namespace tenon::kernels::internal
