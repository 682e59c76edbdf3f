#pragma once

#include <cstdint>

#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tenon/base/status.h"

namespace tenon::compiler {

/// Deeper calls are refused.
inline constexpr int kMaxCallDepth = 200;  // structural: the recursion must fit a stack
/// So are programs of more operations, those of a function counted for each of its calls.
inline constexpr int64_t kMaxInlinedOps = 2'000'000;  // structural: calls can multiply without end

/// Whether the op is its operand, and says how that lies.
bool IsConstraint(mlir::Operation* op);
/// Whether the op is the number of a device's partition or replica.
bool IsId(mlir::Operation* op);

/// What an op that runs once per device has in it: itself, its regions, and the functions that these call.
struct Contents {
  bool collective = false;  ///< Collectives, or manual computations, which may hold some: devices run it together.
  bool device = false;      ///< Ids and constraints: it reads otherwise on each device.
  bool guarded = false;     ///< Loops and effects: a device that does not come to it must not run it.
  bool own = false;         ///< Results that nothing tells beforehand: each device has its own.

  Contents& operator|=(const Contents& other) {
    collective |= other.collective;
    device |= other.device;
    guarded |= other.guarded;
    own |= other.own;
    return *this;
  }
};

/// Contents of ops, with a memory of functions. The module must not change between calls, but for ops that are added
/// outside of what was asked about.
class ContentsOf {
 public:
  Contents operator()(mlir::Operation* op) { return Of(op, 0); }

 private:
  Contents Of(mlir::Operation* op, int depth);

  llvm::DenseMap<mlir::Operation*, Contents> functions_;
};

/// Whether the op, or one inside of it, must run once however many processes need what it gives: it has effects, or
/// draws numbers, which are others each time.
bool RunsOnce(mlir::Operation* op);

/// The function that an op runs: a call's callee, a composite's decomposition; null for other ops and for functions
/// without a body.
mlir::func::FuncOp Called(mlir::Operation* op);

/// What is said of a program beyond kMaxInlinedOps.
Status TooManyInlinedOps();
/// TooManyInlinedOps where `main`, with all that it calls, is more operations than kMaxInlinedOps.
Status CheckInlinedOps(mlir::func::FuncOp main);

/// Whether regions of the op use values from outside of it.
bool CapturesValues(mlir::Operation* op);
/// Constants from outside that regions of the op use, moved into them.
void TakeInConstants(mlir::Operation* op);

/// Turns composites that decompose into something that differs between devices into calls.
void CallComposites(mlir::ModuleOp module);

}  // namespace tenon::compiler
