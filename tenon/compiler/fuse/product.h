#pragma once

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// Whether fusion makes a kernel of the product as it stands, on a target without a driver for it; otherwise it is
/// better written out as a multiplication and a sum.
bool HasProductKernel(const Program& program, const GraphNode& node);

}  // namespace tenon::compiler
