#include "tenon/emit_llvm/internal/scalar_lowering.h"

#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <string>

#include "tenon/base/f8.h"

namespace tenon::emit_llvm {

using kir::Op;
using llvm::Value;
using llvm::Intrinsic::ID;

bool IsNarrowFloat(DType type) { return IsFloat(type) && type != DType::kF32 && type != DType::kF64; }

int ScalarLowering::RegisterBytes(DType type) {
  if (type == DType::kPred) return 1;
  return IsNarrowFloat(type) ? 4 : ByteWidth(type);
}

llvm::Type* ScalarLowering::RegisterType(DType type, unsigned lanes) {
  llvm::Type* t = nullptr;
  if (type == DType::kPred) {
    t = b_.getInt1Ty();
  } else if (type == DType::kF64) {
    t = b_.getDoubleTy();
  } else if (IsFloat(type)) {
    t = b_.getFloatTy();
  } else {
    t = b_.getIntNTy(8 * ByteWidth(type));
  }
  return lanes == 1 ? t : llvm::FixedVectorType::get(t, lanes);
}

llvm::Type* ScalarLowering::MemoryType(DType type, unsigned lanes) {
  llvm::Type* t = nullptr;
  if (type == DType::kF32) {
    t = b_.getFloatTy();
  } else if (type == DType::kF64) {
    t = b_.getDoubleTy();
  } else {
    t = b_.getIntNTy(8 * ByteWidth(type));
  }
  return lanes == 1 ? t : llvm::FixedVectorType::get(t, lanes);
}

unsigned ScalarLowering::LanesOf(Value* v) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return vector ? vector->getNumElements() : 1;
}

llvm::Type* ScalarLowering::Shaped(llvm::Type* element, Value* like) {
  const unsigned lanes = LanesOf(like);
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, lanes);
}

Value* ScalarLowering::Int(Value* like, uint64_t bits) {
  const unsigned width = like->getType()->getScalarSizeInBits();
  return llvm::ConstantInt::get(like->getType(), llvm::APInt(64, bits).zextOrTrunc(width));
}

llvm::Constant* ScalarLowering::Literal(DType type, uint64_t bits, unsigned lanes) {
  llvm::Constant* c = nullptr;
  const unsigned width = 8 * ByteWidth(type);
  if (type == DType::kPred) {
    c = b_.getInt1(bits & 1);
  } else if (type == DType::kF64) {
    c = llvm::ConstantFP::get(b_.getContext(), llvm::APFloat(llvm::APFloat::IEEEdouble(), llvm::APInt(64, bits)));
  } else if (type == DType::kF32) {
    c = llvm::ConstantFP::get(b_.getContext(),
                              llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, static_cast<uint32_t>(bits))));
  } else if (type == DType::kBF16) {
    c = llvm::ConstantFP::get(b_.getContext(),
                              llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, (bits & 0xffff) << 16)));
  } else if (type == DType::kF16) {
    llvm::APFloat value(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits & 0xffff));
    bool loses = false;
    value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
    c = llvm::ConstantFP::get(b_.getContext(), value);
  } else if (IsFloat(type)) {
    Value* v = F8FromBits(type, b_.getInt8(static_cast<uint8_t>(bits)));
    c = llvm::dyn_cast<llvm::Constant>(v);
    if (c == nullptr) {
      Fail(Unimplemented(fmt::format("literals of type {} are not emitted", DTypeName(type))));
      c = llvm::ConstantFP::get(b_.getFloatTy(), 0.0);
    }
  } else {
    uint64_t value = bits;
    const int significant = DTypeBits(type);
    if (significant < 8) {  // narrow integers are kept in range
      value &= (uint64_t{1} << significant) - 1;
      if (IsSigned(type) && (value >> (significant - 1)) != 0) value |= ~((uint64_t{1} << significant) - 1);
    }
    c = llvm::ConstantInt::get(b_.getContext(), llvm::APInt(64, value).zextOrTrunc(width));
  }
  return lanes == 1 ? c : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes), c);
}

Value* ScalarLowering::Splat(Value* scalar, unsigned lanes) {
  if (lanes == 1 || scalar->getType()->isVectorTy()) return scalar;
  if (auto* c = llvm::dyn_cast<llvm::Constant>(scalar)) {
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes), c);
  }
  return b_.CreateVectorSplat(lanes, scalar);
}

Value* ScalarLowering::FromMemory(DType type, Value* memory) {
  if (type == DType::kPred) return b_.CreateICmpNE(memory, Int(memory, 0));
  if (!IsNarrowFloat(type)) return memory;
  return Widened(type, memory);
}

Value* ScalarLowering::ToMemory(DType type, Value* value) {
  if (type == DType::kPred) return b_.CreateZExt(value, IntOf(value, 8));
  if (!IsNarrowFloat(type)) return value;
  if (Value* bits = KnownBits(type, value)) return bits;
  if (type == DType::kBF16) return UpperHalf(value);
  return type == DType::kF16 ? F16Bits(value) : F8Bits(type, value);
}

Value* ScalarLowering::KnownBits(DType type, Value* value) {
  if (const auto found = bits_.find({type, value}); found != bits_.end()) return found->second;
  Value* bits = nullptr;
  if (auto* select = llvm::dyn_cast<llvm::SelectInst>(value)) {
    Value* yes = KnownBits(type, select->getTrueValue());
    Value* no = yes == nullptr ? nullptr : KnownBits(type, select->getFalseValue());
    if (no != nullptr) {
      const llvm::IRBuilder<>::InsertPointGuard guard(b_);
      b_.SetInsertPoint(select->getParent(), std::next(select->getIterator()));
      bits = b_.CreateSelect(select->getCondition(), yes, no);
    }
  } else if (auto* constant = llvm::dyn_cast<llvm::Constant>(value); constant != nullptr && type == DType::kF16) {
    auto* splat = constant->getType()->isVectorTy() ? constant->getSplatValue() : constant;
    if (auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(splat); number != nullptr && !number->isNaN()) {
      llvm::APFloat half = number->getValueAPF();
      bool loses = false;
      half.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven, &loses);
      if (!loses) bits = llvm::ConstantInt::get(IntOf(value, 16), half.bitcastToAPInt());
    }
  } else if (llvm::isa<llvm::Constant>(value) && type != DType::kF16) {
    bits = llvm::dyn_cast<llvm::Constant>(type == DType::kBF16 ? UpperHalf(value) : F8Bits(type, value));
  }
  return bits_[{type, value}] = bits;
}

// Whether the operation flushes subnormal operands and results (scalar.def).
static bool Flushes(const kir::Node& node, std::span<const DType> in_types) {
  switch (node.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kRem:
    case Op::kFma:
    case Op::kMin:
    case Op::kMax:
    case Op::kSign:
    case Op::kSqrt:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRoundEven:
    case Op::kRoundAway:
    case Op::kTrunc:
      return true;
    case Op::kCompare:
      return (node.imm & kir::kTotalOrder) == 0;
    case Op::kConvert:
      return in_types[0] != node.type && !(in_types[0] == DType::kBF16 && node.type == DType::kF32);
    default:
      return false;
  }
}

// A subnormal constant as zero of its sign, anything else as it is.
static Value* FlushedConstant(Value* v) {
  auto* c = llvm::dyn_cast<llvm::Constant>(v);
  if (c == nullptr || !c->getType()->isFPOrFPVectorTy()) return v;
  auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(c->getType()->isVectorTy() ? c->getSplatValue() : c);
  if (number == nullptr || !number->getValueAPF().isDenormal()) return v;
  return llvm::ConstantFP::getZero(c->getType(), number->isNegative());
}

// The machine flushes denormals when the code runs, but LLVM folds constants without: they are flushed here.
Value* ScalarLowering::Lower(const kir::Node& node, std::span<const DType> in_types, std::span<Value* const> in) {
  if (!Flushes(node, in_types)) return LowerOperation(node, in_types, in);
  llvm::SmallVector<Value*, 4> flushed;
  for (Value* v : in) flushed.push_back(FlushedConstant(v));
  return FlushedConstant(LowerOperation(node, in_types, flushed));
}

Value* ScalarLowering::LowerOperation(const kir::Node& node, std::span<const DType> in_types,
                                      std::span<Value* const> in) {
  const DType type = node.type;
  switch (node.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kRem:
    case Op::kFma:
    case Op::kSqrt:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRoundEven:
    case Op::kRoundAway:
    case Op::kTrunc: {
      Value* v = Arithmetic(node, in);
      if (IsNarrowFloat(type)) return RoundTo(type, v);
      return Wrap(type, v);
    }
    case Op::kMin:
    case Op::kMax:
      return MinMax(type, node.op == Op::kMax, in[0], in[1]);
    case Op::kNeg:
      if (!IsFloat(type)) return Wrap(type, b_.CreateNeg(in[0]));
      // Zero has one sign only in some types.
      if (!HasNegativeZero(type)) return b_.CreateFSub(llvm::Constant::getNullValue(in[0]->getType()), in[0]);
      return b_.CreateFNeg(in[0]);
    case Op::kAbs:
      if (IsFloat(type)) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, in[0]);
      if (!IsSigned(type)) return in[0];
      return Wrap(type, b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, in[0], b_.getFalse()));
    case Op::kSign:
      return Sign(type, in[0]);
    case Op::kAnd:
      return b_.CreateAnd(in[0], in[1]);
    case Op::kOr:
      return b_.CreateOr(in[0], in[1]);
    case Op::kXor:
      return b_.CreateXor(in[0], in[1]);
    case Op::kNot:
      return Wrap(type, b_.CreateNot(in[0]));
    case Op::kShl:
    case Op::kShrLogical:
    case Op::kShrArith:
      return Shift(node, in[0], in[1]);
    case Op::kClz:
    case Op::kPopcnt: {
      const unsigned bits = static_cast<unsigned>(DTypeBits(type));
      Value* x = in[0];
      if (bits < 8 && !IsUnsigned(type)) x = b_.CreateAnd(x, Int(x, (1u << bits) - 1));
      if (node.op == Op::kPopcnt) return Wrap(type, b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, x));
      Value* v = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, x, b_.getFalse());
      return bits < 8 ? Wrap(type, b_.CreateSub(v, Int(v, 8 - bits))) : v;
    }
    case Op::kCompare:
      return Compare(node.imm, in_types[0], in[0], in[1]);
    case Op::kSelect:
      if (auto* known = llvm::dyn_cast<llvm::Constant>(in[0])) {
        if (known->isAllOnesValue()) return in[1];
        if (known->isNullValue()) return in[2];
      }
      return Select(in[0], in[1], in[2]);
    case Op::kConvert:
      return Convert(in_types[0], type, in[0]);
    case Op::kBitcast:
      return Bitcast(in_types[0], type, in[0]);
    case Op::kReducePrecision:
      return ReducePrecision(type, node.attr, in[0]);
    case Op::kIsFinite: {
      Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, in[0]);
      return b_.CreateFCmpOLT(magnitude, llvm::ConstantFP::getInfinity(in[0]->getType()));
    }
    default:
      Fail(Internal(fmt::format("operation {} is not a scalar operation", kir::OpName(node.op))));
      return llvm::PoisonValue::get(RegisterType(type, in.empty() ? 1 : LanesOf(in[0])));
  }
}

Value* ScalarLowering::Select(Value* condition, Value* yes, Value* no) {
  const auto* compare = llvm::dyn_cast<llvm::FCmpInst>(condition);
  const auto compares = [&](const Value* v) { return v == compare->getOperand(0) || v == compare->getOperand(1); };
  if (compare == nullptr || !yes->getType()->isFPOrFPVectorTy() || !compares(yes) || !compares(no))
    return b_.CreateSelect(condition, yes, no);
  // A minimum or maximum would be made of it, and flush what is moved here.
  llvm::Type* bits = IntOf(yes, yes->getType()->getScalarSizeInBits());
  return b_.CreateBitCast(b_.CreateSelect(condition, b_.CreateBitCast(yes, bits), b_.CreateBitCast(no, bits)),
                          yes->getType());
}

Value* ScalarLowering::Arithmetic(const kir::Node& node, std::span<Value* const> in) {
  const DType type = node.type;
  const bool is_float = IsFloat(type);
  switch (node.op) {
    case Op::kAdd:
      if (type == DType::kPred) return b_.CreateOr(in[0], in[1]);
      return is_float ? b_.CreateFAdd(in[0], in[1]) : b_.CreateAdd(in[0], in[1]);
    case Op::kSub:
      if (type == DType::kPred) return b_.CreateXor(in[0], in[1]);
      return is_float ? b_.CreateFSub(in[0], in[1]) : b_.CreateSub(in[0], in[1]);
    case Op::kMul:
      if (type == DType::kPred) return b_.CreateAnd(in[0], in[1]);
      return is_float ? b_.CreateFMul(in[0], in[1]) : b_.CreateMul(in[0], in[1]);
    case Op::kDiv:
      return is_float ? b_.CreateFDiv(in[0], in[1]) : IntegerDivide(type, false, in[0], in[1]);
    case Op::kRem:
      return is_float ? FloatRemainder(in[0], in[1]) : IntegerDivide(type, true, in[0], in[1]);
    case Op::kFma:
      if (isa_ < isa::IsaLevel::kAvx2) {
        if (node.imm == kir::kExactProduct) return AddProduct(in[0], in[1], in[2]);
        return b_.CreateFAdd(b_.CreateFMul(in[0], in[1]), in[2]);
      }
      return b_.CreateIntrinsic(llvm::Intrinsic::fma, {in[0]->getType()}, {in[0], in[1], in[2]});
    default:
      break;
  }
  if (!is_float) return in[0];
  ID id = llvm::Intrinsic::sqrt;
  if (node.op == Op::kFloor) id = llvm::Intrinsic::floor;
  if (node.op == Op::kCeil) id = llvm::Intrinsic::ceil;
  if (node.op == Op::kRoundEven) id = llvm::Intrinsic::roundeven;
  if (node.op == Op::kRoundAway) id = llvm::Intrinsic::round;
  if (node.op == Op::kTrunc) id = llvm::Intrinsic::trunc;
  return b_.CreateUnaryIntrinsic(id, in[0]);
}

Value* ScalarLowering::AddProduct(Value* x, Value* y, Value* z) {
  llvm::Type* const type = x->getType();
  if (type->getScalarType()->isFloatTy()) {
    // Of f32 it is a number of f64.
    llvm::Type* const wide = type->getWithNewType(b_.getDoubleTy());
    const auto widen = [&](Value* v) { return b_.CreateFPExt(v, wide); };
    return b_.CreateFPTrunc(b_.CreateFAdd(b_.CreateFMul(widen(x), widen(y)), widen(z)), type);
  }
  // Halves of 26 bits, whose products are exact (Veltkamp, Dekker); then the sum's own error.
  const auto halves = [&](Value* v) {
    Value* const scaled = b_.CreateFMul(v, llvm::ConstantFP::get(type, 0x1p27 + 1));
    Value* const high = b_.CreateFSub(scaled, b_.CreateFSub(scaled, v));
    return std::pair(high, b_.CreateFSub(v, high));
  };
  const auto [xh, xl] = halves(x);
  const auto [yh, yl] = halves(y);
  Value* const product = b_.CreateFMul(x, y);
  Value* low = b_.CreateFSub(b_.CreateFMul(xh, yh), product);
  low = b_.CreateFAdd(b_.CreateFAdd(low, b_.CreateFMul(xh, yl)), b_.CreateFMul(xl, yh));
  low = b_.CreateFAdd(low, b_.CreateFMul(xl, yl));
  Value* const sum = b_.CreateFAdd(product, z);
  Value* const z_part = b_.CreateFSub(sum, product);
  Value* const lost = b_.CreateFAdd(b_.CreateFSub(product, b_.CreateFSub(sum, z_part)), b_.CreateFSub(z, z_part));
  Value* const rest = b_.CreateFAdd(lost, low);
  // Beyond the range of halves there is nothing to add.
  Value* const known = b_.CreateFCmpORD(rest, rest);
  return b_.CreateFAdd(sum, b_.CreateSelect(known, rest, llvm::ConstantFP::getNegativeZero(type)));
}

Value* ScalarLowering::MinMax(DType type, bool max, Value* x, Value* y) {
  ID id;
  if (type == DType::kPred) return max ? b_.CreateOr(x, y) : b_.CreateAnd(x, y);
  if (IsFloat(type)) {
    id = max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum;
  } else if (IsSigned(type)) {
    id = max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin;
  } else {
    id = max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin;
  }
  return b_.CreateBinaryIntrinsic(id, x, y);
}

Value* ScalarLowering::Sign(DType type, Value* x) {
  if (IsFloat(type)) {
    Value* zero = llvm::ConstantFP::get(x->getType(), 0.0);
    Value* one = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::get(x->getType(), 1.0), x);
    Value* signed_zero = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, x);
    Value* v = b_.CreateSelect(b_.CreateFCmpOEQ(x, zero), signed_zero, one);
    return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, v);
  }
  Value* zero = Int(x, 0);
  Value* positive = b_.CreateZExt(b_.CreateICmpNE(x, zero), x->getType());
  if (!IsSigned(type)) return positive;
  return b_.CreateSelect(b_.CreateICmpSLT(x, zero), Int(x, ~uint64_t{0}), positive);
}

Value* ScalarLowering::Shift(const kir::Node& node, Value* x, Value* amount) {
  const unsigned bits = static_cast<unsigned>(DTypeBits(node.type));
  Value* a = bits < 8 && !IsUnsigned(node.type) ? b_.CreateAnd(amount, Int(amount, (1u << bits) - 1)) : amount;
  Value* in_range = b_.CreateICmpULT(a, Int(a, bits));
  if (node.op == Op::kShrArith) {
    if (!IsSigned(node.type) && bits < 8) {  // the sign of an unsigned narrow integer is its own top bit
      x = b_.CreateAShr(b_.CreateShl(x, 8 - bits), 8 - bits);
    }
    return Wrap(node.type, b_.CreateAShr(x, b_.CreateSelect(in_range, a, Int(a, bits - 1))));
  }
  Value* safe = b_.CreateSelect(in_range, a, Int(a, 0));
  Value* v = nullptr;
  if (node.op == Op::kShl) {
    v = b_.CreateShl(x, safe);
  } else {
    if (bits < 8 && IsSigned(node.type)) x = b_.CreateAnd(x, Int(x, (1u << bits) - 1));
    v = b_.CreateLShr(x, safe);
  }
  return Wrap(node.type, b_.CreateSelect(in_range, v, Int(v, 0)));
}

Value* ScalarLowering::Compare(uint8_t how, DType type, Value* x, Value* y) {
  using P = llvm::CmpInst::Predicate;
  const int cmp = how & 0xf;
  if (IsFloat(type) && !(how & kir::kTotalOrder)) {
    constexpr P kFloat[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT, P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE};
    return b_.CreateFCmp(kFloat[cmp], x, y);
  }
  bool is_signed = IsSigned(type);
  if (IsFloat(type)) {
    // Flipping the magnitude bits of negative numbers makes their bits compare as signed integers in total order.
    const unsigned bits = x->getType()->getScalarSizeInBits();
    const std::optional<F8Format> f8 = F8FormatOf(type);
    auto key = [&](Value* v) {
      // Where one pattern is NaN, it is that of a negative zero, and stands in its place.
      if (f8 && f8->special == F8Format::Special::kOneNan)
        v = b_.CreateSelect(b_.CreateFCmpUNO(v, v), llvm::ConstantFP::getNegativeZero(v->getType()), v);
      Value* i = b_.CreateBitCast(v, IntOf(v, bits));
      return b_.CreateXor(i, b_.CreateLShr(b_.CreateAShr(i, bits - 1), 1));
    };
    x = key(x);
    y = key(y);
    is_signed = true;
  }
  constexpr P kSigned[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE};
  constexpr P kUnsigned[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  return b_.CreateICmp(is_signed ? kSigned[cmp] : kUnsigned[cmp], x, y);
}

Value* ScalarLowering::PerLane(Value* x, Value* y, llvm::function_ref<Value*(Value*, Value*)> scalar) {
  const unsigned lanes = LanesOf(x);
  if (lanes == 1) return scalar(x, y);
  Value* result = llvm::PoisonValue::get(x->getType());
  for (unsigned i = 0; i < lanes; ++i) {
    result = b_.CreateInsertElement(result, scalar(b_.CreateExtractElement(x, i), b_.CreateExtractElement(y, i)), i);
  }
  return result;
}

Value* ScalarLowering::DivideByConstant(Value* x, const llvm::APInt& divisor) {
  const unsigned bits = x->getType()->getScalarSizeInBits();
  if (divisor.isZero() || divisor.isAllOnes() || divisor.isMinSignedValue()) return nullptr;
  const uint64_t d = divisor.abs().getZExtValue();
  Value* quotient = nullptr;
  if (llvm::isPowerOf2_64(d)) {
    // Toward zero: below zero, all that the shift would round down is added first.
    const unsigned shift = llvm::Log2_64(d);
    if (shift == 0) return x;
    Value* up = b_.CreateLShr(b_.CreateAShr(x, Int(x, bits - 1)), Int(x, bits - shift));
    quotient = b_.CreateAShr(b_.CreateAdd(x, up), Int(x, shift));
  } else if (LanesOf(x) == 1 && bits <= 32) {
    // Multiplication by a reciprocal that is large enough (Granlund and Montgomery, PLDI 1994): 2^(31 + l) < m d <=
    // 2^(31 + l) + 2^l.
    const unsigned l = llvm::Log2_64_Ceil(d);
    const uint64_t m = (uint64_t{1} << (31 + l)) / d + 1;
    llvm::Type* wide = b_.getInt64Ty();
    Value* product = b_.CreateMul(b_.CreateSExt(x, wide), b_.getInt64(m));
    quotient = b_.CreateSub(b_.CreateTrunc(b_.CreateAShr(product, b_.getInt64(31 + l)), x->getType()),
                            b_.CreateAShr(x, Int(x, bits - 1)));
  }
  if (quotient == nullptr || divisor.isStrictlyPositive()) return quotient;
  return b_.CreateSub(Int(x, 0), quotient);
}

Value* ScalarLowering::IntegerDivide(DType type, bool remainder, Value* x, Value* y) {
  const bool is_signed = IsSigned(type);
  const unsigned bits = x->getType()->getScalarSizeInBits();
  const auto* constant = llvm::dyn_cast<llvm::Constant>(y);
  if (constant != nullptr && y->getType()->isVectorTy()) constant = constant->getSplatValue();
  if (const auto* divisor = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant); divisor != nullptr) {
    Value* quotient = is_signed ? DivideByConstant(x, divisor->getValue()) : nullptr;
    const bool defined = !divisor->isZero() && !(is_signed && (divisor->isMinusOne() || divisor->isMinValue(true)));
    // Code generators make products of these.
    if (quotient == nullptr && defined && LanesOf(x) > 1)
      quotient = is_signed ? b_.CreateSDiv(x, y) : b_.CreateUDiv(x, y);
    if (quotient != nullptr) return remainder ? b_.CreateSub(x, b_.CreateMul(quotient, y)) : quotient;
  }
  Value* zero = b_.CreateICmpEQ(y, Int(y, 0));
  Value* bad = zero;
  if (is_signed) {
    const unsigned significant = static_cast<unsigned>(DTypeBits(type));
    Value* lowest = Int(x, ~uint64_t{0} << (significant - 1));
    bad = b_.CreateOr(zero, b_.CreateAnd(b_.CreateICmpEQ(x, lowest), b_.CreateICmpEQ(y, Int(y, ~uint64_t{0}))));
  }
  // MIN / -1 = MIN and MIN % -1 = 0 come out as x / 1 and x % 1.
  Value* divisor = b_.CreateSelect(bad, Int(y, 1), y);
  Value* quotient = nullptr;
  if (LanesOf(x) > 1 && bits <= 32) {
    // There is no vector division; float division with enough bits truncates to the exact quotient: f32 serves 16-bit
    // integers, f64 32-bit ones.
    llvm::Type* wide = Shaped(bits <= 16 ? b_.getFloatTy() : b_.getDoubleTy(), x);
    Value* q = is_signed ? b_.CreateFDiv(b_.CreateSIToFP(x, wide), b_.CreateSIToFP(divisor, wide))
                         : b_.CreateFDiv(b_.CreateUIToFP(x, wide), b_.CreateUIToFP(divisor, wide));
    if (is_signed) {
      quotient = b_.CreateTrunc(b_.CreateFPToSI(q, IntOf(x, 32)), x->getType());
    } else if (bits < 32) {
      quotient = b_.CreateTrunc(b_.CreateFPToSI(q, IntOf(x, 32)), x->getType());
    } else {
      quotient = b_.CreateFPToUI(q, x->getType());
    }
  } else {
    // Of vectors lane by lane, as code generators do it.
    quotient = is_signed ? b_.CreateSDiv(x, divisor) : b_.CreateUDiv(x, divisor);
  }
  if (!remainder) return b_.CreateSelect(zero, Int(x, ~uint64_t{0}), quotient);
  return b_.CreateSelect(zero, x, b_.CreateSub(x, b_.CreateMul(quotient, divisor)));
}

Value* ScalarLowering::Wrap(DType type, Value* x) {
  const unsigned bits = static_cast<unsigned>(DTypeBits(type));
  if (bits >= 8 || IsFloat(type) || type == DType::kPred) return x;
  if (IsUnsigned(type)) return b_.CreateAnd(x, Int(x, (1u << bits) - 1));
  return b_.CreateAShr(b_.CreateShl(x, 8 - bits), 8 - bits);
}

}  // namespace tenon::emit_llvm
