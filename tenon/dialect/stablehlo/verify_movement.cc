// Checks of ops that make and move elements. Constraints on results that are not named are checked against inferred
// types.
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "tenon/dialect/stablehlo/shape_math.h"
#include "tenon/dialect/stablehlo/verify_util.h"

namespace tenon::stablehlo {

using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::success;
using mlir::RankedTensorType;
using mlir::ShapedType;
using mlir::Type;

LogicalResult ConstantOp::verify() {
  // constant_c1: the value has the result's type; a quantized result takes its storage integers.
  auto value = llvm::dyn_cast<RankedTensorType>(getValue().getType());
  const Type element = getType().getElementType();
  if (value && value.getShape() == getType().getShape() &&
      (value.getElementType() == element || value.getElementType() == Storage(element))) {
    return success();
  }
  return emitOpError() << "value must have type " << getType() << ", got " << getValue().getType();
}

LogicalResult IotaOp::verify() {
  // iota_c1
  return CheckInRange(*this, "iota_dimension", getIotaDimension(), getType().getRank());
}

LogicalResult BitcastConvertOp::verify() {
  const RankedTensorType from = getOperand().getType(), to = getType();
  const Type a = from.getElementType(), b = to.getElementType();
  // bitcast_convert_c2: complex numbers only to complex numbers.
  if (llvm::isa<mlir::ComplexType>(a) != llvm::isa<mlir::ComplexType>(b)) {
    return emitOpError() << "operand and result must both be complex or both not, got " << from << " and " << to;
  }
  // bitcast_convert_c1: equal widths keep the shape; otherwise the side with the narrower elements has one more
  // dimension, of as many elements as fit into one of the other side.
  const int64_t width_a = BitWidth(a), width_b = BitWidth(b);
  if (width_a == width_b) return CheckShape(*this, "result", to, from.getShape());
  const bool narrows = width_b < width_a;
  const RankedTensorType wide = narrows ? from : to, narrow = narrows ? to : from;
  const int64_t large = std::max(width_a, width_b), small = std::min(width_a, width_b);
  if (narrow.getRank() == wide.getRank() + 1 && AreCompatibleShapes(narrow.getShape().drop_back(), wide.getShape()) &&
      large % small == 0 && AgreeSizes(narrow.getShape().back(), large / small)) {
    return success();
  }
  return emitOpError() << "result must hold the bits of " << from << ", got " << to;
}

// What broadcast_in_dim and dynamic_broadcast_in_dim share.
static LogicalResult CheckBroadcast(mlir::Operation* op, RankedTensorType operand, RankedTensorType result, Dims dims) {
  // broadcast_in_dim_c1, dynamic_broadcast_in_dim_c1: element types agree, but for the parameters of an axis.
  auto from = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(operand.getElementType());
  auto into = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(result.getElementType());
  if (from && into ? !HaveOneBaseline(from, into) : operand.getElementType() != result.getElementType()) {
    return op->emitOpError() << "result must have the element type of " << operand << ", got " << result;
  }
  // broadcast_in_dim_c2, dynamic_broadcast_in_dim_c2
  if (failed(CheckCount(op, "broadcast_dimensions", dims.size(), operand.getRank()))) return failure();
  // broadcast_in_dim_c3, dynamic_broadcast_in_dim_c3
  if (failed(CheckInRange(op, "broadcast_dimensions", dims, result.getRank()))) return failure();
  // broadcast_in_dim_c4, dynamic_broadcast_in_dim_c4
  if (failed(CheckUnique(op, "broadcast_dimensions", dims))) return failure();
  for (auto [dim, to] : llvm::enumerate(dims)) {
    // broadcast_in_dim_c5, dynamic_broadcast_in_dim_c5: a dimension is stretched from 1 or kept.
    const int64_t size = operand.getDimSize(dim);
    if (size != 1 && !AgreeSizes(size, result.getDimSize(to))) {
      return op->emitOpError() << "operand dimension " << dim << " must be 1 or the size of result dimension " << to
                               << " (" << result.getDimSize(to) << "), got " << size;
    }
  }
  // broadcast_in_dim_c6, dynamic_broadcast_in_dim_c6: the quantized axis moves along.
  if (!into) return success();
  const int64_t axis = from.getQuantizedDimension();
  if (axis < 0 || axis >= operand.getRank() || dims[axis] != into.getQuantizedDimension()) {
    return op->emitOpError() << "quantized dimension " << into.getQuantizedDimension()
                             << " of the result is not where the operand's goes";
  }
  if (operand.getDimSize(axis) == 1 && !from.getScales().empty()) {
    const bool repeats =
        llvm::all_of(into.getScales(), [&](double scale) { return scale == from.getScales().front(); }) &&
        llvm::all_of(into.getZeroPoints(), [&](int64_t zero) { return zero == from.getZeroPoints().front(); });
    if (!repeats) return op->emitOpError() << "scales and zero points of the result must repeat the operand's";
  } else if (from.getScales() != into.getScales() || from.getZeroPoints() != into.getZeroPoints()) {
    return op->emitOpError() << "scales and zero points of the result must be the operand's, got " << operand << " and "
                             << result;
  }
  return success();
}

LogicalResult BroadcastInDimOp::verify() {
  return CheckBroadcast(*this, getOperand().getType(), getType(), getBroadcastDimensions());
}

LogicalResult BroadcastOp::Check() { return CheckAtLeast(*this, "broadcast_sizes", getBroadcastSizes(), 0); }

// Number of elements; nothing if a dimension is dynamic or the product does not fit.
static std::optional<int64_t> CountElements(Dims shape) {
  int64_t count = 1;
  if (llvm::is_contained(shape, 0)) return 0;
  for (int64_t size : shape) {
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(count, size, count)) return std::nullopt;
  }
  return count;
}

// What reshape and dynamic_reshape share.
static LogicalResult CheckReshape(mlir::Operation* op, RankedTensorType from, RankedTensorType to) {
  // reshape_c1, dynamic_reshape_c1: element types agree, but for a quantized axis.
  if (from.getElementType() != to.getElementType() && !DifferInAxisOnly(from.getElementType(), to.getElementType())) {
    return op->emitOpError() << "result must have the element type of " << from << ", got " << to;
  }
  // reshape_c2, dynamic_reshape_c2: as many elements.
  const std::optional<int64_t> before = CountElements(from.getShape()), after = CountElements(to.getShape());
  if (before && after && *before != *after) {
    return op->emitOpError() << "result must have " << *before << " elements as " << from << " has, got " << to;
  }
  // reshape_c3, dynamic_reshape_c3: what surrounds a quantized axis keeps its number of elements.
  auto a = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(from.getElementType());
  auto b = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(to.getElementType());
  if (!a || !b) return success();
  const int64_t axis_a = a.getQuantizedDimension(), axis_b = b.getQuantizedDimension();
  if (axis_a >= from.getRank() || axis_b >= to.getRank()) {
    return op->emitOpError() << "quantized dimensions " << axis_a << " and " << axis_b << " are not dimensions of "
                             << from << " and " << to;
  }
  const auto differ = [](std::optional<int64_t> x, std::optional<int64_t> y) { return x && y && *x != *y; };
  if (differ(CountElements(from.getShape().take_front(axis_a)), CountElements(to.getShape().take_front(axis_b))) ||
      !AgreeSizes(from.getDimSize(axis_a), to.getDimSize(axis_b)) ||
      differ(CountElements(from.getShape().drop_front(axis_a + 1)),
             CountElements(to.getShape().drop_front(axis_b + 1)))) {
    return op->emitOpError() << "quantized axis of the result must split its elements as that of " << from
                             << " does, got " << to;
  }
  return success();
}

LogicalResult ReshapeOp::verify() { return CheckReshape(*this, getOperand().getType(), getType()); }

LogicalResult TransposeOp::Check() {
  // transpose_c2 (transpose_c1, transpose_c3, transpose_c4: inferred)
  const int64_t rank = getOperand().getType().getRank();
  if (IsPermutation(getPermutation(), rank)) return success();
  return emitOpError() << "permutation must hold each of 0 .. " << rank - 1 << " once, got [" << getPermutation()
                       << "]";
}

LogicalResult ReverseOp::Check() {
  // reverse_c2 (reverse_c1: inferred)
  if (failed(CheckUnique(*this, "dimensions", getDimensions()))) return failure();
  // reverse_c3
  return CheckInRange(*this, "dimensions", getDimensions(), getOperand().getType().getRank());
}

LogicalResult ConcatenateOp::Check() {
  // concatenate_c3
  if (getInputs().empty()) return emitOpError() << "expected at least one input";
  const RankedTensorType first = Tensor(getInputs().front());
  // concatenate_c4
  if (failed(CheckInRange(*this, "dimension", getDimension(), first.getRank()))) return failure();
  for (mlir::Value input : getInputs()) {
    const RankedTensorType type = Tensor(input);
    // concatenate_c1 (concatenate_c5: inferred)
    if (type.getElementType() != first.getElementType()) {
      return emitOpError() << "inputs must have one element type, got " << first << " and " << type;
    }
    // concatenate_c2 (concatenate_c6: inferred)
    bool fits = type.getRank() == first.getRank();
    for (int64_t dim = 0; fits && dim < first.getRank(); ++dim) {
      fits = dim == static_cast<int64_t>(getDimension()) || AgreeSizes(type.getDimSize(dim), first.getDimSize(dim));
    }
    if (!fits) {
      return emitOpError() << "inputs must have one shape but for dimension " << getDimension() << ", got " << first
                           << " and " << type;
    }
  }
  return success();
}

LogicalResult SliceOp::Check() {
  const RankedTensorType type = getOperand().getType();
  const Dims start = getStartIndices(), limit = getLimitIndices(), strides = getStrides();
  // slice_c2 (slice_c1, slice_c5: inferred)
  if (failed(CheckCount(*this, "start_indices", start.size(), type.getRank())) ||
      failed(CheckCount(*this, "limit_indices", limit.size(), type.getRank())) ||
      failed(CheckCount(*this, "strides", strides.size(), type.getRank()))) {
    return failure();
  }
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    // slice_c3
    const bool past_end = !ShapedType::isDynamic(size) && limit[dim] > size;
    if (start[dim] < 0 || start[dim] > limit[dim] || past_end) {
      return emitOpError() << "range of dimension " << dim << " must lie in [0, "
                           << (ShapedType::isDynamic(size) ? "?" : std::to_string(size)) << "], got [" << start[dim]
                           << ", " << limit[dim] << "]";
    }
  }
  // slice_c4
  return CheckAtLeast(*this, "strides", strides, 1);
}

LogicalResult PadOp::Check() {
  const RankedTensorType type = getOperand().getType();
  const Dims low = getEdgePaddingLow(), high = getEdgePaddingHigh(), interior = getInteriorPadding();
  // pad_c1: one element type (the result's is inferred).
  if (Element(getPaddingValue()) != type.getElementType()) {
    return emitOpError() << "padding_value must have the element type of " << type << ", got "
                         << getPaddingValue().getType();
  }
  // pad_c2
  if (failed(CheckCount(*this, "edge_padding_low", low.size(), type.getRank())) ||
      failed(CheckCount(*this, "edge_padding_high", high.size(), type.getRank())) ||
      failed(CheckCount(*this, "interior_padding", interior.size(), type.getRank()))) {
    return failure();
  }
  // pad_c3
  if (failed(CheckAtLeast(*this, "interior_padding", interior, 0))) return failure();
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    // pad_c4: sizes are not negative (the result is inferred).
    if (!PaddedSize(size, low[dim], high[dim], interior[dim])) {
      return emitOpError() << "padding must leave dimension " << dim << " a size of at least 0 that fits 64 bits, got "
                           << size << " with low " << low[dim] << ", high " << high[dim] << ", interior "
                           << interior[dim];
    }
  }
  return success();
}

// Start indices of dynamic_slice and dynamic_update_slice.
static LogicalResult CheckStarts(mlir::Operation* op, mlir::OperandRange starts, int64_t rank) {
  // dynamic_slice_c2, dynamic_update_slice_c4
  if (failed(CheckCount(op, "start_indices", starts.size(), rank))) return failure();
  // dynamic_slice_c3, dynamic_update_slice_c5
  if (llvm::all_equal(starts.getTypes())) return success();
  return op->emitOpError() << "start_indices must have one type, got " << starts.getTypes();
}

LogicalResult DynamicSliceOp::Check() {
  // dynamic_slice_c1, dynamic_slice_c5: inferred.
  const RankedTensorType type = getOperand().getType();
  if (failed(CheckStarts(*this, getStartIndices(), type.getRank())) ||
      failed(CheckCount(*this, "slice_sizes", getSliceSizes().size(), type.getRank()))) {
    return failure();
  }
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    // dynamic_slice_c4
    const int64_t wanted = getSliceSizes()[dim];
    if (wanted >= 0 && (ShapedType::isDynamic(size) || wanted <= size)) continue;
    return emitOpError() << "slice_sizes[" << dim << "] must be in [0, " << size << "], got " << wanted;
  }
  return success();
}

LogicalResult DynamicUpdateSliceOp::Check() {
  // dynamic_update_slice_c1: inferred.
  const RankedTensorType type = getOperand().getType(), update = getUpdate().getType();
  // dynamic_update_slice_c2
  if (update.getElementType() != type.getElementType()) {
    return emitOpError() << "update must have the element type of " << type << ", got " << update;
  }
  // dynamic_update_slice_c3
  if (update.getRank() != type.getRank()) {
    return emitOpError() << "update must have rank " << type.getRank() << ", got " << update;
  }
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    // dynamic_update_slice_c6
    const int64_t wanted = update.getDimSize(dim);
    if (ShapedType::isDynamic(wanted) || ShapedType::isDynamic(size) || wanted <= size) continue;
    return emitOpError() << "update must not be larger than " << type << ", got " << update;
  }
  return CheckStarts(*this, getStartIndices(), type.getRank());
}

LogicalResult GetDimensionSizeOp::Check() {
  // get_dimension_size_c1
  return CheckInRange(*this, "dimension", getDimension(), getOperand().getType().getRank());
}

LogicalResult SetDimensionSizeOp::verify() {
  const RankedTensorType type = getOperand().getType();
  if (Tensor(getSize()).getRank() != 0) return emitOpError() << "size must be a scalar, got " << getSize().getType();
  if (failed(CheckInRange(*this, "dimension", getDimension(), type.getRank()))) return failure();
  if (type.getElementType() != getType().getElementType()) {
    return emitOpError() << "result must have the element type of " << type << ", got " << getType();
  }
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape[getDimension()] = ShapedType::kDynamic;
  return CheckShape(*this, "result", getType(), shape);
}

//===--- Shapes as operands ---===//

LogicalResult DynamicBroadcastInDimOp::verify() {
  const RankedTensorType operand = getOperand().getType();
  const Dims grows = getKnownExpandingDimensions().value_or(Dims());
  const Dims keeps = getKnownNonexpandingDimensions().value_or(Dims());
  if (failed(CheckBroadcast(*this, operand, getType(), getBroadcastDimensions()))) return failure();
  // dynamic_broadcast_in_dim_c7
  if (failed(
          CheckCount(*this, "output_dimensions", getOutputDimensions().getType().getDimSize(0), getType().getRank()))) {
    return failure();
  }
  // dynamic_broadcast_in_dim_c8
  llvm::SmallVector<int64_t> all(grows);
  llvm::append_range(all, keeps);
  if (failed(CheckUnique(*this, "known dimensions", all))) return failure();
  // dynamic_broadcast_in_dim_c9, dynamic_broadcast_in_dim_c10
  return success(succeeded(CheckInRange(*this, "known_expanding_dimensions", grows, operand.getRank())) &&
                 succeeded(CheckInRange(*this, "known_nonexpanding_dimensions", keeps, operand.getRank())));
}

LogicalResult DynamicReshapeOp::verify() {
  // dynamic_reshape_c4
  if (failed(CheckCount(*this, "output_shape", getOutputShape().getType().getDimSize(0), getType().getRank()))) {
    return failure();
  }
  return CheckReshape(*this, getOperand().getType(), getType());
}

LogicalResult DynamicIotaOp::verify() {
  // dynamic_iota_c2
  if (failed(CheckCount(*this, "output_shape", getOutputShape().getType().getDimSize(0), getType().getRank()))) {
    return failure();
  }
  // dynamic_iota_c1
  return CheckInRange(*this, "iota_dimension", getIotaDimension(), getType().getRank());
}

LogicalResult DynamicPadOp::verify() {
  const RankedTensorType type = getOperand().getType();
  // dynamic_pad_c1
  if (Element(getPaddingValue()) != type.getElementType() || getType().getElementType() != type.getElementType()) {
    return emitOpError() << "padding_value and result must have the element type of " << type << ", got "
                         << getPaddingValue().getType() << " and " << getType();
  }
  // dynamic_pad_c2
  for (auto [name, value] :
       {std::pair("edge_padding_low", getEdgePaddingLow()), std::pair("edge_padding_high", getEdgePaddingHigh()),
        std::pair("interior_padding", getInteriorPadding())}) {
    if (failed(CheckCount(*this, name, value.getType().getDimSize(0), type.getRank()))) return failure();
  }
  // dynamic_pad_c4: sizes are operands, the rank is known.
  if (getType().getRank() == type.getRank()) return success();
  return emitOpError() << "result must have rank " << type.getRank() << ", got " << getType();
}

LogicalResult RealDynamicSliceOp::verify() {
  const RankedTensorType type = getOperand().getType();
  if (type.getElementType() != getType().getElementType() || type.getRank() != getType().getRank()) {
    return emitOpError() << "result must have element type and rank of " << type << ", got " << getType();
  }
  for (auto [name, value] : {std::pair("start_indices", getStartIndices()),
                             std::pair("limit_indices", getLimitIndices()), std::pair("strides", getStrides())}) {
    const int64_t count = value.getType().getDimSize(0);
    if (!ShapedType::isDynamic(count) && failed(CheckCount(*this, name, count, type.getRank()))) return failure();
  }
  return success();
}

}  // namespace tenon::stablehlo
