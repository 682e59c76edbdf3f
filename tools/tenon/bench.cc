// tenon bench.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tools/tenon/command.h"
#include "tools/tenon/inputs.h"

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
};

struct Figures {
  std::string plugin;
  double compile = 0;
  std::vector<double> runs;  // sorted, seconds
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
    std::optional<std::vector<Shape>> parameters;
    if (options.compile.partitions == 1) parameters = FindParameters(program, &subject->executable_.executable());
    const std::vector<client::Device> devices = subject->executable_.AddressableDevices();
    for (size_t d = 0; d < devices.size(); ++d) {
      TENON_ASSIGN_OR_RETURN(const std::vector<Array> inputs,
                             MakeInputs(context, options.inputs, parameters, static_cast<int>(d)));
      TENON_ASSIGN_OR_RETURN(std::vector<client::Buffer> buffers, Upload(subject->client_, devices[d], inputs));
      subject->arguments_.push_back(std::move(buffers));
    }
    for (const std::vector<client::Buffer>& buffers : subject->arguments_) {
      std::vector<const client::Buffer*>& list = subject->lists_.emplace_back();
      for (const client::Buffer& buffer : buffers) list.push_back(&buffer);
    }
    return subject;
  }

  // From the call until every output is there.
  Result<double> RunOnce() {
    const Clock::time_point begin = Clock::now();
    TENON_ASSIGN_OR_RETURN(const client::Execution execution, executable_.ExecuteOnDevices(lists_));
    for (const std::vector<client::Buffer>& outputs : execution.outputs) {
      for (const client::Buffer& buffer : outputs) TENON_RETURN_IF_ERROR(buffer.Await());
    }
    return Since(begin);
  }
  Figures& figures() { return figures_; }

 private:
  Subject(client::Client client, client::LoadedExecutable executable)
      : client_(std::move(client)), executable_(std::move(executable)) {}
  client::Client client_;
  client::LoadedExecutable executable_;
  std::vector<std::vector<client::Buffer>> arguments_;
  std::vector<std::vector<const client::Buffer*>> lists_;
  Figures figures_;
};

Status Bench(Context& context, const BenchOptions& options) {
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
  context.output["results"] = json::array();
  context.Say(fmt::format("{:<14} {:>11} {:>11} {:>11} {:>11} {:>11} {:>9} {:>8}", "plugin", "compile", "minimum",
                          "median", "90 %", "spread", "runs", "ratio"));
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
                                         {"median_ratio", median / base}});
    context.Say(fmt::format("{:<14} {:>11} {:>11} {:>11} {:>11} {:>10.1f}% {:>9} {:>8.2f}", figures.plugin,
                            SecondsText(figures.compile), SecondsText(figures.runs.front()), SecondsText(median),
                            SecondsText(figures.At(0.9)), 100 * spread, figures.runs.size(), median / base));
  }
  return OkStatus();
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
  context.commands[command] = [&context, options] { return Bench(context, *options); };
}

}  // namespace tenon::cli
