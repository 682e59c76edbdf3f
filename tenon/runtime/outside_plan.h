#pragma once

#include "tenon/base/status.h"
#include "tenon/plan/plan.h"

namespace tenon::runtime {

/// For plans that were not compiled here (deserialised executables): INVALID_ARGUMENT unless every kernel provably
/// stays inside the memory of the slots that it is bound to, whatever the values of the data. `plan` must be verified.
/// What the drivers' steps touch their families have proved in plan::Verify; here it is their hooks' kernels.
Status CheckOutsidePlan(const plan::Plan& plan, const drivers::Registry& families);

}  // namespace tenon::runtime
