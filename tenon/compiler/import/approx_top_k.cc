// The custom call by which frameworks ask for roughly the largest elements, done exactly: sorted along the dim, cut to
// size.

#include <fmt/format.h>

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "tenon/compiler/import/importer.h"
#include "tenon/dialect/parse.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {

Status Importer::ImportApproxTopK(mlir::Operation* op, Block& to) {
  auto config = mlir::dyn_cast_or_null<mlir::DictionaryAttr>(op->getAttr("backend_config"));
  if (!config) config = mlir::dyn_cast_or_null<mlir::DictionaryAttr>(op->getAttr("mhlo.backend_config"));
  const auto computations = op->getAttrOfType<mlir::ArrayAttr>("called_computations");
  const auto dim_attr = config ? config.getAs<mlir::IntegerAttr>("reduction_dim") : mlir::IntegerAttr();
  const auto comparator = computations && computations.size() == 1
                              ? mlir::dyn_cast<mlir::SymbolRefAttr>(computations[0])
                              : mlir::SymbolRefAttr();
  const auto found = comparator ? functions_.find(comparator.getRootReference().getValue()) : functions_.end();
  const unsigned n = op->getNumResults();
  if (!dim_attr || found == functions_.end() || found->second.isExternal() || n == 0 || op->getNumOperands() != 2 * n) {
    return InvalidArgument("ApproxTopK wants operands, as many initial values, one comparator and a reduction_dim");
  }
  const auto operand = mlir::dyn_cast<mlir::RankedTensorType>(op->getOperand(0).getType());
  const int64_t rank = operand ? operand.getRank() : 0;
  const int64_t dim = dim_attr.getInt() < 0 ? dim_attr.getInt() + rank : dim_attr.getInt();
  if (dim < 0 || dim >= rank)
    return InvalidArgument(fmt::format("ApproxTopK along dim {} of {}", dim_attr.getInt(), rank));
  for (unsigned i = 0; i < n; ++i) {
    const auto from = mlir::dyn_cast<mlir::RankedTensorType>(op->getOperand(i).getType());
    const auto result = mlir::dyn_cast<mlir::RankedTensorType>(op->getResult(i).getType());
    bool fits = from && result && from.getShape() == operand.getShape() && result.getRank() == rank &&
                from.getElementType() == result.getElementType();
    for (int64_t d = 0; fits && d < rank; ++d) {
      fits = d == dim ? result.getDimSize(d) >= 0 && result.getDimSize(d) <= from.getDimSize(d)
                      : result.getDimSize(d) == from.getDimSize(d);
    }
    if (!fits) return InvalidArgument(fmt::format("ApproxTopK: result {} is no part of operand {}", i, i));
  }

  mlir::OpBuilder b(op);
  mlir::OperationState state(op->getLoc(), "stablehlo.sort");
  state.addOperands(op->getOperands().take_front(n));
  state.addTypes(llvm::to_vector(op->getOperands().take_front(n).getTypes()));
  state.addAttribute("dimension", b.getI64IntegerAttr(dim));
  state.addAttribute("is_stable", b.getBoolAttr(true));
  mlir::Region* region = state.addRegion();
  mlir::IRMapping mapping;
  found->second.getBody().cloneInto(region, mapping);
  mlir::Operation* end = region->front().getTerminator();
  if (end->getName().getStringRef() != "stablehlo.return") {
    mlir::OpBuilder at_end(end);
    mlir::OperationState yield(end->getLoc(), "stablehlo.return");
    yield.addOperands(end->getOperands());
    at_end.create(yield);
    end->erase();
  }
  mlir::Operation* sort = b.create(state);
  // Nobody has seen yet whether the function is a comparator of these operands.
  TENON_RETURN_IF_ERROR(dialect::Verify(sort).WithContext("ApproxTopK"));
  TENON_RETURN_IF_ERROR(ImportOp(sort, to));
  for (unsigned i = 0; i < n; ++i) {
    const auto type = mlir::cast<mlir::RankedTensorType>(op->getResult(i).getType());
    mlir::OperationState slice(op->getLoc(), "stablehlo.slice");
    slice.addOperands(sort->getResult(i));
    slice.addTypes(type);
    slice.addAttribute("start_indices",
                       b.getDenseI64ArrayAttr(llvm::SmallVector<int64_t>(static_cast<size_t>(rank), 0)));
    slice.addAttribute("limit_indices", b.getDenseI64ArrayAttr(type.getShape()));
    slice.addAttribute("strides", b.getDenseI64ArrayAttr(llvm::SmallVector<int64_t>(static_cast<size_t>(rank), 1)));
    mlir::Operation* cut = b.create(slice);
    TENON_RETURN_IF_ERROR(ImportOp(cut, to));
    TENON_ASSIGN_OR_RETURN(values_[op->getResult(i)], Get(cut->getResult(0)));
  }
  return OkStatus();
}

}  // namespace tenon::compiler
