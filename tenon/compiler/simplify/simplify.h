#pragma once

/// One walk over the graph that writes a simpler one: folded, without repeated and dead nodes, in the forms that fusion
/// expects.

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// The same program, simpler: equal results bit for bit, but for the order in which long sums meet (which depends on
/// shapes alone).
Program Simplify(const Program& program);

}  // namespace tenon::compiler
