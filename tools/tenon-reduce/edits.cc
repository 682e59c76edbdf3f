#include "tools/tenon-reduce/edits.h"

#include <algorithm>

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tenon::reduce {
namespace {

using mlir::Operation;
using mlir::Value;

mlir::RankedTensorType TensorOf(Value v) { return mlir::dyn_cast<mlir::RankedTensorType>(v.getType()); }

bool IsConstant(Operation* op) { return op->getName().getStringRef() == "stablehlo.constant"; }

/// Returns only this value from main.
bool ReturnOneValue(Subject s, size_t index) {
  mlir::func::FuncOp entry = EntryOf(s.module);
  Operation* end = entry.getBody().front().getTerminator();
  std::vector<Value> values;
  for (Operation& op : entry.getBody().front().without_terminator()) {
    for (Value v : op.getResults()) {
      if (TensorOf(v)) values.push_back(v);
    }
  }
  if (index >= values.size()) return false;
  if (end->getNumOperands() == 1 && end->getOperand(0) == values[index]) return true;
  // What is open for one output is open for what it is made of.
  fuzz::Tolerance all;
  for (const fuzz::Tolerance& t : s.conditions.outputs) {
    all.absolute = std::max(all.absolute, t.absolute);
    all.any_zero |= t.any_zero;
  }
  s.conditions.outputs = {all};
  end->setOperands({values[index]});
  UpdateType(entry);
  return true;
}

bool EraseUnused(Subject s, size_t index) {
  for (Operation* op : OpsOf(s.module)) {
    if (!op->use_empty() || index-- != 0) continue;
    op->erase();
    return true;
  }
  return false;
}

bool DropOutput(Subject s, size_t index) {
  mlir::func::FuncOp entry = EntryOf(s.module);
  Operation* end = entry.getBody().front().getTerminator();
  if (index >= end->getNumOperands() || end->getNumOperands() == 1) return false;
  end->eraseOperand(static_cast<unsigned>(index));
  if (index < s.conditions.outputs.size())
    s.conditions.outputs.erase(s.conditions.outputs.begin() + static_cast<int64_t>(index));
  UpdateType(entry);
  return true;
}

bool DropAttributes(Subject s, size_t index) {
  mlir::func::FuncOp entry = EntryOf(s.module);
  if (index >= entry.getNumArguments()) return false;
  entry.setArgAttrs(static_cast<unsigned>(index), mlir::DictionaryAttr::get(s.module.getContext()));
  return true;
}

bool DropArgument(Subject s, size_t index) {
  mlir::func::FuncOp entry = EntryOf(s.module);
  // From the last one on: the data of an argument depend on its place.
  if (index >= entry.getNumArguments()) return false;
  const auto at = static_cast<unsigned>(entry.getNumArguments() - 1 - index);
  if (entry.getArgument(at).use_empty()) static_cast<void>(entry.eraseArgument(at));
  return true;
}

bool ReplaceByOperand(Subject s, size_t index) {
  for (Operation* op : OpsOf(s.module)) {
    for (Value result : op->getResults()) {
      if (result.use_empty()) continue;
      for (Value operand : op->getOperands()) {
        if (operand.getType() != result.getType() || index-- != 0) continue;
        result.replaceAllUsesWith(operand);
        return true;
      }
    }
  }
  return false;
}

bool ReplaceByNumber(Subject s, size_t index, int64_t number) {
  for (Operation* op : OpsOf(s.module)) {
    if (IsConstant(op)) continue;
    for (Value result : op->getResults()) {
      if (!TensorOf(result) || result.use_empty() || index-- != 0) continue;
      if (const Value c = ConstantBefore(op, result.getType(), number)) result.replaceAllUsesWith(c);
      return true;
    }
  }
  return false;
}
bool ReplaceByZero(Subject s, size_t index) { return ReplaceByNumber(s, index, 0); }
bool ReplaceByOne(Subject s, size_t index) { return ReplaceByNumber(s, index, 1); }

/// An argument of main instead of a value: an old one of its type, or a new one.
bool ReplaceByArgument(Subject s, size_t index) {
  mlir::func::FuncOp entry = EntryOf(s.module);
  for (Operation* op : OpsOf(s.module)) {
    if (op->getParentOfType<mlir::func::FuncOp>() != entry || IsConstant(op)) continue;
    for (Value result : op->getResults()) {
      const auto type = TensorOf(result);
      if (!type || result.use_empty()) continue;
      for (mlir::BlockArgument a : entry.getArguments()) {
        if (a.getType() != type || index-- != 0) continue;
        result.replaceAllUsesWith(a);
        return true;
      }
      if (index-- != 0) continue;
      static_cast<void>(entry.insertArgument(entry.getNumArguments(), type, {}, op->getLoc()));
      result.replaceAllUsesWith(entry.getArgument(entry.getNumArguments() - 1));
      return true;
    }
  }
  return false;
}

/// The first earlier value of the type of an operand in its place.
bool UseEarlier(Subject s, size_t index) {
  for (Operation* op : OpsOf(s.module)) {
    for (mlir::OpOperand& operand : op->getOpOperands()) {
      mlir::Block* block = op->getBlock();
      for (mlir::BlockArgument a : block->getArguments()) {
        if (a.getType() != operand.get().getType() || a == operand.get()) continue;
        if (index-- != 0) break;
        operand.set(a);
        return true;
      }
    }
  }
  return false;
}

bool SplatConstant(Subject s, size_t index) {
  for (Operation* op : OpsOf(s.module)) {
    if (!IsConstant(op)) continue;
    auto value = mlir::dyn_cast<mlir::DenseElementsAttr>(op->getAttr("value"));
    if (!value || value.isSplat() || value.empty() || index-- != 0) continue;
    op->setAttr("value", mlir::DenseElementsAttr::get(value.getType(), *value.getValues<mlir::Attribute>().begin()));
    return true;
  }
  return false;
}

/// Splat integers: 0, 1, half.
bool SmallerConstant(Subject s, size_t index) {
  for (Operation* op : OpsOf(s.module)) {
    if (!IsConstant(op)) continue;
    auto value = mlir::dyn_cast<mlir::DenseElementsAttr>(op->getAttr("value"));
    const auto type = mlir::dyn_cast<mlir::RankedTensorType>(value ? value.getType() : mlir::Type());
    if (!type || !value.isSplat() || value.empty()) continue;
    const auto element = mlir::dyn_cast<mlir::IntegerType>(type.getElementType());
    if (!element) continue;
    const llvm::APInt v = value.getSplatValue<llvm::APInt>();
    const unsigned width = v.getBitWidth();
    const llvm::APInt half = element.isUnsigned() ? v.lshr(1) : v.ashr(1);
    for (const llvm::APInt& to : {llvm::APInt(width, 0), llvm::APInt(width, 1), half}) {
      if (to.abs().uge(v.abs())) continue;
      if (index-- != 0) continue;
      op->setAttr("value", mlir::DenseElementsAttr::get(type, to));
      return true;
    }
  }
  return false;
}

}  // namespace

mlir::func::FuncOp EntryOf(mlir::ModuleOp module) {
  if (auto main = module.lookupSymbol<mlir::func::FuncOp>("main")) return main;
  mlir::func::FuncOp first;
  for (mlir::func::FuncOp f : module.getOps<mlir::func::FuncOp>()) {
    if (!first) first = f;
  }
  return first;
}

void UpdateType(mlir::func::FuncOp function) {
  mlir::Block& body = function.getBody().front();
  mlir::Operation* end = body.getTerminator();
  if (function.getNumResults() != end->getNumOperands()) function.removeResAttrsAttr();
  function.setFunctionType(
      mlir::FunctionType::get(function.getContext(), body.getArgumentTypes(), end->getOperandTypes()));
}

std::vector<mlir::Operation*> OpsOf(mlir::ModuleOp module) {
  std::vector<mlir::Operation*> ops;
  module.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    if (mlir::isa<mlir::ModuleOp, mlir::func::FuncOp>(op) || op->hasTrait<mlir::OpTrait::IsTerminator>()) return;
    ops.push_back(op);
  });
  return ops;
}

mlir::Value ConstantBefore(mlir::Operation* op, mlir::Type type, int64_t number) {
  const auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape()) return {};
  const mlir::Type element = tensor.getElementType();
  mlir::DenseElementsAttr value;
  mlir::Builder b(op->getContext());
  if (const auto integer = mlir::dyn_cast<mlir::IntegerType>(element)) {
    value = mlir::DenseElementsAttr::get(tensor, llvm::APInt(integer.getWidth(), static_cast<uint64_t>(number)));
  } else if (const auto real = mlir::dyn_cast<mlir::FloatType>(element)) {
    value = mlir::DenseElementsAttr::get(tensor, b.getFloatAttr(real, static_cast<double>(number)));
  } else if (const auto complex = mlir::dyn_cast<mlir::ComplexType>(element)) {
    const auto part = mlir::dyn_cast<mlir::FloatType>(complex.getElementType());
    if (!part) return {};
    const llvm::APFloat zero = b.getFloatAttr(part, 0).getValue();
    value = mlir::DenseElementsAttr::get(
        tensor, std::complex<llvm::APFloat>(b.getFloatAttr(part, static_cast<double>(number)).getValue(), zero));
  } else {
    return {};
  }
  mlir::OpBuilder builder(op);
  mlir::OperationState state(op->getLoc(), "stablehlo.constant");
  state.addAttribute("value", value);
  state.addTypes(type);
  return builder.create(state)->getResult(0);
}

void EraseDead(mlir::ModuleOp module) {
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<mlir::Operation*> ops = OpsOf(module);
    for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
      mlir::Operation* op = *it;
      if (!op->use_empty()) continue;
      // Nested ones were visited before: later in the list.
      op->erase();
      changed = true;
    }
    for (mlir::func::FuncOp f : llvm::make_early_inc_range(module.getOps<mlir::func::FuncOp>())) {
      if (f == EntryOf(module)) continue;
      if (mlir::SymbolTable::symbolKnownUseEmpty(f, module)) {
        f.erase();
        changed = true;
      }
    }
  }
}

const std::vector<Edit>& AllEdits() {
  static const std::vector<Edit> edits = {
      {"return one value", ReturnOneValue},
      {"erase unused", EraseUnused},
      {"drop output", DropOutput},
      {"inline call", InlineCall, true},
      {"branch to its region", TakeBranch, true},
      {"loop to its body", UnnestLoop, true},
      {"value to zero", ReplaceByZero},
      {"value to operand", ReplaceByOperand},
      {"value to argument", ReplaceByArgument},
      {"drop carry", DropCarry},
      {"drop sort operand", DropSortOperand},
      {"value to one", ReplaceByOne},
      {"shrink extent", ShrinkExtent},
      {"shrink argument", ShrinkArgument},
      {"drop attributes", DropAttributes},
      {"drop argument", DropArgument},
      {"constant to splat", SplatConstant},
      {"smaller constant", SmallerConstant},
      {"operand to block argument", UseEarlier},
      {"other element type", ChangeElementType, true},
  };
  return edits;
}

}  // namespace tenon::reduce
