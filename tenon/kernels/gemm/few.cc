// Products of a matrix, whose rows lie in memory as they are, with few vectors: squares of it are turned in registers,
// so that lanes are rows and every sum is a chain.

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "tenon/kernels/gemm/internal/costs.h"
#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/problem.h"
#include "tenon/kernels/scratch/scratch.h"

namespace tenon::kernels::internal {
namespace {

constexpr int64_t kTaskFloats = 64 << 10;  // Of the matrix.
constexpr double kBytesPerNs = 20;
constexpr double kCyclesPerNs = 3;

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// C = A B with B: [k, n].
class Few {
 public:
  explicit Few(const Problem& p) : p_(p), s_(p.s), group_(CeilDiv(s_.n, CeilDiv(s_.n, kFewVectors))) {}

  Status Run() {
    const int64_t batch = s_.batch_count(), vectors = s_.k * s_.n;
    const bool in_place = s_.b_col_stride == 1 && s_.b_row_stride == s_.n && group_ == s_.n;
    const Scratch packed(in_place ? 0 : static_cast<size_t>(batch * vectors) * sizeof(float));
    if (!in_place && packed.data() == nullptr)
      return ResourceExhausted("gemm: no memory for packing buffers: " + ToString(s_));
    const auto* const b = static_cast<const float*>(p_.operands.b);
    for (int64_t i = 0; i < batch && !in_place; ++i) Pack(b + OffsetsOf(s_, i).b, packed.floats() + i * vectors);

    constexpr int64_t kUnit = 16;  // Rows of the widest squares.
    const int64_t rows = std::min(s_.m, CeilDiv(CeilDiv(kTaskFloats, s_.k), kUnit) * kUnit);
    const int64_t tasks = CeilDiv(s_.m, rows);
    const double bytes = 4.0 * static_cast<double>(batch) * static_cast<double>(s_.m) * static_cast<double>(s_.k);
    const double ns = std::max(bytes / kBytesPerNs, FewCycles(s_) / kCyclesPerNs);
    p_.pool->ParallelFor(batch * tasks, static_cast<int64_t>(ns), [&](int64_t i) {
      const BatchOffsets offsets = OffsetsOf(s_, i / tasks);
      const int64_t row0 = i % tasks * rows, count = std::min(rows, s_.m - row0);
      const auto* const a = static_cast<const float*>(p_.operands.a) + offsets.a + row0 * s_.a_row_stride;
      float* const c = static_cast<float*>(p_.operands.c) + offsets.c + row0 * s_.c_row_stride;
      const float* const x = in_place ? b + offsets.b : packed.floats() + i / tasks * vectors;
      for (int64_t j = 0; j < s_.n; j += group_) {
        p_.kernel->dot_few(a, s_.a_row_stride, x + j * s_.k, s_.k, count, static_cast<int>(GroupAt(j)), s_.accumulate,
                           c + j * s_.c_col_stride, s_.c_row_stride, s_.c_col_stride);
      }
      if (p_.hooks.finish)
        ShowTile(p_, p_.hooks.finish, {i / tasks, row0, 0, count, s_.n, c, s_.c_row_stride, s_.c_col_stride});
    });
    return OkStatus();
  }

 private:
  int64_t GroupAt(int64_t j) const { return std::min(group_, s_.n - j); }

  // Group after group, the vectors of each side by side.
  void Pack(const float* from, float* to) const {
    for (int64_t j = 0; j < s_.n; j += group_) {
      for (int64_t q = 0; q < s_.k; ++q) {
        for (int64_t v = j; v < j + GroupAt(j); ++v) *to++ = from[q * s_.b_row_stride + v * s_.b_col_stride];
      }
    }
  }

  const Problem& p_;
  const GemmSignature& s_;
  const int64_t group_;  // Vectors that are multiplied at once.
};

}  // namespace

Status RunFew(const Problem& p) { return Few(p).Run(); }

}  // namespace tenon::kernels::internal
