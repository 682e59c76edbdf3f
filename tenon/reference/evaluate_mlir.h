#pragma once

// For folders that work on MLIR themselves (constant folding, tools): the evaluator on functions and single operations.

#include <functional>
#include <span>
#include <vector>

#include "tenon/reference/evaluator.h"

namespace tenon::reference {

/// Runs `function`, which may call others of its module.
Result<std::vector<Value>> EvaluateFunction(mlir::func::FuncOp function, std::span<const Value> args,
                                            const RunOptions& options = {});

/// The results of one operation. `value_of` gives its operands and whatever its regions capture.
Result<std::vector<Value>> EvaluateOp(mlir::Operation* op, const std::function<Result<Value>(mlir::Value)>& value_of,
                                      const RunOptions& options = {});

}  // namespace tenon::reference
