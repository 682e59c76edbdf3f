#pragma once

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "tools/tenon-opt/options.h"

namespace tenon::opt {

/// Adds every dialect that Tenon's text may hold.
void RegisterDialects(mlir::DialectRegistry& registry);

/// Text of a module in the form that the options ask for.
std::string Print(mlir::ModuleOp module, bool generic, bool locations);

/// Parses `text` and checks that printing, parsing and printing again gives the same text, in pretty and in generic
/// form. Returns what went wrong, empty if nothing.
std::string CheckRoundTrip(mlir::ModuleOp module);

}  // namespace tenon::opt
