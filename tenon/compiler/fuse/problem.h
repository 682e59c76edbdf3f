#pragma once

#include <optional>

#include "tenon/compiler/ir/ir.h"
#include "tenon/drivers/problem.h"
#include "tenon/drivers/registry.h"
#include "tenon/target/work.h"

namespace tenon::compiler {

/// What drivers are asked about a node: operands and results row-major. Nothing for ops that no driver is asked about.
std::optional<drivers::Problem> ProblemOf(const Program& program, const GraphNode& node);

/// What the target's driver that takes the node on would do for it, its operands lying row-major and copied where it
/// wants them otherwise; the `lasting` one is copied once for many runs, which does not count. Nothing when none takes
/// it on.
std::optional<target::Work> DriverWork(const Program& program, const GraphNode& node, const drivers::Registry& drivers,
                                       std::optional<size_t> lasting = std::nullopt);

}  // namespace tenon::compiler
