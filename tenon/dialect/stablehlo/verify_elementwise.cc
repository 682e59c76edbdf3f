#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::stablehlo {

llvm::LogicalResult VerifyElementwise(mlir::Operation* op) {
  const mlir::Type first = op->getOperand(0).getType();
  for (mlir::OpOperand& operand : op->getOpOperands()) {
    // C1 of the elementwise ops: operands and result agree.
    if (!AreCompatible(first, operand.get().getType())) {
      return op->emitOpError() << "operands must agree in shape and element type, got " << op->getOperandTypes();
    }
  }
  return llvm::success();
}

llvm::LogicalResult VerifyAccuracy(mlir::Operation* op, ResultAccuracyAttr accuracy) {
  if (accuracy.getAtol().isNegative() || accuracy.getRtol().isNegative() || accuracy.getUlps() < 0) {
    return op->emitOpError() << "result_accuracy has a negative tolerance: " << accuracy;
  }
  const bool zero = accuracy.getAtol().isZero() && accuracy.getRtol().isZero() && accuracy.getUlps() == 0;
  if (!zero && accuracy.getMode().getValue() != ResultAccuracyMode::TOLERANCE) {
    return op->emitOpError() << "result_accuracy has tolerances but its mode is not TOLERANCE: " << accuracy;
  }
  return llvm::success();
}

}  // namespace tenon::stablehlo
