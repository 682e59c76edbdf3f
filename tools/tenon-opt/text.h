#pragma once

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "tools/tenon-opt/options.h"

namespace tenon::opt {

/// Text of a module in the form that the options ask for.
std::string Print(mlir::ModuleOp module, bool generic, bool locations);

/// Checks that printing, parsing and printing again gives the same text, in pretty and in generic form, and that both
/// forms say the same. Returns what went wrong, empty if nothing.
std::string CheckRoundTrip(mlir::ModuleOp module);

}  // namespace tenon::opt
