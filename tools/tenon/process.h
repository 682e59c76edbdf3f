#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenon/base/status.h"

namespace tenon::cli {

/// The folder of this program.
std::string OwnFolder();

/// Runs a program with changed environment variables and waits for it: its exit status, 128 + the signal that ended it.
/// NOT_FOUND when it cannot be started.
Result<int> RunProcess(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment);

/// A program of Tenon beside this one, or in PATH; NOT_FOUND says how to get it.
Result<std::string> FindTool(const std::string& name, const std::string& how_to_get_it);

}  // namespace tenon::cli
