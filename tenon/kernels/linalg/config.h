#pragma once

// The linear algebra driver's step in a plan: numbers for what the slots do not say.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tenon/base/strided_array.h"
#include "tenon/kernels/linalg/linalg.h"

namespace tenon::kernels {

/// Inputs: x, then a for kTriangularSolve. Outputs: x when done; kLu: pivots; info when `has_info`;
/// LinalgStepScratchBytes of scratch. Matrices are the last two dims. Without info, a Cholesky factor that does not
/// exist is NaN everywhere.
struct LinalgConfig {
  LinalgOp op = LinalgOp::kCholesky;
  bool lower = true, left = true, transpose = false, unit_diagonal = false;
  bool has_info = false;
  friend bool operator==(const LinalgConfig&, const LinalgConfig&) = default;
};

/// As numbers, and back; INVALID_ARGUMENT for numbers that ToConfig does not write.
std::vector<int64_t> ToConfig(const LinalgConfig& config);
Result<LinalgConfig> LinalgConfigOf(std::span<const int64_t> numbers);

/// What to run in place in an array of x's form.
Result<LinalgSignature> SignatureOf(const LinalgConfig& config, const StridedArray& x,
                                    const std::optional<StridedArray>& a);
/// Scratch of a step: the signature's own and one s32 per matrix, 64-byte aligned.
int64_t LinalgStepScratchBytes(const LinalgSignature& s);

}  // namespace tenon::kernels
