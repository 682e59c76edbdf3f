#pragma once

// What gemm.cc hands to the four drivers: verified, not empty, k > 0, and C's rows contiguous wherever possible.

#include <cstdint>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/kernels/gemm/gemm.h"
#include "tenon/kernels/gemm/internal/kernel.h"

namespace tenon::kernels::internal {

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

enum class BPlace { kInPlace, kPrivate, kShared };

/// How one blocked product is cut. Follows from the signature, the kernel's tile and the caches alone.
struct Cut {
  int64_t kc = 0;              ///< Steps of k between visits to C.
  int64_t k_piece = 0;         ///< Elements of k that are packed at once when B is shared: a multiple of kc, or all.
  int64_t wide_cols = 0;       ///< Of a tile: nr, or more. What is left of a strip goes on in nr.
  int64_t task_cols = 0;       ///< Multiple of wide_cols, or of nr.
  int64_t task_rows = 0;       ///< Multiple of mr.
  int64_t last_task_rows = 0;  ///< In the last block of columns: small, so that all threads end together.
  /// A and C are not all in L2: those of the strip that comes so many strips later are asked for (MicroTile::soon). 0:
  /// they are.
  int64_t fetch_strips = 0;
  bool copy_a = false;
  bool ahead = false;    ///< MicroTile::ahead.
  bool stage_c = false;  ///< Sums are kept apart from C: it has another type, or no contiguous rows.
  BPlace b_place = BPlace::kInPlace;
  double time_ns = 0;
};

/// What is settled before the first run. `s` may be that of C^T = B^T A^T: then `swapped`, `hooked` is exchanged, so
/// are operands and hooks of each run, and tiles of hooks are to be shown to them transposed.
struct Settled {
  GemmSignature s;
  GemmHookSet hooked;
  bool swapped = false;
  const GemmKernel* kernel = nullptr;
  enum class Way { kNothing, kEmptySum, kColumns, kGemv, kFew, kBlocked } way = Way::kNothing;
  Cut cut;                     ///< kBlocked.
  std::vector<int64_t> depth;  ///< Of the operand with places: in words, in the order in which it is multiplied.
  /// Of an A whose next rows are fetched meanwhile: those that lie in another cache line. None: no A is.
  std::vector<int64_t> depth_lines;
};

/// One run of it.
struct Problem {
  const Settled& settled;
  const GemmSignature& s;
  const GemmKernel* kernel;
  bool swapped;
  GemmOperands operands;
  GemmHooks hooks;  ///< pack_a fills tiles of s's A, finish sees s's C; ShowTile undoes the swap.
  threads::ThreadPool* pool;
};

/// Element offsets of one matrix of the batch.
struct BatchOffsets {
  int64_t a = 0, b = 0, c = 0;
};
BatchOffsets OffsetsOf(const GemmSignature& s, int64_t batch);

/// Calls `hook` with `tile` of an operand of p.s, transposed back if p is swapped.
void ShowTile(const Problem& p, const GemmHook& hook, GemmTile tile);

/// Gemm by one kernel, which IsAvailable and multiplies s's types: to compare kernels that a CPU would not choose.
Status GemmWith(const GemmKernel& kernel, const GemmSignature& s, const GemmOperands& operands, const GemmHooks& hooks,
                threads::ThreadPool& pool);

/// Settled::depth_lines; of a long A only.
std::vector<int64_t> LinesOf(const Settled& p);
/// What a product that goes to RunBlocked takes as it stands, in cycles, about: to choose between it and its transpose.
double PassesOf(const Settled& p);
/// The cut of a product that goes to RunBlocked.
Cut CutOf(const Settled& p);
/// GemmOrder::kChain or kHalves. Requires m, n, k, batch >= 1, and the cut.
Status RunBlocked(const Problem& p);
/// GemmOrder::kChain. Requires IsVectorByColumns, k, batch >= 1, a kernel with dot_columns, and no hooks that pack.
Status RunColumns(const Problem& p);
/// GemmOrder::kLanes64, or kChain for k < 64. Requires m == 1 or n == 1, k, batch >= 1, and a kernel with dot_rows.
Status RunGemv(const Problem& p);
/// GemmOrder::kChain. Requires IsMatrixWithFew, batch >= 1, a kernel with dot_few, and no hooks that pack.
Status RunFew(const Problem& p);

}  // namespace tenon::kernels::internal
