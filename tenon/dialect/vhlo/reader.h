#pragma once

#include <string_view>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tenon/base/status.h"
#include "tenon/dialect/vhlo/entries.h"

namespace tenon::vhlo {

/// Reads MLIR bytecode (a portable artifact, or plain bytecode of StableHLO) into StableHLO, func, sdy and chlo
/// operations: each op is made once, in its final form. The result is not verified. INVALID_ARGUMENT names the op and
/// its location. The context needs every dialect of the program loaded. Diagnostics of MLIR go to the context's
/// handler.
Result<mlir::OwningOpRef<mlir::ModuleOp>> ReadBytecode(std::string_view bytes, mlir::MLIRContext* context,
                                                       LiteralPolicy literals = {});

}  // namespace tenon::vhlo
