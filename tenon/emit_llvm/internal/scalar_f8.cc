// Floats of eight bits: in memory a byte, in registers an f32 of the same value.

#include <fmt/format.h>
#include <llvm/IR/Constants.h>

#include <bit>
#include <cmath>
#include <optional>

#include "tenon/emit_llvm/internal/scalar_lowering.h"

namespace tenon::emit_llvm {
namespace {

using llvm::Value;

enum class Special : uint8_t {
  kIeee,     // infinities and NaNs in the last exponent
  kAllOnes,  // one NaN per sign, no infinity
  kOneNan,   // the code of -0 is the only NaN, no infinity
};

struct Format {
  int mantissa_bits;
  int bias;
  Special special;
};

std::optional<Format> FormatOf(DType type) {
  switch (type) {
    case DType::kF8E5M2:
      return Format{2, 15, Special::kIeee};
    case DType::kF8E4M3:
      return Format{3, 7, Special::kIeee};
    case DType::kF8E3M4:
      return Format{4, 3, Special::kIeee};
    case DType::kF8E4M3FN:
      return Format{3, 7, Special::kAllOnes};
    case DType::kF8E5M2FNUZ:
      return Format{2, 16, Special::kOneNan};
    case DType::kF8E4M3FNUZ:
      return Format{3, 8, Special::kOneNan};
    case DType::kF8E4M3B11FNUZ:
      return Format{3, 11, Special::kOneNan};
    default:
      return std::nullopt;
  }
}

constexpr uint64_t kSign = 0x80, kRest = 0x7f;
constexpr uint64_t kF32Infinity = 0x7f800000, kF32Nan = 0x7fc00000;

/// The first code, without its sign, that is no finite number.
uint64_t FirstSpecial(const Format& f) {
  if (f.special == Special::kIeee) return kRest >> f.mantissa_bits << f.mantissa_bits;
  return f.special == Special::kAllOnes ? kRest : kRest + 1;
}

uint64_t F32Bits(float value) { return std::bit_cast<uint32_t>(value); }

}  // namespace

Value* ScalarLowering::F8Bits(DType type, Value* x) {
  const std::optional<Format> f = FormatOf(type);
  if (!f) {
    Fail(Unimplemented(fmt::format("type {} is not emitted", DTypeName(type))));
    return llvm::PoisonValue::get(IntOf(x, 8));
  }
  const int dropped = 23 - f->mantissa_bits;
  Value* bits = b_.CreateBitCast(x, IntOf(x, 32));
  Value* sign = b_.CreateAnd(b_.CreateLShr(bits, 24), Int(bits, kSign));
  Value* magnitude = b_.CreateAnd(bits, Int(bits, 0x7fffffff));
  // Subnormal results: the sum with a number whose last place is that of the format's subnormals is rounded there.
  const float big = std::ldexp(1.0f, 24 - f->bias - f->mantissa_bits);
  Value* sum =
      b_.CreateFAdd(b_.CreateBitCast(magnitude, x->getType()), llvm::ConstantFP::get(x->getType(), double{big}));
  Value* small = b_.CreateSub(b_.CreateBitCast(sum, bits->getType()), Int(bits, F32Bits(big)));
  Value* odd = b_.CreateAnd(b_.CreateLShr(magnitude, static_cast<uint64_t>(dropped)), Int(bits, 1));
  const uint64_t rebias = static_cast<uint64_t>(127 - f->bias) << 23;
  Value* rounded = b_.CreateAdd(magnitude, b_.CreateAdd(odd, Int(bits, (uint64_t{1} << (dropped - 1)) - 1 - rebias)));
  Value* normal = b_.CreateLShr(rounded, static_cast<uint64_t>(dropped));
  Value* code = b_.CreateSelect(b_.CreateICmpULT(magnitude, Int(bits, rebias + (uint64_t{1} << 23))), small, normal);
  const uint64_t first = FirstSpecial(*f);
  Value* over = b_.CreateICmpUGE(code, Int(bits, first));
  if (f->special == Special::kOneNan) {
    code = b_.CreateSelect(b_.CreateICmpEQ(code, Int(bits, 0)), code, b_.CreateOr(code, sign));
    return b_.CreateTrunc(b_.CreateSelect(over, Int(bits, kSign), code), IntOf(x, 8));
  }
  code = b_.CreateSelect(over, Int(bits, first), code);
  if (f->special == Special::kIeee) {
    const uint64_t nan = first + (uint64_t{1} << (f->mantissa_bits - 1));
    code = b_.CreateSelect(b_.CreateICmpUGT(magnitude, Int(bits, kF32Infinity)), Int(bits, nan), code);
  }
  return b_.CreateTrunc(b_.CreateOr(code, sign), IntOf(x, 8));
}

Value* ScalarLowering::F8FromBits(DType type, Value* byte) {
  llvm::Type* f32 = Shaped(b_.getFloatTy(), byte);
  const std::optional<Format> f = FormatOf(type);
  if (!f) {
    Fail(Unimplemented(fmt::format("type {} is not emitted", DTypeName(type))));
    return llvm::PoisonValue::get(f32);
  }
  Value* bits = b_.CreateZExt(byte, IntOf(byte, 32));
  Value* magnitude = b_.CreateAnd(bits, Int(bits, kRest));
  Value* sign = b_.CreateShl(b_.CreateAnd(bits, Int(bits, kSign)), 24);
  Value* shifted = b_.CreateShl(magnitude, static_cast<uint64_t>(23 - f->mantissa_bits));
  Value* normal = b_.CreateAdd(shifted, Int(bits, static_cast<uint64_t>(127 - f->bias) << 23));
  // A code below the first normal one counts multiples of the smallest number.
  Value* count = b_.CreateSIToFP(magnitude, f32);
  Value* product = b_.CreateFMul(count, llvm::ConstantFP::get(f32, std::ldexp(1.0, 1 - f->bias - f->mantissa_bits)));
  Value* value = b_.CreateSelect(b_.CreateICmpULT(magnitude, Int(bits, uint64_t{1} << f->mantissa_bits)),
                                 b_.CreateBitCast(product, bits->getType()), normal);
  value = b_.CreateOr(value, sign);
  switch (f->special) {
    case Special::kIeee:
      value = b_.CreateSelect(b_.CreateICmpUGE(magnitude, Int(bits, FirstSpecial(*f))),
                              b_.CreateOr(b_.CreateOr(shifted, Int(bits, kF32Infinity)), sign), value);
      break;
    case Special::kAllOnes:
      value =
          b_.CreateSelect(b_.CreateICmpEQ(magnitude, Int(bits, kRest)), b_.CreateOr(sign, Int(bits, kF32Nan)), value);
      break;
    case Special::kOneNan:
      value = b_.CreateSelect(b_.CreateICmpEQ(bits, Int(bits, kSign)), Int(bits, kF32Nan), value);
      break;
  }
  return b_.CreateBitCast(value, f32);
}

}  // namespace tenon::emit_llvm
