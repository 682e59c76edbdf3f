#pragma once

// Special functions of complex numbers.

#include <optional>

#include "mlir/IR/Operation.h"

namespace tenon::compiler {

/// As SpecialFunction, of complex numbers: inverse trigonometric and hyperbolic functions, sinh, cosh and tan. Branch
/// cuts, and what signs of zeros say of them, are C's (Annex G). Each part is within 4 units of the last place of c64,
/// and of c128 within 16.
std::optional<mlir::Value> ComplexFunction(mlir::Operation* op, llvm::StringRef name);

}  // namespace tenon::compiler
