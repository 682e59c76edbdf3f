// Conversions between element types and the narrow float formats.

#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "tenon/emit_llvm/internal/scalar_lowering.h"

namespace tenon::emit_llvm {

using llvm::Value;

Value* ScalarLowering::RoundTo(DType type, Value* x) {
  return Widened(type, type == DType::kBF16 ? Bf16Bits(x) : type == DType::kF16 ? F16Bits(x) : F8Bits(type, x));
}

Value* ScalarLowering::Widened(DType type, Value* bits) {
  Value* wide = type == DType::kBF16  ? Bf16FromBits(bits)
                : type == DType::kF16 ? F16FromBits(bits)
                                      : F8FromBits(type, bits);
  bits_[{type, wide}] = bits;
  return wide;
}

Value* ScalarLowering::Bf16FromBits(Value* bits) {
  return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(bits, IntOf(bits, 32)), 16), Shaped(b_.getFloatTy(), bits));
}

Value* ScalarLowering::UpperHalf(Value* x) {
  return b_.CreateTrunc(b_.CreateLShr(b_.CreateBitCast(x, IntOf(x, 32)), 16), IntOf(x, 16));
}

Value* ScalarLowering::Bf16Bits(Value* x) {
  // That of the machine flushes subnormals, in any mode: arithmetic did so before, and nothing else is rounded.
  if (rounds_to_bf16_ && LanesOf(x) > 1)
    return b_.CreateBitCast(b_.CreateFPTrunc(x, Shaped(b_.getBFloatTy(), x)), IntOf(x, 16));
  Value* bits = b_.CreateBitCast(x, IntOf(x, 32));
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, 16), Int(bits, 1));
  Value* rounded = b_.CreateLShr(b_.CreateAdd(bits, b_.CreateAdd(odd, Int(bits, 0x7fff))), 16);
  Value* quiet = b_.CreateOr(b_.CreateLShr(bits, 16), Int(bits, 0x40));
  return b_.CreateTrunc(b_.CreateSelect(b_.CreateFCmpUNO(x, x), quiet, rounded), IntOf(x, 16));
}

Value* ScalarLowering::F16Bits(Value* x) {
  if (isa_ >= isa::IsaLevel::kAvx2) {
    return b_.CreateBitCast(b_.CreateFPTrunc(x, Shaped(b_.getHalfTy(), x)), IntOf(x, 16));
  }
  Value* bits = b_.CreateBitCast(x, IntOf(x, 32));
  Value* sign = b_.CreateLShr(b_.CreateAnd(bits, Int(bits, 0x80000000u)), 16);
  Value* magnitude = b_.CreateAnd(bits, Int(bits, 0x7fffffff));
  // Subnormal results: adding 0.5 leaves the wanted bits, rounded, at the bottom of the sum.
  Value* half = llvm::ConstantFP::get(x->getType(), 0.5);
  Value* sum = b_.CreateFAdd(b_.CreateBitCast(magnitude, x->getType()), half);
  Value* small = b_.CreateSub(b_.CreateBitCast(sum, bits->getType()), Int(bits, 0x3f000000));
  Value* odd = b_.CreateAnd(b_.CreateLShr(magnitude, 13), Int(bits, 1));
  Value* normal = b_.CreateLShr(b_.CreateAdd(magnitude, b_.CreateAdd(odd, Int(bits, 0xc8000fffu))), 13);
  Value* nan = b_.CreateOr(Int(bits, 0x7e00), b_.CreateAnd(b_.CreateLShr(magnitude, 13), Int(bits, 0x3ff)));
  Value* v = b_.CreateSelect(b_.CreateICmpULT(magnitude, Int(bits, 0x38800000)), small, normal);
  v = b_.CreateSelect(b_.CreateICmpUGE(magnitude, Int(bits, 0x477ff000)), Int(bits, 0x7c00), v);
  v = b_.CreateSelect(b_.CreateICmpUGT(magnitude, Int(bits, 0x7f800000)), nan, v);
  return b_.CreateTrunc(b_.CreateOr(v, sign), IntOf(x, 16));
}

Value* ScalarLowering::F16FromBits(Value* bits) {
  llvm::Type* f32 = Shaped(b_.getFloatTy(), bits);
  if (isa_ >= isa::IsaLevel::kAvx2) return b_.CreateFPExt(b_.CreateBitCast(bits, Shaped(b_.getHalfTy(), bits)), f32);
  Value* wide = b_.CreateZExt(bits, IntOf(bits, 32));
  Value* magnitude = b_.CreateAnd(wide, Int(wide, 0x7fff));
  Value* sign = b_.CreateShl(b_.CreateAnd(wide, Int(wide, 0x8000)), 16);
  Value* shifted = b_.CreateShl(magnitude, 13);
  Value* normal = b_.CreateAdd(shifted, Int(wide, 112u << 23));
  Value* special = b_.CreateAdd(shifted, Int(wide, 224u << 23));
  Value* subnormal = b_.CreateFSub(b_.CreateBitCast(b_.CreateAdd(shifted, Int(wide, 113u << 23)), f32),
                                   llvm::ConstantFP::get(f32, 0x1p-14));
  Value* v = b_.CreateSelect(b_.CreateICmpUGE(magnitude, Int(wide, 0x7c00)), special, normal);
  v = b_.CreateSelect(b_.CreateICmpULT(magnitude, Int(wide, 0x400)), b_.CreateBitCast(subnormal, wide->getType()), v);
  // A signalling NaN becomes quiet, as the hardware's conversion does.
  Value* nan = b_.CreateICmpUGT(magnitude, Int(wide, 0x7c00));
  v = b_.CreateSelect(nan, b_.CreateOr(v, Int(wide, 0x400000)), v);
  return b_.CreateBitCast(b_.CreateOr(v, sign), f32);
}

Value* ScalarLowering::Convert(DType from, DType to, Value* x) {
  if (from == to) return x;
  if (to == DType::kPred) {
    return IsFloat(from) ? b_.CreateFCmpUNE(x, llvm::ConstantFP::get(x->getType(), 0.0))
                         : b_.CreateICmpNE(x, Int(x, 0));
  }
  if (IsFloat(from)) {
    if (!IsFloat(to)) {
      const int bits = DTypeBits(to);
      const unsigned bytes = static_cast<unsigned>(ByteWidth(to));
      // Of doubles there are instructions for 32 bits at least.
      const bool by_32 = from == DType::kF64 && bytes < 4;
      const bool as_signed = IsSigned(to) || by_32;
      const llvm::Intrinsic::ID id = as_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
      Value* v = b_.CreateIntrinsic(id, {IntOf(x, by_32 ? 32 : 8 * bytes), x->getType()}, {x});
      if (bits == 8 * static_cast<int>(bytes) && !by_32) return v;
      // Integers of fewer bits are at the wider one's ends what they are at their own.
      const int64_t most = (int64_t{1} << (IsSigned(to) ? bits - 1 : bits)) - 1;
      const int64_t least = IsSigned(to) ? -most - 1 : 0;
      const auto bound = [&](llvm::Intrinsic::ID which, int64_t by) {
        v = b_.CreateBinaryIntrinsic(which, v, Int(v, static_cast<uint64_t>(by)));
      };
      bound(as_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, most);
      if (as_signed) bound(llvm::Intrinsic::smax, least);
      return b_.CreateTrunc(v, IntOf(x, 8 * bytes));
    }
    if (to == DType::kF64) return b_.CreateFPExt(x, Shaped(b_.getDoubleTy(), x));
    if (to == DType::kF32) return from == DType::kF64 ? b_.CreateFPTrunc(x, Shaped(b_.getFloatTy(), x)) : x;
    if (from == DType::kF64) return RoundTo(to, b_.CreateFPTrunc(x, Shaped(b_.getFloatTy(), x)));
    // The arithmetic of rounding is on bits; canonicalize makes of a subnormal f32 what the thread's mode makes of it.
    if (from == DType::kF32 && to == DType::kBF16) x = b_.CreateUnaryIntrinsic(llvm::Intrinsic::canonicalize, x);
    return RoundTo(to, x);
  }
  const bool is_signed = IsSigned(from);
  if (IsFloat(to)) {
    llvm::Type* target = Shaped(to == DType::kF64 ? b_.getDoubleTy() : b_.getFloatTy(), x);
    Value* v = is_signed ? b_.CreateSIToFP(x, target) : b_.CreateUIToFP(x, target);
    return IsNarrowFloat(to) ? RoundTo(to, v) : v;
  }
  llvm::Type* target = IntOf(x, 8 * ByteWidth(to));
  Value* v = is_signed ? b_.CreateSExtOrTrunc(x, target) : b_.CreateZExtOrTrunc(x, target);
  return Wrap(to, v);
}

Value* ScalarLowering::Bitcast(DType from, DType to, Value* x) {
  if (from == to) return x;
  // Integers of fewer bits than a byte fill it as their type says.
  if (IsInteger(from) && IsInteger(to) && DTypeBits(to) < 8) return Convert(from, to, x);
  Value* bits = ToMemory(from, x);
  return FromMemory(to, b_.CreateBitCast(bits, MemoryType(to, LanesOf(x))));
}

Value* ScalarLowering::ReducePrecision(DType type, uint32_t attr, Value* x) {
  const int exponent = static_cast<int>(attr >> 8 & 0xff);
  const int mantissa = static_cast<int>(attr & 0xff);
  const int width = DTypeBits(type);
  const int own_mantissa = type == DType::kF64 ? 52 : type == DType::kF32 ? 23 : type == DType::kF16 ? 10 : 7;
  const int own_exponent = width - 1 - own_mantissa;
  if (IsNarrowFloat(type) && type != DType::kF16 && type != DType::kBF16) {
    Fail(Unimplemented(fmt::format("reduce_precision of {} is not emitted", DTypeName(type))));
    return x;
  }
  Value* memory = ToMemory(type, x);
  Value* bits = b_.CreateBitCast(memory, IntOf(x, static_cast<unsigned>(width)));
  const uint64_t sign_mask = uint64_t{1} << (width - 1);
  const uint64_t infinity = (sign_mask - 1) & ~((uint64_t{1} << own_mantissa) - 1);
  Value* sign = b_.CreateAnd(bits, Int(bits, sign_mask));
  Value* code = b_.CreateAnd(bits, Int(bits, sign_mask - 1));
  Value* special = b_.CreateICmpUGE(code, Int(bits, infinity));
  if (mantissa < own_mantissa) {
    const int dropped = own_mantissa - mantissa;
    Value* odd = b_.CreateAnd(b_.CreateLShr(code, static_cast<uint64_t>(dropped)), Int(bits, 1));
    code = b_.CreateAdd(code, b_.CreateAdd(odd, Int(bits, (uint64_t{1} << (dropped - 1)) - 1)));
    code = b_.CreateAnd(code, Int(bits, ~((uint64_t{1} << dropped) - 1)));
  }
  if (exponent < own_exponent) {
    const int bias = (1 << (own_exponent - 1)) - 1;
    const int new_bias = (1 << (exponent - 1)) - 1;
    const uint64_t above = static_cast<uint64_t>(bias + new_bias + 1) << own_mantissa;
    const uint64_t lowest = static_cast<uint64_t>(bias + 1 - new_bias) << own_mantissa;
    Value* small = b_.CreateICmpULT(code, Int(bits, lowest));
    code = b_.CreateSelect(b_.CreateICmpUGE(code, Int(bits, above)), Int(bits, infinity), code);
    code = b_.CreateSelect(small, Int(bits, 0), code);
  }
  Value* reduced = b_.CreateSelect(special, bits, b_.CreateOr(sign, code));
  return FromMemory(type, b_.CreateBitCast(reduced, memory->getType()));
}

}  // namespace tenon::emit_llvm
