#include "tenon/dialect/sdy/dialect.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tenon/dialect/sdy/dialect.cc.inc"
#include "tenon/dialect/sdy/enums.cc.inc"

#define GET_ATTRDEF_CLASSES
#include "tenon/dialect/sdy/attributes.cc.inc"

namespace tenon::sdy {

void SdyDialect::RegisterAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tenon/dialect/sdy/attributes.cc.inc"
      >();
}

void SdyDialect::initialize() {
  RegisterAttributes();
  addOperations<
#define GET_OP_LIST
#include "tenon/dialect/sdy/ops.cc.inc"
      >();
}

namespace {

llvm::LogicalResult CheckValueAttr(mlir::Operation* op, mlir::NamedAttribute attribute, mlir::Type type) {
  if (attribute.getName() != kShardingAttr) return mlir::success();
  auto sharding = mlir::dyn_cast<TensorShardingAttr>(attribute.getValue());
  if (!sharding) return op->emitOpError("wants #sdy.sharding as ") << kShardingAttr;
  return type ? VerifyRank(op, sharding, type) : mlir::success();
}

}  // namespace

llvm::LogicalResult SdyDialect::verifyRegionArgAttribute(mlir::Operation* op, unsigned region, unsigned argument,
                                                         mlir::NamedAttribute attribute) {
  mlir::Type type;
  if (auto function = mlir::dyn_cast<mlir::FunctionOpInterface>(op);
      function && argument < function.getNumArguments()) {
    type = function.getArgumentTypes()[argument];
  }
  return CheckValueAttr(op, attribute, type);
}

llvm::LogicalResult SdyDialect::verifyRegionResultAttribute(mlir::Operation* op, unsigned region, unsigned result,
                                                            mlir::NamedAttribute attribute) {
  mlir::Type type;
  if (auto function = mlir::dyn_cast<mlir::FunctionOpInterface>(op); function && result < function.getNumResults()) {
    type = function.getResultTypes()[result];
  }
  return CheckValueAttr(op, attribute, type);
}

llvm::LogicalResult SdyDialect::verifyOperationAttribute(mlir::Operation* op, mlir::NamedAttribute attribute) {
  if (attribute.getName() == kShardingRuleAttr && !mlir::isa<OpShardingRuleAttr>(attribute.getValue())) {
    return op->emitOpError("wants #sdy.op_sharding_rule as ") << kShardingRuleAttr;
  }
  if (attribute.getName() != kShardingAttr) return mlir::success();
  auto per_value = mlir::dyn_cast<TensorShardingPerValueAttr>(attribute.getValue());
  if (!per_value) return op->emitOpError("wants #sdy.sharding_per_value as ") << kShardingAttr;
  const size_t shardings = per_value.getShardings().size();
  // An op without results may say on which device it runs.
  if (shardings != op->getNumResults() && !(shardings == 1 && op->getNumResults() == 0)) {
    return op->emitOpError("has ") << shardings << " shardings for " << op->getNumResults() << " results";
  }
  for (auto [sharding, type] : llvm::zip(per_value.getShardings(), op->getResultTypes())) {
    if (mlir::failed(VerifyRank(op, sharding, type))) return mlir::failure();
  }
  return mlir::success();
}

}  // namespace tenon::sdy
