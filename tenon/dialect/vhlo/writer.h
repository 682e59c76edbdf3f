#pragma once

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "tenon/base/status.h"
#include "tenon/vhlo/table.h"

namespace tenon::vhlo {

/// Writes `module` as a portable artifact of version `target`. Ops, attributes and types take the form that belongs to
/// that version; Shardy's stay as they are, with casts at their borders (targets of 1.11.0 and later only). The module
/// is not changed. INVALID_ARGUMENT names the op, attribute or type that `target` has no form for.
Result<std::string> WriteArtifact(mlir::ModuleOp module, Version target);

}  // namespace tenon::vhlo
