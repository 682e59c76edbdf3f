// Checks of products, decompositions, transforms, normalisation and random numbers.
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "tenon/dialect/stablehlo/verify_util.h"

namespace tenon::stablehlo {

using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::SmallVector;
using llvm::success;
using mlir::RankedTensorType;
using mlir::ShapedType;
using mlir::Type;

namespace {

// Quantized products. The rules are numbered per op; C is the first one's number in each.
LogicalResult CheckQuantizedProduct(mlir::Operation* op, RankedTensorType lhs, RankedTensorType rhs,
                                    RankedTensorType result) {
  const Type a = lhs.getElementType(), b = rhs.getElementType(), c = result.getElementType();
  // dot_general_c14, convolution_c28
  if (IsQuantized(a) != IsQuantized(c) || (IsQuantized(a) && !IsQuantized(b))) {
    return op->emitOpError()
           << "lhs and result must both be quantized or both not, and a quantized lhs needs a quantized "
              "rhs; got "
           << lhs << ", " << rhs << " and " << result;
  }
  if (!IsQuantized(b)) return success();
  if (!IsQuantized(a)) {
    // dot_general_c20, convolution_c34
    if (a == Expressed(b) && a == c) return success();
    return op->emitOpError() << "lhs and result must have the type that rhs expresses, got " << lhs << ", " << rhs
                             << " and " << result;
  }
  // dot_general_c17, convolution_c31
  if (Storage(a) != Storage(b)) {
    return op->emitOpError() << "lhs and rhs must have one storage type, got " << lhs << " and " << rhs;
  }
  // dot_general_c18, convolution_c32
  if (Expressed(a) != Expressed(b) || Expressed(a) != Expressed(c)) {
    return op->emitOpError() << "operands and result must express one type, got " << lhs << ", " << rhs << " and "
                             << result;
  }
  // dot_general_c19, convolution_c33
  if (!IsPerAxis(b) && IsPerAxis(c)) {
    return op->emitOpError() << "result must be quantized per tensor as rhs is, got " << result;
  }
  return success();
}

LogicalResult CheckAlgorithm(mlir::Operation* op, std::optional<mlir::ArrayAttr> precision,
                             DotAlgorithmAttr algorithm) {
  if (!algorithm) return success();
  if (precision) {
    for (PrecisionAttr entry : precision->getAsRange<PrecisionAttr>()) {
      // dot_general_c21
      if (entry.getValue() == Precision::DEFAULT) continue;
      return op->emitOpError() << "precision_config must be DEFAULT beside an algorithm, got "
                               << stringifyPrecision(entry.getValue());
    }
  }
  // dot_general_c22
  if (failed(CheckAtLeast(op, "lhs_component_count", algorithm.getLhsComponentCount(), 1))) return failure();
  // dot_general_c23
  if (failed(CheckAtLeast(op, "rhs_component_count", algorithm.getRhsComponentCount(), 1))) return failure();
  // dot_general_c24
  if (failed(CheckAtLeast(op, "num_primitive_operations", algorithm.getNumPrimitiveOperations(), 1))) return failure();
  for (Type type :
       {algorithm.getLhsPrecisionType(), algorithm.getRhsPrecisionType(), algorithm.getAccumulationType()}) {
    if (!llvm::isa<mlir::FloatType, mlir::IntegerType>(type)) {
      return op->emitOpError() << "algorithm must name number types, got " << type;
    }
  }
  // All algorithms that have a name split operands into one component.
  if (algorithm.getLhsComponentCount() != 1 || algorithm.getRhsComponentCount() != 1) {
    return op->emitOpError() << "algorithm must have component counts of 1, got " << algorithm;
  }
  return success();
}

}  // namespace

LogicalResult CheckQuantizedConvolution(mlir::Operation* op, RankedTensorType lhs, RankedTensorType rhs,
                                        RankedTensorType result) {
  return CheckQuantizedProduct(op, lhs, rhs, result);
}

LogicalResult DotGeneralOp::verify() {
  const RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  const DotDimensionNumbersAttr numbers = getDotDimensionNumbers();
  const Dims lhs_batch = numbers.getLhsBatchingDimensions(), rhs_batch = numbers.getRhsBatchingDimensions();
  const Dims lhs_contract = numbers.getLhsContractingDimensions();
  const Dims rhs_contract = numbers.getRhsContractingDimensions();
  // dot_general_c1
  if (failed(CheckCount(*this, "rhs_batching_dimensions", rhs_batch.size(), lhs_batch.size()))) return failure();
  // dot_general_c2
  if (failed(CheckCount(*this, "rhs_contracting_dimensions", rhs_contract.size(), lhs_contract.size())))
    return failure();
  // dot_general_c3, dot_general_c4
  SmallVector<int64_t> lhs_used(lhs_batch), rhs_used(rhs_batch);
  llvm::append_range(lhs_used, lhs_contract);
  llvm::append_range(rhs_used, rhs_contract);
  if (failed(CheckUnique(*this, "lhs batching and contracting dimensions", lhs_used)) ||
      failed(CheckUnique(*this, "rhs batching and contracting dimensions", rhs_used))) {
    return failure();
  }
  // dot_general_c5, dot_general_c6
  if (failed(CheckInRange(*this, "lhs batching and contracting dimensions", lhs_used, lhs.getRank()))) return failure();
  // dot_general_c7, dot_general_c8
  if (failed(CheckInRange(*this, "rhs batching and contracting dimensions", rhs_used, rhs.getRank()))) return failure();
  for (auto [index, pair] : llvm::enumerate(llvm::zip_equal(lhs_used, rhs_used))) {
    // dot_general_c9, dot_general_c10
    const auto [a, b] = pair;
    if (AgreeSizes(lhs.getDimSize(a), rhs.getDimSize(b))) continue;
    return emitOpError() << (index < lhs_batch.size() ? "batching" : "contracting") << " dimensions " << a
                         << " of lhs and " << b << " of rhs must have one size, got " << lhs.getDimSize(a) << " and "
                         << rhs.getDimSize(b);
  }
  // dot_general_c11
  if (failed(CheckPrecision(*this, getPrecisionConfig()))) return failure();
  if (failed(CheckAlgorithm(*this, getPrecisionConfig(), getAlgorithmAttr()))) return failure();
  // dot_general_c12
  SmallVector<int64_t> shape;
  for (int64_t dim : lhs_batch) shape.push_back(lhs.getDimSize(dim));
  for (int64_t dim = 0; dim < lhs.getRank(); ++dim) {
    if (!llvm::is_contained(lhs_used, dim)) shape.push_back(lhs.getDimSize(dim));
  }
  for (int64_t dim = 0; dim < rhs.getRank(); ++dim) {
    if (!llvm::is_contained(rhs_used, dim)) shape.push_back(rhs.getDimSize(dim));
  }
  if (failed(CheckShape(*this, "result", getType(), shape))) return failure();
  // dot_general_c13 is not demanded: clients mix element types.
  if (failed(CheckQuantizedProduct(*this, lhs, rhs, getType()))) return failure();
  auto axis = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(rhs.getElementType());
  auto uniform = llvm::dyn_cast<mlir::quant::UniformQuantizedType>(rhs.getElementType());
  // dot_general_c15
  if ((uniform && uniform.getZeroPoint() != 0) ||
      (axis && llvm::any_of(axis.getZeroPoints(), [](int64_t zero) { return zero != 0; }))) {
    return emitOpError() << "rhs must have zero points of 0, got " << rhs;
  }
  // dot_general_c16
  if (axis && llvm::is_contained(rhs_contract, axis.getQuantizedDimension())) {
    return emitOpError() << "quantized dimension of rhs must not be contracted, got " << rhs;
  }
  return success();
}

LogicalResult DotOp::verify() {
  const RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  if (failed(CheckPrecision(*this, getPrecisionConfig()))) return failure();
  if (lhs.getRank() < 1 || lhs.getRank() > 2 || rhs.getRank() < 1 || rhs.getRank() > 2 ||
      !AgreeSizes(lhs.getShape().back(), rhs.getShape().front())) {
    return emitOpError() << "expected vectors or matrices whose last and first dimensions agree, got " << lhs << " and "
                         << rhs;
  }
  SmallVector<int64_t> shape(lhs.getShape().drop_back());
  llvm::append_range(shape, rhs.getShape().drop_front());
  return CheckShape(*this, "result", getType(), shape);
}

LogicalResult CholeskyOp::Check() {
  const RankedTensorType type = getA().getType();
  // cholesky_c2, cholesky_c3 (cholesky_c1: inferred)
  if (type.getRank() >= 2 && AgreeSizes(type.getShape().back(), type.getShape().drop_back().back())) return success();
  return emitOpError() << "expected square matrices, got " << type;
}

LogicalResult TriangularSolveOp::Check() {
  const RankedTensorType a = getA().getType(), b = getB().getType();
  // triangular_solve_c1 (triangular_solve_c4: inferred)
  if (!HaveOneBaseline(a.getElementType(), b.getElementType())) {
    return emitOpError() << "operands must have one element type, got " << a << " and " << b;
  }
  // triangular_solve_c2
  const int64_t rank = a.getRank();
  if (rank < 2 || rank != b.getRank()) {
    return emitOpError() << "operands must have one rank of at least 2, got " << a << " and " << b;
  }
  // triangular_solve_c3
  const int64_t rows = a.getDimSize(rank - 2), columns = a.getDimSize(rank - 1);
  const int64_t other = b.getDimSize(getLeftSide() ? rank - 2 : rank - 1);
  if (!AgreeSizes(rows, columns) || !AgreeSizes(rows, other) || !AgreeSizes(columns, other)) {
    return emitOpError() << "expected square matrices a that fit b, got " << a << " and " << b;
  }
  if (!AreCompatibleShapes(a.getShape().drop_back(2), b.getShape().drop_back(2))) {
    return emitOpError() << "operands must have one batch shape, got " << a << " and " << b;
  }
  if (getTransposeA() == Transpose::TRANSPOSE_INVALID)
    return emitOpError() << "transpose_a must not be TRANSPOSE_INVALID";
  return success();
}

LogicalResult FftOp::Check() {
  const RankedTensorType type = getOperand().getType();
  const Dims length = getFftLength();
  const int64_t count = static_cast<int64_t>(length.size());
  // fft_c1, fft_c3
  if (count < 1 || count > 3 || count > type.getRank()) {
    return emitOpError() << "fft_length must have 1 to 3 entries and at most as many as " << type
                         << " has dimensions, got " << count;
  }
  if (failed(CheckAtLeast(*this, "fft_length", length, 0))) return failure();
  // fft_c2 (results: inferred)
  const bool real = getFftType() == FftType::RFFT;
  const Type element = type.getElementType();
  if (real ? !(element.isF32() || element.isF64()) : !llvm::isa<mlir::ComplexType>(element)) {
    return emitOpError() << stringifyFftType(getFftType()) << " must have " << (real ? "f32 or f64" : "complex")
                         << " elements, got " << type;
  }
  // fft_c4, fft_c5: the transformed dimensions are fft_length, but for the halved last one of the complex side.
  for (int64_t i = 0; i < count; ++i) {
    const bool halved = getFftType() == FftType::IRFFT && i == count - 1;
    const int64_t want = !halved ? length[i] : length[i] == 0 ? 0 : length[i] / 2 + 1;
    const int64_t dim = type.getRank() - count + i;
    if (AgreeSizes(type.getDimSize(dim), want)) continue;
    return emitOpError() << "dimension " << dim << " of the operand must be " << want << " for fft_length[" << i
                         << "] = " << length[i] << ", got " << type;
  }
  return success();
}

namespace {

LogicalResult CheckBatchNorm(mlir::Operation* op, RankedTensorType operand, int64_t feature, mlir::ValueRange vectors) {
  // batch_norm_grad_c1, batch_norm_inference_c1, batch_norm_training_c1
  if (failed(CheckInRange(op, "feature_index", feature, operand.getRank()))) return failure();
  for (mlir::Value vector : vectors) {
    // batch_norm_grad_c2, batch_norm_inference_c2, batch_norm_training_c2
    if (!HaveOneBaseline(Element(vector), operand.getElementType())) {
      return op->emitOpError() << "operands must have the element type of " << operand << ", got " << vector.getType();
    }
    // batch_norm_grad_c4 batch_norm_grad_c5, batch_norm_inference_c3 batch_norm_inference_c4 batch_norm_inference_c5
    // batch_norm_inference_c6, batch_norm_training_c3 batch_norm_training_c4. Results are inferred:
    // batch_norm_inference_c7, batch_norm_training_c5 batch_norm_training_c6 batch_norm_training_c7.
    if (!AgreeSizes(Tensor(vector).getDimSize(0), operand.getDimSize(feature))) {
      return op->emitOpError() << "vectors must have the size of dimension " << feature << " of " << operand << ", got "
                               << vector.getType();
    }
  }
  return success();
}

}  // namespace

LogicalResult BatchNormGradOp::Check() {
  const RankedTensorType type = getOperand().getType();
  // batch_norm_grad_c3
  if (!AreBaselineCompatible(type, getGradOutput().getType())) {
    return emitOpError() << "grad_output must have type " << type << ", got " << getGradOutput().getType();
  }
  return CheckBatchNorm(*this, type, getFeatureIndex(), {getScale(), getMean(), getVariance()});
}
LogicalResult BatchNormInferenceOp::Check() {
  return CheckBatchNorm(*this, getOperand().getType(), getFeatureIndex(),
                        {getScale(), getOffset(), getMean(), getVariance()});
}
LogicalResult BatchNormTrainingOp::Check() {
  return CheckBatchNorm(*this, getOperand().getType(), getFeatureIndex(), {getScale(), getOffset()});
}

LogicalResult RngOp::verify() {
  // rng_c1
  const Type element = Element(getA());
  if (element != Element(getB()) || element != getType().getElementType()) {
    return emitOpError() << "a, b and result must have one element type, got " << getA().getType() << ", "
                         << getB().getType() << " and " << getType();
  }
  // rng_c2
  if (getRngDistribution() == RngDistribution::NORMAL && !llvm::isa<mlir::FloatType>(element)) {
    return emitOpError() << "NORMAL must have floating-point elements, got " << getType();
  }
  // rng_c3
  if (failed(CheckCount(*this, "shape", getShape().getType().getDimSize(0), getType().getRank()))) return failure();
  mlir::DenseIntElementsAttr shape;
  if (auto constant = getShape().getDefiningOp<ConstantOp>()) {
    shape = llvm::dyn_cast<mlir::DenseIntElementsAttr>(constant.getValue());
  }
  // Only so many sizes, whatever a wrong constant says of itself.
  if (!shape || shape.getNumElements() != getType().getRank()) return success();
  SmallVector<int64_t> sizes;
  for (const llvm::APInt& size : shape.getValues<llvm::APInt>()) sizes.push_back(size.getSExtValue());
  return CheckShape(*this, "result", getType(), sizes);
}

LogicalResult RngBitGeneratorOp::verify() {
  const RankedTensorType state = getInitialState().getType();
  // rng_bit_generator_c1
  if (!AreCompatible(state, getOutputState().getType())) {
    return emitOpError() << "output_state must have type " << state << ", got " << getOutputState().getType();
  }
  // rng_bit_generator_c2; artifacts in the field also carry states that are no vectors, which no generator takes.
  if (state.getRank() != 1) return success();
  const int64_t size = state.getDimSize(0);
  const bool fits = ShapedType::isDynamic(size) || getRngAlgorithm() == RngAlgorithm::DEFAULT || size == 2 ||
                    (size == 3 && getRngAlgorithm() == RngAlgorithm::PHILOX);
  if (fits) return success();
  return emitOpError() << stringifyRngAlgorithm(getRngAlgorithm()) << " must have a state of "
                       << (getRngAlgorithm() == RngAlgorithm::PHILOX ? "2 or 3" : "2") << " elements, got " << state;
}

}  // namespace tenon::stablehlo
