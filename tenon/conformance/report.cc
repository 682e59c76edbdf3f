#include "tenon/conformance/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tenon_revision.h"  // Made by the build: TENON_VERSION, TENON_REVISION.

namespace tenon::conformance {

namespace {

constexpr Verdict kVerdicts[] = {Verdict::kPass,        Verdict::kFail,           Verdict::kUnsupported,
                                 Verdict::kKnownDefect, Verdict::kUnexpectedPass, Verdict::kNoDevice};

// One type for reading and writing: each is much to compile.
using Json = nlohmann::ordered_json;

std::string AreaOf(const std::string& name) { return name.substr(0, name.find('.')); }

}  // namespace

std::string EscapeMarkup(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kFail:
      return "fail";
    case Verdict::kUnsupported:
      return "unsupported";
    case Verdict::kKnownDefect:
      return "known defect";
    case Verdict::kUnexpectedPass:
      return "unexpected pass";
    case Verdict::kNoDevice:
      return "no device";
  }
  return "?";
}

size_t Report::Count(Verdict verdict) const {
  return static_cast<size_t>(
      std::count_if(results.begin(), results.end(), [&](const TestResult& r) { return r.verdict == verdict; }));
}

std::string SuiteBuild() { return TENON_VERSION " " TENON_REVISION; }

bool IsClean(std::string_view suite_build) {
  return !suite_build.ends_with("-dirty") && !suite_build.ends_with("unknown") && !suite_build.empty();
}

size_t Report::Claimed() const { return results.size() - Count(Verdict::kUnsupported) - Count(Verdict::kNoDevice); }

std::string ToText(const Report& report, bool all) {
  std::string text = fmt::format("{}: PJRT {}, platform '{}', {}\nprofile {}\n\n", report.plugin, report.api_version,
                                 report.platform_name, report.platform_version, report.profile);
  for (const TestResult& r : report.results) {
    if (r.verdict == Verdict::kNoDevice && !all) continue;
    // A figure is what one looks for.
    if (r.verdict == Verdict::kPass && !all && r.message.empty()) continue;
    text += fmt::format("{:<16} {}", VerdictName(r.verdict), r.name);
    if (r.observed != VerdictName(r.verdict)) text += fmt::format("  [{}]", r.observed);
    if (r.verdict == Verdict::kPass) {
      text += r.message.empty() ? "\n" : fmt::format("  {}: {}\n", r.rule, r.message);
      continue;
    }
    text += "\n";
    text += fmt::format("    rule: {} ({})\n", r.rule, r.source);
    if (!r.message.empty()) text += fmt::format("    seen: {}\n", r.message);
    if (!r.reason.empty()) text += fmt::format("    profile: {}\n", r.reason);
  }
  if (!text.ends_with("\n\n")) text += "\n";
  text += fmt::format("{} tests:", report.results.size());
  for (Verdict verdict : kVerdicts) {
    if (size_t count = report.Count(verdict)) text += fmt::format(" {} {},", count, VerdictName(verdict));
  }
  text.pop_back();
  text += fmt::format("; {} of {} claimed pass\n", report.Count(Verdict::kPass), report.Claimed());
  text += fmt::format("suite {}, {}\n", report.suite, report.date);
  return text;
}

std::string ToJson(const Report& report) {
  Json json = {{"suite", report.suite},
               {"date", report.date},
               {"plugin", report.plugin},
               {"profile", report.profile},
               {"api_version", report.api_version},
               {"platform_name", report.platform_name},
               {"platform_version", report.platform_version},
               {"tests", Json::array()}};
  for (const TestResult& r : report.results) {
    Json test = {
        {"name", r.name},         {"verdict", VerdictName(r.verdict)},
        {"observed", r.observed}, {"rule", r.rule},
        {"source", r.source},     {"seconds", static_cast<double>(static_cast<int64_t>(r.seconds * 1e6)) / 1e6}};
    if (!r.message.empty()) test["message"] = r.message;
    if (!r.reason.empty()) test["reason"] = r.reason;
    json["tests"].push_back(std::move(test));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Report> FromJson(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  auto string = [](const Json& object, const char* key) {
    auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!json.is_object() || !json.contains("tests") || !json["tests"].is_array()) {
    return InvalidArgument("not a report of this suite: no list 'tests'");
  }
  Report report;
  report.suite = string(json, "suite");
  report.date = string(json, "date");
  report.plugin = string(json, "plugin");
  report.profile = string(json, "profile");
  report.api_version = string(json, "api_version");
  report.platform_name = string(json, "platform_name");
  report.platform_version = string(json, "platform_version");
  for (const Json& test : json["tests"]) {
    if (!test.is_object()) return InvalidArgument("not a report of this suite: a test is not an object");
    TestResult r;
    r.name = string(test, "name");
    r.rule = string(test, "rule");
    r.source = string(test, "source");
    r.observed = string(test, "observed");
    r.message = string(test, "message");
    r.reason = string(test, "reason");
    if (test.contains("seconds") && test["seconds"].is_number()) r.seconds = test["seconds"].get<double>();
    std::string verdict = string(test, "verdict");
    auto found =
        std::find_if(std::begin(kVerdicts), std::end(kVerdicts), [&](Verdict v) { return VerdictName(v) == verdict; });
    if (found == std::end(kVerdicts))
      return InvalidArgument(fmt::format("test '{}' has the unknown verdict '{}'", r.name, verdict));
    r.verdict = *found;
    report.results.push_back(std::move(r));
  }
  return report;
}

std::string ToJunit(const Report& report) {
  double seconds = 0;
  for (const TestResult& r : report.results) seconds += r.seconds;
  size_t failures = report.Count(Verdict::kFail) + report.Count(Verdict::kUnexpectedPass);
  size_t skipped = report.results.size() - failures - report.Count(Verdict::kPass);
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n",
      EscapeMarkup(report.plugin), report.results.size(), failures, skipped, seconds);
  for (const TestResult& r : report.results) {
    std::string area = AreaOf(r.name);
    xml += fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"", EscapeMarkup(area),
                       EscapeMarkup(r.name.substr(std::min(r.name.size(), area.size() + 1))), r.seconds);
    std::string body = EscapeMarkup(fmt::format("{}: {}. Rule: {} ({})", r.observed, r.message, r.rule, r.source));
    switch (r.verdict) {
      case Verdict::kPass:
        xml += "/>\n";
        break;
      case Verdict::kFail:
      case Verdict::kUnexpectedPass:
        xml += fmt::format("><failure message=\"{}\">{}</failure></testcase>\n",
                           EscapeMarkup(r.message.empty() ? r.observed : r.message), body);
        break;
      default:
        xml += fmt::format("><skipped message=\"{}: {}\"/></testcase>\n", VerdictName(r.verdict),
                           EscapeMarkup(r.reason.empty() ? r.message : r.reason));
    }
  }
  return xml + "</testsuite>\n";
}

}  // namespace tenon::conformance
