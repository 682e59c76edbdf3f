#pragma once

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// Whether two nodes do the same with as many operands, whatever these are and whatever their blocks do.
bool SameOperation(const GraphNode& a, const GraphNode& b);

}  // namespace tenon::compiler
