#pragma once

// What the sources behind Imported share.

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "tenon/compiler/import/import.h"
#include "tenon/dialect/parse.h"

namespace tenon::compiler {

struct Imported::Impl {
  dialect::Context context;
  dialect::OwnedModule module;
};

/// Brings along what the ops of `to` name and only `from` has: functions that regions call, and what those name in
/// turn.
void CloneSymbols(mlir::ModuleOp to, mlir::ModuleOp from);
/// A portable artifact, of an old version where the module has a form there.
Result<std::string> ToArtifact(mlir::Operation* module);

}  // namespace tenon::compiler
