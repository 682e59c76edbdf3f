#pragma once

/// One walk over the graph that writes a simpler one: folded, without repeated and dead nodes, in the forms that fusion
/// expects.

#include "tenon/compiler/ir/ir.h"
#include "tenon/compiler/simplify/rules.h"

namespace tenon::compiler {

/// The same program, simpler: equal results bit for bit, but for the order in which long sums meet (which depends on
/// shapes alone). `log` receives which rules did something.
Program Simplify(const Program& program, RuleLog& log);

}  // namespace tenon::compiler
