// Checks of control flow and of ops whose region is applied to elements.
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tenon/dialect/stablehlo/shape_math.h"
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
using mlir::TypeRange;

//===--- Control flow ---===//

LogicalResult ReturnOp::verify() {
  // Regions are checked by their ops; a function that ends here must get what it promises.
  auto function = llvm::dyn_cast_if_present<mlir::FunctionOpInterface>((*this)->getParentOp());
  if (!function || AreCompatible(getOperandTypes(), function.getResultTypes())) return success();
  return emitOpError() << "must return (" << function.getResultTypes() << ") from function " << function.getNameAttr()
                       << ", got (" << getOperandTypes() << ")";
}

LogicalResult IfOp::verify() {
  if (getPred().getType().getRank() != 0) return emitOpError() << "pred must be a scalar, got " << getPred().getType();
  // if_c1, if_c2, if_c3: both branches take nothing and return the results.
  return success(succeeded(CheckRegion(*this, "true_branch", getTrueBranch(), {}, getResultTypes())) &&
                 succeeded(CheckRegion(*this, "false_branch", getFalseBranch(), {}, getResultTypes())));
}

LogicalResult CaseOp::verify() {
  if (getIndex().getType().getRank() != 0)
    return emitOpError() << "index must be a scalar, got " << getIndex().getType();
  // case_c1
  if (getBranches().empty()) return emitOpError() << "expected at least one branch";
  for (mlir::Region& branch : getBranches()) {
    // case_c2, case_c3, case_c4
    if (failed(CheckRegion(*this, "each branch", branch, {}, getResultTypes()))) return failure();
  }
  return success();
}

LogicalResult WhileOp::verify() {
  const TypeRange types = getOperandTypes();
  const Type predicate = RankedTensorType::get({}, mlir::IntegerType::get(getContext(), 1));
  // while_c1
  if (failed(CheckRegion(*this, "cond", getCond(), types, predicate))) return failure();
  // while_c2
  if (failed(CheckRegion(*this, "body", getBody(), types, types))) return failure();
  // while_c3
  if (AreCompatible(types, getResultTypes())) return success();
  return emitOpError() << "results must have the operands' types (" << types << "), got (" << getResultTypes() << ")";
}

//===--- Reductions ---===//

namespace {

// Results have the given shape and element types.
LogicalResult CheckResults(mlir::Operation* op, Dims shape, llvm::ArrayRef<Type> elements) {
  if (failed(CheckCount(op, "results", op->getNumResults(), elements.size()))) return failure();
  for (auto [result, element] : llvm::zip_equal(op->getResultTypes(), elements)) {
    const Type want = RankedTensorType::get(shape, element);
    if (AreCompatible(want, result)) continue;
    return op->emitOpError() << "results must have type " << want << ", got " << result;
  }
  return success();
}

LogicalResult CheckSameShapes(mlir::Operation* op, mlir::ValueRange inputs) {
  if (inputs.empty()) return op->emitOpError() << "expected at least one input";
  const RankedTensorType first = Tensor(inputs.front());
  for (mlir::Value input : inputs) {
    if (AreCompatibleShapes(Tensor(input).getShape(), first.getShape())) continue;
    return op->emitOpError() << "inputs must have one shape, got " << first << " and " << input.getType();
  }
  return success();
}

// Shape that all inputs have, static wherever one is.
SmallVector<int64_t> JoinedShape(mlir::ValueRange inputs) {
  SmallVector<int64_t> shape(Tensor(inputs.front()).getShape());
  for (mlir::Value input : inputs) {
    for (auto [joined, size] : llvm::zip_equal(shape, Tensor(input).getShape())) {
      if (ShapedType::isDynamic(joined)) joined = size;
    }
  }
  return shape;
}

// Window attributes of reduce_window and select_and_scatter.
struct Windows {
  Dims sizes;
  std::optional<Dims> strides, base_dilations, window_dilations;
  std::optional<mlir::DenseIntElementsAttr> padding;
};

LogicalResult CheckPerDim(mlir::Operation* op, llvm::StringRef name, std::optional<Dims> values, size_t rank) {
  if (!values) return success();
  return success(succeeded(CheckCount(op, name, values->size(), rank)) &&
                 succeeded(CheckAtLeast(op, name, *values, 1)));
}

LogicalResult CheckWindows(mlir::Operation* op, Dims shape, const Windows& windows,
                           llvm::SmallVectorImpl<int64_t>& result) {
  const int64_t rank = static_cast<int64_t>(shape.size());
  // reduce_window_c4 reduce_window_c5, select_and_scatter_c4 select_and_scatter_c5
  if (failed(CheckPerDim(op, "window_dimensions", windows.sizes, rank))) return failure();
  // reduce_window_c6 reduce_window_c7, select_and_scatter_c6 select_and_scatter_c7
  if (failed(CheckPerDim(op, "window_strides", windows.strides, rank))) return failure();
  // reduce_window_c8 reduce_window_c9
  if (failed(CheckPerDim(op, "base_dilations", windows.base_dilations, rank))) return failure();
  // reduce_window_c10 reduce_window_c11
  if (failed(CheckPerDim(op, "window_dilations", windows.window_dilations, rank))) return failure();
  // reduce_window_c12, select_and_scatter_c8
  SmallVector<int64_t> padding(2 * rank, 0);
  if (windows.padding) {
    if (windows.padding->getType().getShape() != Dims({rank, 2})) {
      return op->emitOpError() << "padding must have shape [" << rank << ", 2], got " << windows.padding->getType();
    }
    padding.assign(windows.padding->value_begin<int64_t>(), windows.padding->value_end<int64_t>());
  }
  for (auto [dim, size] : llvm::enumerate(shape)) {
    WindowDim window{windows.sizes[dim], windows.strides ? (*windows.strides)[dim] : 1, padding[2 * dim],
                     padding[2 * dim + 1]};
    if (windows.base_dilations) window.base_dilation = (*windows.base_dilations)[dim];
    if (windows.window_dilations) window.window_dilation = (*windows.window_dilations)[dim];
    const std::optional<int64_t> count = WindowedSize(size, window);
    if (!count) {
      return op->emitOpError() << "padding must leave dimension " << dim
                               << " a size of at least 0 that fits 64 bits, got " << size << " with low " << window.low
                               << " and high " << window.high;
    }
    result.push_back(*count);
  }
  return success();
}

}  // namespace

LogicalResult ReduceOp::verify() {
  // reduce_c1, reduce_c3
  if (failed(CheckSameShapes(*this, getInputs()))) return failure();
  const SmallVector<int64_t> input = JoinedShape(getInputs());
  // reduce_c4
  if (failed(CheckInRange(*this, "dimensions", getDimensions(), input.size()))) return failure();
  // reduce_c5
  if (failed(CheckUnique(*this, "dimensions", getDimensions()))) return failure();
  // reduce_c2, reduce_c6
  SmallVector<Type> elements;
  if (failed(CheckReducer(*this, "body", getBody(), getInputs(), getInitValues(), elements))) return failure();
  // reduce_c7, reduce_c8
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(input)) {
    if (!llvm::is_contained(getDimensions(), static_cast<int64_t>(dim))) shape.push_back(size);
  }
  return CheckResults(*this, shape, elements);
}

LogicalResult ReduceWindowOp::verify() {
  // reduce_window_c1, reduce_window_c2
  if (failed(CheckSameShapes(*this, getInputs()))) return failure();
  SmallVector<int64_t> shape;
  const Windows windows{getWindowDimensions(), getWindowStrides(), getBaseDilations(), getWindowDilations(),
                        getPadding()};
  if (failed(CheckWindows(*this, JoinedShape(getInputs()), windows, shape))) return failure();
  // reduce_window_c3, reduce_window_c13
  SmallVector<Type> elements;
  if (failed(CheckReducer(*this, "body", getBody(), getInputs(), getInitValues(), elements))) return failure();
  // reduce_window_c14, reduce_window_c15, reduce_window_c16
  return CheckResults(*this, shape, elements);
}

LogicalResult SelectAndScatterOp::verify() {
  const RankedTensorType operand = getOperand().getType(), source = getSource().getType();
  // select_and_scatter_c1
  if (operand.getElementType() != source.getElementType()) {
    return emitOpError() << "source must have the element type of " << operand << ", got " << source;
  }
  // select_and_scatter_c2: source has one element per window.
  const SmallVector<int64_t> ones(operand.getRank(), 1);
  SmallVector<int64_t> shape;
  const Windows windows{getWindowDimensions().value_or(ones), getWindowStrides(), std::nullopt, std::nullopt,
                        getPadding()};
  if (failed(CheckWindows(*this, operand.getShape(), windows, shape)) ||
      failed(CheckShape(*this, "source", source, shape))) {
    return failure();
  }
  // select_and_scatter_c9
  const Type scalar = RankedTensorType::get({}, operand.getElementType());
  const Type predicate = RankedTensorType::get({}, mlir::IntegerType::get(getContext(), 1));
  if (failed(CheckRegion(*this, "select", getSelect(), {scalar, scalar}, predicate))) return failure();
  // select_and_scatter_c3, select_and_scatter_c10
  SmallVector<Type> elements;
  if (failed(CheckReducer(*this, "scatter", getScatter(), getOperand(), getInitValue(), elements))) return failure();
  // select_and_scatter_c11, select_and_scatter_c12
  return CheckResults(*this, operand.getShape(), elements);
}

LogicalResult MapOp::verify() {
  // map_c2, map_c1
  if (failed(CheckSameShapes(*this, getInputs()))) return failure();
  const SmallVector<int64_t> shape = JoinedShape(getInputs());
  if (failed(CheckShape(*this, "result", getType(), shape))) return failure();
  // map_c3
  if (failed(CheckCount(*this, "dimensions", getDimensions().size(), shape.size()))) return failure();
  for (auto [index, dim] : llvm::enumerate(getDimensions())) {
    if (dim == static_cast<int64_t>(index)) continue;
    return emitOpError() << "dimensions must be 0 .. rank-1 in order, got " << dim << " at " << index;
  }
  // map_c4
  SmallVector<Type> scalars;
  for (mlir::Value input : getInputs()) scalars.push_back(RankedTensorType::get({}, Element(input)));
  const Type result = RankedTensorType::get({}, getType().getElementType());
  return CheckRegion(*this, "computation", getComputation(), scalars, result);
}

LogicalResult SortOp::verify() {
  // sort_c1, sort_c3
  if (failed(CheckSameShapes(*this, getInputs()))) return failure();
  // sort_c2
  if (!AreCompatible(getOperandTypes(), getResultTypes())) {
    return emitOpError() << "results must have the inputs' types (" << getOperandTypes() << "), got ("
                         << getResultTypes() << ")";
  }
  // sort_c4
  const int64_t rank = Tensor(getInputs().front()).getRank(), dimension = static_cast<int64_t>(getDimension());
  if (dimension < -rank || dimension >= rank) {
    return emitOpError() << "dimension must be in [" << -rank << ", " << rank << "), got " << dimension;
  }
  // sort_c5
  SmallVector<Type> scalars;
  for (mlir::Value input : getInputs()) scalars.append(2, RankedTensorType::get({}, Element(input)));
  const Type predicate = RankedTensorType::get({}, mlir::IntegerType::get(getContext(), 1));
  return CheckRegion(*this, "comparator", getComparator(), scalars, predicate);
}

}  // namespace tenon::stablehlo
