#pragma once

/// Factorisations and triangular systems over strided matrices, blocked so that matrix products do the work.

#include <cstdint>

#include "tenon/base/dtype.h"
#include "tenon/base/shape.h"
#include "tenon/base/status.h"
#include "tenon/drivers/problem.h"
#include "tenon/threads/pool.h"

namespace tenon::kernels {

using LinalgOp = drivers::Factorisation::Kind;

/// A matrix in memory, for every index of the batch extents; strides in elements, any sign and order.
struct LinalgMatrix {
  int64_t rows = 0, cols = 0;
  int64_t row_stride = 0, col_stride = 0;
  Dims batch_strides;
};

/// What to compute, in place in `x`:
///   kCholesky: the triangle of x that `lower` names becomes L with L L^T = x, or U with U^T U = x; the other one is
///   left alone.
///     info is 0, or i when the leading minor of order i is not positive; x is then finished up to there.
///   kTriangularSolve: x becomes the solution of op(a) X = x (`left`) or X op(a) = x, op being the transpose when
///   asked; only the named
///     triangle of a is read, and its diagonal counts as ones when `unit_diagonal`.
///   kLu: x becomes L (below the diagonal, ones not stored) and U of P x = L U; row i was swapped with row pivots[i] -
///   1 (from 1, as
///     LAPACK counts), in order. info is 0, or i when U[i, i] is the first that is zero.
struct LinalgSignature {
  LinalgOp op = LinalgOp::kCholesky;
  DType type = DType::kF32;  ///< kF32 or kF64.
  bool lower = true, left = true, transpose = false, unit_diagonal = false;
  Dims batch;
  LinalgMatrix x;
  LinalgMatrix a;  ///< kTriangularSolve: square, may overlap itself but not x.
};

/// INVALID_ARGUMENT when extents and strides do not fit the operation; UNIMPLEMENTED for other types.
Status Verify(const LinalgSignature& s);
/// Scratch, 64-byte aligned.
int64_t LinalgScratchBytes(const LinalgSignature& s);
/// Multiplications and additions, within a factor of three.
double LinalgFlops(const LinalgSignature& s);
/// Nanoseconds on one thread, within a factor of three.
double LinalgCostNs(const LinalgSignature& s);

/// Runs a verified signature. `pivots`: s32 [batch..., min(rows, cols)], dense; kLu only. `info`: s32 [batch...],
/// dense, or null. Bits depend on values and extents only, as those of Gemm do.
Status Linalg(const LinalgSignature& s, const void* a, void* x, int32_t* pivots, int32_t* info, void* scratch,
              threads::ThreadPool& pool);

}  // namespace tenon::kernels
