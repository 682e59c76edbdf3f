#pragma once

// What gemm.cc hands to the two drivers: verified, not empty, k > 0, and C's rows contiguous wherever possible.

#include <cstdint>

#include "tenon/base/status.h"
#include "tenon/kernels/gemm/gemm.h"
#include "tenon/kernels/gemm/internal/kernel.h"

namespace tenon::kernels::internal {

/// `signature` may be that of C^T = B^T A^T: then `swapped`, operands and hooks are exchanged, and tiles of hooks are
/// to be shown to them transposed.
struct Problem {
  GemmSignature s;
  GemmOperands operands;
  GemmHooks hooks;  ///< pack_a fills tiles of s's A, finish sees s's C; ShowTile undoes the swap.
  bool swapped = false;
  const GemmKernel* kernel = nullptr;
  threads::ThreadPool* pool = nullptr;
};

/// Element offsets of one matrix of the batch.
struct BatchOffsets {
  int64_t a = 0, b = 0, c = 0;
};
BatchOffsets OffsetsOf(const GemmSignature& s, int64_t batch);

/// Calls `hook` with `tile` of an operand of p.s, transposed back if p is swapped.
void ShowTile(const Problem& p, const GemmHook& hook, GemmTile tile);

/// GemmOrder::kChain or kPairs. Requires m, n, k, batch >= 1.
Status RunBlocked(const Problem& p);
/// GemmOrder::kLanes64, or kChain for k < 64. Requires m == 1 or n == 1, k, batch >= 1, and a kernel with dot_rows.
Status RunGemv(const Problem& p);

}  // namespace tenon::kernels::internal
