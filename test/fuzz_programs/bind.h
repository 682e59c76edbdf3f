#pragma once

/// Plans as the judges run them.

#include <memory>

#include "tenon/base/status.h"
#include "tenon/isa/isa.h"
#include "tenon/plan/plan.h"
#include "tenon/runtime/program.h"

namespace tenon::fuzz {

/// UNIMPLEMENTED when an output lies otherwise: the judges compare bytes.
Status IsRowMajor(const plan::Plan& plan);

/// The plan bound to code for one level.
Result<std::unique_ptr<const runtime::Program>> Bind(const plan::Plan& plan, isa::IsaLevel isa);

}  // namespace tenon::fuzz
