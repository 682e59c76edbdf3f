#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tenon/dialect/chlo/dialect.h.inc"
#include "tenon/dialect/chlo/enums.h.inc"
#include "tenon/dialect/stablehlo/types.h"

#define GET_ATTRDEF_CLASSES
#include "tenon/dialect/chlo/attributes.h.inc"

namespace tenon::chlo {

/// True for a tensor of any rank, unranked too, whose elements are of one of the kinds (stablehlo::ElementKind).
bool IsTensorOf(mlir::Type type, uint32_t kinds);
/// Operands and result have one shape; element types agree unless the result is i1.
llvm::LogicalResult VerifySameShapes(mlir::Operation* op);
/// `dims` say where the dimensions of the lower-rank operand go; sizes agree or are 1.
llvm::LogicalResult VerifyBroadcast(mlir::Operation* op, std::optional<llvm::ArrayRef<int64_t>> dims);

}  // namespace tenon::chlo

#define GET_OP_CLASSES
#include "tenon/dialect/chlo/ops.h.inc"

namespace tenon::chlo {

/// Adds CHLO to `registry`.
void RegisterChlo(mlir::DialectRegistry& registry);

}  // namespace tenon::chlo
