#include "tenon/kir/internal/scalar.h"

#include <bit>
#include <cstring>

#include "tenon/kir/evaluate.h"
#include "tenon/kir/internal/soft_float.h"

namespace tenon::kir::internal {
namespace {

uint64_t MaskOf(DType type) {
  const int n = DTypeBits(type);
  return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
}

bool HasNegativeZero(DType type) {
  switch (type) {
    case DType::kF8E5M2FNUZ:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E4M3B11FNUZ:
    case DType::kF8E8M0FNU:
      return false;
    default:
      return true;
  }
}

// The type in which operations on `type` compute.
DType Computed(DType type) { return type == DType::kF64 ? type : DType::kF32; }

// An operand as the operation sees it: widened, then flushed.
Real Operand(DType type, uint64_t bits, bool flush) {
  const Real wide = Decode(type, bits);
  if (!flush) return wide;
  const DType computed = Computed(type);
  return Decode(computed, Encode(computed, wide), true);
}

// The result of an operation: rounded in the computing type, then to the type itself.
uint64_t Rounded(DType type, const Real& value, bool flush) {
  const DType computed = Computed(type);
  const uint64_t bits = Encode(computed, value, flush);
  return type == computed ? bits : Encode(type, Decode(computed, bits));
}

uint64_t TotalOrderKey(DType type, uint64_t bits) {
  const uint64_t sign = uint64_t{1} << (DTypeBits(type) - 1);
  return bits & sign ? ~bits & MaskOf(type) : bits | sign;
}

bool Holds(Cmp how, int order) {
  switch (how) {
    case kEq:
      return order == 0;
    case kNe:
      return order != 0;
    case kLt:
      return order == -1;
    case kLe:
      return order == -1 || order == 0;
    case kGt:
      return order == 1;
    case kGe:
      return order == 1 || order == 0;
  }
  return false;
}

template <class T>
int OrderOf(T a, T b) {
  return a < b ? -1 : a > b;
}

uint64_t CompareBits(const Node& node, DType type, uint64_t a, uint64_t b, bool flush) {
  const auto how = static_cast<Cmp>(node.imm & 0xf);
  if (!IsFloat(type)) {
    return Holds(how, IsSigned(type) ? OrderOf(AsInt64(type, a), AsInt64(type, b)) : OrderOf(a, b));
  }
  if (node.imm & kTotalOrder) return Holds(how, OrderOf(TotalOrderKey(type, a), TotalOrderKey(type, b)));
  return Holds(how, Order(Operand(type, a, flush), Operand(type, b, flush)));
}

uint64_t ConvertBits(DType from, DType to, uint64_t bits, bool flush) {
  if (from == to) return bits;
  if (IsFloat(from)) {
    const Real wide = Decode(from, bits);
    if (Computed(from) == to) return Encode(to, wide);  // widening is a move; NaNs are canonical, so this is no flush
    const Real v = Operand(from, bits, flush);
    if (IsFloat(to)) return Rounded(to, v, flush);
    if (to == DType::kPred) return !v.is_zero();
    return ToInt(v, DTypeBits(to), IsSigned(to));
  }
  const int64_t value = AsInt64(from, bits);
  if (to == DType::kPred) return value != 0;
  if (IsFloat(to)) return Rounded(to, IsSigned(from) ? FromInt(value) : FromUint(bits), flush);
  return static_cast<uint64_t>(value) & MaskOf(to);
}

uint64_t ReducePrecision(DType type, uint64_t bits, int exponent_bits, int mantissa_bits) {
  const Real v = Decode(type, bits);
  if (v.kind != Real::kFinite || v.is_zero()) return bits;
  const int total = DTypeBits(type);
  const int m = MantissaBits(type);
  const int e = total - 1 - m;
  const uint64_t sign = bits & (uint64_t{1} << (total - 1));
  uint64_t code = bits ^ sign;
  if (mantissa_bits < m) {
    const int drop = m - mantissa_bits;
    const uint64_t half = uint64_t{1} << (drop - 1);
    const uint64_t odd = code >> drop & 1;
    code = (code + half - 1 + odd) >> drop << drop;
  }
  if (exponent_bits < e) {
    const int bias = (1 << (e - 1)) - 1;
    const int new_bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = static_cast<int>(code >> m) - bias;
    if (exponent > new_bias) return sign | (((uint64_t{1} << e) - 1) << m);
    if (exponent < 1 - new_bias) return sign;
  }
  return sign | code;
}

uint64_t EvaluateFloat(const Node& node, std::span<const uint64_t> in, bool flush) {
  const DType type = node.type;
  const uint64_t sign_bit = uint64_t{1} << (DTypeBits(type) - 1);
  const auto arg = [&](size_t i) { return Operand(type, in[i], flush); };
  const auto done = [&](const Real& r) { return Rounded(type, r, flush); };
  switch (node.op) {
    case Op::kAdd:
      return done(Add(arg(0), arg(1)));
    case Op::kSub:
      return done(Add(arg(0), Neg(arg(1))));
    case Op::kMul:
      return done(Mul(arg(0), arg(1)));
    case Op::kDiv:
      return done(Div(arg(0), arg(1)));
    case Op::kRem:
      return done(Rem(arg(0), arg(1)));
    case Op::kFma:
      return done(Add(Mul(arg(0), arg(1)), arg(2)));
    case Op::kMin:
    case Op::kMax: {
      const Real a = arg(0);
      const Real b = arg(1);
      if (a.is_nan()) return done(a);
      if (b.is_nan()) return done(b);
      int order = Order(a, b);
      if (order == 0) order = static_cast<int>(b.negative) - static_cast<int>(a.negative);  // -0 < +0
      return done((order < 0) == (node.op == Op::kMin) ? a : b);
    }
    case Op::kNeg:
      return HasNegativeZero(type) ? in[0] ^ sign_bit : done(Neg(Decode(type, in[0])));
    case Op::kAbs: {
      if (HasNegativeZero(type)) return in[0] & ~sign_bit;
      Real a = Decode(type, in[0]);
      a.negative = false;
      return done(a);
    }
    case Op::kSign: {
      const Real a = arg(0);
      if (a.is_nan() || a.is_zero()) return done(a);
      return done(FromInt(a.negative ? -1 : 1));
    }
    case Op::kSqrt:
      return done(Sqrt(arg(0)));
    case Op::kFloor:
      return done(RoundToIntegral(arg(0), RoundTo::kFloor));
    case Op::kCeil:
      return done(RoundToIntegral(arg(0), RoundTo::kCeil));
    case Op::kRoundEven:
      return done(RoundToIntegral(arg(0), RoundTo::kEven));
    case Op::kRoundAway:
      return done(RoundToIntegral(arg(0), RoundTo::kAway));
    case Op::kTrunc:
      return done(RoundToIntegral(arg(0), RoundTo::kTrunc));
    case Op::kReducePrecision:
      return ReducePrecision(type, in[0], static_cast<int>(node.attr >> 8 & 0xff), static_cast<int>(node.attr & 0xff));
    default:
      return 0;
  }
}

uint64_t DivideInt(DType type, uint64_t a, uint64_t b, bool remainder) {
  if (b == 0) return remainder ? a : MaskOf(type);
  if (!IsSigned(type)) return remainder ? a % b : a / b;
  const int64_t x = AsInt64(type, a);
  const int64_t y = AsInt64(type, b);
  if (y == -1) return remainder ? 0 : 0 - a;
  return static_cast<uint64_t>(remainder ? x % y : x / y);
}

uint64_t EvaluateInt(const Node& node, std::span<const uint64_t> in) {
  const DType type = node.type;
  const int bits = DTypeBits(type);
  const uint64_t a = in[0];
  const uint64_t b = in.size() > 1 ? in[1] : 0;
  const int64_t sa = AsInt64(type, a);
  const bool less = IsSigned(type) ? sa < AsInt64(type, b) : a < b;
  switch (node.op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return a * b;
    case Op::kDiv:
      return DivideInt(type, a, b, false);
    case Op::kRem:
      return DivideInt(type, a, b, true);
    case Op::kMin:
      return less ? a : b;
    case Op::kMax:
      return less ? b : a;
    case Op::kNeg:
      return 0 - a;
    case Op::kAbs:
      return sa < 0 && IsSigned(type) ? 0 - a : a;
    case Op::kSign:
      return static_cast<uint64_t>(static_cast<int64_t>(sa > 0) - static_cast<int64_t>(sa < 0));
    case Op::kAnd:
      return a & b;
    case Op::kOr:
      return a | b;
    case Op::kXor:
      return a ^ b;
    case Op::kNot:
      return ~a;
    case Op::kShl:
      return b >= static_cast<uint64_t>(bits) ? 0 : a << b;
    case Op::kShrLogical:
      return b >= static_cast<uint64_t>(bits) ? 0 : a >> b;
    case Op::kShrArith: {
      const int64_t wide = static_cast<int64_t>(a << (64 - bits)) >> (64 - bits);
      return static_cast<uint64_t>(wide >> (b >= static_cast<uint64_t>(bits) ? 63 : b));
    }
    case Op::kClz:
      return static_cast<uint64_t>(std::countl_zero(a) - (64 - bits));
    case Op::kPopcnt:
      return static_cast<uint64_t>(std::popcount(a));
    default:
      return 0;
  }
}

uint64_t EvaluatePred(const Node& node, std::span<const uint64_t> in) {
  switch (node.op) {
    case Op::kAdd:
    case Op::kMax:
    case Op::kOr:
      return in[0] | in[1];
    case Op::kMul:
    case Op::kMin:
    case Op::kAnd:
      return in[0] & in[1];
    case Op::kXor:
      return in[0] ^ in[1];
    case Op::kNot:
      return in[0] ^ 1;
    default:
      return 0;
  }
}

}  // namespace

uint64_t LoadBits(DType type, const void* from) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<size_t>(ByteWidth(type)));  // little endian
  if (type == DType::kPred) return bits != 0;
  return bits & MaskOf(type);
}

void StoreBits(DType type, uint64_t bits, void* to) {
  const uint64_t whole = IsSigned(type) ? static_cast<uint64_t>(AsInt64(type, bits)) : bits;
  std::memcpy(to, &whole, static_cast<size_t>(ByteWidth(type)));
}

}  // namespace tenon::kir::internal

namespace tenon::kir {

uint64_t EvaluateScalar(const Node& node, DType in_type, std::span<const uint64_t> in, bool flush_denormals) {
  switch (node.op) {
    case Op::kCompare:
      return internal::CompareBits(node, in_type, in[0], in[1], flush_denormals);
    case Op::kSelect:
      return in[0] ? in[1] : in[2];
    case Op::kConvert:
      return internal::ConvertBits(in_type, node.type, in[0], flush_denormals);
    case Op::kBitcast:
      return in[0];
    case Op::kIsFinite:
      return internal::Decode(in_type, in[0]).kind == internal::Real::kFinite;
    default:
      break;
  }
  if (IsFloat(node.type)) return internal::EvaluateFloat(node, in, flush_denormals);
  if (node.type == DType::kPred) return internal::EvaluatePred(node, in);
  return internal::EvaluateInt(node, in) & internal::MaskOf(node.type);
}

}  // namespace tenon::kir
