#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tenon/dialect/sdy/dialect.h"

namespace tenon::compiler {

/// How values lie: per dim, the mesh axes along which it is cut, major first.
class Placement {
 public:
  void Set(mlir::Value v, std::vector<std::vector<sdy::AxisRefAttr>> dims) { dims_[v] = std::move(dims); }
  /// Empty where nothing is known.
  const std::vector<std::vector<sdy::AxisRefAttr>>& Of(mlir::Value v) const {
    static const std::vector<std::vector<sdy::AxisRefAttr>> nothing;
    const auto it = dims_.find(v);
    return it == dims_.end() ? nothing : it->second;
  }

 private:
  llvm::DenseMap<mlir::Value, std::vector<std::vector<sdy::AxisRefAttr>>> dims_;
};

struct ResultShardingsOf {
  std::vector<sdy::TensorShardingAttr> results;
  /// Of the operand of each custom call @InspectSharding, in the order in which they run; the sharding may be null.
  std::vector<std::pair<mlir::Operation*, sdy::TensorShardingAttr>> inspected;
  /// Of the operands of each call that every device makes on its own parts (MadePerDevice), in the order in which they
  /// run; null where nothing is known.
  std::vector<std::pair<mlir::Operation*, std::vector<sdy::TensorShardingAttr>>> per_device;
  Placement placement;
  /// Of the operands and results of each op that was asked about; null where nothing is known.
  struct Asked {
    mlir::Operation* op;
    std::vector<sdy::TensorShardingAttr> operands, results;
  };
  std::vector<Asked> asked;
};

/// The sharding of each result of @main, null where nothing is known. A result's own sharding stands, except that its
/// open dims, or all dims where it has none, take what arguments, constraints and manual computations spread forwards
/// through the ops: an axis follows a dim for as long as the dim stays one, and shards evenly. Where operands disagree,
/// the longer list of axes wins, then the first operand. What a constraint or a manual computation reads lies as it
/// wants it, in dims that nothing else has cut otherwise. Shardings are a matter of where results lie, never of what
/// they hold; a program of one device has no use for them. Requires a verified module, before any expansion.
/// Shardings over meshes of another number of devices than `num_devices` spread nothing. `about`: which ops are asked
/// about; null, none.
ResultShardingsOf ResultShardings(mlir::func::FuncOp main, int64_t num_devices,
                                  llvm::function_ref<bool(mlir::Operation*)> about = nullptr);

/// Whether the op asks how its operand lies.
bool InspectsSharding(mlir::Operation* op);

/// Whether the op is a call that every device makes, on its parts of the operands; it has no results.
bool MadePerDevice(mlir::Operation* op);

}  // namespace tenon::compiler
