#pragma once

// Runs files in child processes, so that one that crashes or hangs costs one file.

#include <functional>
#include <string>
#include <vector>

namespace tenon::check_tool {

struct FileReport {
  int passed = 0, failed = 0, skipped = 0;
  std::vector<std::string> failures;      // one line each
  std::vector<std::string> skip_reasons;  // one per skipped program
};

/// Runs in the child. May take as long as it likes; it is ended after `timeout_s` seconds.
using FileFunction = std::function<FileReport(const std::string& file)>;

/// Calls `make()` in every child for its FileFunction and spreads `files` over `jobs` children at a time. `report` is
/// called here, once per file, in any order. A child that dies is replaced; the file that it was at is reported as
/// failed.
void RunFiles(const std::vector<std::string>& files, int jobs, unsigned timeout_s,
              const std::function<FileFunction()>& make,
              const std::function<void(const std::string& file, const FileReport&)>& report);

}  // namespace tenon::check_tool
