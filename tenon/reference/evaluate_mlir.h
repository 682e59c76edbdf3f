#pragma once

// For tools that work on MLIR themselves: the evaluator on a function.

#include <span>
#include <vector>

#include "tenon/reference/evaluator.h"

namespace tenon::reference {

/// Runs `function`, which may call others of its module.
Result<std::vector<Value>> EvaluateFunction(mlir::func::FuncOp function, std::span<const Value> args,
                                            const RunOptions& options = {});

}  // namespace tenon::reference
