#pragma once

#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::dialect {

/// Writes calls of LAPACK before `call`, in the form that JAX gives them, and uses their results for those of `call`,
/// when that is one of XLA's decompositions: `Qr`, a -> (packed q and r, taus);
/// `ProductOfElementaryHouseholderReflectors`, (a, taus) -> q; `Eigh` with a config "lower,sort,max_iter[,tol]",
/// a -> (vectors, values). False, and nothing written, for other calls and other types than f32, f64, c64 and c128.
bool ReplaceDecomposition(stablehlo::CustomCallOp call);

}  // namespace tenon::dialect
