#include "tools/tenon/profiled.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tenon::cli {
namespace {

using nlohmann::json;

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

// What a compiled program says of itself.
void Describe(const client::Executable& executable, json& about) {
  if (const auto size = executable.SizeOfGeneratedCodeInBytes(); size.ok()) about["code_bytes"] = *size;
  if (const auto fingerprint = executable.Fingerprint(); fingerprint.ok()) {
    if (std::ranges::all_of(*fingerprint, [](char c) { return c > ' ' && c <= '~'; }))
      about["fingerprint"] = *fingerprint;
  }
  if (const auto stats = executable.MemoryStats(); stats.ok()) {
    about["memory"] = {
        {"arguments", stats->arguments}, {"outputs", stats->outputs}, {"temporaries", stats->temporaries}};
  }
}

}  // namespace

void AddProfileFlags(CLI::App& app, ProfileFlags& flags) {
  AddProgramArgument(app, flags.program);
  AddPluginOptions(app, flags.plugin);
  AddInputFlags(app, flags.inputs);
  AddCompileFlags(app, flags.compile);
  app.add_option("--runs", flags.runs, "how often it runs")->type_name("N");
}

std::string Micros(double ns) { return fmt::format("{:.1f}", ns / 1e3); }

Result<Profiled> RunProfiled(Context& context, const ProfileFlags& flags) {
  const TemporaryFile file;
  if (file.name().empty()) {
    context.stage = kBadOutput;
    return InvalidArgument("a temporary file cannot be made");
  }
  // Plugins read it when they make a client.
  setenv("TENON_PROFILE", file.name().c_str(), 1);
  Profiled profiled{.rows = json::array(), .about = json::object()};
  TENON_ASSIGN_OR_RETURN(const client::Program program, ReadProgram(context, flags.program));
  TENON_ASSIGN_OR_RETURN(const client::Plugin plugin, LoadPlugin(context, flags.plugin));
  {
    TENON_ASSIGN_OR_RETURN(const client::Client client, OpenClient(context, plugin, flags.plugin,
                                                                   flags.compile.replicas * flags.compile.partitions));
    TENON_ASSIGN_OR_RETURN(const client::CompileOptions compile, MakeCompileOptions(context, flags.compile));
    const Progress progress(context, "running");
    const auto begin = std::chrono::steady_clock::now();
    TENON_ASSIGN_OR_RETURN(const client::LoadedExecutable executable, client.Compile(program, compile));
    profiled.about["compile_seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    Describe(executable.executable(), profiled.about);
    TENON_ASSIGN_OR_RETURN(const Arguments arguments,
                           MakeArguments(context, flags.inputs, flags.compile, program, client, executable));
    for (int64_t run = 0; run < std::max<int64_t>(1, flags.runs); ++run) {
      TENON_ASSIGN_OR_RETURN(const client::Execution execution, executable.ExecuteOnDevices(arguments.lists, {}));
      for (const auto& outputs : execution.outputs) {
        for (const client::Buffer& buffer : outputs) TENON_RETURN_IF_ERROR(buffer.Await());
      }
    }
  }
  profiled.rows = ReadProfile(file.name());
  if (profiled.rows.empty()) {
    context.advice = "profiles of steps are Tenon's own: other plugins answer to `tenon trace`";
    return Unimplemented("the plugin keeps no profile of its steps");
  }
  return profiled;
}

}  // namespace tenon::cli
