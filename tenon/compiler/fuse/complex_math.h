#pragma once

/// Functions of complex numbers as real KIR nodes: scaled where squares would overflow or vanish, with error-free
/// products where parts would cancel. Parts are within a few ulp of the true ones but for `power`, `logistic` and
/// `exponential_minus_one`, whose errors are a few ulp of the magnitude times the function's condition.

#include "tenon/compiler/fuse/scalar_ops.h"

namespace tenon::compiler {

/// sqrt(re^2 + im^2).
kir::Val ComplexAbs(kir::NodeBuilder& b, Scalar z);
/// z / |z|; 0 for 0.
Scalar ComplexSign(kir::NodeBuilder& b, Scalar z);
Scalar ComplexDivide(kir::NodeBuilder& b, Scalar x, Scalar y);
Scalar ComplexPower(kir::NodeBuilder& b, Scalar base, Scalar exponent);
/// The function `op` of one argument, for which HasComplexFunction.
Scalar ComplexFunction(kir::NodeBuilder& b, OpCode op, Scalar z);
bool HasComplexFunction(OpCode op);

/// Rough cycles per 16 f32 elements of any of these; 0 for other ops.
int ComplexCost(OpCode op);

}  // namespace tenon::compiler
