#pragma once

#include "tenon/kernels/gemm/signature.h"

// What products cost, as both the choice between a product and its transpose and the estimates before there is a
// product reckon it.

namespace tenon::kernels::internal {

/// What a panel of columns that half a vector holds takes of one that a whole one does (GemmKernel::has_half): loads of
/// A and the loops take as long in both.
inline constexpr double kHalfPass = 0.625;
/// Cycles to find a matrix of a batch and go through the loops around its tiles.
inline constexpr double kMatrixCycles = 110;
/// A matrix that a core's own caches hold, beside what else they do.
inline constexpr int64_t kCloseBytes = 512 << 10;

/// C^T = B^T A^T.
GemmSignature Transposed(GemmSignature s);
/// Whether it is a vector, as it stands A, and a matrix in a core's caches whose columns are adjacent: RunColumns's
/// where sums are chains.
bool IsVectorByColumns(const GemmSignature& s);
/// Whether it is a matrix, as it stands A, whose rows' elements are neighbours, and few vectors: RunFew's.
bool IsMatrixWithFew(const GemmSignature& s);
/// What that takes, from a near cache, in cycles, about: of all matrices of the batch.
double FewCycles(const GemmSignature& s);

}  // namespace tenon::kernels::internal
