#include "tenon/emit_llvm/internal/x64/prepare.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/Analysis/VectorUtils.h>
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
#include "tenon/emit_llvm/internal/x64/loops.h"
#include "tenon/emit_llvm/internal/x64/narrow.h"

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
  if (llvm::Value* const splat = llvm::getSplatValue(&inst)) {
    auto* scalar = dyn_cast<Constant>(splat);
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
  if (auto* cmp = dyn_cast<llvm::ICmpInst>(&inst); cmp != nullptr) {
    Value *x = cmp->getOperand(0), *y = cmp->getOperand(1);
    if (x == y)
      return llvm::ConstantInt::get(cmp->getType(), llvm::CmpInst::isTrueWhenEqual(cmp->getPredicate()) ? 1 : 0);
    // A bit beside one that is known.
    if (!cmp->isEquality() || !x->getType()->isIntOrIntVectorTy(1)) return nullptr;
    if (isa<Constant>(x)) std::swap(x, y);
    auto* known = dyn_cast<Constant>(y);
    if (known == nullptr || !(known->isNullValue() || known->isAllOnesValue())) return nullptr;
    const bool same = known->isNullValue() == (cmp->getPredicate() == llvm::CmpInst::ICMP_NE);
    if (same) return x;
    return isa<llvm::FixedVectorType>(x->getType()) ? llvm::IRBuilder<>(cmp).CreateNot(x) : nullptr;
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
    auto* known = &values_;
    if (inst.mayReadFromMemory()) {
      // Of intrinsics: masked loads and gathers.
      auto* load = dyn_cast<llvm::LoadInst>(&inst);
      if (load == nullptr ? !isa<llvm::IntrinsicInst>(inst) : !load->isSimple()) return nullptr;
      const Spot spot = SpotOf(inst.getOperand(0), layout_);
      if (load != nullptr && spot.array != nullptr) return spot.offset < 0 ? nullptr : ReadArray(spot, *load);
      known = spot.array != nullptr ? &array_reads_ : &reads_;
    } else if (!isa<llvm::GetElementPtrInst>(inst) && !isa<llvm::BinaryOperator>(inst) && !isa<llvm::CastInst>(inst) &&
               !isa<llvm::UnaryOperator>(inst)) {
      return nullptr;  // selection finds these
    }
    size_t hash = llvm::hash_combine(inst.getOpcode(), inst.getType());
    for (const llvm::Use& operand : inst.operands()) hash = llvm::hash_combine(hash, operand.get());
    auto [it, fresh] = known->try_emplace(hash, &inst);
    if (fresh) return nullptr;
    if (it->second->isIdenticalTo(&inst)) return it->second;
    it->second = &inst;
    return nullptr;
  }
  void Clear() {
    reads_.clear();
    array_reads_.clear();
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
      array_reads_.clear();
      stored_.clear();
      return;
    }
    const Spot spot = SpotOf(pointer, layout_);
    if (spot.array == nullptr) {
      reads_.clear();  // nobody else knows where the arrays are
      return;
    }
    array_reads_.clear();
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
  llvm::DenseMap<size_t, Instruction*> array_reads_;  ///< Through masks, and of many places.
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
      if (other == nullptr) other = Narrowed(inst);
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

/// Of one loop, what is computed before it although not every trip wants it.
constexpr unsigned kMostInVain = 4;
/// Of one loop, reads that leave it: they keep their registers.
constexpr unsigned kMostLeft = 8;
/// Instructions of an address that leaves a loop with what is read there.
constexpr size_t kLongestAddress = 8;

class Hoister {
 public:
  explicit Hoister(llvm::Function& fn) : fn_(fn), loops_(fn) {}
  void Run() {
    for (llvm::BasicBlock& block : fn_) {
      const bool writes =
          std::any_of(block.begin(), block.end(), [](const Instruction& inst) { return inst.mayWriteToMemory(); });
      for (const Loop* loop = loops_.Around(&block); writes && loop != nullptr; loop = loops_.Around(*loop))
        writes_.insert(loop->header);
    }
    for (llvm::BasicBlock& block : fn_) {
      const size_t b = loops_.NumberOf(&block);
      const Loop* const innermost = loops_.Around(&block);
      if (innermost == nullptr) continue;
      for (Instruction& inst : llvm::make_early_inc_range(block)) {
        if (ReadsThroughMask(inst)) {
          LeaveUnwritten(inst, b);
          continue;
        }
        if (!Movable(inst)) continue;
        llvm::BasicBlock* to = nullptr;
        for (const Loop* loop = innermost; loop != nullptr; loop = loops_.Around(*loop)) {
          if (loop->before == nullptr || !Invariant(inst, *loop)) break;
          if (!loops_.RunsAlways(b, *loop) && !(loop == innermost && MayRunInVain(inst, *loop))) break;
          to = loop->before;
        }
        if (to != nullptr) inst.moveBefore(to->getTerminator()->getIterator());
      }
    }
  }

 private:
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
  /// Other reads cost nothing beside what they are read for.
  static bool ReadsThroughMask(const Instruction& inst) {
    auto* call = dyn_cast<llvm::IntrinsicInst>(&inst);
    return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::masked_load;
  }
  /// What is read from one place leaves the loops that write nothing, its address with it.
  void LeaveUnwritten(Instruction& read, size_t block) {
    llvm::BasicBlock* to = nullptr;
    llvm::SmallVector<Instruction*, 4> moved;
    for (const Loop* loop = loops_.Around(read.getParent()); loop != nullptr; loop = loops_.Around(*loop)) {
      if (loop->before == nullptr || writes_.contains(loop->header) || !loops_.RunsAlways(block, *loop)) break;
      llvm::SmallVector<Instruction*, 4> chain{&read};
      bool invariant = true;
      for (size_t i = 0; i < chain.size() && invariant; ++i) {
        for (Value* operand : chain[i]->operands()) {
          auto* defined = dyn_cast<Instruction>(operand);
          if (defined == nullptr || !loop->Holds(loops_.NumberOf(defined->getParent()))) continue;
          invariant &= isa<llvm::GetElementPtrInst>(defined) && chain.size() < kLongestAddress;
          chain.push_back(defined);
        }
      }
      if (!invariant) break;
      to = loop->before;
      moved = chain;
    }
    if (to == nullptr || ++left_[loops_.Around(read.getParent())->header] > kMostLeft) return;
    for (Instruction* inst : llvm::reverse(moved)) inst->moveBefore(to->getTerminator()->getIterator());
  }
  /// What some trips do not come to: integers, which take little, and few of them, which keep their registers.
  bool MayRunInVain(const Instruction& inst, const Loop& loop) {
    return isa<llvm::BinaryOperator>(inst) && inst.getType()->isIntegerTy() && ++in_vain_[loop.header] <= kMostInVain;
  }
  bool Invariant(const Instruction& inst, const Loop& loop) const {
    for (const Value* operand : inst.operands()) {
      auto* defined = dyn_cast<Instruction>(operand);
      if (defined == nullptr) continue;
      if (loop.Holds(loops_.NumberOf(defined->getParent()))) return false;
    }
    return true;
  }

  llvm::Function& fn_;
  const Loops loops_;
  llvm::DenseMap<size_t, unsigned> in_vain_;  ///< By the loop's header.
  llvm::DenseMap<size_t, unsigned> left_;     ///< Reads that left, by the header of the loop.
  llvm::DenseSet<size_t> writes_;             ///< Headers of loops that write to memory.
};

}  // namespace

void Prepare(llvm::Function& function) {
  Simplify(function);
  Hoister(function).Run();
  MakeBranches(function);
}

}  // namespace tenon::emit_llvm::x64
