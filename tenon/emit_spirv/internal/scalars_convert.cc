// Conversions between element types, and floats narrower than f32.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <optional>

#include "tenon/base/f8.h"
#include "tenon/emit_spirv/internal/scalars.h"

namespace tenon::emit_spirv {
namespace {

using Special = F8Format::Special;
constexpr uint32_t kSign = F8Format::kSign, kRest = F8Format::kRest;
constexpr uint32_t kF32Infinity = 0x7f800000, kF32Nan = 0x7fc00000;

/// Of f32 and f64.
constexpr uint64_t LeastNormal(int bits) { return uint64_t{1} << (bits == 64 ? 52 : 23); }

}  // namespace

Id Scalars::FromMemory(DType type, Id memory) {
  if (type == DType::kF32 || type == DType::kF64) return memory;
  return FromWord(type, ByteWidth(type) < 4 ? w_.Do(Spv::UConvert, w_.U32(), {memory}) : memory);
}

Id Scalars::FromWord(DType type, Id word) {
  return type == DType::kPred ? Compare(Spv::INotEqual, word, U(0)) : FromBits(type, word);
}

Id Scalars::ToMemory(DType type, Id value) {
  if (type == DType::kF32 || type == DType::kF64) return value;
  // Integers narrower than a byte are stored with their signs above them: as the register has them.
  const Id word = IsFloat(type) || type == DType::kPred ? ToBits(type, value) : value;
  const int bits = 8 * ByteWidth(type);
  return bits < 32 ? w_.Do(Spv::UConvert, w_.Int(bits), {word}) : word;
}

Id Scalars::ToWord(DType type, Id value) {
  if (IsFloat(type) || type == DType::kPred) return ToBits(type, value);
  const int bits = 8 * ByteWidth(type);
  return bits < 32 ? I(Spv::BitwiseAnd, value, U((1u << bits) - 1)) : value;
}

Id Scalars::ToBits(DType type, Id x) {
  if (type == DType::kPred) return Select(w_.U32(), x, U(1), U(0));
  if (type == DType::kF32 || type == DType::kF64) return AsInt(RegisterBits(type), x);
  if (IsFloat(type)) {
    const auto known = known_bits_.find({type, x});
    return known != known_bits_.end() ? known->second : Narrow(type, x);
  }
  const int width = DTypeBits(type);
  return width < 32 && IsSigned(type) ? I(Spv::BitwiseAnd, x, U((1u << width) - 1)) : x;
}

Id Scalars::FromBits(DType type, Id bits) {
  if (type == DType::kPred) return Compare(Spv::INotEqual, I(Spv::BitwiseAnd, bits, U(1)), U(0));
  if (type == DType::kF32 || type == DType::kF64) return AsFloat(RegisterBits(type), bits);
  if (!IsFloat(type)) return Wrap(type, bits);
  const Id wide = Widen(type, bits);
  known_bits_[{type, wide}] = bits;
  return wide;
}

Id Scalars::RoundTo(DType type, Id x) {
  const Id bits = Narrow(type, x), wide = Widen(type, bits);
  known_bits_[{type, wide}] = bits;
  return wide;
}

Id Scalars::Narrow(DType type, Id x) {
  const Id bits = AsInt(32, x);
  if (type == DType::kBF16) {
    const Id high = I(Spv::ShiftRightLogical, bits, U(16));
    const Id odd = I(Spv::BitwiseAnd, high, U(1));
    const Id sum = I(Spv::IAdd, bits, I(Spv::IAdd, odd, U(0x7fff)));
    const Id rounded = I(Spv::ShiftRightLogical, sum, U(16));
    const Id magnitude = I(Spv::BitwiseAnd, bits, U(0x7fffffff));
    // A NaN keeps what of it fits, which must not look like an infinity.
    const Id empty = Compare(Spv::IEqual, I(Spv::BitwiseAnd, high, U(0x7f)), U(0));
    const Id nan = I(Spv::BitwiseOr, high, Select(w_.U32(), empty, U(0x40), U(0)));
    return Select(w_.U32(), Compare(Spv::UGreaterThan, magnitude, U(kF32Infinity)), nan, rounded);
  }
  if (type != DType::kF16) return F8Narrow(type, x);
  const Id sign = I(Spv::ShiftRightLogical, I(Spv::BitwiseAnd, bits, U(0x80000000)), U(16));
  const Id magnitude = I(Spv::BitwiseAnd, bits, U(0x7fffffff));
  // Subnormal results: adding 0.5 leaves the wanted bits, rounded, at the bottom of the sum.
  const Id sum = F(32, Spv::FAdd, AsFloat(32, magnitude), w_.CFloat(32, 0x3f000000));
  const Id small = I(Spv::ISub, AsInt(32, sum), U(0x3f000000));
  const Id high = I(Spv::ShiftRightLogical, magnitude, U(13));
  const Id odd = I(Spv::BitwiseAnd, high, U(1));
  const Id normal = I(Spv::ShiftRightLogical, I(Spv::IAdd, magnitude, I(Spv::IAdd, odd, U(0xc8000fff))), U(13));
  const Id payload = I(Spv::BitwiseAnd, high, U(0x3ff));
  const Id quiet = Select(w_.U32(), Compare(Spv::IEqual, payload, U(0)), U(0x7e00), U(0x7c00));
  Id v = Select(w_.U32(), Compare(Spv::ULessThan, magnitude, U(0x38800000)), small, normal);
  v = Select(w_.U32(), Compare(Spv::UGreaterThanEqual, magnitude, U(0x477ff000)), U(0x7c00), v);
  v = Select(w_.U32(), Compare(Spv::UGreaterThan, magnitude, U(kF32Infinity)), I(Spv::BitwiseOr, payload, quiet), v);
  return I(Spv::BitwiseOr, v, sign);
}

Id Scalars::Widen(DType type, Id bits) {
  if (type == DType::kBF16) return AsFloat(32, I(Spv::ShiftLeftLogical, bits, U(16)));
  if (type != DType::kF16) return F8Widen(type, bits);
  const Id magnitude = I(Spv::BitwiseAnd, bits, U(0x7fff));
  const Id sign = I(Spv::ShiftLeftLogical, I(Spv::BitwiseAnd, bits, U(0x8000)), U(16));
  const Id shifted = I(Spv::ShiftLeftLogical, magnitude, U(13));
  const Id normal = I(Spv::IAdd, shifted, U(112u << 23));
  const Id special = I(Spv::IAdd, shifted, U(224u << 23));
  const Id lifted = AsFloat(32, I(Spv::IAdd, shifted, U(113u << 23)));
  const Id subnormal = AsInt(32, F(32, Spv::FSub, lifted, w_.CFloat(32, 113u << 23)));
  Id v = Select(w_.U32(), Compare(Spv::UGreaterThanEqual, magnitude, U(0x7c00)), special, normal);
  v = Select(w_.U32(), Compare(Spv::ULessThan, magnitude, U(0x400)), subnormal, v);
  return AsFloat(32, I(Spv::BitwiseOr, v, sign));
}

Id Scalars::F8Narrow(DType type, Id x) {
  const std::optional<F8Format> f = F8FormatOf(type);
  if (!f) {
    Fail(Unimplemented(fmt::format("type {} is not emitted", DTypeName(type))));
    return U(0);
  }
  const uint32_t dropped = 23 - f->mantissa_bits;
  const Id bits = AsInt(32, x);
  const Id sign = I(Spv::BitwiseAnd, I(Spv::ShiftRightLogical, bits, U(24)), U(kSign));
  const Id magnitude = I(Spv::BitwiseAnd, bits, U(0x7fffffff));
  // Subnormal results: the sum with a number whose last place is that of the format's subnormals is rounded there.
  const auto big =
      std::bit_cast<uint32_t>(std::ldexp(1.0f, 24 - static_cast<int>(f->bias) - static_cast<int>(f->mantissa_bits)));
  const Id sum = F(32, Spv::FAdd, AsFloat(32, magnitude), w_.CFloat(32, big));
  const Id small = I(Spv::ISub, AsInt(32, sum), U(big));
  const Id high = I(Spv::ShiftRightLogical, magnitude, U(dropped));
  const Id odd = I(Spv::BitwiseAnd, high, U(1));
  const uint32_t rebias = (127 - f->bias) << 23;
  const Id rounded = I(Spv::IAdd, magnitude, I(Spv::IAdd, odd, U((uint32_t{1} << (dropped - 1)) - 1 - rebias)));
  const Id normal = I(Spv::ShiftRightLogical, rounded, U(dropped));
  const Id is_small = Compare(Spv::ULessThan, magnitude, U(rebias + (uint32_t{1} << 23)));
  Id code = Select(w_.U32(), is_small, small, normal);
  const uint32_t first = f->FirstSpecial();
  const Id over = Compare(Spv::UGreaterThanEqual, code, U(first));
  if (f->special == Special::kOneNan) {
    const Id zero = Compare(Spv::IEqual, code, U(0));
    code = Select(w_.U32(), zero, code, I(Spv::BitwiseOr, code, sign));
    return Select(w_.U32(), over, U(kSign), code);
  }
  code = Select(w_.U32(), over, U(first), code);
  if (f->special == Special::kIeee) {
    const uint32_t mask = (uint32_t{1} << f->mantissa_bits) - 1;
    const Id payload = I(Spv::BitwiseAnd, high, U(mask));
    const Id quiet = Select(w_.U32(), Compare(Spv::IEqual, payload, U(0)),
                            U(first + (uint32_t{1} << (f->mantissa_bits - 1))), U(first));
    code = Select(w_.U32(), Compare(Spv::UGreaterThan, magnitude, U(kF32Infinity)), I(Spv::BitwiseOr, payload, quiet),
                  code);
  }
  return I(Spv::BitwiseOr, code, sign);
}

Id Scalars::F8Widen(DType type, Id bits) {
  const std::optional<F8Format> f = F8FormatOf(type);
  if (!f) {
    Fail(Unimplemented(fmt::format("type {} is not emitted", DTypeName(type))));
    return AsFloat(32, bits);
  }
  const Id magnitude = I(Spv::BitwiseAnd, bits, U(kRest));
  const Id sign = I(Spv::ShiftLeftLogical, I(Spv::BitwiseAnd, bits, U(kSign)), U(24));
  const Id shifted = I(Spv::ShiftLeftLogical, magnitude, U(23 - f->mantissa_bits));
  const Id normal = I(Spv::IAdd, shifted, U((127 - f->bias) << 23));
  // A code below the first normal one counts multiples of the smallest number.
  const auto least =
      std::bit_cast<uint32_t>(std::ldexp(1.0f, 1 - static_cast<int>(f->bias) - static_cast<int>(f->mantissa_bits)));
  const Id count = w_.Exact(Spv::ConvertUToF, w_.Float(32), {magnitude});
  const Id product = AsInt(32, F(32, Spv::FMul, count, w_.CFloat(32, least)));
  const Id is_small = Compare(Spv::ULessThan, magnitude, U(uint32_t{1} << f->mantissa_bits));
  Id value = I(Spv::BitwiseOr, Select(w_.U32(), is_small, product, normal), sign);
  Id at = 0, instead = 0;
  switch (f->special) {
    case Special::kIeee:
      at = Compare(Spv::UGreaterThanEqual, magnitude, U(f->FirstSpecial()));
      instead = I(Spv::BitwiseOr, I(Spv::BitwiseOr, shifted, U(kF32Infinity)), sign);
      break;
    case Special::kAllOnes:
      at = Compare(Spv::IEqual, magnitude, U(kRest));
      instead = I(Spv::BitwiseOr, sign, U(kF32Nan));
      break;
    case Special::kOneNan:
      at = Compare(Spv::IEqual, bits, U(kSign));
      instead = U(kF32Nan);
      break;
  }
  value = Select(w_.U32(), at, instead, value);
  return AsFloat(32, value);
}

Id Scalars::Flushed(DType type, Id value) {
  const int bits = RegisterBits(type);
  if (!IsFloat(type) || !KeepsSubnormals(bits)) return value;
  const Id word = AsInt(bits, value);
  const Id sign = Int(bits, Spv::BitwiseAnd, word, w_.CInt(bits, SignBit(bits)));
  const Id magnitude = Int(bits, Spv::BitwiseAnd, word, w_.CInt(bits, ~SignBit(bits)));
  const Id is_small = Compare(Spv::ULessThan, magnitude, w_.CInt(bits, LeastNormal(bits)));
  return AsFloat(bits, Select(w_.Int(bits), is_small, sign, word));
}

Id Scalars::Convert(DType from, DType to, Id x) {
  if (from == to) return x;
  if (to == DType::kPred) {
    if (IsFloat(from)) {
      const int bits = RegisterBits(from);
      const Id magnitude = Int(bits, Spv::BitwiseAnd, AsInt(bits, x), w_.CInt(bits, ~SignBit(bits)));
      // Where subnormals count as zeros they do here, too.
      const uint64_t least = KeepsSubnormals(bits) ? 1 : LeastNormal(bits);
      return Compare(Spv::UGreaterThanEqual, magnitude, w_.CInt(bits, least));
    }
    return Compare(Spv::INotEqual, x, w_.CInt(RegisterBits(from), 0));
  }
  if (IsFloat(from)) {
    if (!IsFloat(to)) return FloatToInt(from, to, x);
    if (to == DType::kF64) return w_.Exact(Spv::FConvert, w_.Float(64), {x});
    if (from == DType::kF64) x = w_.Exact(Spv::FConvert, w_.Float(32), {x});
    return to == DType::kF32 ? x : RoundTo(to, x);
  }
  if (IsFloat(to)) {
    if (from == DType::kPred) x = ToBits(from, x);
    const Id type = w_.Float(RegisterBits(to));
    const Id v = Opaque(RegisterBits(to), w_.Exact(IsSigned(from) ? Spv::ConvertSToF : Spv::ConvertUToF, type, {x}));
    return IsNarrowFloat(to) ? RoundTo(to, v) : v;
  }
  if (from == DType::kPred) {
    const int bits = RegisterBits(to);
    return Wrap(to, Select(w_.Int(bits), x, w_.CInt(bits, 1), w_.CInt(bits, 0)));
  }
  return RegisterBits(to) == 64 ? Wide(from, x) : Wrap(to, Low(from, x));
}

Id Scalars::FloatToInt(DType from, DType to, Id x) {
  const int width = DTypeBits(to), bits = RegisterBits(to), of = RegisterBits(from);
  const bool is_signed = IsSigned(to);
  const auto number = [&](double v) {
    return of == 64 ? w_.CFloat(64, std::bit_cast<uint64_t>(v))
                    : w_.CFloat(32, std::bit_cast<uint32_t>(static_cast<float>(v)));
  };
  // Ends of the range that every float type has exactly. What a conversion out of range gives is undefined.
  const double end = std::ldexp(1.0, is_signed ? width - 1 : width);
  const uint64_t most = width == 64 && !is_signed ? ~uint64_t{0} : (uint64_t{1} << (is_signed ? width - 1 : width)) - 1;
  const uint64_t least = is_signed ? ~most : 0;
  const Id above = FCompare(Spv::FOrdGreaterThanEqual, x, number(end));
  const Id below = is_signed ? FCompare(Spv::FOrdLessThanEqual, x, number(-end)) : 0;
  const Id low =
      is_signed ? FCompare(Spv::FOrdGreaterThan, x, number(-end)) : FCompare(Spv::FOrdGreaterThanEqual, x, number(1));
  const Id inside = And(low, FCompare(Spv::FOrdLessThan, x, number(end)));
  const Id safe = Select(w_.Float(of), inside, x, Zero(of, false));
  const Id whole = w_.Exact(is_signed ? Spv::ConvertFToS : Spv::ConvertFToU, w_.Int(bits), {safe});
  Id v = Select(w_.Int(bits), above, w_.CInt(bits, most), whole);
  if (is_signed) v = Select(w_.Int(bits), below, w_.CInt(bits, least), v);
  return v;
}

Id Scalars::ReducePrecision(DType type, uint32_t attr, Id x) {
  const int exponent = static_cast<int>(attr >> 8 & 0xff);
  const int mantissa = static_cast<int>(attr & 0xff);
  const int width = DTypeBits(type);
  if (IsNarrowFloat(type) && type != DType::kF16 && type != DType::kBF16) {
    Fail(Unimplemented(fmt::format("reduce_precision of {} is not emitted", DTypeName(type))));
    return x;
  }
  const int own_mantissa = type == DType::kF64 ? 52 : type == DType::kF32 ? 23 : type == DType::kF16 ? 10 : 7;
  const int own_exponent = width - 1 - own_mantissa;
  const int bits = width == 64 ? 64 : 32;
  const Id t = w_.Int(bits);
  const auto c = [&](uint64_t v) { return w_.CInt(bits, v); };
  const uint64_t sign_mask = uint64_t{1} << (width - 1);
  const uint64_t infinity = (sign_mask - 1) & ~((uint64_t{1} << own_mantissa) - 1);
  const Id word = ToBits(type, x);
  const Id sign = Int(bits, Spv::BitwiseAnd, word, c(sign_mask));
  Id code = Int(bits, Spv::BitwiseAnd, word, c(sign_mask - 1));
  const Id special = Compare(Spv::UGreaterThanEqual, code, c(infinity));
  if (mantissa < own_mantissa) {
    const int dropped = own_mantissa - mantissa;
    const Id odd =
        Int(bits, Spv::BitwiseAnd, Int(bits, Spv::ShiftRightLogical, code, c(static_cast<uint64_t>(dropped))), c(1));
    code = Int(bits, Spv::IAdd, code, Int(bits, Spv::IAdd, odd, c((uint64_t{1} << (dropped - 1)) - 1)));
    code = Int(bits, Spv::BitwiseAnd, code, c(~((uint64_t{1} << dropped) - 1)));
  }
  if (exponent < own_exponent) {
    const int bias = (1 << (own_exponent - 1)) - 1;
    const int new_bias = (1 << (exponent - 1)) - 1;
    const uint64_t above = static_cast<uint64_t>(bias + new_bias + 1) << own_mantissa;
    const uint64_t lowest = static_cast<uint64_t>(bias + 1 - new_bias) << own_mantissa;
    const Id small = Compare(Spv::ULessThan, code, c(lowest));
    code = Select(t, Compare(Spv::UGreaterThanEqual, code, c(above)), c(infinity), code);
    code = Select(t, small, c(0), code);
  }
  return FromBits(type, Select(t, special, word, Int(bits, Spv::BitwiseOr, sign, code)));
}

}  // namespace tenon::emit_spirv
