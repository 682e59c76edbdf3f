#include "tenon/emit_llvm/internal/hide_constants.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

namespace tenon::emit_llvm {
namespace {

/// Whether the operation may give another operand as it is, or its negative, beside this number.
bool IsNeutral(const llvm::Instruction& inst, const llvm::APFloat& number) {
  switch (inst.getOpcode()) {
    case llvm::Instruction::FMul:
    case llvm::Instruction::FDiv:
      return llvm::abs(number).isExactlyValue(1.0);
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
      return number.isZero();
    case llvm::Instruction::Call: {
      const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
      const llvm::Intrinsic::ID id = call == nullptr ? llvm::Intrinsic::not_intrinsic : call->getIntrinsicID();
      return (id == llvm::Intrinsic::minimum || id == llvm::Intrinsic::maximum) && number.isInfinity();
    }
    default:
      return false;
  }
}

/// The number that a constant is, in all lanes; null for others.
const llvm::ConstantFP* NumberOf(const llvm::Value* v) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(v);
  if (constant != nullptr && v->getType()->isVectorTy()) constant = constant->getSplatValue();
  return llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
}

}  // namespace

void HideNeutralConstants(llvm::Function& function) {
  std::vector<llvm::Use*> found;
  for (llvm::Instruction& inst : llvm::instructions(function)) {
    for (llvm::Use& operand : inst.operands()) {
      const llvm::ConstantFP* const number = NumberOf(operand.get());
      if (number != nullptr && IsNeutral(inst, number->getValueAPF())) found.push_back(&operand);
    }
  }
  llvm::DenseMap<llvm::Value*, llvm::Value*> hidden;
  llvm::IRBuilder<> b(&function.getEntryBlock(), function.getEntryBlock().getFirstInsertionPt());
  for (llvm::Use* use : found) {
    llvm::Value*& made = hidden[use->get()];
    if (made == nullptr) {
      auto* const number = const_cast<llvm::ConstantFP*>(NumberOf(use->get()));
      made = b.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {number->getType()}, {number});
      if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(use->get()->getType()))
        made = b.CreateVectorSplat(vector->getNumElements(), made);
    }
    use->set(made);
  }
}

}  // namespace tenon::emit_llvm
