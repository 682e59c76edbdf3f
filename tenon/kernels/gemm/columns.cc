// A vector times a matrix whose columns are adjacent and that a core's caches hold: nothing is packed, lanes are
// columns, and every sum is a chain.

#include <algorithm>
#include <cstdint>

#include "tenon/kernels/gemm/internal/costs.h"
#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/problem.h"

namespace tenon::kernels::internal {

bool IsVectorByColumns(const GemmSignature& s) {
  return s.m == 1 && s.n > 1 && s.b_col_stride == 1 && s.c_col_stride == 1 &&
         s.n * s.k * ByteWidth(s.b_type) <= kCloseBytes;
}

Status RunColumns(const Problem& p) {
  constexpr int64_t kUnit = 128;  // Columns: whole vectors of any width, and cache lines.
  constexpr int64_t kTaskElements = 32 << 10, kMostColumns = 4096;
  constexpr double kBytesPerNs = 50;
  const GemmSignature& s = p.s;
  const int64_t per_task = std::min({s.n, CeilDiv(CeilDiv(kTaskElements, s.k), kUnit) * kUnit, kMostColumns});
  const int64_t tasks = CeilDiv(s.n, per_task), bytes = ByteWidth(s.b_type);
  const double ns = static_cast<double>(s.batch_count() * s.n * s.k * bytes) / kBytesPerNs;
  p.pool->ParallelFor(s.batch_count() * tasks, static_cast<int64_t>(ns), [&](int64_t i) {
    const int64_t batch = i / tasks, first = i % tasks * per_task;
    const BatchOffsets at = OffsetsOf(s, batch);
    ColumnsProduct product = {};
    product.b = static_cast<const char*>(p.operands.b) + (at.b + first) * bytes;
    product.k_stride = s.b_row_stride;
    product.x = static_cast<const char*>(p.operands.a) + at.a * bytes;
    product.x_stride = s.a_col_stride;
    product.k = s.k;
    product.columns = std::min(per_task, s.n - first);
    product.accumulate = s.accumulate;
    product.c = static_cast<char*>(p.operands.c) + (at.c + first) * bytes;
    p.kernel->dot_columns(product);
    if (!p.hooks.finish) return;
    ShowTile(p, p.hooks.finish, {batch, 0, first, 1, product.columns, product.c, s.c_row_stride, s.c_col_stride});
  });
  return OkStatus();
}

}  // namespace tenon::kernels::internal
