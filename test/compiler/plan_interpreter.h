#pragma once

/// Runs plans the slow way: kernels by kir::Evaluate, products by three loops, `evaluate` steps by the reference.
/// Shares no code with runtime/ or emit_llvm/.

#include <string>
#include <vector>

#include "tenon/plan/plan.h"

namespace tenon::test {

/// Dense bytes of arguments in the plan's layouts; the outputs' bytes in theirs. `donate`: outputs take over arguments'
/// memory where the plan says they may (the arguments are then spoilt).
Result<std::vector<std::string>> RunPlan(const plan::Plan& plan, std::vector<std::string> arguments,
                                         bool donate = false);

}  // namespace tenon::test
