#pragma once

#include "tenon/plan/plan.h"

namespace tenon::compiler {

/// Drops the slots that no step uses and renumbers the others in the order of their first use.
void CompactSlots(plan::Plan& plan);

}  // namespace tenon::compiler
