// Checks of elementwise ops. `name_cN` is the number of a constraint in the op's specification; constraints on the
// result that are not named here are checked against the inferred type.
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "tenon/dialect/stablehlo/verify_util.h"

namespace tenon::stablehlo {

using llvm::LogicalResult;
using llvm::success;
using mlir::Type;

LogicalResult VerifyElementwise(mlir::Operation* op) {
  const Type first = op->getOperand(0).getType();
  for (Type type : op->getOperandTypes()) {
    // add_c1 and_c1 atan2_c1 divide_c1 maximum_c1 minimum_c1 multiply_c1 or_c1 power_c1 remainder_c1 shift_left_c1
    // shift_right_arithmetic_c1 shift_right_logical_c1 subtract_c1 xor_c1: operands have one type; the result's is
    // inferred, as for cbrt_c1 ceil_c1 cosine_c1 count_leading_zeros_c1 exponential_c1 exponential_minus_one_c1
    // floor_c1 log_c1 log_plus_one_c1 logistic_c1 negate_c1 not_c1 popcnt_c1 round_nearest_afz_c1 round_nearest_even_c1
    // rsqrt_c1 sign_c1 sine_c1 sqrt_c1 tan_c1 tanh_c1, abs_c1 abs_c2 imag_c1 imag_c2 real_c1 real_c2, is_finite_c1,
    // uniform_dequantize_c1 uniform_dequantize_c2.
    if (!AreBaselineCompatible(first, type)) {
      return op->emitOpError() << "operands must have one type, got " << op->getOperandTypes();
    }
  }
  return success();
}

LogicalResult VerifyQuantizedSum(mlir::Operation* op) {
  // add_c2, add_c3, add_c4: compatible element types are all quantized or none, and share storage and expressed types.
  const auto axis_of = [](mlir::Value value) {
    auto axis = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(Element(value));
    return axis ? std::optional<int64_t>(axis.getQuantizedDimension()) : std::nullopt;
  };
  const std::optional<int64_t> lhs = axis_of(op->getOperand(0)), rhs = axis_of(op->getOperand(1));
  // The result must be a tensor for its axis to be looked at; inference refuses anything else afterwards.
  if (!llvm::isa<mlir::RankedTensorType>(op->getResult(0).getType())) return success();
  const std::optional<int64_t> result = axis_of(op->getResult(0));
  // add_c5, add_c6, add_c7
  if ((lhs || rhs) != result.has_value() || (lhs && lhs != result) || (rhs && rhs != result)) {
    return op->emitOpError() << "result must be quantized along the operands' axes, got " << op->getOperandTypes()
                             << " and " << op->getResult(0).getType();
  }
  return success();
}

LogicalResult VerifyAccuracy(mlir::Operation* op, ResultAccuracyAttr accuracy) {
  if (accuracy.getAtol().isNegative() || accuracy.getRtol().isNegative() || accuracy.getUlps() < 0) {
    return op->emitOpError() << "result_accuracy must not have negative tolerances, got " << accuracy;
  }
  const bool zero = accuracy.getAtol().isZero() && accuracy.getRtol().isZero() && accuracy.getUlps() == 0;
  if (!zero && accuracy.getMode().getValue() != ResultAccuracyMode::TOLERANCE) {
    return op->emitOpError() << "result_accuracy must have no tolerances unless its mode is TOLERANCE, got "
                             << accuracy;
  }
  return success();
}

LogicalResult ComplexOp::Check() {
  // complex_c1: parts have one type (complex_c2, complex_c3: inferred).
  return VerifyElementwise(*this);
}

LogicalResult CompareOp::Check() {
  // compare_c1, compare_c2: operands have one shape and expressed element type (the result is inferred).
  if (!AreCompatibleShapes(getLhs().getType().getShape(), getRhs().getType().getShape()) ||
      Expressed(Element(getLhs())) != Expressed(Element(getRhs()))) {
    return emitOpError() << "operands must have one type, got " << getOperandTypes();
  }
  // compare_c3 is not demanded: artifacts in the field carry SIGNED or UNSIGNED beside floats; only TOTALORDER on
  // floats says something that the element type does not.
  return success();
}

LogicalResult SelectOp::Check() {
  // select_c1: the predicate is a scalar or has the branches' shape.
  const mlir::RankedTensorType pred = getPred().getType(), on_true = getOnTrue().getType();
  if (pred.getRank() != 0 && !AreCompatibleShapes(pred.getShape(), on_true.getShape())) {
    return emitOpError() << "pred must be a scalar or have the shape of " << on_true << ", got " << pred;
  }
  // select_c2: both branches have one type (the result is inferred).
  if (!AreBaselineCompatible(on_true, getOnFalse().getType())) {
    return emitOpError() << "branches must have one type, got " << on_true << " and " << getOnFalse().getType();
  }
  return success();
}

LogicalResult ClampOp::Check() {
  const mlir::RankedTensorType type = getOperand().getType();
  for (auto [name, bound] : {std::pair("min", getMin()), std::pair("max", getMax())}) {
    // clamp_c1, clamp_c2: bounds are scalars or have the operand's shape.
    if (bound.getType().getRank() != 0 && !AreCompatibleShapes(bound.getType().getShape(), type.getShape())) {
      return emitOpError() << name << " must be a scalar or have the shape of " << type << ", got " << bound.getType();
    }
    // clamp_c3: one element type (clamp_c4: inferred).
    if (!HaveOneBaseline(Element(bound), type.getElementType())) {
      return emitOpError() << name << " must have the element type of " << type << ", got " << bound.getType();
    }
  }
  return success();
}

LogicalResult ConvertOp::verify() {
  // convert_c1: shapes agree.
  return CheckShape(*this, "result", getType(), getOperand().getType().getShape());
}

LogicalResult ReducePrecisionOp::Check() {
  // reduce_precision_c1: inferred.
  const int32_t exponent = static_cast<int32_t>(getExponentBits());
  const int32_t mantissa = static_cast<int32_t>(getMantissaBits());
  // reduce_precision_c2
  if (exponent < 1) return emitOpError() << "exponent_bits must be at least 1, got " << exponent;
  // reduce_precision_c3
  if (mantissa < 0) return emitOpError() << "mantissa_bits must be at least 0, got " << mantissa;
  return success();
}

LogicalResult UniformQuantizeOp::verify() {
  // uniform_quantize_c1: shapes agree.
  if (failed(CheckShape(*this, "result", getType(), getOperand().getType().getShape()))) return mlir::failure();
  // uniform_quantize_c2: the result expresses the operand's element type.
  if (Expressed(Element(getOperand())) != Expressed(getType().getElementType())) {
    return emitOpError() << "result must express elements of " << getOperand().getType() << ", got " << getType();
  }
  return success();
}

}  // namespace tenon::stablehlo
