#pragma once

#include <cstdint>

#include "tenon/base/status.h"
#include "tenon/isa/isa.h"
#include "tenon/kernels/gemm/signature.h"
#include "tenon/threads/pool.h"

namespace tenon::kernels {

/// A rectangle of one operand that the driver lends to a hook: element (r, c), 0 <= r < rows, 0 <= c < cols, lies at
/// data + r * row_stride + c * col_stride elements, and is the operand's element (row0 + r, col0 + c) of matrix `batch`
/// (the batch dimensions flattened, the first one outermost).
struct GemmTile {
  int64_t batch = 0;
  int64_t row0 = 0, col0 = 0;
  int64_t rows = 0, cols = 0;
  void* data = nullptr;
  int64_t row_stride = 0, col_stride = 0;
};

/// Called on the caller's and on pool threads, several at once for different tiles, in no particular order. Must not
/// touch the tile after returning.
struct GemmHook {
  void (*fn)(void* context, const GemmTile& tile) = nullptr;
  void* context = nullptr;
  explicit operator bool() const { return fn != nullptr; }
  void operator()(const GemmTile& tile) const { fn(context, tile); }
};

struct GemmHooks {
  /// Writes the whole tile of A ([m, k]) or B ([k, n]), in the operand's own type, in place of the driver reading it
  /// from memory
  /// (`a`, `b` may be null then). A tile may be asked for more than once. Its col_stride is 1.
  GemmHook pack_a;
  GemmHook pack_b;
  /// Gets every element of C ([m, n]) exactly once, after its sum is complete, in place: bias, activation, residual.
  /// Tiles are whole strips of rows, at most 64 KiB, recently written. One of the strides is 1 unless both strides of C
  /// differ from 1. Also called when k is 0.
  GemmHook finish;
};

struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;  ///< Must overlap neither A nor B, nor itself.
};

/// Computes `s` over `operands` (pointers to element (0, 0) of matrix 0; element alignment is enough), on the calling
/// thread and `pool`. A product of less than about 40 us stays on the caller. Bits depend on the values, m, n and k
/// only (see GemmOrder): not on strides, `level` (from kAvx2 up; kSse4 rounds each product), thread count or the
/// presence of hooks. NaN results are NaN; which NaN is unspecified. k == 0 yields zeros, or leaves C when
/// accumulating; C is read only when accumulating.
///
/// Error per element of f32: |error| <= (k + 2) * eps * (|A| @ |B|), subnormals aside; the float state is the caller's.
/// Errors: those of Verify. Scratch is recycled, nothing is allocated once warm.
Status Gemm(const GemmSignature& s, const GemmOperands& operands, const GemmHooks& hooks, threads::ThreadPool& pool,
            isa::IsaLevel level = isa::ActiveIsa());

/// Name of the micro-kernel that Gemm uses for `s` at `level` ("gemm_f32_14x32_avx512"); empty when Verify fails.
const char* GemmKernelName(const GemmSignature& s, isa::IsaLevel level);

}  // namespace tenon::kernels
