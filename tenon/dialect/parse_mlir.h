#pragma once

// For the folders that work on MLIR themselves: dialect, reference, compiler. Everybody else includes parse.h.

#include <memory>
#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "tenon/dialect/parse.h"

namespace tenon::dialect {

inline mlir::ModuleOp AsModule(const OwnedModule& module) { return mlir::cast<mlir::ModuleOp>(module.op()); }

/// Adds the dialects that a program may use to `registry`.
void RegisterDialects(mlir::DialectRegistry& registry);

/// Writes shardings in the form before Shardy ("mhlo.sharding") as sdy.sharding; see hlo/stablehlo.h.
Status TranslateShardings(mlir::ModuleOp module);

/// "stablehlo.add at model.py:12:3" from an op and its location; "unknown location" when there is none.
std::string Describe(mlir::Operation* op);
/// "model.py:12:3", the innermost file position of `loc`, with the name of a NameLoc before it.
std::string Describe(mlir::Location loc);

/// While it lives, diagnostics of the context go here and nowhere else (never to stderr).
class DiagnosticCapture {
 public:
  explicit DiagnosticCapture(mlir::MLIRContext* context);
  ~DiagnosticCapture();
  DiagnosticCapture(const DiagnosticCapture&) = delete;
  DiagnosticCapture& operator=(const DiagnosticCapture&) = delete;

  /// Whether an error came.
  bool has_error() const { return !first_error_.empty(); }
  /// The first error as "message (at location)", with code `code`; a Status that says "no reason given" when none came.
  Status ToStatus(Code code = Code::kInvalidArgument) const;

 private:
  std::string first_error_;
  mlir::DiagnosticEngine::HandlerID id_;
  mlir::MLIRContext* context_;
};

}  // namespace tenon::dialect
