#include <bit>
#include <cmath>

#include "tenon/base/neutral.h"
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

std::optional<uint64_t> IdentityBits(Op op, DType type) {
  // What a kernel reckons with are parts of complex numbers.
  if (IsComplex(type)) return std::nullopt;
  switch (op) {
    case Op::kAdd:
      return NeutralBits(Meeting::kAdd, type);
    case Op::kMul:
      return NeutralBits(Meeting::kMultiply, type);
    case Op::kMax:
      return NeutralBits(Meeting::kMaximum, type);
    case Op::kMin:
      return NeutralBits(Meeting::kMinimum, type);
    case Op::kAnd:
      return NeutralBits(Meeting::kAnd, type);
    case Op::kOr:
      return NeutralBits(Meeting::kOr, type);
    case Op::kXor:
      return NeutralBits(Meeting::kXor, type);
    default:
      return std::nullopt;
  }
}

}  // namespace tenon::kir
