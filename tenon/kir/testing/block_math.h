#pragma once

/// Runs a math function on many arguments at once with the machine's own arithmetic, denormals flushed: fast enough for
/// all 2^32 of them, and a second opinion on the evaluator.

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/kir/kir.h"

namespace tenon::kir::testing {

class BlockMath {
 public:
  /// `graph`: of f32, f64, s32, s64, u32, u64 and pred, and of operations that math functions use; other ones end the
  /// process.
  explicit BlockMath(const Graph& graph);

  static constexpr size_t kBlock = 256;
  /// `arguments[i]`: up to kBlock bit patterns of argument i, `out` as many. Needs AVX2 and FMA: see Supported().
  void Run(std::span<const uint64_t* const> arguments, size_t n, uint64_t* out);

  static bool Supported();

 private:
  union Lane {
    float f[kBlock];
    double d[kBlock];
    int32_t i[kBlock];
    uint32_t u[kBlock];
    int64_t l[kBlock];
    uint64_t q[kBlock];
    uint32_t p[kBlock];  // pred: 0 or all ones
  };
  const Graph& graph_;
  std::vector<Lane> lanes_;
};

}  // namespace tenon::kir::testing
