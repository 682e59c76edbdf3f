#include "tenon/emit_llvm/internal/x64/branches.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "tenon/emit_llvm/internal/x64/loops.h"

namespace tenon::emit_llvm::x64 {
namespace {

using llvm::BasicBlock;
using llvm::dyn_cast;
using llvm::Instruction;
using llvm::isa;
using llvm::Value;

/// How many values are looked at for one choice.
constexpr size_t kMostLookedAt = 128;
/// Operations within operations of a condition that becomes jumps.
constexpr unsigned kDeepestCondition = 6;

/// Comparisons of integers, or `and`, `or` of such, that `block` makes for this use alone.
bool IsCondition(const Value* v, const BasicBlock* block, unsigned depth = 0) {
  auto* inst = dyn_cast<Instruction>(v);
  if (inst == nullptr || !inst->hasOneUse() || inst->getParent() != block || depth > kDeepestCondition) return false;
  if (auto* cmp = dyn_cast<llvm::ICmpInst>(inst)) return cmp->getOperand(0)->getType()->isIntegerTy();
  return (inst->getOpcode() == Instruction::And || inst->getOpcode() == Instruction::Or) &&
         IsCondition(inst->getOperand(0), block, depth + 1) && IsCondition(inst->getOperand(1), block, depth + 1);
}

void MoveCondition(Instruction* inst, Instruction* before) {
  if (!isa<llvm::ICmpInst>(inst)) {
    for (Value* operand : inst->operands()) MoveCondition(llvm::cast<Instruction>(operand), before);
  }
  inst->moveBefore(before->getIterator());
}

/// What `block` handed to the phis of `to`, `other` hands to them, too.
void AddEdge(BasicBlock* to, BasicBlock* block, BasicBlock* other) {
  for (llvm::PHINode& phi : to->phis()) phi.addIncoming(phi.getIncomingValueForBlock(block), other);
}

/// A jump on `a and b`, `a or b` of two conditions as two jumps; whether it was one.
bool SplitCondition(BasicBlock* block) {
  auto* branch = dyn_cast<llvm::BranchInst>(block->getTerminator());
  if (branch == nullptr || branch->isUnconditional() || branch->getSuccessor(0) == branch->getSuccessor(1))
    return false;
  auto* both = dyn_cast<llvm::BinaryOperator>(branch->getCondition());
  if (both == nullptr || !both->hasOneUse() || both->getParent() != block) return false;
  const bool conjunction = both->getOpcode() == Instruction::And;
  if (!conjunction && both->getOpcode() != Instruction::Or) return false;
  Value *first = both->getOperand(0), *second = both->getOperand(1);
  if (!IsCondition(first, block) || !IsCondition(second, block)) return false;
  BasicBlock *yes = branch->getSuccessor(0), *no = branch->getSuccessor(1);
  BasicBlock* next = BasicBlock::Create(block->getContext(), "and", block->getParent(), block->getNextNode());
  llvm::IRBuilder<>(next).CreateCondBr(second, yes, no);
  MoveCondition(llvm::cast<Instruction>(second), next->getTerminator());
  branch->setCondition(first);
  // Who is reached after one comparison as well as after two.
  AddEdge(conjunction ? no : yes, block, next);
  (conjunction ? yes : no)->replacePhiUsesWith(block, next);
  branch->setSuccessor(conjunction ? 0 : 1, next);
  both->eraseFromParent();
  return true;
}

class Chooser {
 public:
  explicit Chooser(llvm::Function& fn) : fn_(fn), loops_(fn) {}

  void Run() {
    std::vector<llvm::SelectInst*> choices;
    for (BasicBlock& block : fn_) {
      if (loops_.Around(&block) == nullptr) continue;
      for (Instruction& inst : block) {
        auto* select = dyn_cast<llvm::SelectInst>(&inst);
        if (select != nullptr && !select->getType()->isVectorTy() && !isa<llvm::Constant>(select->getCondition()) &&
            (IsWaitedFor(*select, 1) || IsWaitedFor(*select, 2)))
          choices.push_back(select);
      }
    }
    for (llvm::SelectInst* select : choices) Branch(*select);
  }

 private:
  using Chain = llvm::SmallSetVector<Instruction*, 16>;

  /// The read that the arm is, and whatever is computed for it alone: what need not be done when the other arm is
  /// chosen.
  Chain ArmOf(llvm::SelectInst& select, unsigned arm) const {
    Chain chain;
    auto* load = dyn_cast<llvm::LoadInst>(select.getOperand(arm));
    if (load == nullptr || !load->isSimple() || !load->hasOneUse() || load->getParent() != select.getParent())
      return chain;
    for (auto at = std::next(load->getIterator()); &*at != &select; ++at) {
      if (at->mayWriteToMemory()) return chain;
    }
    chain.insert(load);
    for (size_t i = 0; i < chain.size(); ++i) {
      for (Value* operand : chain[i]->operands()) {
        auto* inst = dyn_cast<Instruction>(operand);
        if (inst == nullptr || inst->getParent() != select.getParent() || isa<llvm::PHINode>(inst) ||
            inst->mayReadOrWriteMemory() || inst->mayHaveSideEffects())
          continue;
        const bool alone = std::all_of(inst->user_begin(), inst->user_end(),
                                       [&](llvm::User* user) { return chain.contains(llvm::cast<Instruction>(user)); });
        if (alone) chain.insert(inst);
      }
    }
    return chain;
  }

  /// Values that `from` is made of in the same loop; the loop's own phis among them.
  llvm::SmallPtrSet<const Value*, 32> MadeOf(const Value* from, const Loop& loop) const {
    llvm::SmallPtrSet<const Value*, 32> seen;
    llvm::SmallVector<const Value*, 32> open = {from};
    while (!open.empty() && seen.size() < kMostLookedAt) {
      auto* inst = dyn_cast<Instruction>(open.pop_back_val());
      if (inst == nullptr) continue;
      const size_t at = loops_.NumberOf(inst->getParent());
      if (!loop.Holds(at) || !seen.insert(inst).second) continue;
      if (isa<llvm::PHINode>(inst) && at == loop.header) continue;
      open.append(inst->op_begin(), inst->op_end());
    }
    return seen;
  }

  /// Whether the arm is a read from a place that depends on what this choice gave in an earlier trip.
  bool IsWaitedFor(llvm::SelectInst& select, unsigned arm) const {
    if (ArmOf(select, arm).empty()) return false;
    const Loop& loop = *loops_.Around(select.getParent());
    for (const Value* v : MadeOf(llvm::cast<llvm::LoadInst>(select.getOperand(arm))->getPointerOperand(), loop)) {
      auto* phi = dyn_cast<llvm::PHINode>(v);
      if (phi == nullptr || loops_.NumberOf(phi->getParent()) != loop.header) continue;
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
        if (loops_.NumberOf(phi->getIncomingBlock(i)) < loop.header) continue;
        if (MadeOf(phi->getIncomingValue(i), loop).contains(&select)) return true;
      }
    }
    return false;
  }

  void Branch(llvm::SelectInst& select) {
    const unsigned arm = ArmOf(select, 1).empty() ? 2 : 1;
    const Chain chain = ArmOf(select, arm);
    if (chain.empty()) return;
    BasicBlock* block = select.getParent();
    BasicBlock* rest = block->splitBasicBlock(select.getIterator(), "chosen");
    BasicBlock* read = BasicBlock::Create(fn_.getContext(), "read", &fn_, rest);
    Instruction* const end = llvm::IRBuilder<>(read).CreateBr(rest);
    for (Instruction& inst : llvm::make_early_inc_range(*block)) {
      if (chain.contains(&inst)) inst.moveBefore(end->getIterator());
    }
    block->getTerminator()->eraseFromParent();
    llvm::IRBuilder<>(block).CreateCondBr(select.getCondition(), arm == 1 ? read : rest, arm == 1 ? rest : read);
    // The comparison stands beside its jump.
    auto* condition = dyn_cast<llvm::CmpInst>(select.getCondition());
    auto* phi = llvm::PHINode::Create(select.getType(), 2, "", rest->begin());
    phi->addIncoming(select.getOperand(arm), read);
    phi->addIncoming(select.getOperand(3 - arm), block);
    select.replaceAllUsesWith(phi);
    select.eraseFromParent();
    if (condition != nullptr && condition->getParent() == block && condition->hasOneUse())
      condition->moveBefore(block->getTerminator()->getIterator());
  }

  llvm::Function& fn_;
  const Loops loops_;
};

}  // namespace

void MakeBranches(llvm::Function& function) {
  Chooser(function).Run();
  for (BasicBlock* block = &function.front(); block != nullptr; block = block->getNextNode()) {
    while (SplitCondition(block)) {
    }
  }
}

}  // namespace tenon::emit_llvm::x64
