#pragma once

#include "tenon/target/target.h"

namespace tenon::target {

/// What this process runs on: the level that isa::ActiveIsa gives (TENON_MAX_ISA lowers it) with this CPU's extra
/// features, its caches, and the CPUs of the affinity mask. The rest is CpuTarget's. Read once per process.
const Target& HostTarget();

}  // namespace tenon::target
