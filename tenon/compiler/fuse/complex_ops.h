#pragma once

/// Complex arithmetic as real KIR nodes.

#include "tenon/compiler/fuse/scalar_ops.h"

namespace tenon::compiler {

/// Whether an elementwise node with a complex operand or result has such a form.
bool CanComputeComplex(const Program& program, const GraphNode& node);
/// An elementwise node with a complex operand or result for which CanComputeComplex.
Scalar EmitComplex(kir::NodeBuilder& b, const Program& program, const GraphNode& node,
                   const SmallVector<Scalar, 3>& in);

}  // namespace tenon::compiler
