#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"

namespace tenon::conformance {

/// What a test says of the plugin, once its profile has been heard.
enum class Verdict {
  kPass,
  kFail,            // not explained: crash and timeout count here too, `observed` names them
  kUnsupported,     // the plugin answers UNIMPLEMENTED, or lacks it, and its profile says so or it has none
  kKnownDefect,     // it crashes, hangs or is wrong, and the profile knows
  kUnexpectedPass,  // the profile says that it does not pass
  kNoDevice,        // this machine has none
};

/// The text with the characters that XML and HTML reserve written as entities.
std::string EscapeMarkup(std::string_view text);

std::string_view VerdictName(Verdict verdict);

struct TestResult {
  std::string name;
  std::string rule;
  std::string source;
  Verdict verdict = Verdict::kFail;
  std::string observed;  // pass, fail, unimplemented, no device, timeout, or the signal: "crash (SIGSEGV)"
  std::string message;   // why it did not pass
  std::string reason;    // of the profile
  double seconds = 0;
};

/// One run of the suite over one plugin.
struct Report {
  std::string suite;    // SuiteBuild() of the suite that ran
  std::string date;     // of the run, "2026-01-31", UTC
  std::string plugin;   // file name
  std::string profile;  // its name, "none" without one
  std::string api_version, platform_name, platform_version;
  std::vector<TestResult> results;

  size_t Count(Verdict verdict) const;
  /// Tests that are neither unsupported nor without a device.
  size_t Claimed() const;
  /// Nothing failed without explanation and nothing passed against the profile.
  bool ok() const { return Count(Verdict::kFail) == 0 && Count(Verdict::kUnexpectedPass) == 0; }
};

/// Version and revision of the sources that the suite was built from: "0.1.0 1a2b3c4", with "-dirty" behind it when
/// they were changed since, "0.1.0 unknown" outside of a repository.
std::string SuiteBuild();
/// Whether the build is that of a committed state: what a table that is kept must come from.
bool IsClean(std::string_view suite_build);

/// For people; every test when `all`, otherwise those that did not pass.
std::string ToText(const Report& report, bool all);
std::string ToJson(const Report& report);
std::string ToJunit(const Report& report);
/// INVALID_ARGUMENT for text that ToJson did not write.
Result<Report> FromJson(std::string_view json);

/// Plugins side by side.
std::string MatrixMarkdown(const std::vector<Report>& reports);
std::string MatrixHtml(const std::vector<Report>& reports);

}  // namespace tenon::conformance
