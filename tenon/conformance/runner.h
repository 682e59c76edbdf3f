#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/conformance/profile.h"
#include "tenon/conformance/report.h"

namespace tenon::conformance {

struct RunOptions {
  std::string plugin;                // path
  std::string worker;                // the program that has RunWorker behind its first argument "--worker"
  std::vector<std::string> filters;  // globs; empty: all tests
  std::vector<std::string> skips;    // globs of tests to leave out
  std::vector<std::string> env;      // NAME=VALUE, for the child processes on top of this one's environment
  /// A profile's text; empty: found by the file's name and the platform version among the built-in ones.
  std::string profile_text;
  bool no_profile = false;
  bool isolate = false;  // every test in a process of its own
  int jobs = 2;
  double timeout_s = 20;
  size_t batch = 40;  // tests per process otherwise
  std::function<void(size_t done, size_t total)> progress;
};

/// Runs the tests in child processes. A test that does not pass in company is run again alone, and that run counts.
/// Errors: the plugin cannot be loaded at all, or no test matches. Thread-safe.
Result<Report> RunSuite(const RunOptions& options);

/// A child: loads the plugin and runs the tests named on standard input, one per line. Arguments: plugin path, number
/// of the descriptor for results, profile text. Returns the exit status.
int RunWorker(const std::string& plugin, int result_fd, const std::string& profile_text);

}  // namespace tenon::conformance
