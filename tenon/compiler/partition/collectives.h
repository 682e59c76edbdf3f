#pragma once

#include <vector>

#include "tenon/compiler/partition/expand.h"

namespace tenon::compiler {

/// Whether ExpandCollective takes the op.
bool IsCollective(mlir::Operation* op);

/// A collective as ordinary ops between the lanes of its operands; the lanes of each result. INVALID_ARGUMENT for
/// groups that miss an instance or name one twice.
Result<std::vector<Lanes>> ExpandCollective(mlir::OpBuilder& builder, mlir::Operation* op,
                                            const std::vector<Lanes>& operands, const Instances& instances);

}  // namespace tenon::compiler
