#pragma once

#include <optional>
#include <string>

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tenon/dialect/sdy/dialect.h.inc"
#include "tenon/dialect/sdy/enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tenon/dialect/sdy/attributes.h.inc"

#define GET_OP_CLASSES
#include "tenon/dialect/sdy/ops.h.inc"

/// Shardy: how tensors lie over meshes of devices. Here are its attributes and ops with their assembly and light checks
/// (ranks, block arguments, kinds of attributes); what shardings mean is the partitioner's business.
namespace tenon::sdy {

/// The discardable attribute that carries a TensorShardingAttr (function arguments and results) or a
/// TensorShardingPerValueAttr (ops).
inline constexpr llvm::StringLiteral kShardingAttr = "sdy.sharding";
/// The discardable attribute that carries an OpShardingRuleAttr.
inline constexpr llvm::StringLiteral kShardingRuleAttr = "sdy.sharding_rule";

/// Fails with an error of `op` where a sharding of a ranked tensor does not name each of its dimensions; maximal ones,
/// of a single device, say nothing of dimensions.
llvm::LogicalResult VerifyRank(mlir::Operation* op, TensorShardingAttr sharding, mlir::Type type);

/// Empty where the mesh has axes of different names and positive sizes, and lists each of its devices once, if any;
/// otherwise what is wrong with it, for a message that begins with what it is.
std::string WhatIsWrong(MeshAttr mesh);
/// Empty where every axis that the sharding names is one of the mesh or a part of it, and no two of them overlap,
/// whether they cut dims, replicate or stand for partial values; otherwise what is wrong. Requires a mesh that nothing
/// is wrong with.
std::string WhatIsWrong(TensorShardingAttr sharding, MeshAttr mesh);

}  // namespace tenon::sdy
