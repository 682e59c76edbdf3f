#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "tenon/dialect/check/check.h.inc"
#include "tenon/dialect/check/interpreter.h.inc"

#define GET_OP_CLASSES
#include "tenon/dialect/check/ops.h.inc"

namespace tenon::check {

/// Adds the dialects `check` and `interpreter` of self-checking test programs.
void RegisterCheck(mlir::DialectRegistry& registry);

}  // namespace tenon::check
