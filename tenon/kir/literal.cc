#include <bit>
#include <cmath>

#include "tenon/kir/builder.h"
#include "tenon/kir/internal/soft_float.h"

namespace tenon::kir {
namespace {

uint64_t Truncated(DType type, uint64_t bits) {
  const int n = DTypeBits(type);
  return n >= 64 ? bits : bits & ((uint64_t{1} << n) - 1);  // structural: bits of a word
}

}  // namespace

uint64_t LiteralBits(DType type, double value) {
  if (IsFloat(type)) return internal::Encode(type, internal::Decode(DType::kF64, std::bit_cast<uint64_t>(value)));
  if (type == DType::kPred) return value != 0;
  if (!(std::fabs(value) < 0x1p63)) {
    return internal::ToInt(internal::Decode(DType::kF64, std::bit_cast<uint64_t>(value)), DTypeBits(type),
                           IsSigned(type));
  }
  return Truncated(type, static_cast<uint64_t>(static_cast<int64_t>(value)));
}

uint64_t LiteralBits(DType type, int64_t value) {
  if (IsFloat(type)) return internal::Encode(type, internal::FromInt(value));
  if (type == DType::kPred) return value != 0;
  return Truncated(type, static_cast<uint64_t>(value));
}

double LiteralValue(DType type, uint64_t bits) {
  if (IsFloat(type)) return std::bit_cast<double>(internal::Encode(DType::kF64, internal::Decode(type, bits)));
  if (!IsSigned(type)) return static_cast<double>(bits);
  const int shift = 64 - DTypeBits(type);
  return static_cast<double>(static_cast<int64_t>(bits << shift) >> shift);
}

uint64_t HighestBits(DType type) {
  if (type == DType::kPred) return 1;
  if (IsInteger(type)) return Truncated(type, ~uint64_t{0}) >> (IsSigned(type) ? 1 : 0);
  const uint64_t infinity = LiteralBits(type, HUGE_VAL);
  if (!std::isnan(LiteralValue(type, infinity))) return infinity;
  // No infinity, and at most 8 bits: look at all codes.
  uint64_t best = 0;
  const uint64_t codes = uint64_t{1} << (type == DType::kF8E8M0FNU ? 8 : DTypeBits(type) - 1);
  for (uint64_t code = 0; code < codes; ++code) {
    if (LiteralValue(type, code) > LiteralValue(type, best)) best = code;
  }
  return best;
}

uint64_t LowestBits(DType type) {
  if (type == DType::kPred) return 0;
  if (IsInteger(type)) return IsSigned(type) ? uint64_t{1} << (DTypeBits(type) - 1) : 0;
  if (type == DType::kF8E8M0FNU) return 0;
  return HighestBits(type) | uint64_t{1} << (DTypeBits(type) - 1);
}

}  // namespace tenon::kir
