#pragma once

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
  int depth_ = 0;
};

}  // namespace tenon::compiler
