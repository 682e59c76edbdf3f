#pragma once

#include <memory>
#include <string_view>

#include "tenon/collectives/engine.h"

namespace tenon::collectives {

/// The engine in libtenon_<name>.so, which is looked for beside the library that this code is in, then where the system
/// looks. NOT_FOUND, saying where it was looked for and what to install; FAILED_PRECONDITION for a library of another
/// version. The library stays loaded.
Result<std::unique_ptr<Engine>> LoadEngine(std::string_view name);

/// The engine of the MPI that this process was started by, or has loaded: "openmpi" or "mpich". FAILED_PRECONDITION
/// when there is none.
Result<std::string_view> MpiOfThisProcess();

}  // namespace tenon::collectives
