// tenon check, tenon conform, tenon trace: what other programs of Tenon do.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>

#include "tenon/discovery/discovery.h"
#include "tools/tenon/command.h"
#include "tools/tenon/npy.h"
#include "tools/tenon/process.h"

namespace tenon::cli {
namespace {

using nlohmann::json;

// The file that -p, or what stands for it when it is not given, names: these programs take files only.
Result<std::string> PluginFile(Context& context, const std::string& given) {
  context.stage = kNoPlugin;
  const std::string name = given.empty() ? discovery::DefaultPlugin() : given;
  if (discovery::IsFile(name)) {
    if (access(name.c_str(), R_OK) != 0) return NotFound(fmt::format("there is no plugin '{}'", name));
    return name.find('/') == name.npos ? "./" + name : name;
  }
  if (const auto files = discovery::FilesNamed(name); !files.empty()) return files.front().path;
  context.advice = "`tenon plugins` says where was looked; -p also takes a file";
  return NotFound(fmt::format("there is no plugin '{}'; {}", name, discovery::DescribeSearch()));
}

// Becomes the other program: its output, its exit status.
Status RunTool(Context& context, std::vector<std::string> command) {
  context.stage = kFailed;
  TENON_ASSIGN_OR_RETURN(context.result, RunProcess(command, {}, context.json));
  if (context.json) context.output = {{"command", command}, {"status", context.result}};
  return OkStatus();
}

struct CheckOptions {
  std::string plugin;
  bool reference = false;
  std::string known;
  int jobs = 0;
  std::vector<std::string> files;
};

Status Check(Context& context, const CheckOptions& options) {
  context.stage = kFailed;
  TENON_ASSIGN_OR_RETURN(const std::string tool,
                         FindTool("tenon-check", "it is built where LLVM and MLIR 22 are, with -DTENON_BUILD_CPU=ON"));
  std::vector<std::string> command = {tool};
  if (options.reference) {
    command.push_back("--reference");
  } else {
    TENON_ASSIGN_OR_RETURN(const std::string file, PluginFile(context, options.plugin));
    command.insert(command.end(), {"--plugin", file});
  }
  if (!options.known.empty()) command.insert(command.end(), {"--known", options.known});
  if (options.jobs > 0) command.insert(command.end(), {"-j", std::to_string(options.jobs)});
  command.insert(command.end(), options.files.begin(), options.files.end());
  return RunTool(context, std::move(command));
}

struct ConformOptions {
  std::string plugin, against, programs, profile, junit, report, markdown, html;
  std::vector<std::string> tests, skips, matrix;
  int jobs = 0, batch = 0;
  int64_t count = 0, seed = 0;
  double timeout = 0;
  bool all = false, isolate = false, list = false, profiles = false, any_build = false;
};

Status Conform(Context& context, const ConformOptions& options) {
  context.stage = kFailed;
  TENON_ASSIGN_OR_RETURN(const std::string tool, FindTool("tenon-conformance", "build the target tenon-conformance"));
  std::vector<std::string> command = {tool};
  const auto with = [&](const char* name, const std::string& value) {
    if (!value.empty()) command.insert(command.end(), {name, value});
  };
  const auto flag = [&](const char* name, bool on) {
    if (on) command.emplace_back(name);
  };
  flag("--list", options.list);
  flag("--list-profiles", options.profiles);
  // These want no plugin.
  if (!options.list && !options.profiles && options.matrix.empty()) {
    TENON_ASSIGN_OR_RETURN(const std::string file, PluginFile(context, options.plugin));
    command.push_back(file);
  }
  if (!options.against.empty()) {
    TENON_ASSIGN_OR_RETURN(const std::string other, PluginFile(context, options.against));
    with("--against", other);
    if (options.count > 0) with("--count", std::to_string(options.count));
    if (options.seed > 0) with("--seed", std::to_string(options.seed));
    with("--programs", options.programs);
  }
  for (const std::string& test : options.tests) with("--test", test);
  for (const std::string& test : options.skips) with("--skip", test);
  with("--profile", options.profile);
  with("--junit", options.junit);
  with("--json", options.report);
  if (options.jobs > 0) with("--jobs", std::to_string(options.jobs));
  if (options.batch > 0) with("--batch", std::to_string(options.batch));
  if (options.timeout > 0) with("--timeout", fmt::format("{}", options.timeout));
  flag("--isolate", options.isolate);
  flag("--all", options.all);
  flag("--any-build", options.any_build);
  with("--markdown", options.markdown);
  with("--html", options.html);
  if (!options.matrix.empty()) {
    command.emplace_back("--matrix");
    command.insert(command.end(), options.matrix.begin(), options.matrix.end());
  }
  // The report itself is the JSON.
  if (context.json && options.report.empty())
    command.insert(command.end(), {"--quiet", "--json", "-"});
  else if (context.quiet || context.json)
    command.push_back("--quiet");
  context.stage = kFailed;
  TENON_ASSIGN_OR_RETURN(context.result, RunProcess(command, {}));
  context.json = false;
  return OkStatus();
}

struct ReduceOptions {
  PluginOptions plugin;
  std::string program, output, command, against;
  int timeout = 10;
  bool verbose = false;
};

std::string ShellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Status Reduce(Context& context, const ReduceOptions& options) {
  context.stage = kFailed;
  TENON_ASSIGN_OR_RETURN(const std::string tool,
                         FindTool("tenon-reduce",
                                  "it is built where LLVM and MLIR 22 are, with -DTENON_BUILD_CPU=ON and "
                                  "-DTENON_BUILD_TESTS=ON, whose judges it uses"));
  std::vector<std::string> command = {tool, options.program, "--timeout", std::to_string(options.timeout)};
  if (!options.output.empty()) command.insert(command.end(), {"--output", options.output});
  if (options.verbose) command.emplace_back("--verbose");
  std::string interesting = options.command;
  if (interesting.empty() && (!options.plugin.plugin.empty() || !options.against.empty())) {
    // Interesting is what ends as the program itself does on the plugin: with a crash, an error, other outputs.
    std::vector<std::string> judge = {OwnFolder() + "/tenon", "--quiet"};
    const std::string plugin = options.plugin.plugin.empty() ? discovery::DefaultPlugin() : options.plugin.plugin;
    if (options.against.empty()) {
      judge.insert(judge.end(), {"run", "--random", "-p", plugin});
    } else {
      judge.insert(judge.end(), {"bench", "--random", "--iterations", "1", "--warm-up", "0", "-p", plugin, "--against",
                                 options.against});
    }
    std::vector<std::string> once = judge;
    once.push_back(options.program);
    TENON_ASSIGN_OR_RETURN(const Captured found, CaptureProcess(once, options.timeout));
    if (found.status == kSuccess) {
      context.stage = kBadInput;
      return FailedPrecondition(
          fmt::format("nothing to reduce: {} {}", options.program,
                      options.against.empty() ? "runs on the plugin" : "has equal outputs on both"));
    }
    if (found.status >= kUsage && found.status <= kBadOutput) {
      context.stage = static_cast<ExitCode>(found.status);
      context.advice = fmt::format("`{} {}` says why", fmt::join(judge, " "), options.program);
      return FailedPrecondition("the program cannot be tried");
    }
    std::string line;
    for (const std::string& word : judge) line += ShellQuoted(word) + " ";
    interesting = fmt::format("sh -c {}", ShellQuoted(fmt::format("{}\"$0\"; test $? = {}", line, found.status)));
  }
  if (!interesting.empty()) command.insert(command.end(), {"--command", interesting});
  return RunTool(context, std::move(command));
}

struct TraceOptions {
  std::string output, text, library, capture;
  int limit_mib = 0;
  bool no_shield = false, fail_on_misuse = false;
  size_t most = 15;
};

Result<std::string> TraceLibrary(const std::string& given) {
  if (!given.empty()) {
    if (access(given.c_str(), R_OK) != 0) return NotFound(fmt::format("cannot read the trace plugin '{}'", given));
    return std::filesystem::absolute(given).string();
  }
  for (const std::string& folder : {OwnFolder() + "/../lib/tenon", OwnFolder() + "/../lib", OwnFolder()}) {
    const std::string file = folder + "/libtenon_trace.so";
    if (access(file.c_str(), R_OK) == 0) return std::filesystem::weakly_canonical(file).string();
  }
  return NotFound(
      "there is no libtenon_trace.so beside this program: build the target tenon_trace_plugin, or name it with "
      "--library");
}

// The summary that closes a trace; made from the calls when the process ended before it could write one.
json Summarise(const json& events) {
  if (!events.empty() && events.back().value("name", "") == "summary") return events.back()["args"];
  json summary = {
      {"complete", false}, {"functions", json::object()}, {"misuse", json::object()}, {"leaks", json::array()}};
  for (const json& event : events) {
    const std::string name = event.value("name", "");
    if (event.value("cat", "") == "misuse") {
      json& count = summary["misuse"][name.substr(std::string("MISUSE ").size())];
      count = (count.is_null() ? 0 : count.get<int>()) + 1;
    }
    if (event.value("ph", "") != "X" || event.value("cat", "") != "pjrt") continue;
    json& function = summary["functions"][name];
    if (function.is_null()) function = {{"calls", 0}, {"total_us", 0.0}, {"longest_us", 0.0}, {"errors", 0}};
    const double duration = event.value("dur", 0.0);
    function["calls"] = function["calls"].get<int>() + 1;
    function["total_us"] = function["total_us"].get<double>() + duration;
    function["longest_us"] = std::max(function["longest_us"].get<double>(), duration);
    function["errors"] =
        function["errors"].get<int>() + (event.contains("args") && event["args"].contains("error") ? 1 : 0);
  }
  return summary;
}

// A trace that was cut off lacks its last lines; each line but the first is one event.
Result<json> ReadTrace(const std::string& file) {
  TENON_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file));
  json events = json::array();
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', at), bytes.size());
    std::string_view line(bytes.data() + at, end - at);
    at = end + 1;
    if (line.ends_with(',')) line.remove_suffix(1);
    if (!line.starts_with('{')) continue;
    json event = json::parse(line, nullptr, false);
    if (!event.is_discarded()) events.push_back(std::move(event));
  }
  return events;
}

Status Trace(Context& context, const TraceOptions& options, std::vector<std::string> command, const CLI::App& app) {
  context.stage = kUsage;
  if (command.empty())
    return InvalidArgument(
        "wants a command to trace, such as `tenon trace run PROGRAM` or `tenon trace -- python train.py`");
  // A subcommand of this program, or any other one.
  bool own = false;
  for (const CLI::App* sub : app.get_subcommands({})) own |= sub->get_name() == command.front();
  if (own) command.insert(command.begin(), "/proc/self/exe");
  if (own && context.json) command.insert(command.begin() + 1, "--quiet");
  if (own) command.front() = std::filesystem::read_symlink("/proc/self/exe").string();
  context.stage = kFailed;
  TENON_ASSIGN_OR_RETURN(const std::string library, TraceLibrary(options.library));
  std::string file = options.output;
  const bool temporary = file.empty();
  if (temporary) {
    std::string name = (std::filesystem::temp_directory_path() / "tenon_trace_XXXXXX").string();
    const int fd = mkstemp(name.data());
    context.stage = kBadOutput;
    if (fd < 0)
      return PermissionDenied(
          fmt::format("cannot make a temporary file in {}", std::filesystem::temp_directory_path().string()));
    close(fd);
    file = name;
  } else {
    // Now rather than after the command has run.
    context.stage = kBadOutput;
    TENON_RETURN_IF_ERROR(WriteFile(file, ""));
    if (!options.text.empty()) TENON_RETURN_IF_ERROR(WriteFile(options.text, ""));
  }
  context.stage = kFailed;
  std::map<std::string, std::string> environment = {{"TENON_TRACE_FILE", file}};
  const char* preloaded = std::getenv("LD_PRELOAD");
  environment["LD_PRELOAD"] = preloaded != nullptr && *preloaded != '\0' ? library + ":" + preloaded : library;
  if (!options.text.empty()) environment["TENON_TRACE_TEXT"] = options.text;
  if (options.no_shield) environment["TENON_TRACE_SHIELD"] = "0";
  if (!options.capture.empty())
    environment["TENON_TRACE_CAPTURE"] = std::filesystem::absolute(options.capture).string();
  if (options.limit_mib > 0) environment["TENON_TRACE_LIMIT_MIB"] = std::to_string(options.limit_mib);
  TENON_ASSIGN_OR_RETURN(context.result, RunProcess(command, environment, context.json));
  Result<json> events = ReadTrace(file);
  if (temporary) std::filesystem::remove(file);
  if (!events.ok()) return events.status();
  const json summary = Summarise(*events);
  context.output = {{"command", command}, {"status", context.result}, {"summary", summary}, {"events", events->size()}};
  if (!temporary) context.output["file"] = file;
  // A command that failed by itself keeps its own status.
  const size_t faults = summary["misuse"].size() + summary["leaks"].size();
  if (options.fail_on_misuse && faults > 0 && context.result == kSuccess) context.result = kFailed;
  if (context.json || context.quiet) return OkStatus();

  // On stderr: stdout is the command's.
  if (events->empty()) {
    fmt::print(stderr, "tenon trace: the command loaded no plugin{}\n",
               context.result == kSuccess ? "" : ", or ended before a call was written");
    return OkStatus();
  }
  if (!summary.value("complete", true)) fmt::print(stderr, "the command ended without closing its trace\n");
  std::vector<std::pair<std::string, json>> functions;
  for (const auto& [name, figures] : summary["functions"].items()) functions.emplace_back(name, figures);
  std::ranges::sort(functions, [](const auto& a, const auto& b) {
    return a.second["total_us"].template get<double>() > b.second["total_us"].template get<double>();
  });
  fmt::print(stderr, "{:>8} {:>12} {:>12} {:>12} {:>7}  function\n", "calls", "total", "mean", "longest", "errors");
  for (size_t i = 0; i < std::min(functions.size(), options.most); ++i) {
    const json& f = functions[i].second;
    const double total = f["total_us"].get<double>() * 1e-6;
    fmt::print(stderr, "{:>8} {:>12} {:>12} {:>12} {:>7}  {}\n", f["calls"].get<int>(), SecondsText(total),
               SecondsText(total / f["calls"].get<double>()), SecondsText(f["longest_us"].get<double>() * 1e-6),
               f["errors"].get<int>(), functions[i].first);
  }
  if (functions.size() > options.most) fmt::print(stderr, "{:>8} more functions\n", functions.size() - options.most);
  if (summary.contains("buffers")) {
    fmt::print(stderr, "{} buffers of {}, at most {} at a time\n", summary["buffers"].get<int64_t>(),
               BytesText(summary["buffer_bytes"].get<double>()), BytesText(summary["peak_live_bytes"].get<double>()));
  }
  for (const auto& [kind, count] : summary["misuse"].items())
    fmt::print(stderr, "MISUSE {}: {}\n", kind, count.get<int64_t>());
  for (const json& leak : summary["leaks"]) {
    fmt::print(stderr, "  {} of {} was never destroyed\n", leak["handle"].get<std::string>(),
               leak["made_by"].get<std::string>());
  }
  if (summary["misuse"].empty()) fmt::print(stderr, "no misuse\n");
  if (const auto left_out = summary.value("left_out", int64_t{0}); left_out > 0)
    fmt::print(stderr, "{} calls and events were left out of the file, which has reached its limit\n", left_out);
  if (!options.capture.empty()) fmt::print(stderr, "wrote {}: `tenon replay {}`\n", options.capture, options.capture);
  if (!temporary) fmt::print(stderr, "wrote {}: open it at https://ui.perfetto.dev\n", file);
  return OkStatus();
}

}  // namespace

void AddCheck(CLI::App& app, Context& context) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "run self-checking StableHLO programs (tenon-check; needs a build with LLVM)");
  command->add_option("-p,--plugin", options->plugin, "name or file of the plugin; otherwise $TENON_PLUGIN, else tenon")
      ->type_name("PLUGIN");
  command->add_flag("--reference", options->reference, "use the evaluator instead of a plugin");
  command->add_option("--known", options->known, "list of known failures")->type_name("FILE");
  command->add_option("-j,--jobs", options->jobs, "processes at once")->type_name("N");
  AddExamples(*command, {"tenon check test/ops"});
  command->add_option("files", options->files, "programs, or folders of them")->required()->type_name("FILE...");
  context.commands[command] = [&context, options] { return Check(context, *options); };
}

void AddConform(CLI::App& app, Context& context) {
  const auto options = std::make_shared<ConformOptions>();
  CLI::App* command =
      app.add_subcommand("conform", "check a plugin against the rules of the C API (tenon-conformance)");
  command
      ->add_option("-p,--plugin,plugin", options->plugin,
                   "name or file of the plugin; otherwise $TENON_PLUGIN, else tenon")
      ->type_name("PLUGIN");
  command->add_option("-t,--test", options->tests, "only tests that match this glob; may be repeated")
      ->type_name("GLOB");
  command->add_option("--profile", options->profile, "name or file of the plugin's profile, or none")
      ->type_name("PROFILE");
  command->add_option("--skip", options->skips, "leave out tests that match this glob; may be repeated")
      ->type_name("GLOB");
  command
      ->add_option("--against", options->against,
                   "name or file of another plugin: run random programs on both and compare, in place of the tests")
      ->type_name("PLUGIN");
  command->add_option("--count", options->count, "how many of them; 1000 without")->check(CLI::PositiveNumber);
  command->add_option("--seed", options->seed, "of the first one")->check(CLI::NonNegativeNumber);
  command->add_option("--programs", options->programs, "folder that receives those whose results differ")
      ->type_name("FOLDER");
  command->add_option("--report", options->report, "write the report as JSON, too")->type_name("FILE");
  command->add_option("--junit", options->junit, "write the report as JUnit XML, too")->type_name("FILE");
  command->add_option("-j,--jobs", options->jobs, "processes at once")->type_name("N");
  command->add_option("--timeout", options->timeout, "how long one test may take")->type_name("SECONDS");
  command->add_option("--batch", options->batch, "tests per child process; a test that fails runs again alone")
      ->type_name("N");
  command->add_flag("--isolate", options->isolate, "each test in a child process of its own");
  command->add_flag("-a,--all", options->all, "report tests that pass, too");
  command->add_flag("--list", options->list, "list the tests and their rules");
  command->add_flag("--list-profiles", options->profiles, "list the profiles that are built in");
  command->add_option("--matrix", options->matrix, "put reports that --report wrote side by side")->type_name("FILE");
  command->add_option("--markdown", options->markdown, "where --matrix writes Markdown")->type_name("FILE");
  command->add_option("--html", options->html, "where --matrix writes HTML")->type_name("FILE");
  command->add_flag("--any-build", options->any_build,
                    "let --matrix take reports of suites built from changed sources");
  AddExamples(*command, {"tenon conform -p tenon --test load.* --report tenon.json",
                         "tenon conform -p tenon --against xla_cpu --count 500",
                         "tenon conform --matrix tenon.json --any-build", "tenon conform --list"});
  context.commands[command] = [&context, options] { return Conform(context, *options); };
}

void AddReduce(CLI::App& app, Context& context) {
  const auto options = std::make_shared<ReduceOptions>();
  CLI::App* command = app.add_subcommand(
      "reduce", "make a program small that shows a mistake (tenon-reduce; needs a build with LLVM and tests)");
  AddProgramArgument(*command, options->program);
  command->add_option("-o,--output", options->output, "file for the small program; standard output without")
      ->type_name("FILE");
  command
      ->add_option("-p,--plugin", options->plugin.plugin,
                   "keep what fails there as the program does; without it and --command: what Tenon's own judges say")
      ->type_name("PLUGIN");
  command->add_option("--against", options->against, "keep what has other outputs on this plugin")->type_name("PLUGIN");
  command->add_option("--command", options->command, "keep what this command, given a file, ends with status 0 for")
      ->type_name("COMMAND");
  command->add_option("--timeout", options->timeout, "how long one test may take")
      ->check(CLI::Range(1, 86400))
      ->type_name("SECONDS");
  command->add_flag("-v,--verbose", options->verbose, "say what is kept");
  AddExamples(*command, {"tenon reduce f.mlir --command 'grep -q stablehlo.add' -o small.mlir",
                         "tenon reduce f.mlir -p xla_cpu -o small.mlir",
                         "tenon reduce f.mlir -p tenon --against xla_cpu -o small.mlir"});
  context.commands[command] = [&context, options] { return Reduce(context, *options); };
}

void AddTrace(CLI::App& app, Context& context) {
  const auto options = std::make_shared<TraceOptions>();
  CLI::App* command = app.add_subcommand(
      "trace", "run a subcommand or any other command with its PJRT calls traced, and summarise them");
  command->add_option("-o,--output", options->output, "keep the trace in FILE, for Perfetto")->type_name("FILE");
  command->add_option("--text", options->text, "write one line per call to FILE, too")->type_name("FILE");
  command
      ->add_option("--library", options->library, "the trace plugin; libtenon_trace.so beside this program otherwise")
      ->type_name("FILE");
  command
      ->add_option("--capture", options->capture,
                   "keep in FOLDER what `tenon replay` needs: programs, options, contents of buffers")
      ->type_name("FOLDER");
  command->add_option("--limit", options->limit_mib, "size of each file, in MiB; calls beyond are only counted")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("MIB");
  command->add_flag("--no-shield", options->no_shield, "forward calls that would use freed memory, too");
  command->add_option("--most", options->most, "how many functions are listed")->type_name("N");
  command->add_flag("--fail-on-misuse", options->fail_on_misuse,
                    "end with status 1 when the command breaks a rule of the interface or leaves objects behind");
  command->footer("COMMAND [ARGUMENTS...] follows the options.");
  AddExamples(*command,
              {"tenon trace -o trace.json run f.mlir --random", "tenon trace --capture capture run f.mlir --random",
               "tenon trace --fail-on-misuse -- python train.py"});
  context.commands[command] = [&context, options, &app] { return Trace(context, *options, context.command, app); };
}

}  // namespace tenon::cli
