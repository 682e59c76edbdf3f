#include "tenon/emit_llvm/internal/x64/prepare.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "tenon/emit_llvm/internal/x64/branches.h"

namespace tenon::emit_llvm::x64 {
namespace {

using llvm::cast;
using llvm::Constant;
using llvm::dyn_cast;
using llvm::Instruction;
using llvm::isa;
using llvm::Value;

// --- constants

/// Whether the number is what every machine makes of it, whatever it does with subnormal numbers and NaNs.
bool IsPlain(const Constant* c) {
  if (auto* f = dyn_cast<llvm::ConstantFP>(c); f != nullptr && !f->getType()->isVectorTy()) {
    const llvm::APFloat& v = f->getValueAPF();
    if (v.isZero() || v.isInfinity()) return true;
    // Beside the smallest normal number it matters when a result is found to be too small.
    return !v.isNaN() && llvm::ilogb(v) > llvm::APFloat::semanticsMinExponent(v.getSemantics()) + 1;
  }
  if (isa<llvm::ConstantInt>(c) && !c->getType()->isVectorTy()) return true;
  auto* type = dyn_cast<llvm::FixedVectorType>(c->getType());
  if (type == nullptr) return false;
  if (const Constant* splat = c->getSplatValue()) return splat != c && IsPlain(splat);
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    const Constant* element = c->getAggregateElement(i);
    if (element == nullptr || !IsPlain(element)) return false;
  }
  return true;
}

Constant* Fold(Instruction& inst, const llvm::DataLayout& layout) {
  if (auto* shuffle = dyn_cast<llvm::ShuffleVectorInst>(&inst); shuffle != nullptr && shuffle->isZeroEltSplat()) {
    auto* insert = dyn_cast<llvm::InsertElementInst>(shuffle->getOperand(0));
    auto* scalar = insert == nullptr ? nullptr : dyn_cast<Constant>(insert->getOperand(1));
    if (scalar == nullptr || !IsPlain(scalar)) return nullptr;
    return llvm::ConstantVector::getSplat(cast<llvm::VectorType>(inst.getType())->getElementCount(), scalar);
  }
  switch (inst.getOpcode()) {
    case Instruction::PHI:
    case Instruction::Load:
    case Instruction::Alloca:
    case Instruction::GetElementPtr:
    case Instruction::ShuffleVector:
    case Instruction::InsertElement:
      return nullptr;
    default:
      break;
  }
  if (inst.getType()->isVoidTy() || inst.isTerminator()) return nullptr;
  auto* call = dyn_cast<llvm::CallInst>(&inst);
  if (call != nullptr && (!isa<llvm::IntrinsicInst>(call) || !call->doesNotAccessMemory())) return nullptr;
  const unsigned n = call != nullptr ? call->arg_size() : inst.getNumOperands();
  for (unsigned i = 0; i < n; ++i) {
    auto* constant = dyn_cast<Constant>(inst.getOperand(i));
    if (constant == nullptr || !IsPlain(constant)) return nullptr;
  }
  Constant* folded = llvm::ConstantFoldInstruction(&inst, layout);
  return folded != nullptr && IsPlain(folded) ? folded : nullptr;
}

/// "Not so", asked of a comparison of integers: the other comparison.
Value* Inverted(Instruction& inst) {
  auto* asked = dyn_cast<llvm::ICmpInst>(&inst);
  if (asked == nullptr || asked->getPredicate() != llvm::CmpInst::ICMP_EQ ||
      !asked->getOperand(0)->getType()->isIntegerTy(1))
    return nullptr;
  auto* of = dyn_cast<llvm::ICmpInst>(asked->getOperand(0));
  auto* no = dyn_cast<Constant>(asked->getOperand(1));
  if (of == nullptr || no == nullptr || !no->isNullValue()) return nullptr;
  return llvm::IRBuilder<>(&inst).CreateICmp(of->getInversePredicate(), of->getOperand(0), of->getOperand(1));
}

/// The operand that the operation gives unchanged, or the constant that it always gives.
Value* Same(Instruction& inst) {
  if (auto* select = dyn_cast<llvm::SelectInst>(&inst)) {
    auto* condition = dyn_cast<Constant>(select->getCondition());
    if (condition == nullptr) return nullptr;
    if (condition->isNullValue()) return select->getFalseValue();
    return condition->isAllOnesValue() ? select->getTrueValue() : nullptr;
  }
  auto* binary = dyn_cast<llvm::BinaryOperator>(&inst);
  if (binary == nullptr || !binary->getType()->isIntOrIntVectorTy()) return nullptr;
  Value* x = binary->getOperand(0);
  auto* c = dyn_cast<Constant>(binary->getOperand(1));
  if (c == nullptr && binary->isCommutative()) {
    c = dyn_cast<Constant>(x);
    x = binary->getOperand(1);
  }
  if (c == nullptr) return nullptr;
  switch (binary->getOpcode()) {
    case Instruction::Add:
    case Instruction::Sub:
    case Instruction::Xor:
    case Instruction::Shl:
    case Instruction::LShr:
    case Instruction::AShr:
      return c->isNullValue() ? x : nullptr;
    case Instruction::Or:
      return c->isNullValue() ? x : c->isAllOnesValue() ? c : nullptr;
    case Instruction::And:
      return c->isNullValue() ? c : c->isAllOnesValue() ? x : nullptr;
    case Instruction::Mul:
      return c->isNullValue() ? c : c->isOneValue() ? x : nullptr;
    default:
      return nullptr;
  }
}

// --- offsets in 32 bits

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
    case Instruction::Select: {
      const Range a = of(1);
      const Range b = of(2);
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

/// Of a shift whose result does not count where it is too far (`far ? 0 : x << (far ? 0 : n)`), so many places as the
/// machine would take anyway.
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

/// Offsets in bytes of a gather or scatter as 32-bit numbers times what an address may be scaled by; null when they
/// may not fit.
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

// --- what a block computes or reads twice

/// The parameter that points to the local memory of the kernel (emit.h).
constexpr unsigned kLocalMemory = 4;

/// Where a pointer points: into memory that nobody else has a pointer to, an array of the function's own or the
/// kernel's local memory, or anywhere else (`array` null).
struct Spot {
  const Value* array = nullptr;
  int64_t offset = -1;  ///< Bytes from its start; -1: not known.
};
Spot SpotOf(const Value* pointer, const llvm::DataLayout& layout) {
  Spot spot{.offset = 0};
  while (auto* gep = dyn_cast<llvm::GetElementPtrInst>(pointer)) {
    llvm::APInt bytes(64, 0);
    if (spot.offset >= 0 && !gep->getType()->isVectorTy() && gep->accumulateConstantOffset(layout, bytes)) {
      spot.offset += bytes.getSExtValue();
    } else {
      spot.offset = -1;
    }
    pointer = gep->getPointerOperand();
  }
  auto* argument = dyn_cast<llvm::Argument>(pointer);
  if (isa<llvm::AllocaInst>(pointer) || (argument != nullptr && argument->getArgNo() == kLocalMemory))
    spot.array = pointer;
  return spot;
}

/// The pointer, or pointers, that an instruction writes through; null: there is none to name.
const Value* WrittenThrough(const Instruction& inst) {
  if (auto* store = dyn_cast<llvm::StoreInst>(&inst)) return store->getPointerOperand();
  auto* call = dyn_cast<llvm::IntrinsicInst>(&inst);
  if (call == nullptr) return nullptr;
  const llvm::Intrinsic::ID id = call->getIntrinsicID();
  return id == llvm::Intrinsic::masked_store || id == llvm::Intrinsic::masked_scatter ? call->getArgOperand(1)
                                                                                      : nullptr;
}

class Shared {
 public:
  explicit Shared(const llvm::DataLayout& layout) : layout_(layout) {}

  /// What the instruction gives and the block has already, or null; then it is remembered.
  Value* Find(Instruction& inst) {
    if (inst.mayWriteToMemory()) {
      Write(inst);
      return nullptr;
    }
    const bool reads = inst.mayReadFromMemory();
    if (reads) {
      // Of intrinsics: masked loads and gathers.
      auto* load = dyn_cast<llvm::LoadInst>(&inst);
      if (load == nullptr ? !isa<llvm::IntrinsicInst>(inst) : !load->isSimple()) return nullptr;
      if (load != nullptr) {
        const Spot spot = SpotOf(load->getPointerOperand(), layout_);
        if (spot.array != nullptr) return spot.offset < 0 ? nullptr : ReadArray(spot, *load);
      }
    } else if (!isa<llvm::GetElementPtrInst>(inst) && !isa<llvm::BinaryOperator>(inst) && !isa<llvm::CastInst>(inst) &&
               !isa<llvm::UnaryOperator>(inst)) {
      return nullptr;  // selection finds these
    }
    size_t hash = llvm::hash_combine(inst.getOpcode(), inst.getType());
    for (const llvm::Use& operand : inst.operands()) hash = llvm::hash_combine(hash, operand.get());
    auto [it, fresh] = (reads ? reads_ : values_).try_emplace(hash, &inst);
    if (fresh) return nullptr;
    if (it->second->isIdenticalTo(&inst)) return it->second;
    it->second = &inst;
    return nullptr;
  }
  void Clear() {
    reads_.clear();
    values_.clear();
    stored_.clear();
  }

 private:
  /// What lies at known places in such memory, as long as it is little.
  struct Stored {
    Spot spot;
    int64_t bytes;
    Value* value;
  };
  static constexpr size_t kMaxStored = 64;

  int64_t Bytes(const llvm::Type* type) const {
    return static_cast<int64_t>(layout_.getTypeStoreSize(const_cast<llvm::Type*>(type)).getFixedValue());
  }
  void Write(Instruction& inst) {
    const Value* pointer = WrittenThrough(inst);
    if (pointer == nullptr) {
      reads_.clear();
      stored_.clear();
      return;
    }
    const Spot spot = SpotOf(pointer, layout_);
    if (spot.array == nullptr) {
      reads_.clear();  // nobody else knows where the arrays are
      return;
    }
    auto* store = dyn_cast<llvm::StoreInst>(&inst);
    const int64_t bytes = store == nullptr ? 0 : Bytes(store->getValueOperand()->getType());
    const bool known = store != nullptr && store->isSimple() && spot.offset >= 0;
    std::erase_if(stored_, [&](const Stored& s) {
      return s.spot.array == spot.array &&
             (!known || (s.spot.offset < spot.offset + bytes && spot.offset < s.spot.offset + s.bytes));
    });
    if (known && stored_.size() < kMaxStored) stored_.push_back({spot, bytes, store->getValueOperand()});
  }
  Value* ReadArray(const Spot& spot, llvm::LoadInst& load) {
    for (const Stored& s : stored_) {
      if (s.spot.array == spot.array && s.spot.offset == spot.offset && s.value->getType() == load.getType())
        return s.value;
    }
    if (stored_.size() < kMaxStored) stored_.push_back({spot, Bytes(load.getType()), &load});
    return nullptr;
  }

  const llvm::DataLayout& layout_;
  llvm::DenseMap<size_t, Instruction*> reads_;
  llvm::DenseMap<size_t, Instruction*> values_;
  std::vector<Stored> stored_;
};

/// Arrays that are only ever written.
void RemoveUnreadArrays(llvm::Function& fn) {
  for (Instruction& inst : llvm::make_early_inc_range(fn.getEntryBlock())) {
    if (!isa<llvm::AllocaInst>(inst)) continue;
    llvm::SmallVector<Instruction*, 16> users{&inst};
    bool unread = true;
    for (size_t i = 0; i < users.size() && unread; ++i) {
      for (llvm::User* user : users[i]->users()) {
        auto* store = dyn_cast<llvm::StoreInst>(user);
        if (store != nullptr ? store->getValueOperand() == users[i] : !isa<llvm::GetElementPtrInst>(user))
          unread = false;
        users.push_back(cast<Instruction>(user));
      }
    }
    if (!unread) continue;
    for (size_t i = users.size(); i-- > 1;) {
      if (isa<llvm::StoreInst>(users[i])) users[i]->eraseFromParent();
    }
  }
}

// --- the passes

void Simplify(llvm::Function& fn) {
  const llvm::DataLayout& layout = fn.getParent()->getDataLayout();
  Shared shared(layout);
  for (llvm::BasicBlock& block : fn) {
    shared.Clear();
    for (Instruction& inst : llvm::make_early_inc_range(block)) {
      Value* other = Fold(inst, layout);
      if (other == nullptr) other = Same(inst);
      if (other == nullptr) other = Inverted(inst);
      if (other == nullptr) other = KnownComparison(inst);
      if (other == nullptr) other = NarrowClamp(inst);
      if (other == nullptr) other = ShortClamp(inst);
      if (other == nullptr) other = shared.Find(inst);
      if (other != nullptr) {
        inst.replaceAllUsesWith(other);
        inst.eraseFromParent();
        continue;
      }
      ShortenShift(inst);
      auto* gep = dyn_cast<llvm::GetElementPtrInst>(&inst);
      if (gep == nullptr || !gep->getType()->isVectorTy() || gep->getNumIndices() != 1 ||
          !gep->getSourceElementType()->isIntegerTy(8))
        continue;
      if (Value* offsets = NarrowOffsets(inst, *gep->idx_begin())) gep->idx_begin()->set(offsets);
    }
  }
  RemoveUnreadArrays(fn);
  for (llvm::BasicBlock& block : llvm::reverse(fn)) {
    for (Instruction& inst : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (inst.use_empty() && !inst.isTerminator() && !inst.mayHaveSideEffects()) inst.eraseFromParent();
    }
  }
}

class Hoister {
 public:
  explicit Hoister(llvm::Function& fn) : fn_(fn) {}
  void Run() {
    FindLoops();
    if (loops_.empty()) return;
    for (size_t b = 0; b < blocks_.size(); ++b) {
      if (innermost_[b] < 0) continue;
      for (Instruction& inst : llvm::make_early_inc_range(*blocks_[b])) {
        if (!Movable(inst)) continue;
        llvm::BasicBlock* to = nullptr;
        for (int loop = innermost_[b]; loop >= 0; loop = loops_[static_cast<size_t>(loop)].around) {
          const Loop& l = loops_[static_cast<size_t>(loop)];
          if (l.before == nullptr || !Invariant(inst, l) || !RunsAlways(b, l)) break;
          to = l.before;
        }
        if (to != nullptr) inst.moveBefore(to->getTerminator()->getIterator());
      }
    }
  }

 private:
  struct Loop {
    size_t header;
    size_t last;
    llvm::BasicBlock* before = nullptr;  ///< From which alone the loop is entered; null: there is none.
    int around = -1;
  };

  /// Blocks stand in an order in which those of a loop follow each other.
  void FindLoops() {
    for (llvm::BasicBlock& block : fn_) {
      number_[&block] = blocks_.size();
      blocks_.push_back(&block);
    }
    innermost_.assign(blocks_.size(), -1);
    std::vector<llvm::SmallVector<size_t, 2>> previous(blocks_.size());
    for (size_t b = 0; b < blocks_.size(); ++b) {
      for (llvm::BasicBlock* next : llvm::successors(blocks_[b])) previous[number_[next]].push_back(b);
    }
    dominator_.assign(blocks_.size(), 0);
    for (size_t b = 1; b < blocks_.size(); ++b) {
      size_t meet = b;
      for (size_t p : previous[b]) {
        if (p >= b) continue;
        if (meet == b) meet = p;
        size_t other = p;
        while (meet != other) (meet > other ? meet : other) = dominator_[meet > other ? meet : other];
      }
      dominator_[b] = meet == b ? 0 : meet;
    }
    for (size_t h = 0; h < blocks_.size(); ++h) {
      Loop loop{.header = h, .last = h};
      bool found = false;
      llvm::SmallVector<size_t, 2> from;
      for (size_t p : previous[h]) {
        if (p < h) {
          from.push_back(p);
          continue;
        }
        found = true;
        loop.last = std::max(loop.last, p);
      }
      if (!found) continue;
      if (from.size() == 1 && blocks_[from[0]]->getSingleSuccessor() != nullptr) loop.before = blocks_[from[0]];
      loop.around = innermost_[h];
      for (size_t b = h; b <= loop.last; ++b) innermost_[b] = static_cast<int>(loops_.size());
      loops_.push_back(loop);
    }
  }
  static bool Movable(const Instruction& inst) {
    // Addresses are hoisted by whoever wrote them; masks have few registers; comparisons belong to their branches.
    if (inst.getType()->isIntOrIntVectorTy(1) || inst.getType()->isPtrOrPtrVectorTy()) return false;
    switch (inst.getOpcode()) {
      case Instruction::UDiv:
      case Instruction::SDiv:
      case Instruction::URem:
      case Instruction::SRem:
      case Instruction::PHI:
      case Instruction::Freeze:
        return false;
      case Instruction::Call: {
        auto* call = dyn_cast<llvm::IntrinsicInst>(&inst);
        return call != nullptr && call->doesNotAccessMemory() && !call->mayHaveSideEffects();
      }
      default:
        return isa<llvm::BinaryOperator>(inst) || isa<llvm::UnaryOperator>(inst) || isa<llvm::CastInst>(inst) ||
               isa<llvm::SelectInst>(inst) || isa<llvm::ShuffleVectorInst>(inst) ||
               isa<llvm::InsertElementInst>(inst) || isa<llvm::ExtractElementInst>(inst);
    }
  }
  bool Invariant(const Instruction& inst, const Loop& loop) const {
    for (const Value* operand : inst.operands()) {
      auto* defined = dyn_cast<Instruction>(operand);
      if (defined == nullptr) continue;
      const size_t b = number_.lookup(defined->getParent());
      if (b >= loop.header && b <= loop.last) return false;
    }
    return true;
  }
  bool RunsAlways(size_t b, const Loop& loop) const {
    size_t at = loop.last;
    while (at > b) at = dominator_[at];
    return at == b;
  }

  llvm::Function& fn_;
  llvm::SmallVector<llvm::BasicBlock*, 64> blocks_;
  llvm::DenseMap<const llvm::BasicBlock*, size_t> number_;
  std::vector<size_t> dominator_;
  std::vector<int> innermost_;
  std::vector<Loop> loops_;
};

}  // namespace

void Prepare(llvm::Function& function) {
  Simplify(function);
  Hoister(function).Run();
  MakeBranches(function);
}

}  // namespace tenon::emit_llvm::x64
