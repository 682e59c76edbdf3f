#include "tenon/dialect/tuple_calls.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tenon::dialect {
namespace {

void AddLeaves(mlir::Type type, llvm::SmallVectorImpl<mlir::Type>& leaves) {
  const auto tuple = llvm::dyn_cast<mlir::TupleType>(type);
  if (!tuple) return leaves.push_back(type);
  for (const mlir::Type member : tuple.getTypes()) AddLeaves(member, leaves);
}

void AddLeaves(mlir::OpBuilder& b, mlir::Value value, llvm::SmallVectorImpl<mlir::Value>& leaves) {
  const auto tuple = llvm::dyn_cast<mlir::TupleType>(value.getType());
  if (!tuple) return leaves.push_back(value);
  for (size_t i = 0; i < tuple.size(); ++i) {
    const auto index = b.getNamedAttr("index", b.getI32IntegerAttr(static_cast<int32_t>(i)));
    AddLeaves(b,
              b.create(value.getLoc(), b.getStringAttr("stablehlo.get_tuple_element"), value, tuple.getType(i), index)
                  ->getResult(0),
              leaves);
  }
}

/// A value of the type, made of the first leaves, which it takes away.
mlir::Value Joined(mlir::OpBuilder& b, mlir::Location loc, mlir::Type type, mlir::ValueRange& leaves) {
  const auto tuple = llvm::dyn_cast<mlir::TupleType>(type);
  if (!tuple) {
    const mlir::Value first = leaves.front();
    leaves = leaves.drop_front();
    return first;
  }
  llvm::SmallVector<mlir::Value> members;
  for (const mlir::Type member : tuple.getTypes()) members.push_back(Joined(b, loc, member, leaves));
  return b.create(loc, b.getStringAttr("stablehlo.tuple"), members, type)->getResult(0);
}

}  // namespace

bool SpreadTuples(stablehlo::CustomCallOp call) {
  const auto is_tuple = [](mlir::Type type) { return llvm::isa<mlir::TupleType>(type); };
  if (llvm::none_of(call->getOperandTypes(), is_tuple) && llvm::none_of(call->getResultTypes(), is_tuple)) return false;
  llvm::SmallVector<mlir::Type> types;
  for (const mlir::Type type : call->getResultTypes()) AddLeaves(type, types);
  // What aliases say is about operands and results as they are; only those of one tuple stay what they were.
  const auto aliases = call->getAttrOfType<mlir::ArrayAttr>("output_operand_aliases");
  const bool alike = llvm::none_of(call->getOperandTypes(), is_tuple) && call->getNumResults() == 1 &&
                     types.size() > 1 &&
                     llvm::none_of(llvm::cast<mlir::TupleType>(call->getResult(0).getType()).getTypes(), is_tuple);
  if (aliases && !aliases.empty() && !alike) return false;
  mlir::OpBuilder b(call);
  llvm::SmallVector<mlir::Value> operands;
  for (const mlir::Value operand : call->getOperands()) AddLeaves(b, operand, operands);
  mlir::Operation* spread =
      b.create(call->getLoc(), call->getName().getIdentifier(), operands, types, call->getAttrDictionary().getValue());
  mlir::ValueRange leaves = spread->getResults();
  llvm::SmallVector<mlir::Value> results;
  for (const mlir::Type type : call->getResultTypes()) results.push_back(Joined(b, call->getLoc(), type, leaves));
  call->replaceAllUsesWith(results);
  return true;
}

}  // namespace tenon::dialect
