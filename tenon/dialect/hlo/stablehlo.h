#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "tenon/base/status.h"
#include "tenon/dialect/hlo/module.h"

namespace tenon::hlo {

/// `module` (checked) as StableHLO: the entry is the public function main, tuples are taken apart into their leaves,
/// computations that are called become private functions and all others regions. Not verified yet. Donation and
/// shardings of the entry become the attributes that JAX's programs carry; layouts are left out (see entry.h).
/// UNIMPLEMENTED names an instruction that has no StableHLO form, INVALID_ARGUMENT one whose fields are wrong.
Result<mlir::OwningOpRef<mlir::ModuleOp>> ToStablehlo(const Module& module, mlir::MLIRContext* context);

/// `module` (verified StableHLO) as an HLO module, checked. Functions other than main that are called stay
/// computations. UNIMPLEMENTED names an op that HLO has no form of.
Result<Module> FromStablehlo(mlir::ModuleOp module);

/// Writes shardings as programs before Shardy carry them ("mhlo.sharding", text or serialized xla.OpSharding, of main's
/// parameters and results and of calls of @Sharding) as sdy.sharding and sdy.sharding_constraint, with a mesh for each
/// grid of devices. Those that there are stay. INVALID_ARGUMENT for one that cannot be read or does not fit,
/// UNIMPLEMENTED for subgroups other than replicated ones.
Status TranslateShardings(mlir::ModuleOp module);

}  // namespace tenon::hlo
