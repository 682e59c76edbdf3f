// Runs the conformance suite over a PJRT plugin, or writes the matrix of several runs.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "tenon/conformance/against/against.h"
#include "tenon/conformance/profile.h"
#include "tenon/conformance/report.h"
#include "tenon/conformance/runner.h"
#include "tenon/conformance/test.h"

namespace {

using namespace tenon;               // NOLINT(google-build-using-namespace): a main program.
using namespace tenon::conformance;  // NOLINT(google-build-using-namespace)

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound(fmt::format("cannot read '{}'", path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Status WriteFile(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text;
    return OkStatus();
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? OkStatus() : Internal(fmt::format("cannot write '{}'", path));
}

int Complain(const Status& status) {
  fmt::print(stderr, "tenon-conformance: {}\n", status.ToString());
  return 2;
}

Status Matrix(const std::vector<std::string>& files, const std::string& markdown, const std::string& html,
              bool any_build) {
  std::vector<Report> reports;
  for (const std::string& file : files) {
    TENON_ASSIGN_OR_RETURN(std::string text, ReadFile(file));
    Result<Report> report = FromJson(text);
    if (!report.ok()) return report.status().WithContext(file);
    if (!any_build && !IsClean(report->suite)) {
      return FailedPrecondition(fmt::format(
          "{} is of the suite '{}', wanted one built from a committed state; --any-build takes it all the same", file,
          report->suite));
    }
    reports.push_back(std::move(report).value());
  }
  if (!html.empty()) TENON_RETURN_IF_ERROR(WriteFile(html, MatrixHtml(reports)));
  if (!markdown.empty() || html.empty())
    TENON_RETURN_IF_ERROR(WriteFile(markdown.empty() ? "-" : markdown, MatrixMarkdown(reports)));
  return OkStatus();
}

// A profile by its file or by its name.
Result<std::string> ProfileText(const std::string& name) {
  for (const Profile& profile : BuiltInProfiles()) {
    if (profile.name == name) return profile.text;
  }
  TENON_ASSIGN_OR_RETURN(std::string text, ReadFile(name));
  TENON_RETURN_IF_ERROR(internal::ToStatus(ParseProfile(text)));
  return text;
}

// Prints what differs, and writes the programs to `folder` unless that is empty. Returns the exit status.
int Against(AgainstOptions options, bool quiet, const std::string& folder) {
  if (!quiet && isatty(2) != 0) {
    options.progress = [&options](int64_t done, int64_t differ) {
      fmt::print(stderr, "\r{} of {} programs, {} differ ", done, options.count, differ);
    };
  }
  const Result<AgainstReport> report = RunAgainst(options);
  if (options.progress) fmt::print(stderr, "\r\033[K");
  if (!report.ok()) return Complain(report.status());
  for (const Difference& d : report->differences) {
    fmt::print("seed {}: {}\n  {}\n", d.seed, d.what, d.ops);
    if (folder.empty()) continue;
    if (const Status status = WriteFile(fmt::format("{}/{}.mlir", folder, d.seed), d.program); !status.ok())
      return Complain(status);
  }
  fmt::print("{} programs agree, {} differ, {} are unsupported\n", report->agree, report->differences.size(),
             report->unsupported);
  return report->differences.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "--worker") {
    const int descriptor = std::atoi(argv[3]);  // NOLINT(bugprone-unchecked-string-*): the runner wrote it.
    return RunWorker(argv[2], descriptor, argv[4]);
  }
  if (argc == 5 && std::string(argv[1]) == "--against-worker") {
    const int descriptor = std::atoi(argv[3]);  // NOLINT(bugprone-unchecked-string-*): RunAgainst wrote it.
    return RunAgainstWorker(argv[2], descriptor, argv[4]);
  }

  CLI::App app{
      "Checks a PJRT plugin against the rules of the C API.\n"
      "Exit status: 0 all that the plugin claims passes, 1 it does not, 2 the suite could not run."};
  RunOptions options;
  AgainstOptions against;
  std::string programs, profile, json, junit, markdown, html;
  std::vector<std::string> matrix;
  bool list = false, all = false, profiles = false, quiet = false, any_build = false;
  app.add_option("plugin", options.plugin, "shared library of the plugin");
  app.add_option("-t,--test", options.filters, "only tests that match this glob (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--skip", options.skips, "leave out tests that match this glob (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--profile", profile,
                 "name or file of the plugin's profile, or 'none'; found by the file's name otherwise");
  app.add_option("--json", json, "write the report as JSON to this file ('-' for standard output)");
  app.add_option("--junit", junit, "write the report as JUnit XML to this file");
  app.add_option("-j,--jobs", options.jobs, "child processes at once")->check(CLI::Range(1, 256));
  app.add_option("--timeout", options.timeout_s, "seconds that one test may take")->check(CLI::PositiveNumber);
  app.add_option("--batch", options.batch, "tests per child process; a test that fails runs again alone")
      ->check(CLI::Range(1, 100000));
  app.add_flag("--isolate", options.isolate, "each test in a child process of its own");
  app.add_flag("-a,--all", all, "report tests that pass, too");
  app.add_flag("-q,--quiet", quiet, "no progress, no report for people");
  app.add_option("--against", against.other,
                 "run random programs on this plugin, too, and compare the results, in place of the tests");
  app.add_option("--count", against.count, "how many of them")->check(CLI::PositiveNumber);
  app.add_option("--seed", against.first_seed, "the first one's seed; the others have the next ones");
  app.add_option("--programs", programs, "folder that receives programs whose results differ, as SEED.mlir");
  app.add_flag("--list", list, "list the tests and their rules");
  app.add_flag("--list-profiles", profiles, "list the built-in profiles");
  app.add_option("--matrix", matrix, "JSON reports to put side by side");
  app.add_option("--markdown", markdown, "where --matrix writes Markdown (standard output unless --html is given)");
  app.add_option("--html", html, "where --matrix writes HTML");
  app.add_flag("--any-build", any_build, "let --matrix take reports of suites built from changed sources");
  CLI11_PARSE(app, argc, argv);

  if (list) {
    for (const Test& test : AllTests().tests()) fmt::print("{}\n    {} ({})\n", test.name, test.rule, test.source);
    fmt::print("{} tests\n", AllTests().tests().size());
    return 0;
  }
  if (profiles) {
    for (const Profile& p : BuiltInProfiles()) fmt::print("{}\n", p.name);
    return 0;
  }
  if (!matrix.empty()) {
    Status status = Matrix(matrix, markdown, html, any_build);
    return status.ok() ? 0 : Complain(status);
  }
  if (options.plugin.empty()) return Complain(InvalidArgument("wants the path of a plugin; see --help"));

  // dlopen searches a name without a slash in the system's folders.
  for (std::string* path : {&options.plugin, &against.other}) {
    if (!path->empty() && path->find('/') == std::string::npos) *path = "./" + *path;
  }
  options.worker = "/proc/self/exe";
  char self[4096];
  if (ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1); n > 0)
    options.worker.assign(self, static_cast<size_t>(n));
  if (!against.other.empty()) {
    against.plugin = options.plugin;
    against.worker = options.worker;
    return Against(against, quiet, programs);
  }
  if (profile == "none") {
    options.no_profile = true;
  } else if (!profile.empty()) {
    Result<std::string> text = ProfileText(profile);
    if (!text.ok()) return Complain(text.status());
    options.profile_text = std::move(text).value();
  }
  bool terminal = !quiet && isatty(2) != 0;
  if (terminal) {
    options.progress = [](size_t done, size_t total) { fmt::print(stderr, "\r{} of {} tests ", done, total); };
  }
  Result<Report> report = RunSuite(options);
  if (terminal) fmt::print(stderr, "\r\033[K");
  if (!report.ok()) return Complain(report.status());
  if (!quiet && json != "-") fmt::print("{}", ToText(*report, all));
  if (!json.empty()) {
    if (Status status = WriteFile(json, ToJson(*report)); !status.ok()) return Complain(status);
  }
  if (!junit.empty()) {
    if (Status status = WriteFile(junit, ToJunit(*report)); !status.ok()) return Complain(status);
  }
  return report->ok() ? 0 : 1;
}
