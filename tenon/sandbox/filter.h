#pragma once

#include "tenon/base/status.h"

namespace tenon::sandbox {

/// From now on this process, and what it starts, is refused the system calls of denied.def (EPERM), and with
/// `no_truncation` files are not emptied by opening them. Wants no_new_privs.
Status RestrictCalls(bool no_truncation);

}  // namespace tenon::sandbox
