#pragma once

#include <string_view>

#include "tenon/abi/pjrt.h"

namespace tenon::conformance::mock {

/// Replaces entries of `table`, a copy of `real`, so that they misbehave as `fault` says (see faults.txt). False when
/// there is no such fault. Once per process.
bool InstallFault(std::string_view fault, const PJRT_Api& real, PJRT_Api& table);

}  // namespace tenon::conformance::mock
