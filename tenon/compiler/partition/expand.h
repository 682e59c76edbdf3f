#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "tenon/base/status.h"

namespace tenon::compiler {

struct Instances;

/// The values of one body value, by instance.
using Lanes = std::vector<mlir::Value>;

/// Collectives between instances of which some run in other processes.
class RemoteCollectives {
 public:
  virtual ~RemoteCollectives() = default;
  /// As ExpandCollective; `operands` and the results are the lanes of this process's instances alone.
  virtual Result<std::vector<Lanes>> Expand(mlir::OpBuilder& builder, mlir::Operation* op,
                                            const std::vector<Lanes>& operands) = 0;
  /// All instances, of all processes.
  virtual const Instances& all() const = 0;
  /// A scalar pred: whether `own` is true in any process.
  virtual mlir::Value Any(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value own) = 0;
};

/// Those who run one body: instance i stands for the devices in `devices[i]` (more than one when the body is
/// manual along some mesh axes only).
struct Instances {
  std::vector<std::vector<int64_t>> devices;
  int64_t num_replicas = 1;
  int64_t num_partitions = 1;
  RemoteCollectives* remote = nullptr;  ///< Null: there are no other instances than these.
  /// A scalar pred per instance: whether it runs the body. Empty: all do.
  Lanes active = {};
  bool repeated = false;  ///< Whether the body is expanded twice.

  size_t size() const { return devices.size(); }
  /// The instance that stands for a device.
  int64_t Of(int64_t device) const;
};

/// Expands `body` once per instance, op by op in lock-step, at the insertion point of `builder`. `arguments`: lanes of
/// each block argument; `varying`: whether they may differ between instances, of all processes. Returns the lanes of
/// each operand of the terminator. Collectives become ordinary ops between lanes. Loops and branches that contain
/// collectives become one loop or branch over all lanes: it runs for as long as any lane wants it, and a lane that does
/// not keeps its values and has no effects meanwhile.
Result<std::vector<Lanes>> Expand(mlir::OpBuilder& builder, mlir::Block& body, const std::vector<Lanes>& arguments,
                                  const std::vector<bool>& varying, const Instances& instances);

/// The flat device ids of each group of a collective. `op` has replica_groups or source_target_pairs.
Result<std::vector<std::vector<int64_t>>> ProcessGroups(mlir::Operation* op, const Instances& instances);

// Building blocks, also for callers that cut and join whole arrays.

/// x[starts, starts + sizes).
mlir::Value Slice(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value x, llvm::ArrayRef<int64_t> starts,
                  llvm::ArrayRef<int64_t> sizes);
mlir::Value Concatenate(mlir::OpBuilder& builder, mlir::Location loc, mlir::ValueRange parts, int64_t dim);
mlir::Value Zeros(mlir::OpBuilder& builder, mlir::Location loc, mlir::RankedTensorType type);
mlir::Value Reshape(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value x, llvm::ArrayRef<int64_t> dims);

}  // namespace tenon::compiler
