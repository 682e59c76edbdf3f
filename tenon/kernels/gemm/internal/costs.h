#pragma once

// What products cost, as both the choice between a product and its transpose and the estimates before there is a
// product reckon it.

namespace tenon::kernels::internal {

/// What a panel of columns that half a vector holds takes of one that a whole one does (GemmKernel::has_half): loads of
/// A and the loops take as long in both.
inline constexpr double kHalfPass = 0.625;
/// Cycles to find a matrix of a batch and go through the loops around its tiles.
inline constexpr double kMatrixCycles = 110;

}  // namespace tenon::kernels::internal
