#pragma once

// Special functions in the operations that the graph has.

#include <optional>

#include "mlir/IR/Operation.h"

namespace tenon::compiler {

/// The result of a CHLO function, written before `op` in StableHLO and in functions that kernels have (erf). Nothing
/// for functions that are not known here. Accuracy of real ones, in units of the last place of f32 (narrower types,
/// too) or f64: inverse trigonometric and hyperbolic functions 4, erf_inv, erfc and bessel_i1e 8; of lgamma and digamma
/// 24, or as much of 1 where the result is smaller; of zeta and polygamma 64 for positive arguments, and where orders
/// are not large beside them also below 0. Of complex ones: special_complex.h.
std::optional<mlir::Value> SpecialFunction(mlir::Operation* op, llvm::StringRef name);

}  // namespace tenon::compiler
