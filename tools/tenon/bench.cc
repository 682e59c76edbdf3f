// tenon bench.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>

#include "tools/tenon/command.h"
#include "tools/tenon/compare.h"
#include "tools/tenon/inputs.h"
#include "tools/tenon/npy.h"
#include "tools/tenon/style.h"

namespace tenon::cli {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

struct BenchOptions {
  PluginOptions plugin;
  std::string against;
  CompileFlags compile;
  InputFlags inputs;
  std::string program;
  int warm_up = 10;
  int iterations = 0;
  double seconds = 1;
  double tolerance = -1;  // below 0: what suits the type
  std::string csv, markdown;
};

struct Figures {
  std::string plugin;
  double compile = 0;
  std::vector<double> runs;  // sorted, seconds
  double pipelined = 0;      // seconds per run while others are under way
  int64_t memory = -1;       // bytes that one run needs; below 0: the plugin does not say
  double At(double quantile) const {
    return runs[static_cast<size_t>(quantile * static_cast<double>(runs.size() - 1))];
  }
};

double Since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// One plugin, ready to run; kept so that two of them can take turns.
class Subject {
 public:
  static Result<std::unique_ptr<Subject>> Make(Context& context, const BenchOptions& options,
                                               const PluginOptions& plugin_options, const client::Program& program) {
    TENON_ASSIGN_OR_RETURN(const client::Plugin plugin, LoadPlugin(context, plugin_options));
    TENON_ASSIGN_OR_RETURN(client::Client client, OpenClient(context, plugin, plugin_options,
                                                             options.compile.replicas * options.compile.partitions));
    TENON_ASSIGN_OR_RETURN(const client::CompileOptions compile, MakeCompileOptions(context, options.compile));
    const Clock::time_point begin = Clock::now();
    Result<client::LoadedExecutable> executable = [&] {
      const Progress progress(context, fmt::format("compiling on {}", plugin.name()));
      return client.Compile(program, compile);
    }();
    if (!executable.ok()) return executable.status().WithContext(plugin.name());
    const double seconds = Since(begin);
    auto subject = std::unique_ptr<Subject>(new Subject(std::move(client), std::move(executable).value()));
    subject->figures_.plugin = plugin.name();
    subject->figures_.compile = seconds;
    TENON_ASSIGN_OR_RETURN(subject->arguments_, MakeArguments(context, options.inputs, options.compile, program,
                                                              subject->client_, subject->executable_));
    return subject;
  }

  // From the call until every output is there.
  Result<double> RunOnce() {
    const Clock::time_point begin = Clock::now();
    TENON_ASSIGN_OR_RETURN(const client::Execution execution, executable_.ExecuteOnDevices(arguments_.lists));
    for (const std::vector<client::Buffer>& outputs : execution.outputs) {
      for (const client::Buffer& buffer : outputs) TENON_RETURN_IF_ERROR(buffer.Await());
    }
    return Since(begin);
  }
  // Time per run when the next ones are asked for before this one's outputs are there: the median of rounds, since what
  // else the machine does hits some of them.
  Status RunPipelined(double seconds) {
    constexpr size_t kUnderWay = 8;
    constexpr int kRound = 64;
    std::deque<client::Execution> under_way;
    const auto finish = [&]() -> Status {
      for (const std::vector<client::Buffer>& outputs : under_way.front().outputs) {
        for (const client::Buffer& buffer : outputs) TENON_RETURN_IF_ERROR(buffer.Await());
      }
      under_way.pop_front();
      return OkStatus();
    };
    std::vector<double> rounds;
    const Clock::time_point begin = Clock::now();
    do {
      const Clock::time_point round = Clock::now();
      int runs = 0;
      // Long programs: a round ends when the time is over.
      while (runs < static_cast<int>(kUnderWay) || (runs < kRound && Since(begin) < seconds)) {
        TENON_ASSIGN_OR_RETURN(client::Execution execution, executable_.ExecuteOnDevices(arguments_.lists));
        under_way.push_back(std::move(execution));
        ++runs;
        if (under_way.size() == kUnderWay) TENON_RETURN_IF_ERROR(finish());
      }
      while (!under_way.empty()) TENON_RETURN_IF_ERROR(finish());
      rounds.push_back(Since(round) / runs);
    } while (Since(begin) < seconds);
    std::ranges::nth_element(rounds, rounds.begin() + static_cast<ptrdiff_t>(rounds.size() / 2));
    figures_.pipelined = rounds[rounds.size() / 2];
    return OkStatus();
  }
  void AskMemory() {
    const Result<client::CompiledMemoryStats> stats = executable_.executable().MemoryStats();
    if (stats.ok()) figures_.memory = stats->Requirements();
  }
  Result<std::vector<std::vector<Array>>> Outputs() {
    TENON_ASSIGN_OR_RETURN(const client::Execution execution, executable_.ExecuteOnDevices(arguments_.lists));
    return FetchOutputs(execution);
  }
  Figures& figures() { return figures_; }

 private:
  Subject(client::Client client, client::LoadedExecutable executable)
      : client_(std::move(client)), executable_(std::move(executable)) {}
  client::Client client_;
  client::LoadedExecutable executable_;
  Arguments arguments_;
  Figures figures_;
};

// Whether the second plugin computes what the first does; programs that differ are not worth comparing in time.
Status CompareOutputs(Context& context, const BenchOptions& options, Subject& first, Subject& second) {
  TENON_ASSIGN_OR_RETURN(const std::vector<std::vector<Array>> wanted, first.Outputs());
  TENON_ASSIGN_OR_RETURN(const std::vector<std::vector<Array>> got, second.Outputs());
  json& list = context.output["outputs"] = json::array();
  double largest = 0;
  std::string worst;
  for (size_t d = 0; d < std::min(got.size(), wanted.size()); ++d) {
    for (size_t i = 0; i < std::min(got[d].size(), wanted[d].size()); ++i) {
      const double usual = UsualTolerance(wanted[d][i].shape.dtype);
      const double tolerance = options.tolerance < 0 ? usual : options.tolerance;
      TENON_ASSIGN_OR_RETURN(const Difference difference, Compare(got[d][i], wanted[d][i], tolerance));
      json about = ToJson(difference);
      about["device"] = d;
      about["output"] = i;
      list.push_back(std::move(about));
      largest = std::max(largest, difference.largest_absolute);
      if (difference.different == 0) continue;
      context.result = kFailed;
      worst += fmt::format("\n  output {}: {}", i, ToText(difference, wanted[d][i].shape));
    }
  }
  if (worst.empty()) {
    context.Say(fmt::format("outputs agree: largest difference {:.3g}", largest));
  } else {
    context.Say(Styled(Style::kBad, "outputs differ") + worst);
  }
  return OkStatus();
}

// What makes the median of these runs less than it seems; empty when nothing does.
std::string Doubts(const Figures& figures) {
  const double median = figures.At(0.5), quartiles = figures.At(0.75) - figures.At(0.25);
  const auto far = static_cast<size_t>(std::ranges::count_if(
      figures.runs, [&](double run) { return run > figures.At(0.75) + std::max(3 * quartiles, median); }));
  std::string text;
  if (figures.runs.size() < 10) text = fmt::format("only {} runs", figures.runs.size());
  if (quartiles / 2 > 0.1 * median)
    text += fmt::format("{}the middle half spreads over {:.0f} %", text.empty() ? "" : "; ", 100 * quartiles / median);
  if (far * 50 > figures.runs.size())
    text +=
        fmt::format("{}{} of {} runs took more than twice as long", text.empty() ? "" : "; ", far, figures.runs.size());
  return text;
}

std::string CsvText(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// The results as a table in a file, for programs and for people.
Status Export(Context& context, const BenchOptions& options) {
  constexpr const char* kColumns[] = {
      "compile_seconds", "minimum_seconds",   "median_seconds", "p90_seconds", "spread", "runs",
      "median_ratio",    "pipelined_seconds", "memory_bytes"};
  std::string csv = "program,plugin", markdown = "| program | plugin", rule = "\n|---|---";
  for (const char* column : kColumns) {
    csv += fmt::format(",{}", column);
    markdown += fmt::format(" | {}", column);
    rule += "|--:";
  }
  csv += "\n";
  markdown += " |" + rule + "|\n";
  for (const json& result : context.output["results"]) {
    const std::string plugin = result["plugin"].get<std::string>();
    csv += CsvText(options.program) + "," + CsvText(plugin);
    markdown += fmt::format("| {} | {}", options.program, plugin);
    for (const char* column : kColumns) {
      csv += "," + result[column].dump();
      const bool seconds = std::string_view(column).ends_with("seconds");
      markdown += " | " + (seconds ? SecondsText(result[column].get<double>())
                                   : fmt::format("{:.4g}", result[column].get<double>()));
    }
    csv += "\n";
    markdown += " |\n";
  }
  context.stage = kBadOutput;
  if (!options.csv.empty()) TENON_RETURN_IF_ERROR(WriteFile(options.csv, csv));
  if (!options.markdown.empty()) TENON_RETURN_IF_ERROR(WriteFile(options.markdown, markdown));
  context.stage = kFailed;
  return OkStatus();
}

Status Bench(Context& context, const BenchOptions& options) {
  context.stage = kBadOutput;
  TENON_RETURN_IF_ERROR(CheckWritable(options.csv));
  TENON_RETURN_IF_ERROR(CheckWritable(options.markdown));
  TENON_ASSIGN_OR_RETURN(const client::Program program, ReadProgram(context, options.program));
  std::vector<std::unique_ptr<Subject>> subjects;
  TENON_ASSIGN_OR_RETURN(std::unique_ptr<Subject> first, Subject::Make(context, options, options.plugin, program));
  subjects.push_back(std::move(first));
  if (!options.against.empty()) {
    // Options are a plugin's own: the second one gets none.
    const PluginOptions second{.plugin = options.against, .options = {}, .verbose = options.plugin.verbose};
    TENON_ASSIGN_OR_RETURN(std::unique_ptr<Subject> other, Subject::Make(context, options, second, program));
    subjects.push_back(std::move(other));
    BlamePlugin(fmt::format("{} or {}", subjects[0]->figures().plugin, subjects[1]->figures().plugin));
  }
  if (subjects.size() > 1) TENON_RETURN_IF_ERROR(CompareOutputs(context, options, *subjects[0], *subjects[1]));
  {
    const Progress progress(context, "measuring");
    for (int i = 0; i < options.warm_up; ++i) {
      for (const auto& subject : subjects) TENON_RETURN_IF_ERROR(subject->RunOnce().status());
    }
    // In turns, so that what else the machine does hits both alike.
    const Clock::time_point begin = Clock::now();
    for (int i = 0;
         options.iterations > 0 ? i < options.iterations
                                : i < 3 || Since(begin) < options.seconds * static_cast<double>(subjects.size());
         ++i) {
      for (const auto& subject : subjects) {
        TENON_ASSIGN_OR_RETURN(const double seconds, subject->RunOnce());
        subject->figures().runs.push_back(seconds);
      }
    }
  }
  // The second half of the question: how much gets done, rather than how soon.
  for (const auto& subject : subjects) {
    const double seconds =
        options.iterations > 0 ? options.iterations * subject->figures().runs.front() : options.seconds / 2;
    TENON_RETURN_IF_ERROR(subject->RunPipelined(seconds));
    subject->AskMemory();
  }
  context.output["results"] = json::array();
  context.Say(Styled(Style::kHeading, fmt::format("{:<14} {:>11} {:>11} {:>11} {:>11} {:>11} {:>9} {:>8} {:>11} {:>10}",
                                                  "plugin", "compile", "minimum", "median", "90 %", "spread", "runs",
                                                  "ratio", "pipelined", "memory")));
  double base = 0;
  for (const auto& subject : subjects) {
    Figures& figures = subject->figures();
    std::ranges::sort(figures.runs);
    const double median = figures.At(0.5);
    // Half the distance between the quartiles, relative to the median.
    const double spread = (figures.At(0.75) - figures.At(0.25)) / 2 / median;
    if (base == 0) base = median;
    context.output["results"].push_back({{"plugin", figures.plugin},
                                         {"compile_seconds", figures.compile},
                                         {"minimum_seconds", figures.runs.front()},
                                         {"median_seconds", median},
                                         {"p90_seconds", figures.At(0.9)},
                                         {"spread", spread},
                                         {"runs", figures.runs.size()},
                                         {"median_ratio", median / base},
                                         {"pipelined_seconds", figures.pipelined},
                                         {"memory_bytes", figures.memory},
                                         {"doubts", Doubts(figures)}});
    context.Say(fmt::format("{:<14} {:>11} {:>11} {:>11} {:>11} {:>10.1f}% {:>9} {:>8.2f} {:>11} {:>10}",
                            figures.plugin, SecondsText(figures.compile), SecondsText(figures.runs.front()),
                            SecondsText(median), SecondsText(figures.At(0.9)), 100 * spread, figures.runs.size(),
                            median / base, SecondsText(figures.pipelined),
                            figures.memory < 0 ? "?" : BytesText(static_cast<double>(figures.memory))));
  }
  for (const auto& subject : subjects) {
    if (const std::string doubts = Doubts(subject->figures()); !doubts.empty())
      context.Say(fmt::format("{} {}: {}", Styled(Style::kWarn, "warning:"), subject->figures().plugin, doubts));
  }
  return Export(context, options);
}

}  // namespace

void AddBench(CLI::App& app, Context& context) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "measure a program, also on two plugins side by side");
  AddProgramArgument(*command, options->program);
  AddPluginOptions(*command, options->plugin);
  command->add_option("--against", options->against, "name or file of a second plugin; the two take turns")
      ->type_name("PLUGIN");
  AddInputFlags(*command, options->inputs);
  AddCompileFlags(*command, options->compile);
  command->add_option("--warm-up", options->warm_up, "runs that are not measured")
      ->check(CLI::Range(0, 1000000))
      ->type_name("N");
  command->add_option("--iterations", options->iterations, "measured runs; otherwise as many as fit into --seconds")
      ->check(CLI::Range(1, 100000000))
      ->type_name("N");
  command->add_option("--seconds", options->seconds, "time to measure per plugin")
      ->check(CLI::Range(0.0, 86400.0))
      ->type_name("SECONDS");
  AddToleranceOption(*command, options->tolerance, "1e-4, or 0.05 for types of 16 bits and less");
  command->add_option("--csv", options->csv, "write the results to FILE as comma-separated values")->type_name("FILE");
  command->add_option("--markdown", options->markdown, "write the results to FILE as a Markdown table")
      ->type_name("FILE");
  AddExamples(*command, {"tenon bench f.mlir --random",
                         "tenon bench f.mlir --random --seconds 0.2 --markdown table.md --csv table.csv",
                         "tenon bench f.mlir --random -p tenon --against xla_cpu"});
  context.commands[command] = [&context, options] { return Bench(context, *options); };
}

}  // namespace tenon::cli
