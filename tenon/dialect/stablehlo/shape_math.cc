#include "tenon/dialect/stablehlo/shape_math.h"

#include "llvm/Support/MathExtras.h"

namespace tenon::stablehlo {

using mlir::ShapedType;

namespace {

// a * b + c, or nothing if that does not fit.
std::optional<int64_t> MulAdd(int64_t a, int64_t b, int64_t c) {
  int64_t product = 0, sum = 0;
  if (llvm::MulOverflow(a, b, product) || llvm::AddOverflow(product, c, sum)) return std::nullopt;
  return sum;
}

}  // namespace

bool IsPermutation(llvm::ArrayRef<int64_t> dims, int64_t rank) {
  if (static_cast<int64_t>(dims.size()) != rank) return false;
  llvm::SmallVector<bool> seen(dims.size());
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank || seen[dim]) return false;
    seen[dim] = true;
  }
  return true;
}

int64_t AddSizes(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || llvm::AddOverflow(a, b, sum)) return ShapedType::kDynamic;
  return sum;
}

std::optional<int64_t> PaddedSize(int64_t size, int64_t low, int64_t high, int64_t interior) {
  if (interior < 0) return std::nullopt;
  if (ShapedType::isDynamic(size)) return ShapedType::kDynamic;
  const std::optional<int64_t> inner = MulAdd(std::max<int64_t>(size - 1, 0), interior, size);
  int64_t with_low = 0, all = 0;
  if (!inner || llvm::AddOverflow(*inner, low, with_low) || llvm::AddOverflow(with_low, high, all) || all < 0) {
    return std::nullopt;
  }
  return all;
}

std::optional<int64_t> WindowedSize(int64_t input, const WindowDim& window) {
  if (ShapedType::isDynamic(input) || ShapedType::isDynamic(window.size)) return ShapedType::kDynamic;
  const std::optional<int64_t> padded = PaddedSize(input, window.low, window.high, window.base_dilation - 1);
  const std::optional<int64_t> dilated = window.size == 0 ? 0 : MulAdd(window.size - 1, window.window_dilation, 1);
  if (!padded || !dilated) return std::nullopt;
  if (*padded == 0 || *dilated > *padded) return 0;
  return (*padded - *dilated) / window.stride + 1;
}

bool GatherShape(llvm::ArrayRef<int64_t> start_indices, GatherDimensionNumbersAttr numbers,
                 llvm::ArrayRef<int64_t> slice_sizes, llvm::SmallVectorImpl<int64_t>& shape) {
  const int64_t vector_dim = numbers.getIndexVectorDim();
  const int64_t index_rank = static_cast<int64_t>(start_indices.size());
  if (vector_dim < 0 || vector_dim > index_rank) return false;
  llvm::SmallVector<int64_t> batch, window;
  for (int64_t dim = 0; dim < index_rank; ++dim) {
    if (dim != vector_dim) batch.push_back(start_indices[dim]);
  }
  for (auto [dim, size] : llvm::enumerate(slice_sizes)) {
    const int64_t d = static_cast<int64_t>(dim);
    if (llvm::is_contained(numbers.getCollapsedSliceDims(), d) ||
        llvm::is_contained(numbers.getOperandBatchingDims(), d)) {
      continue;
    }
    if (size < 0 && !ShapedType::isDynamic(size)) return false;
    window.push_back(size);
  }
  if (window.size() != numbers.getOffsetDims().size()) return false;
  size_t next_batch = 0, next_window = 0;
  for (size_t dim = 0; dim < batch.size() + window.size(); ++dim) {
    if (llvm::is_contained(numbers.getOffsetDims(), static_cast<int64_t>(dim))) {
      if (next_window == window.size()) return false;
      shape.push_back(window[next_window++]);
    } else {
      if (next_batch == batch.size()) return false;
      shape.push_back(batch[next_batch++]);
    }
  }
  return true;
}

mlir::RankedTensorType TensorWithBounds(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                                        llvm::ArrayRef<int64_t> bounds) {
  if (llvm::all_of(bounds, ShapedType::isDynamic)) return mlir::RankedTensorType::get(shape, element);
  return mlir::RankedTensorType::get(shape, element, TypeExtensionsAttr::get(element.getContext(), bounds));
}

}  // namespace tenon::stablehlo
