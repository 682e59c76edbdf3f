#include "tenon/kernels/gemm/gemm.h"

#include <utility>

#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/problem.h"

namespace tenon::kernels {
namespace internal {
namespace {

constexpr const GemmKernel* kKernels[] = {
#define TENON_GEMM(level, name, a, b, c, mr, nr, consistent) &name,
#include "tenon/kernels/gemm/kernels.inc"
#undef TENON_GEMM
};

// C^T = B^T A^T.
Problem Transposed(Problem p) {
  GemmSignature& s = p.s;
  std::swap(s.a_type, s.b_type);
  std::swap(s.m, s.n);
  std::swap(s.a_row_stride, s.b_col_stride);
  std::swap(s.a_col_stride, s.b_row_stride);
  std::swap(s.c_row_stride, s.c_col_stride);
  for (GemmBatchDim& dim : s.batch) std::swap(dim.a_stride, dim.b_stride);
  std::swap(p.operands.a, p.operands.b);
  std::swap(p.hooks.pack_a, p.hooks.pack_b);
  p.swapped = !p.swapped;
  return p;
}

// k == 0: an empty sum.
void FillEmptySum(const Problem& p) {
  const GemmSignature& s = p.s;
  float* const c = static_cast<float*>(p.operands.c);
  for (int64_t batch = 0, count = s.batch_count(); batch < count; ++batch) {
    float* const matrix = c + OffsetsOf(s, batch).c;
    for (int64_t i = 0; i < s.m; ++i) {
      float* const row = matrix + i * s.c_row_stride;
      if (!s.accumulate) {
        for (int64_t j = 0; j < s.n; ++j) row[j * s.c_col_stride] = 0;
      }
      if (p.hooks.finish) {
        constexpr int64_t kMaxCols = 4096;
        for (int64_t j = 0; j < s.n; j += kMaxCols) {
          const int64_t cols = j + kMaxCols < s.n ? kMaxCols : s.n - j;
          ShowTile(p, p.hooks.finish, {batch, i, j, 1, cols, row + j * s.c_col_stride, s.c_row_stride, s.c_col_stride});
        }
      }
    }
  }
}

}  // namespace

const GemmKernel* FindKernel(DType a, DType b, DType c, isa::IsaLevel level) {
  const GemmKernel* best = nullptr;
  for (const GemmKernel* kernel : kKernels) {
    if (kernel->a_type != a || kernel->b_type != b || kernel->c_type != c || kernel->level > level) continue;
    if (best == nullptr || kernel->level > best->level) best = kernel;
  }
  return best;
}

BatchOffsets OffsetsOf(const GemmSignature& s, int64_t batch) {
  BatchOffsets offsets;
  for (int d = kMaxGemmBatchDims - 1; batch != 0 && d >= 0; --d) {
    const GemmBatchDim& dim = s.batch[static_cast<size_t>(d)];
    const int64_t index = batch % dim.extent;
    batch /= dim.extent;
    offsets.a += index * dim.a_stride;
    offsets.b += index * dim.b_stride;
    offsets.c += index * dim.c_stride;
  }
  return offsets;
}

void ShowTile(const Problem& p, const GemmHook& hook, GemmTile tile) {
  if (p.swapped) {
    std::swap(tile.row0, tile.col0);
    std::swap(tile.rows, tile.cols);
    std::swap(tile.row_stride, tile.col_stride);
  }
  hook(tile);
}

}  // namespace internal

Status Gemm(const GemmSignature& s, const GemmOperands& operands, const GemmHooks& hooks, threads::ThreadPool& pool,
            isa::IsaLevel level) {
  TENON_RETURN_IF_ERROR(Verify(s));
  if (s.m == 0 || s.n == 0 || s.batch_count() == 0) return OkStatus();
  internal::Problem p{.s = s, .operands = operands, .hooks = hooks, .pool = &pool};
  p.kernel = internal::FindKernel(s.a_type, s.b_type, s.c_type, level);
  if (p.kernel == nullptr) return Unimplemented("gemm: no kernel for this level: " + ToString(s));
  if (s.k == 0) {
    internal::FillEmptySum(p);
    return OkStatus();
  }
  if (OrderOf(s) == GemmOrder::kLanes64) return internal::RunGemv(p);
  if (s.c_col_stride != 1 && s.c_row_stride == 1) p = internal::Transposed(p);
  return internal::RunBlocked(p);
}

const char* GemmKernelName(const GemmSignature& s, isa::IsaLevel level) {
  const internal::GemmKernel* kernel = internal::FindKernel(s.a_type, s.b_type, s.c_type, level);
  return kernel == nullptr ? "" : kernel->name;
}

}  // namespace tenon::kernels
