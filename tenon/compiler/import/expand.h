#pragma once

// Ops that say in one word what others say in several.

#include "mlir/IR/BuiltinOps.h"
#include "tenon/base/status.h"

namespace tenon::compiler {

/// Writes client ops that broadcast their operands as broadcasts and a plain op, of quantized types too. Those of
/// dynamic shapes stay. INVALID_ARGUMENT where the plain op does not take such elements.
Status ExpandBroadcasts(mlir::ModuleOp module);

/// Writes batch norms, random bits and numbers, conversions of f8E8M0FNU, `map`, `einsum`, client ops (special
/// functions of real numbers among them) and ops of dynamic shapes whose shapes are known in the ops that the graph
/// has. What has no such form stays as it is. INVALID_ARGUMENT where sizes that a program gives as numbers do not fit
/// its types.
Status ExpandOps(mlir::ModuleOp module);

}  // namespace tenon::compiler
