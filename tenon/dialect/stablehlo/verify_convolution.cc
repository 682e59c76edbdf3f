// Checks of convolution and dynamic_conv, which share all but where the padding comes from.
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
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

// In verify_linalg.cc: the rules that products of quantized tensors share.
LogicalResult CheckQuantizedConvolution(mlir::Operation* op, RankedTensorType lhs, RankedTensorType rhs,
                                        RankedTensorType result);

namespace {

// What both ops have. Rules are named for convolution; those of dynamic_conv have the same numbers.
struct Convolution {
  mlir::Operation* op;
  RankedTensorType lhs, rhs, result;
  ConvDimensionNumbersAttr numbers;
  std::optional<Dims> strides, lhs_dilation, rhs_dilation;
  std::optional<llvm::ArrayRef<bool>> reversal;
  std::optional<SmallVector<int64_t>> padding;  // pairs; nothing: not known
  int64_t feature_groups, batch_groups;
  std::optional<mlir::ArrayAttr> precision;
};

LogicalResult CheckDims(mlir::Operation* op, llvm::StringRef name, int64_t first, int64_t second, Dims spatial,
                        int64_t rank) {
  SmallVector<int64_t> all(spatial);
  all.push_back(first);
  all.push_back(second);
  return success(succeeded(CheckUnique(op, name, all)) && succeeded(CheckInRange(op, name, all, rank)));
}

// A list with one entry, at least 1, per spatial dimension.
LogicalResult CheckPositive(mlir::Operation* op, llvm::StringRef name, std::optional<Dims> values, int64_t count) {
  if (!values) return success();
  return success(succeeded(CheckCount(op, name, values->size(), count)) &&
                 succeeded(CheckAtLeast(op, name, *values, 1)));
}

LogicalResult CheckDivides(mlir::Operation* op, llvm::StringRef name, int64_t size, int64_t groups) {
  if (ShapedType::isDynamic(size) || size % groups == 0) return success();
  return op->emitOpError() << name << " must be a multiple of " << groups << ", got " << size;
}

LogicalResult CheckAttributes(const Convolution& c) {
  mlir::Operation* op = c.op;
  const int64_t rank = c.lhs.getRank(), spatial = rank - 2;
  // convolution_c1
  if (rank < 2 || rank != c.rhs.getRank()) {
    return op->emitOpError() << "operands must have one rank of at least 2, got " << c.lhs << " and " << c.rhs;
  }
  // convolution_c12
  if (failed(CheckCount(op, "input_spatial_dimensions", c.numbers.getInputSpatialDimensions().size(), spatial))) {
    return failure();
  }
  // convolution_c17
  if (failed(CheckCount(op, "kernel_spatial_dimensions", c.numbers.getKernelSpatialDimensions().size(), spatial))) {
    return failure();
  }
  // convolution_c19
  if (failed(CheckCount(op, "output_spatial_dimensions", c.numbers.getOutputSpatialDimensions().size(), spatial))) {
    return failure();
  }
  // convolution_c13
  if (failed(CheckDims(op, "input dimensions", c.numbers.getInputBatchDimension(), c.numbers.getInputFeatureDimension(),
                       c.numbers.getInputSpatialDimensions(), rank))) {
    return failure();
  }
  // convolution_c18
  if (failed(CheckDims(op, "kernel dimensions", c.numbers.getKernelInputFeatureDimension(),
                       c.numbers.getKernelOutputFeatureDimension(), c.numbers.getKernelSpatialDimensions(), rank))) {
    return failure();
  }
  // convolution_c20
  if (failed(CheckDims(op, "output dimensions", c.numbers.getOutputBatchDimension(),
                       c.numbers.getOutputFeatureDimension(), c.numbers.getOutputSpatialDimensions(), rank))) {
    return failure();
  }
  // convolution_c2, convolution_c3
  if (failed(CheckPositive(op, "window_strides", c.strides, spatial))) return failure();
  // convolution_c5, convolution_c6
  if (failed(CheckPositive(op, "lhs_dilation", c.lhs_dilation, spatial))) return failure();
  // convolution_c7, convolution_c8
  if (failed(CheckPositive(op, "rhs_dilation", c.rhs_dilation, spatial))) return failure();
  // convolution_c9
  if (c.reversal && failed(CheckCount(op, "window_reversal", c.reversal->size(), spatial))) return failure();
  // convolution_c21
  if (failed(CheckAtLeast(op, "feature_group_count", c.feature_groups, 1))) return failure();
  // convolution_c22
  if (failed(CheckAtLeast(op, "batch_group_count", c.batch_groups, 1))) return failure();
  // convolution_c23
  if (c.feature_groups != 1 && c.batch_groups != 1) {
    return op->emitOpError() << "only one of feature_group_count and batch_group_count may exceed 1, got "
                             << c.feature_groups << " and " << c.batch_groups;
  }
  // convolution_c24
  return CheckPrecision(op, c.precision);
}

LogicalResult CheckSizes(const Convolution& c) {
  mlir::Operation* op = c.op;
  const int64_t batch = c.lhs.getDimSize(c.numbers.getInputBatchDimension());
  const int64_t features = c.lhs.getDimSize(c.numbers.getInputFeatureDimension());
  const int64_t kernel_in = c.rhs.getDimSize(c.numbers.getKernelInputFeatureDimension());
  const int64_t kernel_out = c.rhs.getDimSize(c.numbers.getKernelOutputFeatureDimension());
  // convolution_c10
  if (failed(CheckDivides(op, "input batch size", batch, c.batch_groups))) return failure();
  // convolution_c11
  if (failed(CheckDivides(op, "input feature size", features, c.feature_groups))) return failure();
  // convolution_c14
  if (!ShapedType::isDynamic(features) && !AgreeSizes(kernel_in, features / c.feature_groups)) {
    return op->emitOpError() << "kernel input feature size must be " << features / c.feature_groups << ", got "
                             << kernel_in;
  }
  // convolution_c15
  if (failed(CheckDivides(op, "kernel output feature size", kernel_out, c.batch_groups))) return failure();
  // convolution_c16
  if (failed(CheckDivides(op, "kernel output feature size", kernel_out, c.feature_groups))) return failure();
  // convolution_c26
  if (c.result.getRank() != c.lhs.getRank()) {
    return op->emitOpError() << "result must have rank " << c.lhs.getRank() << ", got " << c.result;
  }
  // convolution_c25
  SmallVector<int64_t> shape(c.lhs.getRank(), ShapedType::kDynamic);
  if (!ShapedType::isDynamic(batch)) shape[c.numbers.getOutputBatchDimension()] = batch / c.batch_groups;
  shape[c.numbers.getOutputFeatureDimension()] = kernel_out;
  for (auto [i, dim] : llvm::enumerate(c.numbers.getOutputSpatialDimensions())) {
    if (!c.padding) continue;
    WindowDim window;
    window.size = c.rhs.getDimSize(c.numbers.getKernelSpatialDimensions()[i]);
    window.low = (*c.padding)[2 * i];
    window.high = (*c.padding)[2 * i + 1];
    if (c.strides) window.stride = (*c.strides)[i];
    if (c.lhs_dilation) window.base_dilation = (*c.lhs_dilation)[i];
    if (c.rhs_dilation) window.window_dilation = (*c.rhs_dilation)[i];
    const std::optional<int64_t> size =
        WindowedSize(c.lhs.getDimSize(c.numbers.getInputSpatialDimensions()[i]), window);
    if (!size) {
      return op->emitOpError() << "padding must leave spatial dimension " << i << " a size of at least 0 that fits 64 "
                               << "bits, got low " << window.low << " and high " << window.high;
    }
    shape[dim] = *size;
  }
  return CheckShape(op, "result", c.result, shape);
}

LogicalResult CheckConvolution(const Convolution& c) {
  if (failed(CheckAttributes(c)) || failed(CheckSizes(c))) return failure();
  // convolution_c27 is not demanded: clients mix element types. convolution_c28 and convolution_c31 to convolution_c34
  // are the rules of quantized products.
  if (failed(CheckQuantizedConvolution(c.op, c.lhs, c.rhs, c.result))) return failure();
  auto kernel = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(c.rhs.getElementType());
  auto output = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(c.result.getElementType());
  // convolution_c29
  if (kernel && kernel.getQuantizedDimension() != c.numbers.getKernelOutputFeatureDimension()) {
    return c.op->emitOpError() << "rhs must be quantized along its output features, got " << c.rhs;
  }
  // convolution_c30
  if (output && output.getQuantizedDimension() != c.numbers.getOutputFeatureDimension()) {
    return c.op->emitOpError() << "result must be quantized along its features, got " << c.result;
  }
  return success();
}

template <typename Op>
Convolution Describe(Op op) {
  Convolution c;
  c.op = op;
  c.lhs = op.getLhs().getType();
  c.rhs = op.getRhs().getType();
  c.result = op.getType();
  c.numbers = op.getDimensionNumbers();
  c.strides = op.getWindowStrides();
  c.lhs_dilation = op.getLhsDilation();
  c.rhs_dilation = op.getRhsDilation();
  c.reversal = op.getWindowReversal();
  c.feature_groups = static_cast<int64_t>(op.getFeatureGroupCount());
  c.batch_groups = static_cast<int64_t>(op.getBatchGroupCount());
  c.precision = op.getPrecisionConfig();
  return c;
}

}  // namespace

LogicalResult ConvolutionOp::verify() {
  Convolution c = Describe(*this);
  const int64_t spatial = std::max<int64_t>(c.lhs.getRank() - 2, 0);
  c.padding.emplace(2 * spatial, 0);
  if (const std::optional<mlir::DenseIntElementsAttr> padding = getPadding()) {
    // convolution_c4
    if (padding->getType().getShape() != Dims({spatial, 2})) {
      return emitOpError() << "padding must have shape [" << spatial << ", 2], got " << padding->getType();
    }
    c.padding.emplace(padding->getValues<int64_t>());
  }
  return CheckConvolution(c);
}

LogicalResult DynamicConvOp::verify() {
  const Convolution c = Describe(*this);
  // dynamic_conv_c4
  const Dims padding = getPadding().getType().getShape();
  if (padding != Dims({std::max<int64_t>(c.lhs.getRank() - 2, 0), 2})) {
    return emitOpError() << "padding must have shape [" << c.lhs.getRank() - 2 << ", 2], got "
                         << getPadding().getType();
  }
  return CheckConvolution(c);
}

}  // namespace tenon::stablehlo
