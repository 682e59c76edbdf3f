#pragma once

// Processes that run a plugin for another one, which reads what comes of it.

#include <sys/types.h>

#include <string>

#include "tenon/abi/pjrt.h"
#include "tenon/base/status.h"
#include "tenon/conformance/profile.h"

namespace tenon::conformance {

/// Descriptors of the parent that a child gets as its own.
struct ChildFiles {
  int input = -1, output = -1, errors = -1;  ///< Its standard ones.
  int results = -1;
};

/// Starts "PROGRAM MODE PLUGIN DESCRIPTOR PROFILE", where the descriptor is that of the results in the child.
/// `environment`: as of execve. The process's number; -1 when there cannot be one.
pid_t StartChild(const std::string& program, const char* mode, const std::string& plugin, const std::string& profile,
                 const ChildFiles& files, char* const* environment);

/// A plugin in the process that runs it.
struct LoadedPlugin {
  Profile profile;
  void* library = nullptr;
  const PJRT_Api* api = nullptr;
};

/// In a child: sets what the profile says of the environment, and loads the plugin. The process leaves no core files
/// from then on. INVALID_ARGUMENT for a bad profile, NOT_FOUND for what is no plugin.
Result<LoadedPlugin> LoadInChild(const std::string& plugin, const std::string& profile_text);

}  // namespace tenon::conformance
