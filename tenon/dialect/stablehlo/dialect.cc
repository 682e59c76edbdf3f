#include "tenon/dialect/stablehlo/dialect.h"

#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/IR/Builders.h"
#include "tenon/dialect/stablehlo/dialect.cc.inc"

namespace tenon::stablehlo {

void StablehloDialect::initialize() {
  RegisterAttributes();
  RegisterTypes();
  registerStablehloDialectOperations(this);
}

mlir::Operation* StablehloDialect::materializeConstant(mlir::OpBuilder& builder, mlir::Attribute value, mlir::Type type,
                                                       mlir::Location loc) {
  auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value);
  if (!elements || elements.getType() != type) return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}

void RegisterStablehlo(mlir::DialectRegistry& registry) {
  registry.insert<StablehloDialect, mlir::quant::QuantDialect>();
}

}  // namespace tenon::stablehlo
