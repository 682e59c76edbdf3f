#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tenon/dialect/stablehlo/dialect.h.inc"
#include "tenon/dialect/stablehlo/enums.h.inc"
#include "tenon/dialect/stablehlo/types.h"

#define GET_TYPEDEF_CLASSES
#include "tenon/dialect/stablehlo/types.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tenon/dialect/stablehlo/attributes.h.inc"

#define GET_OP_CLASSES
#include "tenon/dialect/stablehlo/ops.h.inc"

namespace tenon::stablehlo {

/// Adds StableHLO, and the quant dialect that its element types need, to `registry`.
void RegisterStablehlo(mlir::DialectRegistry& registry);

}  // namespace tenon::stablehlo
