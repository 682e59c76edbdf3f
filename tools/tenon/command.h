#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tenon/client/client.h"
#include "tenon/client/plugin.h"
#include "tools/tenon/activity.h"

namespace tenon::cli {

/// What the program ends with; docs/cli lists them.
enum ExitCode : int {
  kSuccess = 0,
  kFailed = 1,     // the operation itself
  kUsage = 2,      // the command line
  kNoPlugin = 3,   // no such plugin, or it does not start here
  kBadInput = 4,   // a file or value that was given
  kBadOutput = 5,  // a file that should be written
};

/// What the parts of one command share. A command sets `stage` before it does something that can fail, so that its
/// failure ends the program with that code, and fills `output`, which --json prints.
struct Context {
  bool json = false;
  bool quiet = false;
  ExitCode stage = kFailed;
  std::string advice;                           // what to do about the failure; printed behind it
  const char* advice_without_client = nullptr;  // the same when the devices cannot be opened
  int result = kSuccess;
  std::vector<std::string> command;  // what `trace` runs
  nlohmann::json output = nlohmann::json::object();

  using Run = std::function<Status()>;
  std::map<const CLI::App*, Run> commands;

  /// Prints a line for people, unless --json or --quiet.
  void Say(const std::string& line) const;
};

/// Shows on stderr what is going on and for how long, when that is a terminal and nobody asked for silence. Crashes
/// meanwhile say it, too.
class Progress {
 public:
  Progress(const Context& context, std::string what);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

 private:
  struct State;
  Activity activity_;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

/// --tolerance, as Compare (compare.h) means it; `otherwise` says what counts without it.
void AddToleranceOption(CLI::App& app, double& tolerance, const char* otherwise = "0");

/// Command lines that --help and the manual page show. The tests of the documentation run them.
void AddExamples(CLI::App& app, const std::vector<std::string>& lines);

/// PROGRAM, which is required.
void AddProgramArgument(CLI::App& app, std::string& program);

/// -p, --option, --verbose.
struct PluginOptions {
  std::string plugin;
  std::vector<std::string> options;
  bool verbose = false;
};
void AddPluginOptions(CLI::App& app, PluginOptions& options);

/// By name or file; without either: $TENON_PLUGIN, else "tenon".
Result<client::Plugin> LoadPlugin(Context& context, const PluginOptions& options);
/// A client with the options. `num_devices` above 1: asks plugins that make devices on demand for that many.
Result<client::Client> OpenClient(Context& context, const client::Plugin& plugin, const PluginOptions& options,
                                  int num_devices = 1);

/// --replicas, --partitions, --flag, --set.
struct CompileFlags {
  int replicas = 1;
  int partitions = 1;
  std::vector<std::string> flags;
  std::vector<std::string> overrides;
};
void AddCompileFlags(CLI::App& app, CompileFlags& flags);
Result<client::CompileOptions> MakeCompileOptions(Context& context, const CompileFlags& flags);

/// A file, a pipe or "-"; the format is told by the contents.
Result<client::Program> ReadProgram(Context& context, const std::string& file);

/// "1.5 KiB" and the like; "12.3 us".
std::string BytesText(double bytes);
std::string SecondsText(double seconds);
nlohmann::json ToJson(const client::Value& value);
nlohmann::json ToJson(const std::vector<client::NamedValue>& values);

// One per subcommand: adds it, and what to run, to the program.
void AddPlugins(CLI::App& app, Context& context);
void AddInfo(CLI::App& app, Context& context);
void AddRun(CLI::App& app, Context& context);
void AddCompile(CLI::App& app, Context& context);
void AddDevices(CLI::App& app, Context& context);
void AddDiff(CLI::App& app, Context& context);
void AddExplain(CLI::App& app, Context& context);
void AddProfile(CLI::App& app, Context& context);
void AddBench(CLI::App& app, Context& context);
void AddConvert(CLI::App& app, Context& context);
void AddCheck(CLI::App& app, Context& context);
void AddConform(CLI::App& app, Context& context);
void AddTrace(CLI::App& app, Context& context);
void AddReplay(CLI::App& app, Context& context);
void AddReduce(CLI::App& app, Context& context);
void AddCompletions(CLI::App& app, Context& context);
void AddMan(CLI::App& app, Context& context);

}  // namespace tenon::cli
