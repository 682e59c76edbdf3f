#pragma once

// Follows every byte of the arena and the outputs through a plan's steps.

#include "tenon/base/status.h"
#include "tenon/plan/plan.h"

namespace tenon::plan::internal {

/// INVALID_ARGUMENT naming step, slots and bytes, unless every read finds what the slot's value had written and all
/// outputs are written in the end (plan.h, Verify). Requires a plan whose indices, views and kernels were verified.
Status VerifyFlow(const Plan& plan);

}  // namespace tenon::plan::internal
