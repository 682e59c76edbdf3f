#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tenon::dialect {

/// Ops that StableHLO lacks travel in it as custom calls: `stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes =
/// {...}, mhlo.version = 1}`. XLA's converters write and read them so, and exported programs hold them.
///
/// Replaces those in `module` that CHLO has: functions of one array or two, and top-k of either end. Others, and calls
/// whose operands, results or attributes are not as such an op wants them, stay.
///
/// XLA's own decompositions, `Qr`, `ProductOfElementaryHouseholderReflectors` and `Eigh`, which travel alike, become
/// the calls of LAPACK that JAX makes for CPUs: a handler for those is always there. Collectives that JAX starts and
/// awaits by calls (`all-gather-start`, ...) become StableHLO's, and `TopK` with a comparator a sort.
///
/// Of all custom calls, those with tuples become calls with many operands and results.
///
/// `module` is verified; whether anything was replaced, which is not.
bool ReadNamedCalls(mlir::Operation* module);

/// The way back, for readers that know StableHLO alone: a copy of `module` in which erf, tan and top-k are such calls;
/// null when it holds none of them.
mlir::OwningOpRef<mlir::ModuleOp> WithNamedCalls(mlir::ModuleOp module);

}  // namespace tenon::dialect
