#pragma once

#include <cstdint>
#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tenon/dialect/sdy/dialect.h"

namespace tenon::compiler {

/// The sharding of each result of @main, null where nothing is known. A result's own sharding stands, except that its
/// open dims, or all dims where it has none, take what arguments, constraints and manual computations spread forwards
/// through the ops: an axis follows a dim for as long as the dim stays one, and shards evenly. Where operands disagree,
/// the longer list of axes wins, then the first operand. Shardings are a matter of where results lie, never of what
/// they hold; a program of one device has no use for them. Requires a verified module, before any expansion.
/// Shardings over meshes of another number of devices than `num_devices` spread nothing.
std::vector<sdy::TensorShardingAttr> ResultShardings(mlir::func::FuncOp main, int64_t num_devices);

}  // namespace tenon::compiler
