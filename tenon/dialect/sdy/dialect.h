#pragma once

#include <optional>

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

}  // namespace tenon::sdy
