#pragma once

// Ops that say in one word what others say in several.

#include "mlir/IR/BuiltinOps.h"

namespace tenon::compiler {

/// Writes batch norms, random bits, `map`, client ops (special functions of real numbers among them) and ops of dynamic
/// shapes whose shapes are known in the ops that the graph has. What has no such form stays as it is.
void ExpandOps(mlir::ModuleOp module);

}  // namespace tenon::compiler
