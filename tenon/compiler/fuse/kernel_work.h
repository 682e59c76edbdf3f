#pragma once

#include "tenon/kir/kir.h"
#include "tenon/target/work.h"

namespace tenon::compiler {

/// What one run of the kernel has to do. All sizes are baked.
target::Work KernelWork(const kir::Kernel& kernel, const target::Target& target);

}  // namespace tenon::compiler
