#pragma once

/// Nodes back to StableHLO, for nodes that no op of the program stands behind.

#include <string>

#include "tenon/base/status.h"
#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// A program whose @main computes `node` from its operands, in order. Elementwise ops, moves and reductions by such ops
/// only: UNIMPLEMENTED names anything else.
Result<std::string> ToStablehlo(const Program& program, const GraphNode& node);

}  // namespace tenon::compiler
