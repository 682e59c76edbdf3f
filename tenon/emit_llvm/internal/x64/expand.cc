#include "tenon/emit_llvm/internal/x64/expand.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/DivisionByConstantInfo.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "tenon/emit_llvm/internal/x64/selector.h"

namespace tenon::emit_llvm::x64 {
namespace {

using llvm::dyn_cast;
using llvm::Instruction;
using llvm::Value;

class Expander {
 public:
  Expander(llvm::Function& fn, bool avx2) : fn_(fn), avx2_(avx2), b_(fn.getContext()) {}

  void Run() {
    std::vector<Instruction*> all;
    for (llvm::BasicBlock& block : fn_) {
      for (Instruction& inst : block) {
        if (inst.getType()->isVectorTy()) all.push_back(&inst);
      }
    }
    // What rounds quotients down comes first: then nobody asks for the quotients.
    for (Instruction* inst : all) {
      auto* select = dyn_cast<llvm::SelectInst>(inst);
      if (select == nullptr) continue;
      b_.SetInsertPoint(inst);
      if (Value* same = RoundedDown(*select)) inst->replaceAllUsesWith(same);
    }
    EraseDead(all);
    for (Instruction* inst : all) {
      b_.SetInsertPoint(inst);
      if (Value* same = Rewritten(*inst)) inst->replaceAllUsesWith(same);
    }
    // Only now: quotients are found by what they are of.
    EraseDead(all);
  }

 private:
  /// In their order, so that those go too which only others among them ask for.
  static void EraseDead(std::vector<Instruction*>& all) {
    for (size_t i = all.size(); i-- > 0;) {
      if (!all[i]->use_empty() || all[i]->mayHaveSideEffects()) continue;
      all[i]->eraseFromParent();
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  /// Null: it stays.
  Value* Rewritten(Instruction& inst) {
    switch (inst.getOpcode()) {
      case Instruction::UDiv:
      case Instruction::SDiv:
      case Instruction::URem:
      case Instruction::SRem:
        return Divide(inst);
      case Instruction::Shl:
      case Instruction::LShr:
      case Instruction::AShr:
        return Shift(inst);
      case Instruction::SIToFP:
      case Instruction::UIToFP: {
        Value* narrow = FromNarrow(inst);
        return narrow != nullptr ? narrow : FromLongs(inst);
      }
      case Instruction::FPToUI:
        return ToUnsigned(inst.getOperand(0), inst.getType());
      case Instruction::ShuffleVector:
        return ShuffleMask(llvm::cast<llvm::ShuffleVectorInst>(inst));
      case Instruction::Call:
        break;
      default:
        return nullptr;
    }
    auto* call = dyn_cast<llvm::IntrinsicInst>(&inst);
    if (call == nullptr) return nullptr;
    switch (call->getIntrinsicID()) {
      case llvm::Intrinsic::cttz: {
        // The zeros behind the last one, and nothing else, are ones here.
        Value* x = call->getArgOperand(0);
        return CountBits(b_.CreateAnd(b_.CreateNot(x), b_.CreateSub(x, Splat(x, 1))));
      }
      case llvm::Intrinsic::ctlz:
        return CountLeadingZeros(call->getArgOperand(0));
      case llvm::Intrinsic::fptosi_sat:
      case llvm::Intrinsic::fptoui_sat:
        return Saturate(*call);
      default:
        return nullptr;
    }
  }

  /// Masks, but for halves of them: as vectors of numbers that are all ones or zeros.
  Value* ShuffleMask(llvm::ShuffleVectorInst& shuffle) {
    auto* from = llvm::cast<llvm::FixedVectorType>(shuffle.getOperand(0)->getType());
    if (!from->getElementType()->isIntegerTy(1) || shuffle.isZeroEltSplat()) return nullptr;
    const auto lanes = static_cast<unsigned>(shuffle.getShuffleMask().size()), source = from->getNumElements();
    const llvm::ArrayRef<int> mask = shuffle.getShuffleMask();
    const bool half = 2 * lanes == source && (mask[0] == 0 || mask[0] == static_cast<int>(lanes));
    bool run = half;
    for (unsigned i = 1; i < lanes; ++i) run &= mask[i] == mask[0] + static_cast<int>(i);
    if (run || (avx2_ && lanes == source)) return nullptr;
    const unsigned bits = std::min(32u, (avx2_ ? 256u : 512u) / std::max(lanes, source));
    const auto wide = [&](Value* v) -> Value* {
      if (llvm::isa<llvm::UndefValue>(v)) return llvm::PoisonValue::get(v->getType()->getWithNewBitWidth(bits));
      return b_.CreateSExt(v, v->getType()->getWithNewBitWidth(bits));
    };
    Value* shuffled = b_.CreateShuffleVector(wide(shuffle.getOperand(0)), wide(shuffle.getOperand(1)), mask);
    return b_.CreateTrunc(shuffled, shuffle.getType());
  }

  llvm::Constant* Splat(Value* like, const llvm::APInt& value) {
    return llvm::ConstantInt::get(like->getType(), value);
  }
  llvm::Constant* Splat(Value* like, uint64_t value) {
    return llvm::ConstantInt::get(like->getType(),
                                  value & (~uint64_t{0} >> (64 - like->getType()->getScalarSizeInBits())));
  }

  /// Of integers of 64 bits that were widened from at most 32: from those. Of more bytes than a register holds numbers:
  /// step by step.
  Value* FromNarrow(Instruction& inst) {
    auto* type = llvm::cast<llvm::FixedVectorType>(inst.getType());
    Value* x = inst.getOperand(0);
    if (!avx2_ && x->getType()->getScalarSizeInBits() == 8 &&
        type->getNumElements() * type->getScalarSizeInBits() > 512) {
      for (const unsigned bits : {16u, 32u}) {
        llvm::Type* wider = x->getType()->getWithNewBitWidth(bits);
        x = inst.getOpcode() == Instruction::SIToFP ? b_.CreateSExt(x, wider) : b_.CreateZExt(x, wider);
      }
      return b_.CreateSIToFP(x, type);
    }
    auto* widened = dyn_cast<llvm::CastInst>(inst.getOperand(0));
    if (widened == nullptr || widened->getType()->getScalarSizeInBits() != 64) return nullptr;
    Value* narrow = widened->getOperand(0);
    const unsigned bits = narrow->getType()->getScalarSizeInBits();
    if (bits > 32 || bits % 8 != 0) return nullptr;
    if (widened->getOpcode() == Instruction::ZExt) return b_.CreateUIToFP(narrow, inst.getType());
    const bool same = widened->getOpcode() == Instruction::SExt && inst.getOpcode() == Instruction::SIToFP;
    return same ? b_.CreateSIToFP(narrow, inst.getType()) : nullptr;
  }

  static llvm::Constant* Number(Value* like, double value) { return llvm::ConstantFP::get(like->getType(), value); }

  /// Of 64 bits: each half in the fraction of a number of its own magnitude, so that their sum is the only rounding.
  Value* FromLongs(Instruction& inst) {
    Value* x = inst.getOperand(0);
    if (!avx2_ || x->getType()->getScalarSizeInBits() != 64 || !inst.getType()->getScalarType()->isDoubleTy())
      return nullptr;
    const bool is_signed = inst.getOpcode() == Instruction::SIToFP;
    const uint64_t low_one = 0x4330000000000000u;  // 2^52
    const uint64_t high_one =
        is_signed ? 0x4530000080000000u : 0x4530000000000000u;  // 2^84, and 2^63 where the sign is
    Value* low = b_.CreateOr(b_.CreateAnd(x, Splat(x, uint64_t{0xffffffff})), Splat(x, low_one));
    Value* high = b_.CreateXor(b_.CreateLShr(x, 32), Splat(x, high_one));
    Value* rest = b_.CreateFSub(b_.CreateBitCast(high, inst.getType()),
                                Number(&inst, 0x1p84 + 0x1p52 + (is_signed ? 0x1p63 : 0)));
    return b_.CreateFAdd(rest, b_.CreateBitCast(low, inst.getType()));
  }

  /// Numbers from 0 to 2^32: the upper half less 2^31, and the bit that this is.
  Value* ToUnsigned(Value* x, llvm::Type* type) {
    if (!avx2_ || type->getScalarSizeInBits() != 32 || x->getType()->getScalarSizeInBits() < 32) return nullptr;
    Value* upper = b_.CreateFCmpOGE(x, Number(x, 0x1p31));
    Value* below = b_.CreateFSub(x, b_.CreateSelect(upper, Number(x, 0x1p31), Number(x, 0.0)));
    Value* made = b_.CreateFPToSI(below, type);
    return b_.CreateXor(made, b_.CreateSelect(upper, Splat(made, uint64_t{0x80000000}), Splat(made, uint64_t{0})));
  }

  Value* Saturate(llvm::IntrinsicInst& call) {
    Value* x = call.getArgOperand(0);
    const unsigned bits = call.getType()->getScalarSizeInBits();
    const bool is_signed = call.getIntrinsicID() == llvm::Intrinsic::fptosi_sat;
    const bool from_double = x->getType()->getScalarType()->isDoubleTy();
    if (!from_double && !x->getType()->getScalarType()->isFloatTy()) return nullptr;
    if (bits == 64) {
      // f32 -> f64 changes no number.
      if (avx2_ || from_double) return nullptr;
      Value* wide = b_.CreateFPExt(x, x->getType()->getWithNewType(b_.getDoubleTy()));
      return b_.CreateIntrinsic(call.getIntrinsicID(), {call.getType(), wide->getType()}, {wide});
    }
    if (bits != 32) return nullptr;
    if (from_double) {
      // The bounds are numbers of 64 bits. What is no number becomes 0.
      const double least = is_signed ? -0x1p31 : 0.0;
      const double most = is_signed ? 0x1p31 - 1 : 0x1p32 - 1;
      Value* bounded = b_.CreateSelect(b_.CreateFCmpOGT(x, Number(x, least)), x, Number(x, least));
      bounded = b_.CreateSelect(b_.CreateFCmpOLT(bounded, Number(x, most)), bounded, Number(x, most));
      if (is_signed) {
        bounded = b_.CreateSelect(b_.CreateFCmpORD(x, x), bounded, Number(x, 0.0));
        return b_.CreateFPToSI(bounded, call.getType());
      }
      Value* made = ToUnsigned(bounded, call.getType());
      return made != nullptr ? made : b_.CreateFPToUI(bounded, call.getType());
    }
    if (is_signed || !avx2_) return nullptr;
    Value* positive = b_.CreateSelect(b_.CreateFCmpOGT(x, Number(x, 0.0)), x, Number(x, 0.0));
    Value* made = ToUnsigned(positive, call.getType());
    return b_.CreateOr(made, b_.CreateSExt(b_.CreateFCmpOGE(x, Number(x, 0x1p32)), call.getType()));
  }

  /// By a constant that all lanes share; bytes are widened.
  Value* Divide(Instruction& inst) {
    const llvm::APInt* const number = Selector::NumberOf(inst.getOperand(1));
    const unsigned bits = inst.getType()->getScalarSizeInBits();
    if (number == nullptr || bits > 64 || bits % 8 != 0) return nullptr;
    const unsigned opcode = inst.getOpcode();
    const bool is_signed = opcode == Instruction::SDiv || opcode == Instruction::SRem;
    const bool remainder = opcode == Instruction::URem || opcode == Instruction::SRem;
    const unsigned wide = std::max(bits, 16u);
    llvm::Type* type = inst.getType()->getWithNewBitWidth(wide);
    Value* x = inst.getOperand(0);
    x = is_signed ? b_.CreateSExt(x, type) : b_.CreateZExt(x, type);
    const llvm::APInt divisor = is_signed ? number->sext(wide) : number->zext(wide);
    // Of a divisor and its negative: 0 has no quotient, and the least number no negative.
    if (divisor.isZero() || (is_signed && divisor.isMinSignedValue())) return nullptr;
    // A remainder beside a quotient, as in divisions that round down, takes it from there.
    Value*& q = quotients_[{inst.getParent(), inst.getOperand(0), inst.getOperand(1), is_signed}];
    if (q == nullptr) q = is_signed ? SignedQuotient(x, divisor) : Quotient(x, divisor, wide - bits);
    Value* result = remainder ? b_.CreateSub(x, b_.CreateMul(q, Splat(x, divisor))) : q;
    return b_.CreateTrunc(result, inst.getType());
  }

  static llvm::BinaryOperator* IsOp(Value* v, Instruction::BinaryOps op) {
    auto* binary = dyn_cast<llvm::BinaryOperator>(v);
    return binary != nullptr && binary->getOpcode() == op ? binary : nullptr;
  }
  static bool IsSplat(const Value* v, int64_t number) {
    const llvm::APInt* const splat = Selector::NumberOf(v);
    return splat != nullptr && splat->getSExtValue() == number;
  }
  static bool IsCompare(Value* v, llvm::CmpInst::Predicate how, const Value* x, int64_t number) {
    auto* compare = dyn_cast<llvm::ICmpInst>(v);
    return compare != nullptr && compare->getPredicate() == how && compare->getOperand(0) == x &&
           IsSplat(compare->getOperand(1), number);
  }

  /// x / c and c, if v is that for a positive constant c.
  static llvm::BinaryOperator* QuotientOf(Value* v, const llvm::APInt** divisor) {
    llvm::BinaryOperator* const quotient = IsOp(v, Instruction::SDiv);
    if (quotient == nullptr) return nullptr;
    *divisor = Selector::NumberOf(quotient->getOperand(1));
    return *divisor != nullptr && (*divisor)->isStrictlyPositive() ? quotient : nullptr;
  }
  /// The same, if v is the remainder.
  static llvm::BinaryOperator* QuotientOfRemainder(Value* v, const llvm::APInt** divisor) {
    if (llvm::BinaryOperator* const remainder = IsOp(v, Instruction::SRem); remainder != nullptr) {
      *divisor = Selector::NumberOf(remainder->getOperand(1));
      return *divisor != nullptr && (*divisor)->isStrictlyPositive() ? remainder : nullptr;
    }
    llvm::BinaryOperator* const rest = IsOp(v, Instruction::Sub);
    llvm::BinaryOperator* const product = rest == nullptr ? nullptr : IsOp(rest->getOperand(1), Instruction::Mul);
    if (product == nullptr) return nullptr;
    llvm::BinaryOperator* const quotient = QuotientOf(product->getOperand(0), divisor);
    const bool whole = quotient != nullptr && quotient->getOperand(0) == rest->getOperand(0) &&
                       product->getOperand(1) == quotient->getOperand(1);
    return whole ? quotient : nullptr;
  }
  /// Whether v holds where x is not above 0.
  static bool IsNotPositive(Value* v, const Value* x) {
    auto* compare = dyn_cast<llvm::ICmpInst>(v);
    if (compare == nullptr) return false;
    if (IsCompare(v, llvm::CmpInst::ICMP_SLT, x, 0) || IsCompare(v, llvm::CmpInst::ICMP_SLE, x, 0)) return true;
    if (compare->getPredicate() != llvm::CmpInst::ICMP_NE || !IsSplat(compare->getOperand(1), 1)) return false;
    // The sign is not 1: -1 below 0, else whether it is not 0.
    auto* sign = dyn_cast<llvm::SelectInst>(compare->getOperand(0));
    if (sign == nullptr || !IsCompare(sign->getCondition(), llvm::CmpInst::ICMP_SLT, x, 0)) return false;
    auto* some = dyn_cast<llvm::ZExtInst>(sign->getFalseValue());
    return IsSplat(sign->getTrueValue(), -1) && some != nullptr &&
           IsCompare(some->getOperand(0), llvm::CmpInst::ICMP_NE, x, 0);
  }

  /// Quotients and remainders by positive constants that are rounded down where the dividend is below 0, as a choice.
  Value* RoundedDown(llvm::SelectInst& select) {
    const llvm::APInt* divisor = nullptr;
    Value* const plain = select.getFalseValue();
    if (plain->getType()->getScalarSizeInBits() > 64 || plain->getType()->getScalarSizeInBits() % 8 != 0)
      return nullptr;
    if (llvm::BinaryOperator* const added = IsOp(select.getTrueValue(), Instruction::Add); added != nullptr) {
      llvm::BinaryOperator* const of = QuotientOfRemainder(plain, &divisor);
      const bool matches = of != nullptr && added->getOperand(0) == plain &&
                           added->getOperand(1) == of->getOperand(1) &&
                           IsCompare(select.getCondition(), llvm::CmpInst::ICMP_SLT, plain, 0);
      if (!matches) return nullptr;
      Value* const x = of->getOperand(0);
      if (divisor->isPowerOf2()) return b_.CreateAnd(x, Splat(x, *divisor - 1));
      return b_.CreateSub(x, b_.CreateMul(FloorQuotient(x, of->getOperand(1), *divisor), of->getOperand(1)));
    }
    llvm::BinaryOperator* const quotient = QuotientOf(plain, &divisor);
    llvm::BinaryOperator* const less = IsOp(select.getTrueValue(), Instruction::Sub);
    if (quotient == nullptr || less == nullptr || less->getOperand(0) != plain || !IsSplat(less->getOperand(1), 1))
      return nullptr;
    llvm::BinaryOperator* const both = IsOp(select.getCondition(), Instruction::And);
    if (both == nullptr) return nullptr;
    Value* const x = quotient->getOperand(0);
    for (const unsigned i : {0u, 1u}) {
      auto* rest = dyn_cast<llvm::ICmpInst>(both->getOperand(1 - i));
      const llvm::APInt* same = nullptr;
      if (rest == nullptr || !IsNotPositive(both->getOperand(i), x)) continue;
      llvm::BinaryOperator* const of = QuotientOfRemainder(rest->getOperand(0), &same);
      if (of != nullptr && of->getOperand(0) == x && *same == *divisor &&
          IsCompare(rest, llvm::CmpInst::ICMP_NE, rest->getOperand(0), 0))
        return FloorQuotient(x, quotient->getOperand(1), *divisor);
    }
    return nullptr;
  }

  /// Rounded down, by a positive constant: of the distance below -1 where x is below 0, which is no number's quotient
  /// beyond it.
  Value* FloorQuotient(Value* x, Value* by, const llvm::APInt& divisor) {
    Value*& q = floors_[{b_.GetInsertBlock(), x, by}];
    if (q != nullptr) return q;
    if (divisor.isPowerOf2()) return q = b_.CreateAShr(x, divisor.logBase2());
    const unsigned bits = divisor.getBitWidth(), wide = std::max(bits, 16u);
    Value* const wider = b_.CreateSExt(x, x->getType()->getWithNewBitWidth(wide));
    Value* const sign = b_.CreateAShr(wider, wide - 1);
    Value* const magnitude = Quotient(b_.CreateXor(wider, sign), divisor.zext(wide), wide - bits + 1);
    return q = b_.CreateTrunc(b_.CreateXor(magnitude, sign), x->getType());
  }

  /// The upper half of products without sign, as wide as their factors.
  Value* High(Value* x, const llvm::APInt& factor) {
    if (factor.getBitWidth() == 64) return HighOfLongs(x, factor.getZExtValue());
    if (factor.getBitWidth() == 16)
      return b_.CreateIntrinsic(llvm::Intrinsic::umul_fix, {x->getType()}, {x, Splat(x, factor), b_.getInt32(16)});
    if (ComesInPairs(x)) {
      // The lower and the upper lane of each pair, whose products fill it.
      Value* const pairs = InPairs(x);
      const uint64_t low = 0xffffffff;
      const auto product = [&](Value* lanes) { return b_.CreateMul(lanes, Splat(pairs, factor.zext(64))); };
      Value* const lower = b_.CreateLShr(product(b_.CreateAnd(pairs, Splat(pairs, low))), 32);
      Value* const upper = b_.CreateAnd(product(b_.CreateLShr(pairs, 32)), Splat(pairs, ~low));
      return b_.CreateBitCast(b_.CreateOr(upper, lower), x->getType());
    }
    llvm::Type* wide = x->getType()->getWithNewBitWidth(64);
    Value* product = b_.CreateMul(b_.CreateZExt(x, wide), llvm::ConstantInt::get(wide, factor.zext(64)));
    return b_.CreateTrunc(b_.CreateLShr(product, 32), x->getType());
  }

  /// By halves of 32 bits, which have products of 64. No sum overflows: (2^32 - 1)^2 + 2^32 - 1 < 2^64.
  Value* HighOfLongs(Value* x, uint64_t factor) {
    const uint64_t low = 0xffffffff;
    const auto low_of = [&](Value* v) { return b_.CreateAnd(v, Splat(v, low)); };
    const auto high_of = [&](Value* v) { return b_.CreateLShr(v, 32); };
    Value* const factor_low = Splat(x, factor & low);
    Value* const factor_high = Splat(x, factor >> 32);
    Value* const x_low = low_of(x);
    Value* const x_high = high_of(x);
    Value* const carried = high_of(b_.CreateMul(x_low, factor_low));
    Value* const one = b_.CreateAdd(b_.CreateMul(x_high, factor_low), carried);
    Value* const other = b_.CreateAdd(b_.CreateMul(x_low, factor_high), low_of(one));
    return b_.CreateAdd(b_.CreateMul(x_high, factor_high), b_.CreateAdd(high_of(one), high_of(other)));
  }

  // Products with reciprocals whose rounding no dividend can see (Granlund and Montgomery, PLDI 1994).
  // `zeros`: how many of x's upper bits are zero.
  Value* Quotient(Value* x, const llvm::APInt& divisor, unsigned zeros) {
    if (divisor.isPowerOf2()) return b_.CreateLShr(x, divisor.logBase2());
    const auto magic = llvm::UnsignedDivisionByConstantInfo::get(divisor, zeros);
    Value* q = High(magic.PreShift == 0 ? x : b_.CreateLShr(x, magic.PreShift), magic.Magic);
    // (x - q) / 2 + q, which cannot overflow.
    if (magic.IsAdd) q = b_.CreateAdd(b_.CreateLShr(b_.CreateSub(x, q), 1), q);
    return magic.PostShift == 0 ? q : b_.CreateLShr(q, magic.PostShift);
  }

  Value* SignedQuotient(Value* x, const llvm::APInt& divisor) {
    const llvm::APInt size = divisor.abs();
    const unsigned bits = size.getBitWidth();
    Value* q = x;
    Value* sign = b_.CreateAShr(x, bits - 1);
    if (size.isPowerOf2() && size != 1) {
      // Towards zero: numbers below it are raised by what a shift would round down.
      const unsigned by = size.logBase2();
      q = b_.CreateAShr(b_.CreateAdd(x, b_.CreateLShr(sign, bits - by)), by);
    } else if (size != 1) {
      // The product with sign is the one without, less the factor where x < 0, less x where the factor is negative; and
      // for those factors x is to be added.
      const auto magic = llvm::SignedDivisionByConstantInfo::get(size);
      q = b_.CreateSub(High(x, magic.Magic), b_.CreateAnd(sign, Splat(x, magic.Magic)));
      if (magic.ShiftAmount != 0) q = b_.CreateAShr(q, magic.ShiftAmount);
      q = b_.CreateSub(q, sign);
    }
    return divisor.isNegative() ? b_.CreateNeg(q) : q;
  }

  static bool ComesInPairs(const Value* x) {
    return llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements() % 2 == 0;
  }
  /// `x` in lanes twice as wide, two of its lanes in each; null where their number is odd.
  Value* InPairs(Value* x) {
    if (!ComesInPairs(x)) return nullptr;
    auto* vector = llvm::cast<llvm::FixedVectorType>(x->getType());
    llvm::Type* wider = b_.getIntNTy(2 * vector->getScalarSizeInBits());
    return b_.CreateBitCast(x, llvm::FixedVectorType::get(wider, vector->getNumElements() / 2));
  }

  /// Lanes of bytes, and with AVX2 of words by amounts of their own, which are below their width: what comes from the
  /// neighbour is masked out.
  Value* Shift(Instruction& inst) {
    Value* const x = inst.getOperand(0);
    const unsigned bits = x->getType()->getScalarSizeInBits();
    const auto opcode = static_cast<Instruction::BinaryOps>(inst.getOpcode());
    const llvm::APInt* const number = Selector::NumberOf(inst.getOperand(1));
    if (number != nullptr) return bits == 8 ? ShiftBytes(opcode, x, number->getZExtValue()) : nullptr;
    if (bits != 8 && (bits != 16 || !avx2_)) return nullptr;
    if (!ComesInPairs(x)) return nullptr;
    if (bits == 8 && avx2_) {
      // By four, by two and by one, where the amount says so.
      Value* shifted = x;
      for (const uint64_t by : {4, 2, 1}) {
        Value* asked = b_.CreateICmpNE(b_.CreateAnd(inst.getOperand(1), Splat(x, by)), Splat(x, 0));
        shifted = b_.CreateSelect(asked, ShiftBytes(opcode, shifted, by), shifted);
      }
      return shifted;
    }
    // The upper lane of each pair where it is, the lower one alone, signed ones from where the upper one is.
    Value* const pairs = InPairs(x);
    Value* const amounts = InPairs(inst.getOperand(1));
    const uint64_t low = (uint64_t{1} << bits) - 1;
    Value* upper = opcode == Instruction::Shl ? b_.CreateAnd(pairs, Splat(pairs, low << bits)) : pairs;
    upper = b_.CreateBinOp(opcode, upper, b_.CreateLShr(amounts, bits));
    Value* amount = b_.CreateAnd(amounts, Splat(pairs, low));
    Value* lower = nullptr;
    if (opcode == Instruction::AShr) {
      lower = b_.CreateLShr(b_.CreateAShr(b_.CreateShl(pairs, bits), amount), bits);
    } else {
      lower = b_.CreateBinOp(opcode, b_.CreateAnd(pairs, Splat(pairs, low)), amount);
    }
    upper = b_.CreateAnd(upper, Splat(pairs, low << bits));
    return b_.CreateBitCast(b_.CreateOr(upper, b_.CreateAnd(lower, Splat(pairs, low))), x->getType());
  }

  Value* ShiftBytes(Instruction::BinaryOps opcode, Value* x, uint64_t by) {
    Value* words = InPairs(x);
    if (words == nullptr || by > 7) return nullptr;
    const bool left = opcode == Instruction::Shl;
    Value* shifted = b_.CreateBinOp(left ? Instruction::Shl : Instruction::LShr, words, Splat(words, by));
    shifted = b_.CreateBitCast(shifted, x->getType());
    shifted = b_.CreateAnd(shifted, Splat(x, left ? 0xffu << by : 0xffu >> by));
    if (opcode != Instruction::AShr) return shifted;
    // The sign's bit, where it has gone to, becomes all those above it.
    Value* sign = Splat(x, 0x80u >> by);
    return b_.CreateSub(b_.CreateXor(shifted, sign), sign);
  }

  /// Below the first one all bits become ones; the rest is counted.
  Value* CountLeadingZeros(Value* x) {
    const unsigned bits = x->getType()->getScalarSizeInBits();
    if ((bits >= 32 && !avx2_) || bits % 8 != 0 || bits > 64) return nullptr;
    for (unsigned by = 1; by < bits; by *= 2) {
      Value* below = bits == 8 ? ShiftBytes(Instruction::LShr, x, by) : b_.CreateLShr(x, by);
      if (below == nullptr) return nullptr;
      x = b_.CreateOr(x, below);
    }
    return CountBits(b_.CreateNot(x));
  }

  Value* CountBits(Value* x) {
    const unsigned bits = x->getType()->getScalarSizeInBits();
    if (bits % 8 != 0 || bits > 64) return nullptr;
    return b_.CreateIntrinsic(llvm::Intrinsic::ctpop, {x->getType()}, {x});
  }

  llvm::Function& fn_;
  const bool avx2_;
  llvm::IRBuilder<> b_;
  /// By block, dividend, divisor and whether they have signs.
  std::map<std::tuple<llvm::BasicBlock*, Value*, Value*, bool>, Value*> quotients_;
  /// Of those that are rounded down, by block, dividend and divisor.
  std::map<std::tuple<llvm::BasicBlock*, Value*, Value*>, Value*> floors_;
};

}  // namespace

void Expand(llvm::Function& function, bool avx2) { Expander(function, avx2).Run(); }

}  // namespace tenon::emit_llvm::x64
