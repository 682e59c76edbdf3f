#pragma once

#include <map>
#include <utility>
#include <vector>

#include "tenon/compiler/partition/expand.h"
#include "tenon/compiler/partition/propagate.h"
#include "tenon/dialect/sdy/dialect.h"

namespace tenon::compiler {

/// Arrays that are sums over mesh axes of what the devices hold ("unreduced"), by the values that stand for the sums.
/// Which device holds which summand is visible to programs; the sum itself is right for any choice.
class Partials {
 public:
  /// Mesh axes, major first, over which a value is a sum; summands stand in the order of positions along them.
  using Axes = std::vector<sdy::AxisRefAttr>;

  void Set(mlir::Value whole, Axes axes, Lanes parts) {
    known_[{whole.getAsOpaquePointer(), std::move(axes)}] = std::move(parts);
  }

  /// The `count` summands of `whole` over `axes`: those that were set; else what the devices have where `placement`
  /// says that it, or what it is linearly made of (products and sums over a dim, and what only moves or scales), is cut
  /// along these axes. Empty when nothing of the kind is known. Ops are made right behind `whole`.
  Lanes Find(mlir::Value whole, const Axes& axes, int64_t count, const Placement& placement);

 private:
  Lanes Make(mlir::Value whole, const Axes& axes, int64_t count, const Placement& placement, int depth);

  struct Less {
    using Key = std::pair<void*, Axes>;
    bool operator()(const Key& a, const Key& b) const;
  };
  std::map<std::pair<void*, Axes>, Lanes, Less> known_;
};

/// Puts the bodies of functions in place of calls, in `main`. Recursive functions stay called.
void InlineCalls(mlir::func::FuncOp main);

}  // namespace tenon::compiler
