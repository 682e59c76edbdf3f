// tenon-check: runs self-checking StableHLO programs in the evaluator or on a plugin.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tools/tenon-check/runner.h"
#include "tools/tenon-check/workers.h"

namespace tenon::check_tool {
namespace {

// Files as given, and every .mlir and .bc file below directories, sorted.
std::vector<std::string> ExpandPaths(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      const std::string extension = entry.path().extension();
      if (entry.is_regular_file() && (extension == ".mlir" || extension == ".bc")) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

// The outcome of one program: a pass when both are empty.
struct Outcome {
  std::string failure, skip;
};

// Who runs the programs, and with whom the results of programs without checks are compared (nobody: null).
struct Judges {
  std::shared_ptr<Runner> runner, other;
  bool fill = false;  // give arguments to programs that take some
};

Outcome FromStatus(const Status& status) {
  return status.code() == Code::kUnimplemented ? Outcome{"", std::string(status.message())}
                                               : Outcome{status.ToString(), ""};
}

Outcome CheckProgram(std::string_view text, const Judges& judges) {
  auto program = LoadProgram(text);
  if (!program.ok()) {
    const std::string message(program.status().message());
    return program.status().code() == Code::kUnimplemented ? Outcome{"", message}
                                                           : Outcome{"cannot be read: " + message, ""};
  }
  if (!(*program)->inputs.empty() && !judges.fill) return {"", "an entry function with arguments"};
  auto args = MakeArguments(**program);
  if (!args.ok()) return FromStatus(args.status());
  auto results = judges.runner->Run(**program, *args);
  if (!results.ok()) return FromStatus(results.status());
  if ((*program)->checks.empty() && judges.other != nullptr) {
    auto wanted = judges.other->Run(**program, *args);
    if (!wanted.ok()) return FromStatus(wanted.status());
    for (size_t i = 0; i < results->size(); ++i) {
      if (!(*wanted)[i].is_array()) continue;
      if (auto wrong = Compare((*results)[i], (*wanted)[i], AgreementIn((*wanted)[i].dtype())))
        return {fmt::format("result {}: {}", i, *wrong), ""};
    }
  }
  for (const Check& check : (*program)->checks) {
    const reference::Value& expected = check.expected.is_array() ? check.expected : (*results)[check.expected_result];
    if (auto wrong = Compare((*results)[check.actual], expected, check.criterion))
      return {fmt::format("{}: {}", check.name, *wrong), ""};
  }
  return {};
}

// Programs whose expected values are known not to be met, and why: "file.mlir" or "file.mlir program 3" to a reason.
using KnownFailures = std::map<std::string, std::string>;

// Lines `name: reason`; `#` begins a comment.
Result<KnownFailures> ReadKnownFailures(const std::string& path) {
  std::ifstream in(path);
  if (!in) return NotFound(fmt::format("{} cannot be opened", path));
  KnownFailures known;
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#') continue;
    if (colon == std::string::npos)
      return InvalidArgument(fmt::format("{}: the line \"{}\" is not `name: reason`", path, line));
    known[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return known;
}

FileReport CheckFile(const std::string& path, const Judges& judges, const KnownFailures& known) {
  FileReport report;
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) {
    report.failed = 1;
    report.failures.push_back("cannot be opened");
    return report;
  }
  const bool is_text = dialect::DetectInput(text.str()) == dialect::InputKind::kText;
  const std::vector<std::string> chunks = is_text ? SplitChunks(text.str()) : std::vector<std::string>{text.str()};
  for (size_t i = 0; i < chunks.size(); ++i) {
    Outcome outcome = CheckProgram(chunks[i], judges);
    const std::string name = std::filesystem::path(path).filename();
    const auto why = chunks.size() > 1 ? known.find(fmt::format("{} program {}", name, i + 1)) : known.find(name);
    if (!outcome.failure.empty() && why != known.end()) outcome = {"", "known: " + why->second};
    const std::string where = chunks.size() > 1 ? fmt::format("program {}: ", i + 1) : "";
    if (!outcome.failure.empty()) {
      ++report.failed;
      report.failures.push_back(where + outcome.failure);
    } else if (!outcome.skip.empty()) {
      ++report.skipped;
      report.skip_reasons.push_back(outcome.skip);
    } else {
      ++report.passed;
    }
  }
  return report;
}

// What is missing, without the place where it is missing.
std::string SkipKey(const std::string& reason) {
  if (reason.starts_with("known: ")) return reason;
  const size_t last = reason.rfind(": ");
  return (last == std::string::npos ? reason : reason.substr(last + 2)).substr(0, 100);
}

int Main(int argc, char** argv) {
  CLI::App app("Runs self-checking StableHLO programs and compares what they compute with what they expect.");
  std::string plugin, known_path;
  bool reference = false, fill = false, compare = false, keep_denormals = false, quiet = false, verbose = false;
  int jobs = 1;
  unsigned timeout_s = 120;
  std::vector<std::string> paths;
  app.add_option("--plugin", plugin, "run on the PJRT plugin in this shared library");
  app.add_flag("--reference", reference, "run in the evaluator (the default)");
  app.add_flag("--fill", fill, "run programs that take arguments, too, on made-up numbers; they pass when they run");
  app.add_flag("--compare", compare, "as --fill, and what the plugin computes must agree with the evaluator");
  app.add_flag("--keep-denormals", keep_denormals, "the evaluator does not flush subnormal numbers to zero");
  app.add_option("--known", known_path,
                 "a list of programs (lines `file.mlir: reason`) whose failures count as skipped");
  app.add_option("--jobs,-j", jobs, "processes at a time");
  app.add_option("--timeout", timeout_s, "seconds that one file may take");
  app.add_flag("--quiet,-q", quiet, "print only the last line");
  app.add_flag("--verbose,-v", verbose, "also name every skipped program");
  app.add_option("files", paths, "programs, or directories of programs")->required();
  CLI11_PARSE(app, argc, argv);
  if (reference && !plugin.empty()) {
    fmt::print(stderr, "tenon-check: --plugin and --reference exclude each other\n");
    return 2;
  }
  KnownFailures known;
  if (!known_path.empty()) {
    auto read = ReadKnownFailures(known_path);
    if (!read.ok()) {
      fmt::print(stderr, "tenon-check: {}\n", read.status().message());
      return 2;
    }
    known = *std::move(read);
  }
  const auto begin = std::chrono::steady_clock::now();
  FileReport total;
  std::map<std::string, int> skips;
  const auto make = [&]() -> FileFunction {
    Judges judges;
    judges.fill = fill || compare;
    if (compare) judges.other = MakeReferenceRunner(keep_denormals);
    if (plugin.empty()) {
      judges.runner = MakeReferenceRunner(keep_denormals);
    } else {
      auto made = MakePluginRunner(plugin);
      if (!made.ok()) {
        const std::string message = made.status().ToString();
        return [message](const std::string&) { return FileReport{0, 1, 0, {message}, {}}; };
      }
      judges.runner = *std::move(made);
    }
    return [judges, &known](const std::string& file) { return CheckFile(file, judges, known); };
  };
  const auto report = [&](const std::string& file, const FileReport& r) {
    total.passed += r.passed;
    total.failed += r.failed;
    total.skipped += r.skipped;
    for (const std::string& failure : r.failures) {
      if (!quiet) fmt::print("FAIL {}: {}\n", file, failure);
    }
    for (const std::string& reason : r.skip_reasons) {
      ++skips[SkipKey(reason)];
      if (verbose) fmt::print("SKIP {}: {}\n", file, reason);
    }
    std::fflush(stdout);
  };
  RunFiles(ExpandPaths(paths), jobs, timeout_s, make, report);
  std::vector<std::pair<int, std::string>> by_count;
  for (const auto& [reason, count] : skips) by_count.emplace_back(count, reason);
  std::sort(by_count.rbegin(), by_count.rend());
  for (const auto& [count, reason] : by_count) {
    if (!quiet) fmt::print("skipped {:5}: {}\n", count, reason);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!quiet) fmt::print("{:.1f} seconds\n", seconds);
  fmt::print("{} passed, {} failed, {} skipped\n", total.passed, total.failed, total.skipped);
  return total.failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tenon::check_tool

int main(int argc, char** argv) { return tenon::check_tool::Main(argc, argv); }
