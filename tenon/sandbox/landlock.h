#pragma once

#include "tenon/base/status.h"
#include "tenon/sandbox/sandbox.h"

namespace tenon::sandbox {

/// The first version that sees files emptied.
inline constexpr int kTruncationVersion = 3;

/// The version of Landlock that the kernel has; 0: none.
int LandlockVersion();

/// From now on this thread, and what it starts, opens and changes files of `paths` alone. Wants no_new_privs.
Status RestrictFiles(const Paths& paths);

}  // namespace tenon::sandbox
