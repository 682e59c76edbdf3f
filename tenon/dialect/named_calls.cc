#include "tenon/dialect/named_calls.h"

#include <optional>
#include <string>

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "tenon/dialect/async_calls.h"
#include "tenon/dialect/chlo/dialect.h"
#include "tenon/dialect/lapack_calls.h"
#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/dialect/tuple_calls.h"

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

bool IsOfNumbers(mlir::Type type) {
  const auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && (llvm::isa<mlir::FloatType>(tensor.getElementType()) || tensor.getElementType().isInteger());
}

/// Numbers in reverse order, so that the largest are the smallest: the sign of floats, all bits of integers.
mlir::Value Reversed(mlir::OpBuilder& b, mlir::Value v) {
  const bool floats = llvm::isa<mlir::FloatType>(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType());
  return b.create(v.getLoc(), b.getStringAttr(floats ? "stablehlo.negate" : "stablehlo.not"), v, v.getType())
      ->getResult(0);
}

mlir::Value WithBitsOf(mlir::OpBuilder& b, mlir::Value v, mlir::Type element) {
  const auto type = llvm::cast<mlir::RankedTensorType>(v.getType()).clone(element);
  return b.create(v.getLoc(), b.getStringAttr("stablehlo.bitcast_convert"), v, type)->getResult(0);
}

bool ReplaceTopK(stablehlo::CustomCallOp call, mlir::DictionaryAttr attributes) {
  const auto k = attributes.getAs<mlir::IntegerAttr>("k");
  const auto largest = attributes.getAs<mlir::BoolAttr>("largest");
  if (!k || !k.getType().isInteger(64) || call->getNumOperands() != 1 || call->getNumResults() != 2) return false;
  if (!llvm::all_of(call->getOperandTypes(), IsOfNumbers) || !llvm::all_of(call->getResultTypes(), IsOfNumbers))
    return false;
  const auto element = [](mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType(); };
  if (element(call->getOperand(0)) != element(call->getResult(0)) || !element(call->getResult(1)).isInteger(32))
    return false;
  const bool smallest = largest && !largest.getValue();
  mlir::OpBuilder b(call);
  mlir::Value operand = call->getOperand(0);
  const mlir::Type of = element(operand);
  // Floats without a sign are in the order of their bits.
  const bool as_bits = smallest && llvm::isa<mlir::Float8E8M0FNUType>(of);
  if (as_bits) operand = WithBitsOf(b, operand, b.getIntegerType(8, /*isSigned=*/false));
  if (smallest) operand = Reversed(b, operand);
  const auto values_type = llvm::cast<mlir::RankedTensorType>(call->getResult(0).getType()).clone(element(operand));
  auto top = llvm::cast<chlo::TopKOp>(b.create(call->getLoc(), b.getStringAttr("chlo.top_k"), operand,
                                               mlir::TypeRange{values_type, call->getResult(1).getType()},
                                               b.getNamedAttr("k", k)));
  mlir::Value values = top.getValues();
  if (smallest) values = Reversed(b, values);
  if (as_bits) values = WithBitsOf(b, values, of);
  call->replaceAllUsesWith(mlir::ValueRange{values, top.getIndices()});
  return true;
}

/// XLA's own call: rows in the order of the comparator that it names, cut to size, and where the elements were.
bool ReplaceSortedTopK(stablehlo::CustomCallOp call) {
  if (call.getCallTargetName() != "TopK" || call->getNumOperands() != 1 || call->getNumResults() != 2) return false;
  const auto type = [](mlir::Value v) { return llvm::dyn_cast<mlir::RankedTensorType>(v.getType()); };
  auto of = type(call->getOperand(0)), values = type(call->getResult(0)), places = type(call->getResult(1));
  if (!of || !values || !places || !of.hasStaticShape() || of.getRank() == 0) return false;
  const int64_t last = of.getRank() - 1;
  const mlir::Type i32 = mlir::IntegerType::get(call->getContext(), 32);
  if (values.getRank() != of.getRank() || values != values.clone(of.getElementType()) || places != values.clone(i32) ||
      values.getShape().drop_back() != of.getShape().drop_back() || values.getDimSize(last) < 0 ||
      values.getDimSize(last) > of.getDimSize(last))
    return false;
  mlir::OpBuilder b(call);
  mlir::func::FuncOp before =
      ScalarFunctionOf(call, {of.getElementType(), of.getElementType(), i32, i32}, b.getI1Type());
  if (!before) return false;
  const mlir::Location loc = call->getLoc();
  const mlir::Value count = b.create(loc, b.getStringAttr("stablehlo.iota"), {}, of.clone(i32),
                                     b.getNamedAttr("iota_dimension", b.getI64IntegerAttr(last)))
                                ->getResult(0);
  mlir::OperationState sort(
      loc, "stablehlo.sort", {call->getOperand(0), count}, {of, count.getType()},
      {b.getNamedAttr("dimension", b.getI64IntegerAttr(last)), b.getNamedAttr("is_stable", b.getBoolAttr(true))});
  FillRegion(*sort.addRegion(), before);
  const llvm::SmallVector<int64_t> start(static_cast<size_t>(of.getRank()), 0), step(start.size(), 1);
  llvm::SmallVector<mlir::Value> cut;
  for (const mlir::Value sorted : b.create(sort)->getResults()) {
    cut.push_back(b.create(loc, b.getStringAttr("stablehlo.slice"), sorted,
                           values.clone(llvm::cast<mlir::RankedTensorType>(sorted.getType()).getElementType()),
                           {b.getNamedAttr("start_indices", b.getDenseI64ArrayAttr(start)),
                            b.getNamedAttr("limit_indices", b.getDenseI64ArrayAttr(values.getShape())),
                            b.getNamedAttr("strides", b.getDenseI64ArrayAttr(step))})
                      ->getResult(0));
  }
  call->replaceAllUsesWith(cut);
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
      b.create(call->getLoc(), b.getStringAttr("chlo." + name), call->getOperands(), call->getResultTypes()));
  return true;
}

/// The name under which an op travels that StableHLO lacks; empty for all that are written as they are.
llvm::StringRef TargetOf(mlir::Operation* op) {
  if (llvm::isa<chlo::TopKOp>(op)) return kTopK;
  if (llvm::isa<chlo::ErfOp>(op)) return "mhlo.erf";
  if (llvm::isa<chlo::TanOp>(op)) return "mhlo.tan";
  return "";
}

void WriteCall(mlir::Operation* op, llvm::StringRef target) {
  mlir::OpBuilder b(op);
  llvm::SmallVector<mlir::NamedAttribute> attributes;
  if (auto top = llvm::dyn_cast<chlo::TopKOp>(op))
    attributes = {b.getNamedAttr("k", top.getKAttr()), b.getNamedAttr("largest", b.getBoolAttr(true))};
  op->replaceAllUsesWith(b.create(op->getLoc(), b.getStringAttr("stablehlo.custom_call"), op->getOperands(),
                                  op->getResultTypes(),
                                  {b.getNamedAttr("call_target_name", b.getStringAttr(target)),
                                   b.getNamedAttr(kAttributes, b.getDictionaryAttr(attributes)),
                                   b.getNamedAttr(kVersion, b.getI64IntegerAttr(1))}));
  op->erase();
}

}  // namespace

bool ReadNamedCalls(mlir::Operation* module) {
  bool any = false;
  module->walk([&](stablehlo::CustomCallOp call) {
    if (!SpreadTuples(call)) return;
    call->erase();
    any = true;
  });
  module->walk([&](stablehlo::CustomCallOp call) {
    const bool replaced = call.getCallTargetName().starts_with(kPrefix)
                              ? ReplaceCall(call)
                              : ReplaceDecomposition(call) || ReplaceAsyncCall(call) || ReplaceSortedTopK(call);
    if (replaced) call->erase();
    any |= replaced;
  });
  return any;
}

mlir::OwningOpRef<mlir::ModuleOp> WithNamedCalls(mlir::ModuleOp module) {
  const auto any = module->walk([](mlir::Operation* op) {
    return TargetOf(op).empty() ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
  });
  if (!any.wasInterrupted()) return nullptr;
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  copy->walk([](mlir::Operation* op) {
    if (const llvm::StringRef target = TargetOf(op); !target.empty()) WriteCall(op, target);
  });
  return copy;
}

}  // namespace tenon::dialect
