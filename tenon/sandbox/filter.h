#pragma once

#include "tenon/base/status.h"

namespace tenon::sandbox {

/// From now on this process, and what it starts, is refused the system calls of denied.def (EPERM, or as said there).
/// Wants no_new_privs.
Status RestrictCalls();

}  // namespace tenon::sandbox
