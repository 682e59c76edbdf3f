#pragma once

/// One walk over the graph that writes a simpler one: folded, without repeated and dead nodes, in the forms that fusion
/// expects.

#include <functional>
#include <optional>

#include "tenon/compiler/ir/ir.h"
#include "tenon/compiler/simplify/rules.h"
#include "tenon/target/work.h"

namespace tenon::compiler {

/// What rules ask of the phases behind them.
struct Outlook {
  /// What a driver would do for the node, bringing its operands into the driver's layouts included; nothing when none
  /// takes it on. The `lasting` operand, if any, lies as the driver wants it, as it is brought there once for many
  /// runs.
  std::function<std::optional<target::Work>(const Program&, const GraphNode&, std::optional<size_t> lasting)>
      driver_work;
  /// Whether fusion makes a kernel of a product that no driver takes on, which is better than writing it out.
  std::function<bool(const Program&, const GraphNode&)> product_kernel;
  /// What one element of an elementwise node costs in a kernel (target::OpCosts).
  std::function<int(const Program&, const GraphNode&)> cost;
};

/// The same program, simpler: equal results bit for bit, but for the order in which long sums meet (which depends on
/// shapes alone). `log` receives which rules did something.
Program Simplify(const Program& program, const Outlook& outlook, RuleLog& log);

}  // namespace tenon::compiler
