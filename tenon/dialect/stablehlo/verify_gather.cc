// Checks of gather, scatter and their relatives.
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

namespace {

SmallVector<int64_t> Join(Dims a, Dims b) {
  SmallVector<int64_t> all(a);
  llvm::append_range(all, b);
  return all;
}

// How index vectors lie in the tensor of indices and where their parts go in the operand. Scatter mirrors gather; the
// names are for errors.
struct IndexNumbers {
  RankedTensorType operand;
  RankedTensorType indices;
  llvm::StringRef removed_name, batching_name, index_batching_name, map_name;
  Dims removed;         // operand dimensions that a window does not keep
  Dims batching;        // operand batching dimensions
  Dims index_batching;  // batching dimensions of the indices
  Dims map;             // operand dimension of each part of an index vector
  int64_t vector_dim;
};

LogicalResult CheckIndexNumbers(mlir::Operation* op, const IndexNumbers& n) {
  const int64_t rank = n.operand.getRank(), index_rank = n.indices.getRank();
  // gather_c2, scatter_c22, dynamic_gather_c2
  if (failed(CheckInRange(op, "index_vector_dim", n.vector_dim, index_rank + 1))) return failure();
  // gather_c3, scatter_c19, dynamic_gather_c3
  const int64_t parts = n.vector_dim < index_rank ? n.indices.getDimSize(n.vector_dim) : 1;
  if (!ShapedType::isDynamic(parts) && failed(CheckCount(op, n.map_name, n.map.size(), parts))) return failure();
  // gather_c6, scatter_c9, dynamic_gather_c6
  if (failed(CheckUnique(op, n.removed_name, Join(n.removed, n.batching)))) return failure();
  // gather_c7, scatter_c10
  if (failed(CheckAscending(op, n.removed_name, n.removed))) return failure();
  // gather_c8, scatter_c11, dynamic_gather_c7
  if (failed(CheckInRange(op, n.removed_name, n.removed, rank))) return failure();
  // gather_c10, scatter_c12
  if (failed(CheckAscending(op, n.batching_name, n.batching))) return failure();
  // gather_c11, scatter_c13
  if (failed(CheckInRange(op, n.batching_name, n.batching, rank))) return failure();
  // gather_c13, scatter_c14
  if (failed(CheckUnique(op, n.index_batching_name, n.index_batching))) return failure();
  // gather_c14, scatter_c15
  if (failed(CheckInRange(op, n.index_batching_name, n.index_batching, index_rank))) return failure();
  // gather_c15, scatter_c16
  if (llvm::is_contained(n.index_batching, n.vector_dim)) {
    return op->emitOpError() << n.index_batching_name << " must not hold index_vector_dim " << n.vector_dim;
  }
  // gather_c16, scatter_c17
  if (failed(CheckCount(op, n.index_batching_name, n.index_batching.size(), n.batching.size()))) return failure();
  for (auto [a, b] : llvm::zip_equal(n.batching, n.index_batching)) {
    // gather_c17, scatter_c18
    if (AgreeSizes(n.operand.getDimSize(a), n.indices.getDimSize(b))) continue;
    return op->emitOpError() << "batching dimension " << a << " of " << n.operand << " must have the size of dimension "
                             << b << " of " << n.indices;
  }
  // gather_c18, scatter_c20, dynamic_gather_c9
  if (failed(CheckUnique(op, n.map_name, Join(n.map, n.batching)))) return failure();
  // gather_c19, scatter_c21, dynamic_gather_c10
  return CheckInRange(op, n.map_name, n.map, rank);
}

LogicalResult CheckGatherNumbers(mlir::Operation* op, RankedTensorType operand, RankedTensorType indices,
                                 GatherDimensionNumbersAttr numbers, int64_t result_rank) {
  // gather_c1, dynamic_gather_c1
  const Dims offset = numbers.getOffsetDims(), collapsed = numbers.getCollapsedSliceDims();
  const Dims batching = numbers.getOperandBatchingDims();
  const size_t rank = offset.size() + collapsed.size() + batching.size();
  if (rank != static_cast<size_t>(operand.getRank())) {
    return op->emitOpError()
           << "offset_dims, collapsed_slice_dims and operand_batching_dims must have as many entries as " << operand
           << " has dimensions, got " << rank;
  }
  if (failed(CheckIndexNumbers(
          op, {operand, indices, "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims",
               "start_index_map", collapsed, batching, numbers.getStartIndicesBatchingDims(),
               numbers.getStartIndexMap(), numbers.getIndexVectorDim()}))) {
    return failure();
  }
  // gather_c4, dynamic_gather_c4
  if (failed(CheckAscending(op, "offset_dims", offset)) || failed(CheckUnique(op, "offset_dims", offset))) {
    return failure();
  }
  // gather_c5, dynamic_gather_c5
  return CheckInRange(op, "offset_dims", offset, result_rank);
}

// Rank of a gather's result.
int64_t ResultRank(RankedTensorType indices, GatherDimensionNumbersAttr numbers) {
  const int64_t batch = indices.getRank() - (numbers.getIndexVectorDim() < indices.getRank() ? 1 : 0);
  return batch + static_cast<int64_t>(numbers.getOffsetDims().size());
}

}  // namespace

LogicalResult GatherOp::Check() {
  const RankedTensorType operand = getOperand().getType(), indices = getStartIndices().getType();
  const GatherDimensionNumbersAttr numbers = getDimensionNumbers();
  // gather_c22, gather_c23: the result is inferred.
  if (failed(CheckGatherNumbers(*this, operand, indices, numbers, ResultRank(indices, numbers)))) return failure();
  const Dims sizes = getSliceSizes();
  // gather_c20
  if (failed(CheckCount(*this, "slice_sizes", sizes.size(), operand.getRank()))) return failure();
  for (auto [dim, size] : llvm::enumerate(operand.getShape())) {
    // gather_c21
    if (sizes[dim] < 0 || (!ShapedType::isDynamic(size) && sizes[dim] > size)) {
      return emitOpError() << "slice_sizes[" << dim << "] must be in [0, " << size << "], got " << sizes[dim];
    }
  }
  for (int64_t dim : Join(numbers.getCollapsedSliceDims(), numbers.getOperandBatchingDims())) {
    // gather_c9, gather_c12
    if (sizes[dim] <= 1) continue;
    return emitOpError() << "slice_sizes[" << dim << "] must be at most 1 for a collapsed or batching dimension, got "
                         << sizes[dim];
  }
  return success();
}

LogicalResult DynamicGatherOp::verify() {
  const RankedTensorType operand = getOperand().getType(), indices = getStartIndices().getType();
  const GatherDimensionNumbersAttr numbers = getDimensionNumbers();
  if (failed(CheckGatherNumbers(*this, operand, indices, numbers, getType().getRank()))) return failure();
  // dynamic_gather_c11 (dynamic_gather_c8 and dynamic_gather_c12 need the values of slice_sizes)
  if (failed(CheckCount(*this, "slice_sizes", getSliceSizes().getType().getDimSize(0), operand.getRank()))) {
    return failure();
  }
  // dynamic_gather_c14
  if (operand.getElementType() != getType().getElementType()) {
    return emitOpError() << "result must have the element type of " << operand << ", got " << getType();
  }
  // dynamic_gather_c13
  SmallVector<int64_t> shape;
  const SmallVector<int64_t> sizes(operand.getRank(), ShapedType::kDynamic);
  if (!GatherShape(indices.getShape(), numbers, sizes, shape)) {
    return emitOpError() << "offset_dims must have as many entries as windows have dimensions, got "
                         << numbers.getOffsetDims().size();
  }
  return CheckShape(*this, "result", getType(), shape);
}

LogicalResult ScatterOp::verify() {
  // scatter_c5
  if (getInputs().empty()) return emitOpError() << "expected at least one input";
  const RankedTensorType input = Tensor(getInputs().front()), update = Tensor(getUpdates().front());
  const RankedTensorType indices = getScatterIndices().getType();
  const ScatterDimensionNumbersAttr numbers = getScatterDimensionNumbers();
  for (auto [a, b] : llvm::zip_equal(getInputs(), getUpdates())) {
    // scatter_c1
    if (failed(CheckShape(*this, "each input", a.getType(), input.getShape()))) return failure();
    // scatter_c3
    if (failed(CheckShape(*this, "each update", b.getType(), update.getShape()))) return failure();
  }
  // scatter_c2
  const Dims window = numbers.getUpdateWindowDims(), inserted = numbers.getInsertedWindowDims();
  const Dims batching = numbers.getInputBatchingDims();
  const size_t rank = window.size() + inserted.size() + batching.size();
  if (rank != static_cast<size_t>(input.getRank())) {
    return emitOpError()
           << "update_window_dims, inserted_window_dims and input_batching_dims must have as many entries as " << input
           << " has dimensions, got " << rank;
  }
  if (failed(CheckIndexNumbers(
          *this, {input, indices, "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims",
                  "scatter_dims_to_operand_dims", inserted, batching, numbers.getScatterIndicesBatchingDims(),
                  numbers.getScatterDimsToOperandDims(), numbers.getIndexVectorDim()}))) {
    return failure();
  }
  // scatter_c7
  if (failed(CheckAscending(*this, "update_window_dims", window)) ||
      failed(CheckUnique(*this, "update_window_dims", window))) {
    return failure();
  }
  // scatter_c8
  if (failed(CheckInRange(*this, "update_window_dims", window, update.getRank()))) return failure();
  // scatter_c4: updates are the indices' batch dimensions around windows no larger than the input.
  SmallVector<int64_t> batch, limits;
  for (auto [dim, size] : llvm::enumerate(indices.getShape())) {
    if (static_cast<int64_t>(dim) != numbers.getIndexVectorDim()) batch.push_back(size);
  }
  for (auto [dim, size] : llvm::enumerate(input.getShape())) {
    const int64_t d = static_cast<int64_t>(dim);
    if (!llvm::is_contained(inserted, d) && !llvm::is_contained(batching, d)) limits.push_back(size);
  }
  if (batch.size() + window.size() != static_cast<size_t>(update.getRank())) {
    return emitOpError() << "updates must have rank " << batch.size() + window.size() << ", got " << update;
  }
  size_t next_batch = 0, next_window = 0;
  for (auto [dim, size] : llvm::enumerate(update.getShape())) {
    if (llvm::is_contained(window, static_cast<int64_t>(dim))) {
      const int64_t limit = limits[next_window++];
      if (ShapedType::isDynamic(size) || ShapedType::isDynamic(limit) || size <= limit) continue;
      return emitOpError() << "window dimension " << dim << " of the updates must be at most " << limit << ", got "
                           << size;
    }
    const int64_t want = batch[next_batch++];
    if (AgreeSizes(size, want)) continue;
    return emitOpError() << "dimension " << dim << " of the updates must be " << want << ", got " << size;
  }
  // scatter_c23, scatter_c6: updates have the inputs' element types; the body's may be wider.
  SmallVector<mlir::Type> elements;
  for (auto [a, b] : llvm::zip_equal(getInputs(), getUpdates())) {
    if (Element(a) == Element(b)) continue;
    return emitOpError() << "updates must have the element type of " << a.getType() << ", got " << b.getType();
  }
  if (failed(CheckReducer(*this, "update_computation", getUpdateComputation(), getInputs(), {}, elements))) {
    return failure();
  }
  // scatter_c24, scatter_c25
  if (failed(CheckCount(*this, "results", getNumResults(), getInputs().size()))) return failure();
  for (auto [result, from, element] : llvm::zip_equal(getResults(), getInputs(), elements)) {
    const RankedTensorType want = WithElement(Tensor(from), element);
    if (AreCompatible(result.getType(), want)) continue;
    return emitOpError() << "results must have type " << want << ", got " << result.getType();
  }
  return success();
}

LogicalResult TorchIndexSelectOp::verify() {
  const RankedTensorType operand = getOperand().getType(), index = getIndex().getType();
  int64_t dim = getDim(), batch = getBatchDims();
  if (dim < -operand.getRank() || dim >= operand.getRank()) {
    return emitOpError() << "dim must be a dimension of " << operand << ", got " << dim;
  }
  if (dim < 0) dim += operand.getRank();
  if (batch < 0) batch += index.getRank();
  if (batch < 0 || batch > index.getRank() || batch > dim) {
    return emitOpError() << "batch_dims must be at most dim and the rank of " << index << ", got " << getBatchDims();
  }
  SmallVector<int64_t> shape(operand.getShape().take_front(dim));
  llvm::append_range(shape, index.getShape().drop_front(batch));
  llvm::append_range(shape, operand.getShape().drop_front(dim + 1));
  if (operand.getElementType() != getType().getElementType()) {
    return emitOpError() << "result must have the element type of " << operand << ", got " << getType();
  }
  return CheckShape(*this, "result", getType(), shape);
}

}  // namespace tenon::stablehlo
