// tenon profile.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tools/tenon/command.h"
#include "tools/tenon/inputs.h"

namespace tenon::cli {
namespace {

using nlohmann::json;

struct ProfileOptions {
  PluginOptions plugin;
  CompileFlags compile;
  InputFlags inputs;
  std::string program;
  int64_t runs = 50;
  size_t most = 30;
};

/// A file of this process that goes away with the object.
class TemporaryFile {
 public:
  TemporaryFile() {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    std::string name = (error ? "/tmp" : folder.string()) + "/tenon_profile_XXXXXX";
    const int file = mkstemp(name.data());
    if (file < 0) return;
    close(file);
    name_ = name;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    if (!name_.empty()) std::filesystem::remove(name_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// The lines of the plugin's file as objects by column. Numbers are numbers.
json ReadProfile(const std::string& file) {
  json rows = json::array();
  std::ifstream in(file);
  std::string line;
  std::vector<std::string> columns;
  const auto split = [](const std::string& text) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
      if (c == '\t') {
        parts.emplace_back();
      } else {
        parts.back().push_back(c);
      }
    }
    return parts;
  };
  while (std::getline(in, line)) {
    const std::vector<std::string> parts = split(line);
    if (columns.empty()) {
      columns = parts;
      continue;
    }
    json row = json::object();
    for (size_t i = 0; i < std::min(parts.size(), columns.size()); ++i) {
      int64_t number = 0;
      const char* const end = parts[i].data() + parts[i].size();
      const auto parsed = std::from_chars(parts[i].data(), end, number);
      if (parsed.ec == std::errc() && parsed.ptr == end) {
        row[columns[i]] = number;
      } else {
        row[columns[i]] = parts[i];
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string Micros(double ns) { return fmt::format("{:.1f}", ns / 1e3); }

void Show(Context& context, const json& rows, size_t most) {
  double whole = 0;
  std::vector<const json*> steps;
  for (const json& row : rows) {
    if (row.value("step", 0) < 0) {
      whole += row.value("total_ns", 0.0);
      context.Say(fmt::format(
          "{}: {} runs, {} us each, the shortest {}", row.value("program", ""), row.value("runs", 0),
          Micros(row.value("total_ns", 0.0) / std::max(1, row.value("runs", 1))), Micros(row.value("least_ns", 0.0))));
    } else if (row.value("runs", 0) > 0) {
      steps.push_back(&row);
    }
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const json* a, const json* b) { return a->value("total_ns", 0.0) > b->value("total_ns", 0.0); });
  context.Say(fmt::format("{:>6} {:>8} {:>10} {:>10} {:>10} {:>8} {:>8}  {}", "share", "runs", "mean us", "least us",
                          "model us", "GFLOP/s", "GB/s", "step"));
  for (size_t i = 0; i < std::min(most, steps.size()); ++i) {
    const json& s = *steps[i];
    const double total = s.value("total_ns", 0.0), runs = s.value("runs", 1.0),
                 least = std::max(1.0, s.value("least_ns", 1.0));
    const double bytes = s.value("bytes_read", 0.0) + s.value("bytes_written", 0.0) + s.value("bytes_cached", 0.0);
    const double estimate = s.value("estimate_ns", 0.0), flops = s.value("flops", 0.0) + s.value("ops", 0.0);
    const auto or_dash = [](bool known, const std::string& text) { return known ? text : std::string("-"); };
    context.Say(fmt::format(
        "{:>5.1f}% {:>8} {:>10} {:>10} {:>10} {:>8} {:>8}  {}{} {}", whole > 0 ? 100 * total / whole : 0,
        s.value("runs", 0), Micros(total / runs), Micros(least), or_dash(estimate > 0, Micros(estimate)),
        or_dash(flops > 0, fmt::format("{:.1f}", flops / least)),
        or_dash(bytes > 0, fmt::format("{:.1f}", bytes / least)),
        std::string(static_cast<size_t>(2 * s.value("depth", 0)), ' '), s.value("kind", ""), s.value("what", "")));
  }
  if (steps.size() > most) context.Say(fmt::format("{} more steps: --most N shows them", steps.size() - most));
}

Status ProfileProgram(Context& context, const ProfileOptions& options) {
  const TemporaryFile file;
  if (file.name().empty()) {
    context.stage = kBadOutput;
    return InvalidArgument("a temporary file cannot be made");
  }
  // Plugins read it when they make a client.
  setenv("TENON_PROFILE", file.name().c_str(), 1);
  TENON_ASSIGN_OR_RETURN(const client::Program program, ReadProgram(context, options.program));
  TENON_ASSIGN_OR_RETURN(const client::Plugin plugin, LoadPlugin(context, options.plugin));
  {
    TENON_ASSIGN_OR_RETURN(
        const client::Client client,
        OpenClient(context, plugin, options.plugin, options.compile.replicas * options.compile.partitions));
    TENON_ASSIGN_OR_RETURN(const client::CompileOptions compile, MakeCompileOptions(context, options.compile));
    const Progress progress(context, "running");
    TENON_ASSIGN_OR_RETURN(const client::LoadedExecutable executable, client.Compile(program, compile));
    std::optional<std::vector<Shape>> parameters;
    if (options.compile.partitions == 1) parameters = FindParameters(program, &executable.executable());
    const std::vector<client::Device> devices = executable.AddressableDevices();
    std::vector<std::vector<client::Buffer>> arguments(devices.size());
    std::vector<std::vector<const client::Buffer*>> lists(devices.size());
    for (size_t d = 0; d < devices.size(); ++d) {
      TENON_ASSIGN_OR_RETURN(const std::vector<Array> inputs,
                             MakeInputs(context, options.inputs, parameters, static_cast<int>(d)));
      TENON_ASSIGN_OR_RETURN(arguments[d], Upload(client, devices[d], inputs));
      for (const client::Buffer& buffer : arguments[d]) lists[d].push_back(&buffer);
    }
    for (int64_t run = 0; run < std::max<int64_t>(1, options.runs); ++run) {
      TENON_ASSIGN_OR_RETURN(const client::Execution execution, executable.ExecuteOnDevices(lists, {}));
      for (const auto& outputs : execution.outputs) {
        for (const client::Buffer& buffer : outputs) TENON_RETURN_IF_ERROR(buffer.Await());
      }
    }
  }
  const json rows = ReadProfile(file.name());
  if (rows.empty()) {
    context.advice = "profiles of steps are Tenon's own: other plugins answer to `tenon trace`";
    return Unimplemented("the plugin keeps no profile of its steps");
  }
  context.output["steps"] = rows;
  if (!context.json) Show(context, rows, options.most);
  return OkStatus();
}

}  // namespace

void AddProfile(CLI::App& app, Context& context) {
  const auto options = std::make_shared<ProfileOptions>();
  CLI::App* command = app.add_subcommand("profile", "run a program and show where its time goes, step by step");
  AddProgramArgument(*command, options->program);
  AddPluginOptions(*command, options->plugin);
  AddInputFlags(*command, options->inputs);
  AddCompileFlags(*command, options->compile);
  command->add_option("--runs", options->runs, "how often it runs")->type_name("N");
  command->add_option("--most", options->most, "how many steps are shown")->type_name("N");
  context.commands[command] = [&context, options] { return ProfileProgram(context, *options); };
}

}  // namespace tenon::cli
