#pragma once

// Quantized types, taken apart into arithmetic on the integers that they are stored as.

#include "mlir/IR/BuiltinOps.h"
#include "tenon/base/status.h"

namespace tenon::compiler {

/// Gives every value of a quantized type the type of its storage (i8, ui8, i16 ...), arguments and results of functions
/// among them, and writes what its operations mean in ops on those and on floats: sums and products in integers with
/// one scale at the end, all other arithmetic on floats; what moves data moves the storage. UNIMPLEMENTED names an op
/// or a type that has no such form; the module is then unusable. Leaves a module without quantized types as it is.
Status LowerQuantized(mlir::ModuleOp module);

}  // namespace tenon::compiler
