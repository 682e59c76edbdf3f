#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/conformance/against/case.h"

namespace tenon::conformance {

struct AgainstOptions {
  std::string plugin, other;  ///< Paths.
  std::string worker;         ///< The program that has RunAgainstWorker behind its first argument "--against-worker".
  uint64_t first_seed = 0;
  int64_t count = 1000;
  double timeout_s = 60;  ///< Of one case on one plugin.
  std::function<void(int64_t done, int64_t differ)> progress;
};

/// A case in which the plugins do not agree.
struct Difference {
  uint64_t seed = 0;
  std::string ops;
  std::string what;     ///< "output 1[2,3]: 0.5 and 0.75, tolerance 1e-06"; "PLUGIN: crash (SIGSEGV)"
  std::string program;  ///< StableHLO.
};

struct AgainstReport {
  int64_t agree = 0;
  /// Cases that one or both answer with UNIMPLEMENTED: nobody's fault.
  int64_t unsupported = 0;
  std::vector<Difference> differences;
};

/// Runs random programs on two plugins, each in a child process of its own, and compares what they give. The process
/// ignores SIGPIPE from then on: a child that has died is noticed where it is read from. A crash, a
/// hang and an error that only one has are differences. Errors: a plugin that cannot be loaded or has no device.
Result<AgainstReport> RunAgainst(const AgainstOptions& options);

/// A child: runs the case of every seed that comes on standard input, and writes what came of it to `result_fd`.
/// Returns the exit status.
int RunAgainstWorker(const std::string& plugin, int result_fd, const std::string& profile_text);

/// Why the outputs of two plugins are not the same, as far as the case wants it; empty: they are. `got` and `other`:
/// dense row-major bytes by output.
std::string CompareOutputs(const Case& of, const std::vector<std::string>& got, const std::vector<std::string>& other);

}  // namespace tenon::conformance
