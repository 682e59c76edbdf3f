// Tensors of quantized types. MLIR checks element types alone, which do not know the tensor around them, and operations
// may read numbers along an axis as soon as they look at such a type.
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::stablehlo {
namespace {

using llvm::LogicalResult;
using llvm::success;
using mlir::RankedTensorType;
using mlir::Type;

LogicalResult CheckTensor(mlir::Operation* op, RankedTensorType tensor) {
  const Type element = tensor.getElementType();
  if (!llvm::isa<mlir::quant::QuantizedType>(element)) return success();
  // MLIR has more of them, some of which are not even stored as integers.
  if (!IsElementOf(element, kQuant | kQuantAxis)) {
    return op->emitOpError() << tensor << " must be quantized uniformly, in integers of 2, 4, 8, 16 or 32 bits";
  }
  auto axis = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(element);
  if (!axis) return success();
  const int64_t dim = axis.getQuantizedDimension();
  // (C12) of quantized tensor types
  if (dim < 0 || dim >= tensor.getRank()) {
    return op->emitOpError() << "quantized dimension of " << tensor << " must be in [0, " << tensor.getRank()
                             << "), got " << dim;
  }
  // (C13)
  const int64_t size = tensor.getDimSize(static_cast<unsigned>(dim));
  const auto scales = static_cast<int64_t>(axis.getScales().size());
  if (mlir::ShapedType::isDynamic(size) || size == scales) return success();
  return op->emitOpError() << tensor << " must have " << size << " scales along dimension " << dim << ", got "
                           << scales;
}

LogicalResult CheckType(mlir::Operation* op, Type type) {
  if (auto tensor = llvm::dyn_cast<RankedTensorType>(type)) return CheckTensor(op, tensor);
  const auto result = type.walk([&](RankedTensorType tensor) {
    return succeeded(CheckTensor(op, tensor)) ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
  });
  return success(!result.wasInterrupted());
}

LogicalResult CheckTypes(mlir::Operation* op, mlir::TypeRange types) {
  return success(llvm::all_of(types, [&](Type type) { return succeeded(CheckType(op, type)); }));
}

LogicalResult CheckOp(mlir::Operation* op) {
  // Operands are results or arguments, here or outside of `root`.
  if (failed(CheckTypes(op, op->getResultTypes()))) return mlir::failure();
  for (mlir::Region& region : op->getRegions()) {
    for (mlir::Block& block : region) {
      if (failed(CheckTypes(op, block.getArgumentTypes()))) return mlir::failure();
    }
  }
  if (!llvm::isa<mlir::FunctionOpInterface>(op)) return success();
  // Nobody has verified the function yet.
  const auto signature = op->getAttrOfType<mlir::TypeAttr>("function_type");
  return signature ? CheckType(op, signature.getValue()) : success();
}

}  // namespace

LogicalResult VerifyQuantizedTypes(mlir::Operation* root) {
  const auto result = root->walk([](mlir::Operation* op) {
    return succeeded(CheckOp(op)) ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
  });
  return success(!result.wasInterrupted());
}

}  // namespace tenon::stablehlo
