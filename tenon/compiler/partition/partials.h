#pragma once

#include <map>
#include <set>
#include <vector>

#include "tenon/compiler/partition/expand.h"
#include "tenon/compiler/partition/propagate.h"
#include "tenon/dialect/sdy/dialect.h"

namespace tenon::compiler {

/// Arrays that are sums, maxima or minima over mesh axes of what the devices hold ("unreduced"), by the values that
/// stand for them. Which device holds which partial value is visible to programs; what they make is right for any
/// choice.
class Partials {
 public:
  using Axes = std::vector<sdy::AxisRefAttr>;

  /// Mesh axes, major first, over which a value is made of partial ones, and how they combine; they stand in the order
  /// of positions along the axes.
  struct Over {
    Axes axes;
    sdy::ReductionOp op = sdy::ReductionOp::SUM;
  };

  void Set(mlir::Value whole, Over over, Lanes parts) {
    known_[{whole.getAsOpaquePointer(), std::move(over)}] = std::move(parts);
  }

  /// The `count` partial values of `whole`: those that were set; else what the devices have where `placement` says that
  /// it, or what it is made of in a way that goes through the combination (reductions of its kind over a dim, the
  /// combination itself, what only moves; of sums also products and what scales), is cut along these axes. Empty when
  /// nothing of the kind is known. Ops are made right behind `whole`.
  Lanes Find(mlir::Value whole, const Over& over, int64_t count, const Placement& placement);

 private:
  struct Request;

  Lanes Make(mlir::Value whole, const Request& request, int depth);
  Lanes OfOperands(mlir::OpBuilder& b, mlir::Operation* op, const Request& request, int depth);

  struct Key {
    void* value;
    Over over;
    bool operator<(const Key& other) const;
  };
  std::map<Key, Lanes> known_;
  /// Values of which nothing is known, as far as this question went: products ask both of their factors.
  std::set<void*> none_;
};

/// What partial values make, from the first one on.
mlir::Value Combined(mlir::OpBuilder& builder, mlir::Location loc, mlir::ValueRange parts, sdy::ReductionOp op);

/// The partial value at `position` of those that make `whole` where nobody knows better: all of a maximum or minimum;
/// of a sum, everything at the first position, zeros at the others, which are negative where the type has those: they
/// change no zero.
mlir::Value AnyPart(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value whole, int64_t position,
                    sdy::ReductionOp op);

/// Puts the bodies of functions in place of calls, in `main`. Recursive functions stay called.
void InlineCalls(mlir::func::FuncOp main);

}  // namespace tenon::compiler
