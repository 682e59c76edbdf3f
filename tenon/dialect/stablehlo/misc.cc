// Folding, memory effects and symbol uses.
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::stablehlo {

mlir::OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

void CustomCallOp::getEffects(
    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>& effects) {
  if (!getHasSideEffect()) return;
  effects.emplace_back(mlir::MemoryEffects::Read::get());
  effects.emplace_back(mlir::MemoryEffects::Write::get());
}

llvm::LogicalResult CompositeOp::verifySymbolUses(mlir::SymbolTableCollection& symbols) {
  // composite_c2, composite_c3, composite_c4: decomposition names a function of the same type.
  auto function = symbols.lookupNearestSymbolFrom<mlir::FunctionOpInterface>(*this, getDecompositionAttr());
  if (!function) return emitOpError() << "decomposition " << getDecompositionAttr() << " is not a function";
  if (!AreCompatible(getOperandTypes(), function.getArgumentTypes())) {
    return emitOpError() << "operands have types " << getOperandTypes() << ", but decomposition "
                         << getDecompositionAttr() << " takes " << function.getArgumentTypes();
  }
  if (!AreCompatible(getResultTypes(), function.getResultTypes())) {
    return emitOpError() << "results have types " << getResultTypes() << ", but decomposition "
                         << getDecompositionAttr() << " returns " << function.getResultTypes();
  }
  return mlir::success();
}

}  // namespace tenon::stablehlo
