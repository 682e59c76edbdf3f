#pragma once

#include <cstdint>
#include <optional>

#include "mlir/IR/BuiltinTypes.h"
#include "tenon/dialect/stablehlo/dialect.h"

/// Sizes of results, with dynamic sizes (mlir::ShapedType::kDynamic) and without overflow.
namespace tenon::stablehlo {

/// True if `dims` holds each of 0 .. rank-1 once.
bool IsPermutation(llvm::ArrayRef<int64_t> dims, int64_t rank);

/// a + b; dynamic if either is, or if the sum does not fit.
int64_t AddSizes(int64_t a, int64_t b);

/// Rounded up; `a` >= 0, `b` >= 1.
inline int64_t CeilDiv(int64_t a, int64_t b) { return a == 0 ? 0 : (a - 1) / b + 1; }

/// Size of a padded dimension: low + size + max(size - 1, 0) * interior + high. Dynamic for a dynamic size; nothing
/// if interior is negative, the result is negative or does not fit.
std::optional<int64_t> PaddedSize(int64_t size, int64_t low, int64_t high, int64_t interior);

/// One dimension of a window, as in reduce_window and convolution.
struct WindowDim {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t low = 0;
  int64_t high = 0;
  int64_t base_dilation = 1;
  int64_t window_dilation = 1;
};

/// Number of windows along an input dimension of `input` elements. Dynamic for a dynamic input or window; nothing
/// if the padded size is negative or a product does not fit. Strides and dilations must be >= 1.
std::optional<int64_t> WindowedSize(int64_t input, const WindowDim& window);

/// Shape of a gather's result. False if the numbers do not fit each other.
bool GatherShape(llvm::ArrayRef<int64_t> start_indices, GatherDimensionNumbersAttr numbers,
                 llvm::ArrayRef<int64_t> slice_sizes, llvm::SmallVectorImpl<int64_t>& shape);

/// Tensor type with bounds where a dynamic dimension has one; no encoding if none has.
mlir::RankedTensorType TensorWithBounds(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                                        llvm::ArrayRef<int64_t> bounds);

}  // namespace tenon::stablehlo
