#pragma once

/// The edits that reduction tries. Each finds its places anew in the module that it is given.

#include <cstddef>
#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/fuzz_programs/generator.h"

namespace tenon::reduce {

/// What is edited: a module, and how its outputs are compared.
struct Subject {
  mlir::ModuleOp module;
  fuzz::Conditions& conditions;
};

struct Edit {
  const char* name;
  /// Makes the edit number `index` of this kind; false when there is no such place and none after it. A place where it
  /// cannot be made leaves the module as it was.
  bool (*apply)(Subject subject, size_t index);
  bool may_grow = false;  ///< Kept even where there are more ops afterwards: regions that were written out.
};

/// Those that take most away first.
const std::vector<Edit>& AllEdits();

/// Erases ops without users, and functions that nobody calls.
void EraseDead(mlir::ModuleOp module);

/// The entry, and its last op.
mlir::func::FuncOp EntryOf(mlir::ModuleOp module);
/// Sets the function's type from its block and its return.
void UpdateType(mlir::func::FuncOp function);
/// All ops inside functions but returns, outer ones first.
std::vector<mlir::Operation*> OpsOf(mlir::ModuleOp module);
/// A splat of this number, before `op`.
mlir::Value ConstantBefore(mlir::Operation* op, mlir::Type type, int64_t number);

// edits_shape.cc
bool ShrinkExtent(Subject subject, size_t index);
bool ShrinkArgument(Subject subject, size_t index);
bool ChangeElementType(Subject subject, size_t index);
// edits_region.cc
bool InlineCall(Subject subject, size_t index);
bool UnnestLoop(Subject subject, size_t index);
bool TakeBranch(Subject subject, size_t index);
bool DropCarry(Subject subject, size_t index);
bool DropSortOperand(Subject subject, size_t index);

}  // namespace tenon::reduce
