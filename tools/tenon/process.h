#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenon/base/status.h"

namespace tenon::cli {

/// Makes descriptors 0 to 2 refer to something where the caller closed them, so that no file that is opened later takes
/// their place. Reading gives nothing, writing fails.
void OpenStandardFiles();

/// The folder of this program.
std::string OwnFolder();

/// Runs a program with changed environment variables and waits for it: its exit status, 128 + the signal that ended it.
/// NOT_FOUND when it cannot be started. With `output_to_error` its standard output goes to our standard error.
Result<int> RunProcess(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment,
                       bool output_to_error = false);

/// What a program that ran aside left: its standard output, and its status as of RunProcess.
struct Captured {
  int status = 0;
  std::string output;
};
/// Runs a program, keeps its standard output and drops its standard error. DEADLINE_EXCEEDED, when it has been ended
/// after `seconds`.
Result<Captured> CaptureProcess(const std::vector<std::string>& command, double seconds);

/// A program of Tenon beside this one, or in PATH; NOT_FOUND says how to get it.
Result<std::string> FindTool(const std::string& name, const std::string& how_to_get_it);

}  // namespace tenon::cli
