#pragma once

/// Profiles of all programs of the process, for TENON_PROFILE=FILE.

#include <memory>
#include <string>

#include "tenon/base/status.h"
#include "tenon/runtime/profile.h"

namespace tenon::host {

/// A profile for one more program, or null when TENON_PROFILE is not set. Thread-safe.
std::shared_ptr<runtime::Profile> NewProfile(const std::string& program);

/// Writes all profiles so far, programs that took longest first, over the file. INVALID_ARGUMENT when TENON_PROFILE
/// names a file that cannot be written; OK when it is not set.
Status WriteProfiles();
/// The same where nobody takes an error: when a client is given up, when its last user is gone, and, by itself, when
/// the process ends.
void WriteProfilesOrWarn();

}  // namespace tenon::host
