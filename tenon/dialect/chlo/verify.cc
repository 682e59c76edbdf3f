#include "tenon/dialect/chlo/dialect.h"
#include "tenon/dialect/stablehlo/verify_util.h"

namespace tenon::chlo {

using llvm::ArrayRef;
using llvm::LogicalResult;
using llvm::success;
using mlir::RankedTensorType;
using mlir::ShapedType;

namespace {

RankedTensorType Ranked(mlir::Value value) { return llvm::dyn_cast<RankedTensorType>(value.getType()); }

bool SameShape(mlir::Type a, mlir::Type b) {
  auto ra = llvm::dyn_cast<RankedTensorType>(a);
  auto rb = llvm::dyn_cast<RankedTensorType>(b);
  return !ra || !rb || stablehlo::AreCompatibleShapes(ra.getShape(), rb.getShape());
}

mlir::Type Element(mlir::Type type) { return llvm::cast<mlir::TensorType>(type).getElementType(); }

bool InRange(int64_t dim, int64_t rank) { return dim >= 0 && dim < rank; }

}  // namespace

bool IsTensorOf(mlir::Type type, uint32_t kinds) {
  auto tensor = llvm::dyn_cast<mlir::TensorType>(type);
  return tensor && stablehlo::IsElementOf(tensor.getElementType(), kinds);
}

LogicalResult VerifySameShapes(mlir::Operation* op) {
  const mlir::Type result = op->getResult(0).getType();
  const bool predicate = Element(result).isInteger(1);
  for (mlir::Type type : op->getOperandTypes()) {
    if (!SameShape(type, result)) {
      return op->emitOpError() << "operand and result must have one shape, got " << type << " and " << result;
    }
    if (!predicate && Element(type) != Element(result)) {
      return op->emitOpError() << "operand and result must have one element type, got " << type << " and " << result;
    }
  }
  return success();
}

LogicalResult VerifyBroadcast(mlir::Operation* op, std::optional<ArrayRef<int64_t>> dims) {
  const mlir::Type a_element = Element(op->getOperand(0).getType()), b_element = Element(op->getOperand(1).getType());
  if (!stablehlo::HaveOneBaseline(a_element, b_element)) {
    return op->emitOpError() << "operands must have one element type, got " << op->getOperandTypes();
  }
  mlir::Type element = a_element, got = Element(op->getResult(0).getType());
  if (llvm::isa<BroadcastCompareOp>(op)) element = got;  // A predicate, by the op's own types.
  if (llvm::isa<BroadcastComplexOp>(op)) element = mlir::ComplexType::get(a_element);
  if (!stablehlo::HaveOneBaseline(element, got)) {
    return op->emitOpError() << "result must have elements of type " << element << ", got "
                             << op->getResult(0).getType();
  }
  const RankedTensorType lhs = Ranked(op->getOperand(0)), rhs = Ranked(op->getOperand(1));
  const RankedTensorType result = Ranked(op->getResult(0));
  if (!lhs || !rhs) return success();
  const RankedTensorType small = lhs.getRank() <= rhs.getRank() ? lhs : rhs;
  const RankedTensorType large = lhs.getRank() <= rhs.getRank() ? rhs : lhs;
  const int64_t offset = large.getRank() - small.getRank();
  if (result && result.getRank() != large.getRank()) {
    return op->emitOpError() << "expected a result of rank " << large.getRank() << ", got " << result;
  }
  if (dims && static_cast<int64_t>(dims->size()) != small.getRank()) {
    return op->emitOpError() << "expected " << small.getRank() << " broadcast_dimensions, got " << dims->size();
  }
  llvm::SmallVector<int64_t> shape(large.getShape());
  for (int64_t i = 0; i < small.getRank(); ++i) {
    const int64_t to = dims ? (*dims)[i] : i + offset;
    if (!InRange(to, large.getRank())) {
      return op->emitOpError() << "broadcast_dimensions[" << i << "] = " << to << " is not a dimension of " << large;
    }
    if (dims && i > 0 && to <= (*dims)[i - 1]) return op->emitOpError() << "broadcast_dimensions must ascend";
    const int64_t a = small.getDimSize(i), b = large.getDimSize(to);
    if (a != b && a != 1 && b != 1 && !ShapedType::isDynamic(a) && !ShapedType::isDynamic(b)) {
      return op->emitOpError() << "cannot broadcast dimension " << i << " of " << small << " to dimension " << to
                               << " of " << large;
    }
    // Of a dynamic size nothing is known but that it is the other one, where that is not 1.
    if (b == 1 || (ShapedType::isDynamic(b) && a != 1)) shape[to] = a;
  }
  if (!result || stablehlo::AreCompatibleShapes(result.getShape(), shape)) return success();
  return op->emitOpError() << "expected a result of shape [" << shape << "], got " << result;
}

LogicalResult BroadcastSelectOp::verify() {
  if (Element(getOnTrue().getType()) != Element(getOnFalse().getType())) {
    return emitOpError() << "branches must have one element type, got " << getOnTrue().getType() << " and "
                         << getOnFalse().getType();
  }
  if (Element(getOnTrue().getType()) != Element(getType())) {
    return emitOpError() << "result must have elements of " << getOnTrue().getType() << ", got " << getType();
  }
  const RankedTensorType result = Ranked(getResult());
  if (!result) return success();
  for (mlir::Value operand : getOperands()) {
    const RankedTensorType type = Ranked(operand);
    bool fits = !type || type.getRank() <= result.getRank();
    for (int64_t i = 0; type && fits && i < type.getRank(); ++i) {
      const int64_t a = type.getDimSize(i), b = result.getDimSize(result.getRank() - type.getRank() + i);
      fits = a == 1 || stablehlo::AgreeSizes(a, b);
    }
    if (!fits) return emitOpError() << "cannot broadcast " << type << " to " << result;
  }
  return success();
}

LogicalResult ConstantLikeOp::verify() {
  if (getValue().getType() != Element(getType())) {
    return emitOpError() << "value has type " << getValue().getType() << ", result elements are " << Element(getType());
  }
  if (!SameShape(getOperand().getType(), getType())) {
    return emitOpError() << "expected a result of the shape of " << getOperand().getType() << ", got " << getType();
  }
  return success();
}

LogicalResult TopKOp::verify() {
  if (getK() < 0) return emitOpError() << "k must not be negative, got " << static_cast<int64_t>(getK());
  if (Element(getValues().getType()) != Element(getOperand().getType()) ||
      !Element(getIndices().getType()).isSignlessInteger(32)) {
    return emitOpError() << "expected values of the element type of " << getOperand().getType()
                         << " and indices of i32, got " << getValues().getType() << " and " << getIndices().getType();
  }
  const RankedTensorType operand = Ranked(getOperand());
  if (!operand) return success();
  if (operand.getRank() == 0) return emitOpError() << "expected an operand of rank >= 1, got " << operand;
  const int64_t last = operand.getShape().back(), k = getK();
  if (!ShapedType::isDynamic(last) && last < k) {
    return emitOpError() << "k = " << k << " is larger than the last dimension of " << operand;
  }
  llvm::SmallVector<int64_t> shape(operand.getShape());
  shape.back() = k;
  for (mlir::Value result : getResults()) {
    const RankedTensorType type = Ranked(result);
    if (type && !stablehlo::AreCompatibleShapes(type.getShape(), shape)) {
      return emitOpError() << "expected results of the shape of " << operand << " with last dimension " << k << ", got "
                           << type;
    }
  }
  return success();
}

}  // namespace tenon::chlo
