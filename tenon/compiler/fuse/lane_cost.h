#pragma once

#include "tenon/kir/kir.h"
#include "tenon/target/target.h"

namespace tenon::compiler {

/// Cycles of one core that the kernel's operations and moves between registers and the nearest cache take, with each
/// stage in the lanes of the dim that suits it best. All sizes are baked; memory beyond that cache is not counted, as
/// it is the same for all forms of a kernel.
double LaneCycles(const kir::Kernel& kernel, const target::Target& target);

}  // namespace tenon::compiler
