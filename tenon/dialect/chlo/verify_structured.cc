// Checks of ops whose results are more than their operands' elements, one by one.
#include "tenon/dialect/chlo/dialect.h"
#include "tenon/dialect/stablehlo/verify_util.h"

namespace tenon::chlo {

using llvm::ArrayRef;
using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::SmallVector;
using llvm::success;
using mlir::RankedTensorType;
using mlir::ShapedType;
using stablehlo::AgreeSizes;

namespace {

RankedTensorType Ranked(mlir::Type type) { return llvm::dyn_cast<RankedTensorType>(type); }

/// Dimensions of a tensor, each at most once.
bool AreDims(ArrayRef<int64_t> dims, RankedTensorType type) {
  return stablehlo::IsUnique(dims) && llvm::all_of(dims, [&](int64_t d) { return d >= 0 && d < type.getRank(); });
}

SmallVector<int64_t> Join(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> both(a);
  llvm::append_range(both, b);
  return both;
}

bool PairsAgree(RankedTensorType lhs, ArrayRef<int64_t> a, RankedTensorType rhs, ArrayRef<int64_t> b) {
  return llvm::all_of(llvm::zip_equal(a, b), [&](const auto& pair) {
    return AgreeSizes(lhs.getDimSize(static_cast<unsigned>(std::get<0>(pair))),
                      rhs.getDimSize(static_cast<unsigned>(std::get<1>(pair))));
  });
}

void AddOthers(RankedTensorType type, ArrayRef<int64_t> used, SmallVector<int64_t>& shape) {
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    if (!llvm::is_contained(used, static_cast<int64_t>(dim))) shape.push_back(size);
  }
}

/// Static tensors need no more than one element type and sizes that agree; all others nothing.
bool Fits(mlir::Type type, mlir::Type want) {
  return !Ranked(type) || !Ranked(want) || stablehlo::AreCompatible(type, want);
}

/// A slice of an array, without the dimension along which it is cut; the type itself where that is none.
mlir::Type SliceOf(mlir::Type type, int64_t dimension) {
  const RankedTensorType tensor = Ranked(type);
  if (!tensor || dimension >= tensor.getRank()) return type;
  SmallVector<int64_t> shape(tensor.getShape());
  shape.erase(shape.begin() + dimension);
  return RankedTensorType::get(shape, tensor.getElementType());
}

}  // namespace

LogicalResult RaggedDotOp::verify() {
  const RankedTensorType lhs = Ranked(getLhs().getType()), rhs = Ranked(getRhs().getType());
  const RankedTensorType sizes = getGroupSizes().getType();
  const RaggedDotDimensionNumbersAttr numbers = getRaggedDotDimensionNumbers();
  if (!lhs || !rhs) return success();
  const ArrayRef<int64_t> lhs_batch = numbers.getLhsBatchingDimensions(),
                          rhs_batch = numbers.getRhsBatchingDimensions();
  const ArrayRef<int64_t> lhs_summed = numbers.getLhsContractingDimensions();
  const ArrayRef<int64_t> rhs_summed = numbers.getRhsContractingDimensions();
  const ArrayRef<int64_t> ragged = numbers.getLhsRaggedDimensions(), groups = numbers.getRhsGroupDimensions();
  const SmallVector<int64_t> lhs_used = Join(lhs_batch, lhs_summed);
  const SmallVector<int64_t> rhs_used = Join(Join(rhs_batch, rhs_summed), groups);
  if (!AreDims(lhs_used, lhs) || !AreDims(ragged, lhs) || !AreDims(rhs_used, rhs)) {
    return emitOpError() << "dimension numbers " << numbers << " do not fit " << lhs << " and " << rhs;
  }
  if (ragged.size() != 1) return emitOpError() << "expected one lhs_ragged_dimension, got " << ragged.size();
  if (lhs_batch.size() != rhs_batch.size() || lhs_summed.size() != rhs_summed.size()) {
    return emitOpError() << "both sides must list as many dimensions, got " << numbers;
  }
  if (!PairsAgree(lhs, lhs_batch, rhs, rhs_batch) || !PairsAgree(lhs, lhs_summed, rhs, rhs_summed)) {
    return emitOpError() << "both sides must have one size along batching and contracting dimensions, got " << lhs
                         << " and " << rhs;
  }
  if (sizes.getRank() == 0) return emitOpError() << "group_sizes must have a dimension, got " << sizes;
  const int64_t count = sizes.getShape().back();
  const bool contracting = llvm::is_contained(lhs_summed, ragged[0]);
  const bool per_group = !contracting && !llvm::is_contained(lhs_batch, ragged[0]);
  if (groups.size() != (per_group ? 1u : 0u)) {
    return emitOpError() << "expected " << (per_group ? 1 : 0) << " rhs_group_dimensions, got " << groups.size();
  }
  if (per_group && !AgreeSizes(rhs.getDimSize(static_cast<unsigned>(groups[0])), count)) {
    return emitOpError() << "expected a right side for each of " << count << " groups, got " << rhs;
  }
  SmallVector<int64_t> shape;
  if (contracting) shape.push_back(count);
  for (const int64_t d : lhs_batch) shape.push_back(lhs.getDimSize(static_cast<unsigned>(d)));
  AddOthers(lhs, lhs_used, shape);
  AddOthers(rhs, rhs_used, shape);
  const RankedTensorType result = Ranked(getType());
  if (!result || stablehlo::AreCompatibleShapes(result.getShape(), shape)) return success();
  return emitOpError() << "expected a result of shape [" << shape << "], got " << result;
}

LogicalResult ScanOp::verify() {
  const size_t inputs = getInputs().size(), inits = getInits().size(), outputs = getOutputs().size();
  if (getOperation()->getNumOperands() == 0) return emitOpError() << "expected at least one operand";
  if (getCarries().size() != inits) {
    return emitOpError() << "expected as many carries as inits (" << inits << "), got " << getCarries().size();
  }
  const auto dimension = static_cast<int64_t>(getDimension());
  // Of inputs and outputs along the dimension.
  int64_t steps = inputs > 0 ? ShapedType::kDynamic : 0;
  if (const auto size = getScanDimSize()) steps = static_cast<int64_t>(*size);
  for (const mlir::ValueRange values : {mlir::ValueRange(getInputs()), mlir::ValueRange(getOutputs())}) {
    for (mlir::Value value : values) {
      const RankedTensorType type = Ranked(value.getType());
      if (!type) continue;
      if (dimension < 0 || dimension >= type.getRank()) {
        return emitOpError() << "dimension " << dimension << " is not one of " << type;
      }
      const int64_t size = type.getDimSize(static_cast<unsigned>(dimension));
      if (!AgreeSizes(size, steps)) {
        return emitOpError() << "expected a size of " << steps << " along dimension " << dimension << ", got " << type;
      }
      if (!ShapedType::isDynamic(size)) steps = size;
    }
  }
  mlir::Block& block = getBody().front();
  if (block.getNumArguments() != inputs + inits) {
    return emitOpError() << "expected a body with " << inputs + inits << " arguments, got " << block.getNumArguments();
  }
  if (!block.mightHaveTerminator()) return emitOpError() << "expected a body with a terminator";
  const mlir::TypeRange returned = block.getTerminator()->getOperandTypes();
  if (returned.size() != getNumResults()) {
    return emitOpError() << "expected a body that returns " << getNumResults() << " values, got " << returned.size();
  }
  for (auto [i, operand] : llvm::enumerate(getOperandTypes())) {
    const mlir::Type want = i < inputs ? SliceOf(operand, dimension) : operand;
    const mlir::Type got = block.getArgument(static_cast<unsigned>(i)).getType();
    if (!Fits(got, want)) {
      return emitOpError() << "argument " << i << " of the body must have type " << want << ", got " << got;
    }
  }
  for (auto [i, result] : llvm::enumerate(getResultTypes())) {
    const mlir::Type want = i < outputs ? SliceOf(result, dimension) : result;
    if (!Fits(returned[i], want)) {
      return emitOpError() << "the body must return " << want << " for result " << i << ", got " << returned[i];
    }
    // What comes back is what the next step takes.
    if (i >= outputs && !Fits(result, getInits()[i - outputs].getType())) {
      return emitOpError() << "carries must have the types of inits, got " << result << " for "
                           << getInits()[i - outputs].getType();
    }
  }
  return success();
}

}  // namespace tenon::chlo
