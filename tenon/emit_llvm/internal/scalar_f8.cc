// Floats of eight bits: in memory a byte, in registers an f32 of the same value.

#include <fmt/format.h>
#include <llvm/IR/Constants.h>

#include <bit>
#include <cmath>
#include <optional>

#include "tenon/base/f8.h"
#include "tenon/emit_llvm/internal/scalar_lowering.h"

namespace tenon::emit_llvm {
namespace {

using llvm::Value;

using Special = F8Format::Special;
constexpr uint64_t kSign = F8Format::kSign, kRest = F8Format::kRest;
constexpr uint64_t kF32Infinity = 0x7f800000, kF32Nan = 0x7fc00000;

uint64_t F32Bits(float value) { return std::bit_cast<uint32_t>(value); }

}  // namespace

Value* ScalarLowering::F8Bits(DType type, Value* x) {
  const std::optional<F8Format> f = F8FormatOf(type);
  if (!f) {
    Fail(Unimplemented(fmt::format("type {} is not emitted", DTypeName(type))));
    return llvm::PoisonValue::get(IntOf(x, 8));
  }
  const uint32_t dropped = 23 - f->mantissa_bits;
  Value* bits = b_.CreateBitCast(x, IntOf(x, 32));
  Value* sign = b_.CreateAnd(b_.CreateLShr(bits, 24), Int(bits, kSign));
  Value* magnitude = b_.CreateAnd(bits, Int(bits, 0x7fffffff));
  // Subnormal results: the sum with a number whose last place is that of the format's subnormals is rounded there.
  const float big = std::ldexp(1.0f, 24 - static_cast<int>(f->bias + f->mantissa_bits));
  Value* sum =
      b_.CreateFAdd(b_.CreateBitCast(magnitude, x->getType()), llvm::ConstantFP::get(x->getType(), double{big}));
  Value* small = b_.CreateSub(b_.CreateBitCast(sum, bits->getType()), Int(bits, F32Bits(big)));
  Value* odd = b_.CreateAnd(b_.CreateLShr(magnitude, dropped), Int(bits, 1));
  const uint64_t rebias = static_cast<uint64_t>(127 - f->bias) << 23;
  Value* rounded = b_.CreateAdd(magnitude, b_.CreateAdd(odd, Int(bits, (uint64_t{1} << (dropped - 1)) - 1 - rebias)));
  Value* normal = b_.CreateLShr(rounded, dropped);
  Value* code = b_.CreateSelect(b_.CreateICmpULT(magnitude, Int(bits, rebias + (uint64_t{1} << 23))), small, normal);
  const uint64_t first = f->FirstSpecial();
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
  const std::optional<F8Format> f = F8FormatOf(type);
  if (!f) {
    Fail(Unimplemented(fmt::format("type {} is not emitted", DTypeName(type))));
    return llvm::PoisonValue::get(f32);
  }
  Value* bits = b_.CreateZExt(byte, IntOf(byte, 32));
  Value* magnitude = b_.CreateAnd(bits, Int(bits, kRest));
  Value* sign = b_.CreateShl(b_.CreateAnd(bits, Int(bits, kSign)), 24);
  Value* shifted = b_.CreateShl(magnitude, 23 - f->mantissa_bits);
  Value* normal = b_.CreateAdd(shifted, Int(bits, static_cast<uint64_t>(127 - f->bias) << 23));
  // A code below the first normal one counts multiples of the smallest number.
  Value* count = b_.CreateSIToFP(magnitude, f32);
  Value* product = b_.CreateFMul(
      count, llvm::ConstantFP::get(f32, std::ldexp(1.0, 1 - static_cast<int>(f->bias + f->mantissa_bits))));
  Value* value = b_.CreateSelect(b_.CreateICmpULT(magnitude, Int(bits, uint64_t{1} << f->mantissa_bits)),
                                 b_.CreateBitCast(product, bits->getType()), normal);
  value = b_.CreateOr(value, sign);
  switch (f->special) {
    case Special::kIeee:
      value = b_.CreateSelect(b_.CreateICmpUGE(magnitude, Int(bits, f->FirstSpecial())),
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
