#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::dialect {

/// Collectives that are started and awaited travel as two calls, `all-gather-start` and `all-gather-done`, and in the
/// same way `all-reduce`, `reduce-scatter`, `all-to-all` and `collective-permute`. The start's frontend attribute
/// `async_collective_config` holds the collective's attributes as JSON; a reducer is the function that it calls.
///
/// Puts the collective in place of a start, and the operand in place of a done's result. False, and nothing written,
/// for other calls and for those that do not make sense.
bool ReplaceAsyncCall(stablehlo::CustomCallOp call);

/// The function that a call names as its only computation, when it is straight code from scalars of these types to one
/// of `result`; else null.
mlir::func::FuncOp ScalarFunctionOf(stablehlo::CustomCallOp call, llvm::ArrayRef<mlir::Type> arguments,
                                    mlir::Type result);
/// A copy of the function's body as a region of an op.
void FillRegion(mlir::Region& region, mlir::func::FuncOp function);

}  // namespace tenon::dialect
