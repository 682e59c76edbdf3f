#pragma once

#include <string>

namespace tenon::cli {

/// What the program is doing, as "compiling". While one exists, a crash says so; they nest. Made by one thread.
class Activity {
 public:
  explicit Activity(const std::string& what);
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;
  ~Activity();

 private:
  std::string before_;
};

/// From here on, plugin code that crashes or ends the process is reported on standard error as a failure of `command`
/// (on standard output as well with `json`), with the plugin and the current activity. The process still ends by the
/// signal, or with the status, that the plugin chose. Signals that something else handles already are left to it.
void ReportCrashes(const std::string& command, bool json);

/// The plugin that is held responsible: its name or file.
void BlamePlugin(const std::string& plugin);

/// The work is done: that the process ends from here on is its own doing; crashes while it does are still reported.
void FinishReportingCrashes();

}  // namespace tenon::cli
