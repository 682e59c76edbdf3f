#pragma once

#include <memory>
#include <vector>

#include "tenon/drivers/registry.h"

namespace tenon::kernels {

/// The families of families.def. Lives as long as the process.
const drivers::Registry& CpuFamilies();
/// The same for a target that is no CPU and has no families of its own: its host runs them.
const drivers::Registry& HostFamilies();
/// New ones, for a registry that has others besides.
std::vector<std::unique_ptr<const drivers::Family>> MakeFamilies();

}  // namespace tenon::kernels
