#pragma once

/// Kernels as fusion writes them, for tests and benchmarks.

#include <cstdint>

#include "tenon/kir/kir.h"

namespace tenon::emit_llvm::testing {

/// out[i] = x[i] + y[i]; the extent is parameter 0.
kir::Kernel AddKernel(DType type);
/// out[i] = tanh-like chain over math functions: tanh(x*y + 1) * exp(-x*x).
kir::Kernel ChainKernel();
/// out[r] = sum over c of x[r, c]; rows are outer; extents are parameters 0 and 1.
kir::Kernel RowSumKernel(DType type, kir::ReduceOrder order);
/// out[c] = sum over r of x[r, c]: the parallel dim is contiguous.
kir::Kernel ColumnSumKernel(DType type, kir::ReduceOrder order, bool outer);
/// out[r, c] = exp(x[r, c] - max) / sum, three stages under the row, with a kLocal row between them.
kir::Kernel SoftmaxKernel();
/// (max, index of the first maximum) of each row.
kir::Kernel ArgmaxKernel(DType index_type);
/// out[c, r] = x[r, c] (+ bias[c]).
kir::Kernel TransposeKernel(DType type, bool bias);
/// out[c, r] = x[r, cols - 1 - c].
kir::Kernel QuarterTurnKernel(DType type, int64_t rows, int64_t cols);
/// c <- 3.9 c (1 - c), n times; one scalar.
kir::Kernel LogisticKernel(int64_t steps);
/// x <- x - (x^3 - 2) / (3 x^2) on 8 lanes while i < n.
kir::Kernel NewtonKernel(int64_t steps);
/// Lorenz system by RK4, every state stored.
kir::Kernel LorenzKernel(int64_t steps);

}  // namespace tenon::emit_llvm::testing
