#pragma once

#include <cstdint>
#include <optional>

#include "tenon/base/dtype.h"

namespace tenon {

/// Extremes of integers, floats and pred as reductions want them: -inf and +inf for floats that have them, else the
/// finite lowest and highest; 0 and 1 for pred. The bits of an element, zero-extended.
uint64_t LowestBits(DType type);
uint64_t HighestBits(DType type);

/// Operations by which elements meet in reductions, scatters and sums over devices.
enum class Meeting : uint8_t { kAdd, kMultiply, kMaximum, kMinimum, kAnd, kOr, kXor };

/// The bits e, zero-extended, with op(e, x) == x, bit for bit, for every number x of `type`; nothing when there are
/// none. Of complex types, those of either part. Floats meet by no bits, and nothing is neutral in products of complex
/// numbers: (1, 0) makes NaN of infinities and turns the signs of zeros.
std::optional<uint64_t> NeutralBits(Meeting op, DType type);

}  // namespace tenon
