#pragma once

#include <span>

#include "tenon/base/status.h"
#include "tenon/compiler/compile.h"

namespace tenon::host {

/// Tells those who asked how values of a program lie over the devices (jax.debug.inspect_array_sharding): an asker's
/// key holds the addresses of a function and its data, which are valid while the program is compiled for the first
/// time, in this process, and never later. INVALID_ARGUMENT for keys of another kind, and with the asker's text for
/// what it raises.
Status TellShardings(std::span<const compiler::InspectedSharding> inspected);

}  // namespace tenon::host
