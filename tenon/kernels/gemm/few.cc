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
// Of vectors that are packed before the tasks begin; beyond, each task packs its own.
constexpr int64_t kMostPackedFloats = 8 << 20;
constexpr double kBytesPerNs = 20;
constexpr double kCyclesPerNs = 3;

// C = A B with B: [k, n].
class Few {
 public:
  explicit Few(const Problem& p) : p_(p), s_(p.s), group_(CeilDiv(s_.n, CeilDiv(s_.n, kFewVectors))) {}

  Status Run() {
    const int64_t batch = s_.batch_count();
    const bool in_place = s_.b_col_stride == 1 && s_.b_row_stride == s_.n && group_ == s_.n;
    const bool packs = !in_place && batch * vectors() <= kMostPackedFloats;
    const Scratch packed(packs ? FloatBytes(batch * vectors()) : 0);
    if (packs && packed.data() == nullptr) return OutOfMemory();
    for (int64_t i = 0; i < batch && packs; ++i) Pack(i, packed.floats() + i * vectors());

    constexpr int64_t kUnit = 16;  // Rows of the widest squares.
    const int64_t rows = std::min(s_.m, CeilDiv(CeilDiv(kTaskFloats, s_.k), kUnit) * kUnit);
    const int64_t tasks = CeilDiv(s_.m, rows);
    const double bytes = 4.0 * static_cast<double>(batch) * static_cast<double>(s_.m) * static_cast<double>(s_.k);
    const double ns = std::max(bytes / kBytesPerNs, FewCycles(s_) / kCyclesPerNs);
    std::atomic<bool> out_of_memory{false};
    p_.pool->ParallelFor(batch * tasks, static_cast<int64_t>(ns), [&](int64_t i) {
      const int64_t matrix = i / tasks, row0 = i % tasks * rows;
      const Scratch own(in_place || packs ? 0 : FloatBytes(vectors()));
      const float* x = packs ? packed.floats() + matrix * vectors() : VectorsOf(matrix);
      if (own.data() != nullptr) {
        Pack(matrix, own.floats());
        x = own.floats();
      } else if (!in_place && !packs) {
        return out_of_memory.store(true, std::memory_order_relaxed);
      }
      RunRows(matrix, row0, std::min(rows, s_.m - row0), x);
    });
    return out_of_memory.load(std::memory_order_relaxed) ? OutOfMemory() : OkStatus();
  }

 private:
  static size_t FloatBytes(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); }
  Status OutOfMemory() const { return ResourceExhausted("gemm: no memory for packing buffers: " + ToString(s_)); }
  int64_t vectors() const { return s_.k * s_.n; }
  int64_t GroupAt(int64_t j) const { return std::min(group_, s_.n - j); }
  const float* VectorsOf(int64_t matrix) const {
    return static_cast<const float*>(p_.operands.b) + OffsetsOf(s_, matrix).b;
  }

  void RunRows(int64_t matrix, int64_t row0, int64_t rows, const float* x) const {
    const BatchOffsets offsets = OffsetsOf(s_, matrix);
    const auto* const a = static_cast<const float*>(p_.operands.a) + offsets.a + row0 * s_.a_row_stride;
    float* const c = static_cast<float*>(p_.operands.c) + offsets.c + row0 * s_.c_row_stride;
    for (int64_t j = 0; j < s_.n; j += group_) {
      p_.kernel->dot_few(a, s_.a_row_stride, x + j * s_.k, s_.k, rows, static_cast<int>(GroupAt(j)), s_.accumulate,
                         c + j * s_.c_col_stride, s_.c_row_stride, s_.c_col_stride);
    }
    if (p_.hooks.finish)
      ShowTile(p_, p_.hooks.finish, {matrix, row0, 0, rows, s_.n, c, s_.c_row_stride, s_.c_col_stride});
  }

  // Group after group, the vectors of each side by side.
  void Pack(int64_t matrix, float* to) const {
    const float* const from = VectorsOf(matrix);
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
