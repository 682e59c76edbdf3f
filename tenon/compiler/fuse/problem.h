#pragma once

#include <optional>

#include "tenon/compiler/ir/ir.h"
#include "tenon/drivers/problem.h"

namespace tenon::compiler {

/// What drivers are asked about a node: operands and results row-major. Nothing for ops that no driver is asked about.
std::optional<drivers::Problem> ProblemOf(const Program& program, const GraphNode& node);

}  // namespace tenon::compiler
