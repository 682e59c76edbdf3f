#include "tenon/base/neutral.h"

#include <cmath>

#include "tenon/base/float_bits.h"

namespace tenon {
namespace {

uint64_t AllOnes(DType type) { return ~uint64_t{0} >> (64 - DTypeBits(type)); }

// Floats without a sign are powers of two, of which none is zero.
bool HasSign(DType type) { return type != DType::kF8E8M0FNU; }

}  // namespace

uint64_t HighestBits(DType type) {
  if (type == DType::kPred) return 1;
  if (IsInteger(type)) return AllOnes(type) >> (IsSigned(type) ? 1 : 0);
  const uint64_t infinity = FloatBits(type, HUGE_VAL);
  if (!std::isnan(FloatFromBits(type, infinity))) return infinity;
  // No infinity, and at most 8 bits: look at all codes.
  uint64_t best = 0;
  const uint64_t codes = uint64_t{1} << (DTypeBits(type) - (HasSign(type) ? 1 : 0));
  for (uint64_t code = 0; code < codes; ++code) {
    if (FloatFromBits(type, code) > FloatFromBits(type, best)) best = code;
  }
  return best;
}

uint64_t LowestBits(DType type) {
  const uint64_t sign = uint64_t{1} << (DTypeBits(type) - 1);
  if (type == DType::kPred) return 0;
  if (IsInteger(type)) return IsSigned(type) ? sign : 0;
  return HasSign(type) ? HighestBits(type) | sign : 0;
}

std::optional<uint64_t> NeutralBits(Meeting op, DType type) {
  if (IsComplex(type)) return op == Meeting::kAdd ? NeutralBits(op, RealPartOf(type)) : std::nullopt;
  const bool is_float = IsFloat(type);
  if (!is_float && !IsInteger(type) && type != DType::kPred) return std::nullopt;
  switch (op) {
    case Meeting::kAdd:
      if (!is_float) return 0;
      if (!HasSign(type)) return std::nullopt;
      return FloatBits(type, -0.0);  // -0 + x is x also for x = -0.
    case Meeting::kMultiply:
      return is_float ? FloatBits(type, 1) : 1;
    case Meeting::kMaximum:
      return LowestBits(type);
    case Meeting::kMinimum:
      return HighestBits(type);
    case Meeting::kAnd:
      if (is_float) return std::nullopt;
      return type == DType::kPred ? 1 : AllOnes(type);
    case Meeting::kOr:
    case Meeting::kXor:
      if (is_float) return std::nullopt;
      return 0;
  }
  return std::nullopt;
}

}  // namespace tenon
