#include "tenon/emit_llvm/internal/hide_masks.h"

#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <utility>
#include <vector>

namespace tenon::emit_llvm {
namespace {

constexpr unsigned kWholeRegisterBits = 256;  // structural: of AVX2, the one level at which accesses are split so
constexpr int kDepth = 8;                     // structural: masks are made of a few conditions

/// Whether some lanes of the mask are known: a constant takes part in it.
bool HasKnownLanes(const llvm::Value* mask, int depth = kDepth) {
  if (llvm::isa<llvm::Constant>(mask)) return true;
  const auto* inst = llvm::dyn_cast<llvm::Instruction>(mask);
  if (inst == nullptr || depth == 0 || !(llvm::isa<llvm::BinaryOperator>(inst) || llvm::isa<llvm::SelectInst>(inst)))
    return false;
  for (const llvm::Value* operand : inst->operands()) {
    if (operand->getType() == mask->getType() && HasKnownLanes(operand, depth - 1)) return true;
  }
  return false;
}

/// The lane that is on, if the mask is known and there is one.
std::optional<unsigned> OnlyLane(const llvm::Value* mask, const llvm::DataLayout& layout) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  if (constant == nullptr) return std::nullopt;
  constant = llvm::ConstantFoldConstant(constant, layout);
  std::optional<unsigned> only;
  for (unsigned i = 0; i < llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements(); ++i) {
    const llvm::Constant* lane = constant->getAggregateElement(i);
    if (lane == nullptr) return std::nullopt;
    if (lane->isNullValue()) continue;
    if (only) return std::nullopt;
    only = i;
  }
  return only;
}

void StoreOnlyLanes(llvm::Function& function) {
  std::vector<std::pair<llvm::CallInst*, unsigned>> stores;
  for (llvm::Instruction& inst : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
    if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::masked_store) continue;
    if (const auto lane = OnlyLane(call->getArgOperand(2), function.getParent()->getDataLayout()))
      stores.emplace_back(call, *lane);
  }
  for (const auto& [call, lane] : stores) {
    llvm::IRBuilder<> b(call);
    llvm::Value* element = b.CreateExtractElement(call->getArgOperand(0), uint64_t{lane});
    llvm::Value* pointer = b.CreateConstGEP1_64(element->getType(), call->getArgOperand(1), lane);
    const uint64_t bytes = element->getType()->getScalarSizeInBits() / 8;
    b.CreateAlignedStore(element, pointer, llvm::commonAlignment(call->getParamAlign(1).valueOrOne(), lane * bytes));
    call->eraseFromParent();
  }
}

void HidePartlyKnownMasks(llvm::Function& function) {
  std::vector<llvm::Use*> masks;
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  for (llvm::Instruction& inst : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
    if (call == nullptr) continue;
    const bool load = call->getIntrinsicID() == llvm::Intrinsic::masked_load;
    if (!load && call->getIntrinsicID() != llvm::Intrinsic::masked_store) continue;
    llvm::Type* type = load ? call->getType() : call->getArgOperand(0)->getType();
    llvm::Use& mask = call->getArgOperandUse(load ? 1 : 2);
    if (layout.getTypeSizeInBits(type).getFixedValue() > kWholeRegisterBits && !llvm::isa<llvm::Constant>(mask.get()) &&
        HasKnownLanes(mask.get()))
      masks.push_back(&mask);
  }
  for (llvm::Use* mask : masks) {
    llvm::Type* bits = mask->get()->getType();
    llvm::Type* bytes = bits->getWithNewType(llvm::Type::getInt8Ty(function.getContext()));
    llvm::IRBuilder<> b(&function.getEntryBlock(), function.getEntryBlock().getFirstInsertionPt());
    llvm::Value* slot = b.CreateAlloca(bytes);
    b.SetInsertPoint(llvm::cast<llvm::Instruction>(mask->getUser()));
    b.CreateStore(b.CreateZExt(mask->get(), bytes), slot, /*isVolatile=*/true);
    mask->set(b.CreateTrunc(b.CreateLoad(bytes, slot, /*isVolatile=*/true), bits));
  }
}

}  // namespace

void HideKnownMasks(llvm::Function& function, isa::IsaLevel isa) {
  if (isa == isa::IsaLevel::kAvx2) HidePartlyKnownMasks(function);
  if (isa == isa::IsaLevel::kAvx512) StoreOnlyLanes(function);
}

}  // namespace tenon::emit_llvm
