// Edits of ops with regions: loops, branches, calls, sorts.

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "tools/tenon-reduce/edits.h"

namespace tenon::reduce {
namespace {

using mlir::Operation;
using mlir::Value;

bool Is(Operation* op, llvm::StringRef name) { return op->getName().getStringRef() == name; }

/// The ops of `block` again before `op`, its arguments standing for `arguments`; what it ends with.
std::vector<Value> CloneBefore(Operation* op, mlir::Block& block, mlir::ValueRange arguments) {
  mlir::OpBuilder builder(op);
  mlir::IRMapping map;
  for (auto [a, v] : llvm::zip(block.getArguments(), arguments)) map.map(a, v);
  for (Operation& inner : block.without_terminator()) builder.clone(inner, map);
  std::vector<Value> results;
  for (Value v : block.getTerminator()->getOperands()) results.push_back(map.lookupOrDefault(v));
  return results;
}

void Replace(Operation* op, const std::vector<Value>& values) {
  if (values.size() != op->getNumResults()) return;
  for (auto [r, v] : llvm::zip(op->getResults(), values)) {
    if (r.getType() != v.getType()) return;
  }
  for (auto [r, v] : llvm::zip(op->getResults(), values)) r.replaceAllUsesWith(v);
  op->erase();
}

/// The same op with other operands, result types and regions taken over. The old one is not erased.
Operation* Remake(Operation* op, mlir::ValueRange operands, mlir::TypeRange types) {
  mlir::OpBuilder builder(op);
  mlir::OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttributes(op->getAttrs());
  for (mlir::Region& region : op->getRegions()) state.addRegion()->takeBody(region);
  return builder.create(state);
}

}  // namespace

bool InlineCall(Subject s, size_t index) {
  for (Operation* op : OpsOf(s.module)) {
    if (!Is(op, "func.call") || index-- != 0) continue;
    auto callee = op->getAttrOfType<mlir::FlatSymbolRefAttr>("callee");
    auto function = s.module.lookupSymbol<mlir::func::FuncOp>(callee.getValue());
    if (function && !function.isExternal()) Replace(op, CloneBefore(op, function.getBody().front(), op->getOperands()));
    return true;
  }
  return false;
}

bool UnnestLoop(Subject s, size_t index) {
  for (Operation* op : OpsOf(s.module)) {
    if (!Is(op, "stablehlo.while")) continue;
    for (const bool once : {false, true}) {
      if (index-- != 0) continue;
      std::vector<Value> values(op->operand_begin(), op->operand_end());
      if (once) values = CloneBefore(op, op->getRegion(1).front(), op->getOperands());
      Replace(op, values);
      return true;
    }
  }
  return false;
}

bool TakeBranch(Subject s, size_t index) {
  for (Operation* op : OpsOf(s.module)) {
    if (!Is(op, "stablehlo.if") && !Is(op, "stablehlo.case")) continue;
    for (mlir::Region& region : op->getRegions()) {
      if (index-- != 0) continue;
      Replace(op, CloneBefore(op, region.front(), {}));
      return true;
    }
  }
  return false;
}

bool DropCarry(Subject s, size_t index) {
  for (Operation* op : OpsOf(s.module)) {
    if (!Is(op, "stablehlo.while")) continue;
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      if (index-- != 0) continue;
      if (op->getNumOperands() == 1) return true;
      // As if every trip passed it through.
      op->getResult(i).replaceAllUsesWith(op->getOperand(i));
      for (mlir::Region& region : op->getRegions()) {
        region.front().getArgument(i).replaceAllUsesWith(op->getOperand(i));
        region.front().eraseArgument(i);
      }
      op->getRegion(1).front().getTerminator()->eraseOperand(i);
      std::vector<Value> operands(op->operand_begin(), op->operand_end());
      operands.erase(operands.begin() + i);
      std::vector<mlir::Type> types;
      for (Value v : operands) types.push_back(v.getType());
      Operation* made = Remake(op, operands, types);
      for (unsigned r = 0, to = 0; r < op->getNumResults(); ++r) {
        if (r != i) op->getResult(r).replaceAllUsesWith(made->getResult(to++));
      }
      op->erase();
      return true;
    }
  }
  return false;
}

bool DropSortOperand(Subject s, size_t index) {
  for (Operation* op : OpsOf(s.module)) {
    if (!Is(op, "stablehlo.sort")) continue;
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      mlir::Block& body = op->getRegion(0).front();
      if (index-- != 0) continue;
      if (op->getNumOperands() == 1 || !op->getResult(i).use_empty() || !body.getArgument(2 * i).use_empty() ||
          !body.getArgument(2 * i + 1).use_empty())
        return true;
      body.eraseArguments(2 * i, 2);
      std::vector<Value> operands(op->operand_begin(), op->operand_end());
      operands.erase(operands.begin() + i);
      std::vector<mlir::Type> types;
      for (Value v : operands) types.push_back(v.getType());
      Operation* made = Remake(op, operands, types);
      for (unsigned r = 0, to = 0; r < op->getNumResults(); ++r) {
        if (r != i) op->getResult(r).replaceAllUsesWith(made->getResult(to++));
      }
      op->erase();
      return true;
    }
  }
  return false;
}

}  // namespace tenon::reduce
