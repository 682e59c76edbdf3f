#pragma once

#include <vector>

#include "tenon/compiler/partition/cuts.h"
#include "tenon/compiler/partition/expand.h"

namespace tenon::compiler {

/// Collectives of a body that runs once per instance, where each instance is some process's. Sums add the instances of
/// a process first, in the order of the group, then the processes in theirs.
class ProcessCollectives final : public RemoteCollectives {
 public:
  /// `all`: the instances of all processes; `process_of`: whose each is.
  ProcessCollectives(Exchanger& exchanger, Instances all, std::vector<int> process_of);

  /// The instances of this process, with this object as their `remote`.
  Instances Own();
  /// Their numbers among all.
  const std::vector<int64_t>& own() const { return own_; }

  Result<std::vector<Lanes>> Expand(mlir::OpBuilder& builder, mlir::Operation* op,
                                    const std::vector<Lanes>& operands) override;
  const Instances& all() const override { return all_; }
  mlir::Value Any(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value own) override;

 private:
  using Groups = std::vector<std::vector<int64_t>>;
  /// Values of other instances and own ones, by instance; `wanted[p]` says whose process p wants.
  std::vector<mlir::Value> Fetch(mlir::OpBuilder& b, mlir::Location loc, const Lanes& lanes,
                                 const std::vector<std::vector<int64_t>>& wanted);
  Result<Lanes> Permute(mlir::OpBuilder& b, mlir::Operation* op, const Lanes& lanes);
  Lanes Gather(mlir::OpBuilder& b, mlir::Operation* op, const Lanes& lanes, const Groups& groups);
  Lanes Exchange(mlir::OpBuilder& b, mlir::Operation* op, const Lanes& lanes, const Groups& groups);
  Lanes Reduce(mlir::OpBuilder& b, mlir::Operation* op, const Lanes& lanes, const Groups& groups);
  mlir::Value LaneOf(const Lanes& lanes, int64_t instance) const;

  Exchanger& x_;
  Instances all_;
  std::vector<int> process_of_;
  std::vector<int64_t> own_;
};

}  // namespace tenon::compiler
