#pragma once

/// The invariants of the graph.

#include "tenon/base/status.h"
#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// OK when every node has the attributes of its op, with the numbers that attrs.def says; when operands come before
/// their users, in the same block or an enclosing one; when blocks have the arguments and results of their op, and
/// literals as many bytes as their shape. INTERNAL naming the node otherwise. Linear in the program.
Status Verify(const Program& program);

}  // namespace tenon::compiler
