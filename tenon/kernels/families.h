#pragma once

#include "tenon/drivers/registry.h"

namespace tenon::kernels {

/// The families of families.def. Lives as long as the process.
const drivers::Registry& CpuFamilies();

}  // namespace tenon::kernels
