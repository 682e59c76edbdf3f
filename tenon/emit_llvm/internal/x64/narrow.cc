#include "tenon/emit_llvm/internal/x64/narrow.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tenon::emit_llvm::x64 {

using llvm::cast;
using llvm::Constant;
using llvm::dyn_cast;
using llvm::Instruction;
using llvm::isa;
using llvm::Value;

namespace {

/// So many operations on the way to a number tell its range.
constexpr int kRangeDepth = 4;

struct Range {
  int64_t low;
  int64_t high;
  bool FitsIn32() const {
    return low >= std::numeric_limits<int32_t>::min() && high <= std::numeric_limits<int32_t>::max();
  }
};

Range FullRange(const llvm::Type* type) {
  const unsigned bits = type->getScalarSizeInBits();
  if (bits >= 64) return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

/// What the lanes may hold, as signed numbers.
Range RangeOf(const Value* v, int depth) {
  const Range full = FullRange(v->getType());
  if (auto* c = dyn_cast<Constant>(v)) {
    auto* type = dyn_cast<llvm::FixedVectorType>(v->getType());
    Range all{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    for (unsigned i = 0; i < (type == nullptr ? 1 : type->getNumElements()); ++i) {
      auto* lane = dyn_cast_or_null<llvm::ConstantInt>(type == nullptr ? c : c->getAggregateElement(i));
      if (lane == nullptr || lane->getBitWidth() > 64) return full;
      all = {std::min(all.low, lane->getSExtValue()), std::max(all.high, lane->getSExtValue())};
    }
    return all;
  }
  auto* inst = dyn_cast<Instruction>(v);
  if (inst == nullptr || depth == 0) return full;
  const auto of = [&](unsigned i) { return RangeOf(inst->getOperand(i), depth - 1); };
  switch (inst->getOpcode()) {
    case Instruction::SExt:
      return of(0);
    case Instruction::ZExt: {
      const Range r = of(0);
      const unsigned bits = inst->getOperand(0)->getType()->getScalarSizeInBits();
      if (r.low >= 0) return r;
      return bits < 63 ? Range{0, (int64_t{1} << bits) - 1} : full;
    }
    case Instruction::And: {
      const Range r = of(1);
      return r.low >= 0 ? Range{0, r.high} : full;
    }
    case Instruction::LShr: {
      auto* by = dyn_cast<Constant>(inst->getOperand(1));
      const Range r = by == nullptr ? Range{0, 0} : RangeOf(by, 1);
      const unsigned bits = v->getType()->getScalarSizeInBits();
      if (r.low != r.high || r.low <= 0 || r.low >= bits) return full;
      return {0, static_cast<int64_t>((bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1) >> r.low)};
    }
    case Instruction::Trunc: {
      const Range r = of(0);
      return r.low >= full.low && r.high <= full.high ? r : full;
    }
    case Instruction::Select: {
      const Range a = of(1);
      Range b = of(2);
      // Who is not above a limit, as a number without sign.
      auto* above = dyn_cast<llvm::ICmpInst>(inst->getOperand(0));
      if (above != nullptr && above->getPredicate() == llvm::CmpInst::ICMP_UGT &&
          above->getOperand(0) == inst->getOperand(2) && isa<Constant>(above->getOperand(1))) {
        const Range limit = RangeOf(above->getOperand(1), 1);
        if (limit.low >= 0) b = {std::max<int64_t>(b.low, 0), std::min(b.high, limit.high)};
      }
      return {std::min(a.low, b.low), std::max(a.high, b.high)};
    }
    case Instruction::Call: {
      auto* call = dyn_cast<llvm::IntrinsicInst>(inst);
      if (call == nullptr) return full;
      if (call->getIntrinsicID() == llvm::Intrinsic::smax) {
        const Range a = of(0);
        const Range b = of(1);
        return {std::max(a.low, b.low), std::max(a.high, b.high)};
      }
      if (call->getIntrinsicID() == llvm::Intrinsic::smin) {
        const Range a = of(0);
        const Range b = of(1);
        return {std::min(a.low, b.low), std::min(a.high, b.high)};
      }
      return full;
    }
    default:
      return full;
  }
}

bool IsVectorOfLongs(const llvm::Type* type) { return type->isVectorTy() && type->getScalarSizeInBits() == 64; }

/// The same lanes in 32 bits; null when they are not numbers of 32 bits that were made longer.
Value* In32(llvm::IRBuilder<>& b, Value* v) {
  llvm::Type* const narrow = llvm::VectorType::get(b.getInt32Ty(), cast<llvm::VectorType>(v->getType()));
  if (auto* c = dyn_cast<Constant>(v)) {
    return RangeOf(c, 1).FitsIn32() ? llvm::ConstantExpr::getTrunc(c, narrow) : nullptr;
  }
  if (auto* sext = dyn_cast<llvm::SExtInst>(v)) {
    Value* const from = sext->getOperand(0);
    const unsigned bits = from->getType()->getScalarSizeInBits();
    return bits == 32 ? from : bits == 8 || bits == 16 ? b.CreateSExt(from, narrow) : nullptr;
  }
  if (auto* zext = dyn_cast<llvm::ZExtInst>(v)) {
    Value* const from = zext->getOperand(0);
    const unsigned bits = from->getType()->getScalarSizeInBits();
    if (bits == 32) return RangeOf(from, kRangeDepth).low >= 0 ? from : nullptr;
    return bits == 8 || bits == 16 ? b.CreateZExt(from, narrow) : nullptr;
  }
  return nullptr;
}

/// Clamps of longs that were 32 bits before, as clamps of 32 bits.
Value* NarrowClamp(Instruction& inst) {
  auto* call = dyn_cast<llvm::IntrinsicInst>(&inst);
  if (call == nullptr || !IsVectorOfLongs(inst.getType())) return nullptr;
  const llvm::Intrinsic::ID id = call->getIntrinsicID();
  if (id != llvm::Intrinsic::smin && id != llvm::Intrinsic::smax) return nullptr;
  llvm::IRBuilder<> b(&inst);
  Value* const x = In32(b, call->getArgOperand(0));
  Value* const y = x == nullptr ? nullptr : In32(b, call->getArgOperand(1));
  return y == nullptr ? nullptr : b.CreateSExt(b.CreateBinaryIntrinsic(id, x, y), inst.getType());
}

/// A number between 0 and `most` stays, below is 0, above is `most`: min(max(x, 0), most) of one number, whose steps do
/// not wait for one another; in 32 bits, if it had no more before. An index from the end (x < 0 ? x + most + 1 : x) is
/// too low only where x is.
Value* ShortClamp(Instruction& inst) {
  auto* least = dyn_cast<llvm::IntrinsicInst>(&inst);
  if (least == nullptr || least->getIntrinsicID() != llvm::Intrinsic::smin || !inst.getType()->isIntegerTy())
    return nullptr;
  auto* most = dyn_cast<llvm::ConstantInt>(least->getArgOperand(1));
  auto* raised = dyn_cast<llvm::IntrinsicInst>(least->getArgOperand(0));
  if (most == nullptr || raised == nullptr || raised->getIntrinsicID() != llvm::Intrinsic::smax ||
      most->getBitWidth() < 32 || most->isNegative() || !most->getValue().isSignedIntN(32))
    return nullptr;
  auto* zero = dyn_cast<Constant>(raised->getArgOperand(1));
  if (zero == nullptr || !zero->isNullValue()) return nullptr;
  llvm::IRBuilder<> b(&inst);
  Value* x = raised->getArgOperand(0);
  if (auto* sext = dyn_cast<llvm::SExtInst>(x); sext != nullptr && sext->getOperand(0)->getType()->isIntegerTy(32))
    x = sext->getOperand(0);
  Value* before = x;
  auto* wrapped = dyn_cast<llvm::SelectInst>(x);
  if (wrapped != nullptr && isa<llvm::ICmpInst>(wrapped->getCondition())) {
    auto* below = cast<llvm::ICmpInst>(wrapped->getCondition());
    auto* sum = dyn_cast<llvm::BinaryOperator>(wrapped->getTrueValue());
    Value* const from = wrapped->getFalseValue();
    auto* extent = sum == nullptr || sum->getOpcode() != Instruction::Add || sum->getOperand(0) != from
                       ? nullptr
                       : dyn_cast<llvm::ConstantInt>(sum->getOperand(1));
    auto* limit = dyn_cast<Constant>(below->getOperand(1));
    if (extent != nullptr && !extent->isNegative() && extent->getSExtValue() - 1 <= most->getSExtValue() &&
        below->getPredicate() == llvm::CmpInst::ICMP_SLT && below->getOperand(0) == from && limit != nullptr &&
        limit->isNullValue())
      before = from;
  }
  const Range range = RangeOf(x, kRangeDepth);
  if (range.low >= 0 && range.high <= most->getSExtValue()) return b.CreateZExt(x, inst.getType());
  auto* const limit = llvm::ConstantInt::get(x->getType(), static_cast<uint64_t>(most->getSExtValue()));
  Value* const negative = b.CreateAShr(before, x->getType()->getScalarSizeInBits() - 1);
  Value* const outside = b.CreateAnd(b.CreateNot(negative), limit);
  Value* const clamped = b.CreateSelect(b.CreateICmpUGT(x, limit), outside, x);
  return b.CreateZExt(clamped, inst.getType());
}

/// What is made longer and then shorter, at once.
Value* ShortTrunc(Instruction& inst) {
  if (!isa<llvm::TruncInst>(inst)) return nullptr;
  auto* longer = dyn_cast<llvm::CastInst>(inst.getOperand(0));
  if (longer == nullptr || !(isa<llvm::SExtInst>(longer) || isa<llvm::ZExtInst>(longer))) return nullptr;
  llvm::IRBuilder<> b(&inst);
  Value* const from = longer->getOperand(0);
  return isa<llvm::SExtInst>(longer) ? b.CreateSExtOrTrunc(from, inst.getType())
                                     : b.CreateZExtOrTrunc(from, inst.getType());
}

/// A comparison with a constant that the other operand's range decides.
Value* KnownComparison(Instruction& inst) {
  auto* cmp = dyn_cast<llvm::ICmpInst>(&inst);
  if (cmp == nullptr || !isa<Constant>(cmp->getOperand(1)) || !cmp->getOperand(0)->getType()->isIntOrIntVectorTy())
    return nullptr;
  const Range x = RangeOf(cmp->getOperand(0), kRangeDepth), y = RangeOf(cmp->getOperand(1), 1);
  if (cmp->isUnsigned() && (x.low < 0 || y.low < 0)) return nullptr;
  const auto known = [&](bool yes, bool no) -> Value* {
    return yes || no ? llvm::ConstantInt::getBool(cmp->getType(), yes) : nullptr;
  };
  switch (cmp->getPredicate()) {
    case llvm::CmpInst::ICMP_ULT:
    case llvm::CmpInst::ICMP_SLT:
      return known(x.high < y.low, x.low >= y.high);
    case llvm::CmpInst::ICMP_UGT:
    case llvm::CmpInst::ICMP_SGT:
      return known(x.low > y.high, x.high <= y.low);
    case llvm::CmpInst::ICMP_ULE:
    case llvm::CmpInst::ICMP_SLE:
      return known(x.high <= y.low, x.low > y.high);
    case llvm::CmpInst::ICMP_UGE:
    case llvm::CmpInst::ICMP_SGE:
      return known(x.low >= y.high, x.high < y.low);
    default:
      return nullptr;
  }
}

/// One summand of an offset: `lanes` (32 bits; null: `constant`) times `factor`.
struct Term {
  Value* lanes = nullptr;
  Constant* constant = nullptr;
  int64_t factor = 1;
};

bool CollectTerms(llvm::IRBuilder<>& b, Value* v, int64_t factor, llvm::SmallVectorImpl<Term>& terms) {
  if (terms.size() >= 4) return false;
  if (auto* c = dyn_cast<Constant>(v)) {
    terms.push_back({nullptr, c, factor});
    return true;
  }
  if (auto* binary = dyn_cast<llvm::BinaryOperator>(v)) {
    if (binary->getOpcode() == Instruction::Add)
      return CollectTerms(b, binary->getOperand(0), factor, terms) &&
             CollectTerms(b, binary->getOperand(1), factor, terms);
    auto* c = dyn_cast<Constant>(binary->getOperand(1));
    auto* splat = c == nullptr ? nullptr : dyn_cast_or_null<llvm::ConstantInt>(c->getSplatValue());
    if (splat == nullptr) return false;
    const int64_t by = splat->getSExtValue();
    if (binary->getOpcode() == Instruction::Mul && by > 0 && by < (int64_t{1} << 31) && factor < (int64_t{1} << 31))
      return CollectTerms(b, binary->getOperand(0), factor * by, terms);
    return false;
  }
  if (Value* lanes = In32(b, v)) {
    terms.push_back({lanes, nullptr, factor});
    return true;
  }
  return false;
}

}  // namespace

Value* Narrowed(Instruction& inst) {
  Value* other = KnownComparison(inst);
  if (other == nullptr) other = NarrowClamp(inst);
  if (other == nullptr) other = ShortTrunc(inst);
  return other != nullptr ? other : ShortClamp(inst);
}

void ShortenShift(Instruction& inst) {
  if (!inst.isShift() || !inst.getType()->isIntegerTy()) return;
  auto* amount = dyn_cast<llvm::SelectInst>(inst.getOperand(1));
  auto* near = amount == nullptr ? nullptr : dyn_cast<llvm::ICmpInst>(amount->getCondition());
  const unsigned bits = inst.getType()->getIntegerBitWidth();
  auto* most = near == nullptr ? nullptr : dyn_cast<llvm::ConstantInt>(near->getOperand(1));
  if (most == nullptr || near->getPredicate() != llvm::CmpInst::ICMP_ULT ||
      near->getOperand(0) != amount->getTrueValue() || most->getValue() != bits || (bits & (bits - 1)) != 0)
    return;
  for (llvm::User* user : inst.users()) {
    auto* select = dyn_cast<llvm::SelectInst>(user);
    if (select == nullptr || select->getCondition() != near || select->getTrueValue() != &inst ||
        select->getFalseValue() == &inst)
      return;
  }
  llvm::IRBuilder<> b(&inst);
  inst.setOperand(1, b.CreateAnd(near->getOperand(0), llvm::ConstantInt::get(inst.getType(), bits - 1)));
}

Value* NarrowOffsets(Instruction& inst, Value* offsets) {
  if (!IsVectorOfLongs(offsets->getType()) || isa<Constant>(offsets)) return nullptr;
  llvm::IRBuilder<> b(&inst);
  llvm::SmallVector<Term, 4> terms;
  if (!CollectTerms(b, offsets, 1, terms)) return nullptr;
  int64_t scale = 8;
  for (const Term& t : terms) {
    int64_t bits = t.factor;
    if (t.constant != nullptr) {
      auto* type = cast<llvm::FixedVectorType>(t.constant->getType());
      int64_t all = 0;
      for (unsigned i = 0; i < type->getNumElements(); ++i) {
        auto* lane = dyn_cast_or_null<llvm::ConstantInt>(t.constant->getAggregateElement(i));
        if (lane == nullptr) return nullptr;
        all |= lane->getSExtValue();
      }
      bits = t.factor * (all & 7);
      if (bits == 0) bits = 8;
    }
    while (bits % scale != 0) scale /= 2;
  }
  // The sum must fit; so do its parts then, or they wrap and come back.
  __int128 low = 0;
  __int128 high = 0;
  for (const Term& t : terms) {
    const Range r = t.constant != nullptr ? RangeOf(t.constant, 1) : RangeOf(t.lanes, 6);
    low += static_cast<__int128>(r.low) * t.factor;
    high += static_cast<__int128>(r.high) * t.factor;
  }
  if (low / scale < std::numeric_limits<int32_t>::min() || high / scale > std::numeric_limits<int32_t>::max())
    return nullptr;
  auto* narrow = llvm::VectorType::get(b.getInt32Ty(), cast<llvm::VectorType>(offsets->getType()));
  const auto splat = [&](int64_t by, llvm::Type* type) {
    return llvm::ConstantInt::get(type, static_cast<uint64_t>(by), true);
  };
  Value* sum = nullptr;
  for (const Term& t : terms) {
    Value* part = nullptr;
    if (t.constant != nullptr) {
      auto* type = cast<llvm::FixedVectorType>(t.constant->getType());
      llvm::SmallVector<Constant*, 16> lanes;
      for (unsigned i = 0; i < type->getNumElements(); ++i) {
        const int64_t lane = cast<llvm::ConstantInt>(t.constant->getAggregateElement(i))->getSExtValue();
        lanes.push_back(b.getInt32(static_cast<uint32_t>(lane * t.factor / scale)));
      }
      part = llvm::ConstantVector::get(lanes);
    } else {
      const int64_t by = t.factor / scale;
      part = t.factor % scale != 0 ? nullptr : by == 1 ? t.lanes : b.CreateMul(t.lanes, splat(by, narrow));
    }
    if (part == nullptr) return nullptr;
    sum = sum == nullptr ? part : b.CreateAdd(sum, part);
  }
  Value* const wide = b.CreateSExt(sum, offsets->getType());
  return scale == 1 ? wide : b.CreateMul(wide, splat(scale, offsets->getType()));
}

}  // namespace tenon::emit_llvm::x64
