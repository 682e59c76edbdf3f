#pragma once

#include <map>
#include <utility>
#include <vector>

#include "llvm/ADT/DenseSet.h"
#include "tenon/compiler/partition/contents.h"
#include "tenon/compiler/partition/expand.h"

namespace tenon::compiler {

/// Which values of a body that runs once per instance may differ between the instances. Values from outside of it are
/// the same for all. Ops are visited in their order.
class Varying {
 public:
  /// `instances` and `contents_of` must outlive it.
  Varying(const Instances& instances, ContentsOf& contents_of) : instances_(instances), contents_of_(contents_of) {}

  bool Has(mlir::Value v) const { return values_.contains(v); }
  void Set(mlir::Value v, bool varies);

  /// Works out the results of an op, and what is inside of it: arguments of its regions and of functions that it calls,
  /// as they are on this visit. `masked`: some instances may not have come here.
  void Visit(mlir::Operation* op, bool masked) {
    masked_ = masked;
    Visit(op);
  }

 private:
  void Visit(mlir::Operation* op);
  bool HasAny(mlir::ValueRange values) const;
  /// Whether the terminator's operands vary.
  std::vector<bool> VisitBlock(mlir::Block& block, const std::vector<bool>& arguments);
  void VisitWhile(mlir::Operation* op);
  void VisitBranches(mlir::Operation* op);
  bool VariesByItself(mlir::Operation* op) const;

  const Instances& instances_;
  ContentsOf& contents_of_;
  llvm::DenseSet<mlir::Value> values_;
  bool masked_ = false;
  std::vector<mlir::Operation*> calls_;  ///< That lead to what is visited.
  /// What varies of a loop: some carries, and whether it goes on. Each visit of the loop around it finds that and more,
  /// and need not begin anew.
  struct Loop {
    std::vector<bool> carries;
    bool condition = false;
    friend bool operator==(const Loop&, const Loop&) = default;
  };
  std::map<std::pair<std::vector<mlir::Operation*>, mlir::Operation*>, Loop> loops_;  ///< By the calls to them.
  int loops_around_ = 0;
};

}  // namespace tenon::compiler
