#include "tenon/dialect/named_calls.h"

#include <optional>
#include <string>

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "tenon/dialect/chlo/dialect.h"
#include "tenon/dialect/lapack_calls.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::dialect {
namespace {

constexpr llvm::StringLiteral kPrefix = "mhlo.";
constexpr llvm::StringLiteral kAttributes = "mhlo.attributes";
constexpr llvm::StringLiteral kVersion = "mhlo.version";
constexpr llvm::StringLiteral kTopK = "mhlo.topk";

/// CHLO's functions of whole arrays: no other op of its is a function of its operands' elements alone.
bool IsFunction(llvm::StringRef name, unsigned operands) {
  constexpr llvm::StringLiteral kOfOne[] = {"acos",       "acosh",  "asin", "asinh",   "atan", "atanh",
                                            "bessel_i1e", "conj",   "cosh", "digamma", "erf",  "erf_inv",
                                            "erfc",       "lgamma", "sinh", "square",  "tan"};
  constexpr llvm::StringLiteral kOfTwo[] = {"mulhi", "next_after", "polygamma", "zeta"};
  return operands == 1 ? llvm::is_contained(kOfOne, name) : operands == 2 && llvm::is_contained(kOfTwo, name);
}

mlir::Operation* Create(mlir::OpBuilder& b, mlir::Location loc, llvm::StringRef name, mlir::TypeRange types,
                        mlir::ValueRange operands) {
  mlir::OperationState state(loc, name);
  state.addTypes(types);
  state.addOperands(operands);
  return b.create(state);
}

/// Numbers in reverse order, so that the largest are the smallest: the sign of floats, all bits of integers.
std::optional<mlir::Value> Reversed(mlir::OpBuilder& b, mlir::Value v) {
  const auto type = llvm::dyn_cast<mlir::RankedTensorType>(v.getType());
  if (!type) return std::nullopt;
  llvm::StringRef name = "stablehlo.not";
  if (llvm::isa<mlir::FloatType>(type.getElementType())) {
    name = "stablehlo.negate";
  } else if (!type.getElementType().isInteger()) {
    return std::nullopt;
  }
  return Create(b, v.getLoc(), name, {type}, {v})->getResult(0);
}

bool ReplaceTopK(stablehlo::CustomCallOp call, mlir::DictionaryAttr attributes) {
  const auto k = attributes.getAs<mlir::IntegerAttr>("k");
  const auto largest = attributes.getAs<mlir::BoolAttr>("largest");
  if (!k || !k.getType().isInteger(64) || call->getNumOperands() != 1 || call->getNumResults() != 2) return false;
  const bool smallest = largest && !largest.getValue();
  mlir::OpBuilder b(call);
  mlir::Value operand = call->getOperand(0);
  if (smallest) {
    const auto reversed = Reversed(b, operand);
    if (!reversed) return false;
    operand = *reversed;
  }
  auto top = llvm::cast<chlo::TopKOp>(Create(b, call->getLoc(), "chlo.top_k", call->getResultTypes(), operand));
  top.setK(k.getValue().getSExtValue());
  mlir::Value values = top.getValues();
  if (smallest) values = *Reversed(b, values);
  call->replaceAllUsesWith(mlir::ValueRange{values, top.getIndices()});
  return true;
}

bool ReplaceCall(stablehlo::CustomCallOp call) {
  const llvm::StringRef target = call.getCallTargetName();
  const auto attributes = call->getAttrOfType<mlir::DictionaryAttr>(kAttributes);
  if (target == kTopK) return attributes && ReplaceTopK(call, attributes);
  const llvm::StringRef name = target.drop_front(kPrefix.size());
  if (!IsFunction(name, call->getNumOperands()) || call->getNumResults() != 1) return false;
  if (attributes && !attributes.empty()) return false;
  mlir::OpBuilder b(call);
  call->replaceAllUsesWith(
      Create(b, call->getLoc(), "chlo." + name.str(), call->getResultTypes(), call->getOperands()));
  return true;
}

void WriteCall(mlir::Operation* op, llvm::StringRef target, llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  mlir::OpBuilder b(op);
  auto call = llvm::cast<stablehlo::CustomCallOp>(
      Create(b, op->getLoc(), "stablehlo.custom_call", op->getResultTypes(), op->getOperands()));
  call.setCallTargetName(target);
  call->setAttr(kAttributes, b.getDictionaryAttr(attributes));
  call->setAttr(kVersion, b.getI64IntegerAttr(1));
  op->replaceAllUsesWith(call);
  op->erase();
}

}  // namespace

void ReadNamedCalls(mlir::Operation* module) {
  module->walk([](stablehlo::CustomCallOp call) {
    const bool replaced =
        call.getCallTargetName().starts_with(kPrefix) ? ReplaceCall(call) : ReplaceDecomposition(call);
    if (replaced) call->erase();
  });
}

mlir::OwningOpRef<mlir::ModuleOp> WithNamedCalls(mlir::ModuleOp module) {
  const auto any = module->walk([](mlir::Operation* op) {
    return llvm::isa<chlo::TopKOp, chlo::ErfOp, chlo::TanOp>(op) ? mlir::WalkResult::interrupt()
                                                                 : mlir::WalkResult::advance();
  });
  if (!any.wasInterrupted()) return nullptr;
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  copy->walk([](mlir::Operation* op) {
    if (auto top = llvm::dyn_cast<chlo::TopKOp>(op)) {
      mlir::Builder b(op->getContext());
      WriteCall(op, kTopK, {b.getNamedAttr("k", top.getKAttr()), b.getNamedAttr("largest", b.getBoolAttr(true))});
    } else if (llvm::isa<chlo::ErfOp>(op)) {
      WriteCall(op, "mhlo.erf", {});
    } else if (llvm::isa<chlo::TanOp>(op)) {
      WriteCall(op, "mhlo.tan", {});
    }
  });
  return copy;
}

}  // namespace tenon::dialect
