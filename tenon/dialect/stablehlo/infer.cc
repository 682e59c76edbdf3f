// Result types of the ops whose result follows from operands and attributes. Runs before the ops' verifiers, so
// that nothing may be taken for granted but what TableGen's constraints say; whatever makes no sense yields
// failure, or a type that the verifier then refuses.
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/dialect/stablehlo/shape_math.h"

namespace tenon::stablehlo {

using llvm::failure;
using llvm::LogicalResult;
using llvm::SmallVector;
using llvm::SmallVectorImpl;
using llvm::success;
using mlir::MLIRContext;
using mlir::RankedTensorType;
using mlir::ShapedType;
using mlir::Type;
using OptionalLocation = std::optional<mlir::Location>;
using Types = SmallVectorImpl<Type>;

namespace {

RankedTensorType TensorType(mlir::Value value) { return llvm::dyn_cast<RankedTensorType>(value.getType()); }

LogicalResult Give(Types& types, Type type) {
  types.push_back(type);
  return success();
}

LogicalResult GiveWithElement(Types& types, mlir::Value like, Type element) {
  const RankedTensorType type = TensorType(like);
  return type ? Give(types, WithElement(type, element)) : failure();
}

}  // namespace

//===--- Elementwise ---===//

LogicalResult ComplexOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  const RankedTensorType type = TensorType(adaptor.getLhs());
  return type ? Give(types, WithElement(type, mlir::ComplexType::get(type.getElementType()))) : failure();
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext* context, OptionalLocation, Adaptor adaptor, Types& types) {
  return GiveWithElement(types, adaptor.getLhs(), mlir::IntegerType::get(context, 1));
}

LogicalResult SelectOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  return Give(types, adaptor.getOnTrue().getType());
}

LogicalResult ClampOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  return Give(types, adaptor.getOperand().getType());
}

LogicalResult IsFiniteOp::inferReturnTypes(MLIRContext* context, OptionalLocation, Adaptor adaptor, Types& types) {
  return GiveWithElement(types, adaptor.getX(), mlir::IntegerType::get(context, 1));
}

LogicalResult UniformDequantizeOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  const RankedTensorType type = TensorType(adaptor.getOperand());
  auto quantized = type ? llvm::dyn_cast<mlir::quant::QuantizedType>(type.getElementType()) : nullptr;
  return quantized ? Give(types, WithElement(type, quantized.getExpressedType())) : failure();
}

//===--- Movement ---===//

LogicalResult BroadcastOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  const RankedTensorType type = TensorType(adaptor.getOperand());
  SmallVector<int64_t> shape(adaptor.getBroadcastSizes());
  if (!type || llvm::any_of(shape, [](int64_t size) { return size < 0; })) return failure();
  llvm::append_range(shape, type.getShape());
  return Give(types, RankedTensorType::get(shape, type.getElementType()));
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  const RankedTensorType type = TensorType(adaptor.getOperand());
  const llvm::ArrayRef<int64_t> permutation = adaptor.getPermutation();
  if (!type || !IsPermutation(permutation, type.getRank())) return failure();
  SmallVector<int64_t> shape, bounds;
  for (int64_t dim : permutation) {
    shape.push_back(type.getDimSize(dim));
    if (!Bounds(type).empty()) bounds.push_back(Bounds(type)[dim]);
  }
  Type element = type.getElementType();
  if (auto axis = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(element)) {
    const auto* where = llvm::find(permutation, axis.getQuantizedDimension());
    if (where == permutation.end()) return failure();
    element = mlir::quant::UniformQuantizedPerAxisType::get(
        axis.getFlags(), axis.getStorageType(), axis.getExpressedType(), axis.getScales(), axis.getZeroPoints(),
        static_cast<int32_t>(where - permutation.begin()), axis.getStorageTypeMin(), axis.getStorageTypeMax());
  }
  return Give(types, TensorWithBounds(shape, element, bounds));
}

LogicalResult ReverseOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  return InferLikeFirst(adaptor.getOperands(), types);
}

LogicalResult ConcatenateOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  const RankedTensorType first = adaptor.getInputs().empty() ? nullptr : TensorType(adaptor.getInputs().front());
  const int64_t dimension = adaptor.getDimension();
  if (!first || dimension < 0 || dimension >= first.getRank()) return failure();
  SmallVector<int64_t> shape(first.getRank(), ShapedType::kDynamic);
  int64_t sum = 0;
  for (mlir::Value input : adaptor.getInputs()) {
    const RankedTensorType type = TensorType(input);
    if (!type || type.getRank() != first.getRank()) return failure();
    sum = AddSizes(sum, type.getDimSize(dimension));
    for (auto [dim, size] : llvm::enumerate(type.getShape())) {
      if (ShapedType::isDynamic(shape[dim])) shape[dim] = size;
    }
  }
  shape[dimension] = sum;
  return Give(types, RankedTensorType::get(shape, first.getElementType()));
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  const RankedTensorType type = TensorType(adaptor.getOperand());
  const auto start = adaptor.getStartIndices(), limit = adaptor.getLimitIndices(), strides = adaptor.getStrides();
  const size_t rank = type ? type.getRank() : 0;
  if (!type || start.size() != rank || limit.size() != rank || strides.size() != rank) return failure();
  SmallVector<int64_t> shape;
  for (size_t i = 0; i < rank; ++i) {
    if (start[i] < 0 || limit[i] < start[i] || strides[i] < 1) return failure();
    shape.push_back(CeilDiv(limit[i] - start[i], strides[i]));
  }
  return Give(types, RankedTensorType::get(shape, type.getElementType()));
}

LogicalResult PadOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  const RankedTensorType type = TensorType(adaptor.getOperand());
  const auto low = adaptor.getEdgePaddingLow(), high = adaptor.getEdgePaddingHigh();
  const auto interior = adaptor.getInteriorPadding();
  const size_t rank = type ? type.getRank() : 0;
  if (!type || low.size() != rank || high.size() != rank || interior.size() != rank) return failure();
  SmallVector<int64_t> shape;
  for (size_t i = 0; i < rank; ++i) {
    const std::optional<int64_t> size = PaddedSize(type.getDimSize(i), low[i], high[i], interior[i]);
    if (!size) return failure();
    shape.push_back(*size);
  }
  return Give(types, RankedTensorType::get(shape, type.getElementType()));
}

LogicalResult DynamicSliceOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  const RankedTensorType type = TensorType(adaptor.getOperand());
  const llvm::ArrayRef<int64_t> sizes = adaptor.getSliceSizes();
  if (!type || llvm::any_of(sizes, [](int64_t size) { return size < 0; })) return failure();
  return Give(types, RankedTensorType::get(sizes, type.getElementType()));
}

LogicalResult DynamicUpdateSliceOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  return InferLikeFirst(adaptor.getOperands(), types);
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  const RankedTensorType operand = TensorType(adaptor.getOperand());
  const RankedTensorType indices = TensorType(adaptor.getStartIndices());
  const GatherDimensionNumbersAttr numbers = adaptor.getDimensionNumbers();
  if (!operand || !indices || !numbers) return failure();
  SmallVector<int64_t> shape;
  if (!GatherShape(indices.getShape(), numbers, adaptor.getSliceSizes(), shape)) return failure();
  return Give(types, RankedTensorType::get(shape, operand.getElementType()));
}

LogicalResult GetDimensionSizeOp::inferReturnTypes(MLIRContext* context, OptionalLocation, Adaptor, Types& types) {
  return Give(types, RankedTensorType::get({}, mlir::IntegerType::get(context, 32)));
}

//===--- Linear algebra ---===//

LogicalResult CholeskyOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  return InferLikeFirst(adaptor.getOperands(), types);
}

LogicalResult TriangularSolveOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  return Give(types, adaptor.getB().getType());
}

LogicalResult FftOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  const RankedTensorType type = TensorType(adaptor.getOperand());
  const llvm::ArrayRef<int64_t> length = adaptor.getFftLength();
  if (!type || length.empty() || type.getRank() < static_cast<int64_t>(length.size()) || length.back() < 0) {
    return failure();
  }
  SmallVector<int64_t> shape(type.getShape());
  Type element = type.getElementType();
  auto complex = llvm::dyn_cast<mlir::ComplexType>(element);
  if (adaptor.getFftType() == FftType::RFFT) {
    if (!element.isF32() && !element.isF64()) return failure();
    shape.back() = length.back() == 0 ? 0 : length.back() / 2 + 1;
    element = mlir::ComplexType::get(element);
  } else if (adaptor.getFftType() == FftType::IRFFT) {
    if (!complex) return failure();
    shape.back() = length.back();
    element = complex.getElementType();
  }
  return Give(types, RankedTensorType::get(shape, element));
}

namespace {

// Types of a batch normalisation: the operand's, and `vectors` of its features.
LogicalResult InferBatchNorm(mlir::Value operand, int64_t feature_index, int vectors, Types& types) {
  const RankedTensorType type = TensorType(operand);
  if (!type || feature_index < 0 || feature_index >= type.getRank()) return failure();
  types.push_back(type);
  types.append(vectors, RankedTensorType::get({type.getDimSize(feature_index)}, type.getElementType()));
  return success();
}

}  // namespace

LogicalResult BatchNormGradOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  return InferBatchNorm(adaptor.getOperand(), adaptor.getFeatureIndex(), 2, types);
}
LogicalResult BatchNormInferenceOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  return InferBatchNorm(adaptor.getOperand(), adaptor.getFeatureIndex(), 0, types);
}
LogicalResult BatchNormTrainingOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  return InferBatchNorm(adaptor.getOperand(), adaptor.getFeatureIndex(), 2, types);
}

//===--- Processes, tuples ---===//

LogicalResult CollectivePermuteOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  return InferLikeFirst(adaptor.getOperands(), types);
}
LogicalResult CrossReplicaSumOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  return InferLikeFirst(adaptor.getOperands(), types);
}
LogicalResult PartitionIdOp::inferReturnTypes(MLIRContext* context, OptionalLocation, Adaptor, Types& types) {
  return Give(types, RankedTensorType::get({}, mlir::IntegerType::get(context, 32, mlir::IntegerType::Unsigned)));
}
LogicalResult ReplicaIdOp::inferReturnTypes(MLIRContext* context, OptionalLocation, Adaptor, Types& types) {
  return Give(types, RankedTensorType::get({}, mlir::IntegerType::get(context, 32, mlir::IntegerType::Unsigned)));
}
LogicalResult OptimizationBarrierOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  llvm::append_range(types, adaptor.getOperands().getTypes());
  return success();
}
LogicalResult TupleOp::inferReturnTypes(MLIRContext* context, OptionalLocation, Adaptor adaptor, Types& types) {
  return Give(types, mlir::TupleType::get(context, adaptor.getVal().getTypes()));
}
LogicalResult GetTupleElementOp::inferReturnTypes(MLIRContext*, OptionalLocation, Adaptor adaptor, Types& types) {
  auto tuple = llvm::dyn_cast<mlir::TupleType>(adaptor.getOperand().getType());
  const int32_t index = static_cast<int32_t>(adaptor.getIndex());
  if (!tuple || index < 0 || static_cast<size_t>(index) >= tuple.size()) return failure();
  return Give(types, tuple.getType(index));
}

}  // namespace tenon::stablehlo
