#include "tenon/emit_llvm/internal/x64/scalarise.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

namespace tenon::emit_llvm::x64 {
namespace {

using llvm::cast;
using llvm::dyn_cast;
using llvm::Instruction;

bool IsSplatConstant(const llvm::Value* v) {
  auto* constant = dyn_cast<llvm::Constant>(v);
  return constant != nullptr && constant->getSplatValue() != nullptr;
}

/// Whether lanes lie in memory one after the other: those of 1, 2 or 4 bits are packed.
bool OfWholeBytes(const llvm::Type* type) { return type->getScalarSizeInBits() % 8 == 0; }

/// Whether the operation has no vector form.
bool HasNone(const Instruction& inst, bool avx2) {
  if (auto* extract = dyn_cast<llvm::ExtractElementInst>(&inst))
    return OfWholeBytes(extract->getVectorOperandType()) &&
           (!llvm::isa<llvm::ConstantInt>(extract->getIndexOperand()) || inst.getType()->getScalarSizeInBits() < 32);
  auto* type = dyn_cast<llvm::FixedVectorType>(inst.getType());
  if (type == nullptr || !OfWholeBytes(type)) return false;
  for (const llvm::Use& operand : inst.operands()) {
    if (operand->getType()->isVectorTy() && !OfWholeBytes(operand->getType())) return false;
  }
  const unsigned bits = type->getScalarSizeInBits();
  switch (inst.getOpcode()) {
    case Instruction::UDiv:
    case Instruction::SDiv:
    case Instruction::URem:
    case Instruction::SRem:
      return true;
    case Instruction::Shl:
    case Instruction::LShr:
    case Instruction::AShr:
      return bits == 8 || (avx2 && bits == 16 && !IsSplatConstant(inst.getOperand(1)));
    case Instruction::SIToFP:
    case Instruction::UIToFP: {
      const unsigned from = inst.getOperand(0)->getType()->getScalarSizeInBits();
      return from == 64 && avx2;
    }
    case Instruction::FPToSI:
    case Instruction::FPToUI: {
      const bool is_unsigned = inst.getOpcode() == Instruction::FPToUI;
      return avx2 && (bits == 64 || is_unsigned);
    }
    case Instruction::Call: {
      auto* call = dyn_cast<llvm::IntrinsicInst>(&inst);
      if (call == nullptr) return false;
      switch (call->getIntrinsicID()) {
        case llvm::Intrinsic::ctlz:
          return bits < 32 || avx2;
        case llvm::Intrinsic::cttz:
          return true;
        case llvm::Intrinsic::fptosi_sat:
        case llvm::Intrinsic::fptoui_sat: {
          const unsigned from = call->getArgOperand(0)->getType()->getScalarSizeInBits();
          const bool is_unsigned = call->getIntrinsicID() == llvm::Intrinsic::fptoui_sat;
          if (from == 64) return bits != 64 || avx2;
          return bits == 64 || (avx2 && is_unsigned && bits == 32);
        }
        default:
          return false;
      }
    }
    default:
      return false;
  }
}

class Scalariser {
 public:
  explicit Scalariser(llvm::Function& function) : fn_(function), b_(function.getContext()) {}

  void Replace(Instruction& inst) {
    b_.SetInsertPoint(&inst);
    if (auto* extract = dyn_cast<llvm::ExtractElementInst>(&inst)) {
      llvm::Value* const vector = Temporary(extract->getVectorOperandType());
      b_.CreateAlignedStore(extract->getVectorOperand(), vector, llvm::Align(1));
      llvm::Value* lane = b_.CreateZExt(extract->getIndexOperand(), b_.getInt64Ty());
      llvm::Value* at = b_.CreateGEP(inst.getType(), vector, lane);
      inst.replaceAllUsesWith(b_.CreateAlignedLoad(inst.getType(), at, llvm::Align(1)));
      inst.eraseFromParent();
      return;
    }
    auto* type = cast<llvm::FixedVectorType>(inst.getType());
    llvm::SmallVector<llvm::Value*, 3> memory;
    for (llvm::Value* operand : Operands(inst)) {
      auto* vector = dyn_cast<llvm::FixedVectorType>(operand->getType());
      llvm::Value* at = vector != nullptr && !IsSplatConstant(operand) ? Temporary(vector) : nullptr;
      if (at != nullptr) b_.CreateAlignedStore(operand, at, llvm::Align(1));
      memory.push_back(at);
    }
    // Together again: wide lanes by inserting them, which waits for no memory.
    llvm::Type* element = type->getElementType();
    const unsigned bits = type->getScalarSizeInBits();
    const bool inserts = (bits == 32 || bits == 64) && type->getNumElements() * bits >= 128;
    llvm::Value* made = inserts ? llvm::PoisonValue::get(type) : nullptr;
    llvm::Value* const result = inserts ? nullptr : Temporary(type);
    for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
      llvm::SmallVector<llvm::Value*, 3> in;
      unsigned i = 0;
      for (llvm::Value* operand : Operands(inst)) {
        llvm::Value* const at = memory[i++];
        if (at != nullptr) {
          llvm::Type* from = operand->getType()->getScalarType();
          in.push_back(b_.CreateAlignedLoad(from, b_.CreateGEP(from, at, b_.getInt64(lane)), llvm::Align(1)));
        } else if (operand->getType()->isVectorTy()) {
          in.push_back(cast<llvm::Constant>(operand)->getSplatValue());
        } else {
          in.push_back(operand);
        }
      }
      llvm::Value* one = Apply(inst, element, in);
      if (inserts) {
        made = b_.CreateInsertElement(made, one, b_.getInt64(lane));
      } else {
        b_.CreateAlignedStore(one, b_.CreateGEP(element, result, b_.getInt64(lane)), llvm::Align(1));
      }
    }
    inst.replaceAllUsesWith(inserts ? made : b_.CreateAlignedLoad(type, result, llvm::Align(1)));
    inst.eraseFromParent();
  }

 private:
  static llvm::SmallVector<llvm::Value*, 3> Operands(Instruction& inst) {
    llvm::SmallVector<llvm::Value*, 3> operands;
    auto* call = dyn_cast<llvm::CallInst>(&inst);
    for (unsigned i = 0; i < (call != nullptr ? call->arg_size() : inst.getNumOperands()); ++i)
      operands.push_back(inst.getOperand(i));
    return operands;
  }
  llvm::Value* Apply(Instruction& inst, llvm::Type* to, llvm::ArrayRef<llvm::Value*> in) {
    if (auto* binary = dyn_cast<llvm::BinaryOperator>(&inst)) return b_.CreateBinOp(binary->getOpcode(), in[0], in[1]);
    if (auto* convert = dyn_cast<llvm::CastInst>(&inst)) return b_.CreateCast(convert->getOpcode(), in[0], to);
    auto* call = cast<llvm::IntrinsicInst>(&inst);
    const llvm::Intrinsic::ID id = call->getIntrinsicID();
    if (id == llvm::Intrinsic::fptosi_sat || id == llvm::Intrinsic::fptoui_sat)
      return b_.CreateIntrinsic(id, {to, in[0]->getType()}, {in[0]});
    return b_.CreateIntrinsic(id, {to}, in);
  }
  llvm::Value* Temporary(llvm::Type* type) {
    llvm::IRBuilder<> entry(&*fn_.getEntryBlock().begin());
    return entry.CreateAlloca(type);
  }

  llvm::Function& fn_;
  llvm::IRBuilder<> b_;
};

}  // namespace

void Scalarise(llvm::Function& function, bool avx2) {
  llvm::SmallVector<Instruction*, 16> found;
  for (llvm::BasicBlock& block : function) {
    for (Instruction& inst : block) {
      if (HasNone(inst, avx2)) found.push_back(&inst);
    }
  }
  Scalariser scalariser(function);
  for (Instruction* inst : found) scalariser.Replace(*inst);
}

}  // namespace tenon::emit_llvm::x64
