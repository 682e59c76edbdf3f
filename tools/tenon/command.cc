#include "tools/tenon/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

#include "tenon/client/discovery.h"
#include "tenon/client/log_suppression.h"
#include "tenon/discovery/discovery.h"
#include "tools/tenon/bridge.h"
#include "tools/tenon/nearest.h"
#include "tools/tenon/npy.h"

namespace tenon::cli {

void Context::Say(const std::string& line) const {
  if (!json && !quiet) fmt::print("{}\n", line);
}

struct Progress::State {
  std::mutex mutex;
  std::condition_variable wake;
  bool over = false;
  bool shown = false;
};

Progress::Progress(const Context& context, std::string what) : activity_(what) {
  if (context.json || context.quiet || isatty(STDERR_FILENO) == 0) return;
  state_ = std::make_shared<State>();
  thread_ = std::thread([state = state_, what = std::move(what)] {
    const auto begin = std::chrono::steady_clock::now();
    std::unique_lock lock(state->mutex);
    // Nothing is shown for what is done at once.
    while (!state->wake.wait_for(lock, std::chrono::milliseconds(400), [&] { return state->over; })) {
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      fmt::print(stderr, "\r\033[K{} ... {:.0f} s", what, seconds);
      std::fflush(stderr);
      state->shown = true;
    }
    if (state->shown) fmt::print(stderr, "\r\033[K");
  });
}

Progress::~Progress() {
  if (state_ == nullptr) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->over = true;
  }
  state_->wake.notify_one();
  thread_.join();
}

void AddToleranceOption(CLI::App& app, double& tolerance, const char* otherwise) {
  app.add_option("--tolerance", tolerance,
                 fmt::format("elements agree when |got - wanted| <= T * (1 + |wanted|); otherwise {}", otherwise))
      ->check(CLI::NonNegativeNumber)
      ->type_name("T");
}

void AddExamples(CLI::App& app, const std::vector<std::string>& lines) {
  std::string text = app.get_footer();
  text += text.empty() ? "Examples:" : "\n\nExamples:";
  for (const std::string& line : lines) text += "\n  " + line;
  app.footer(text);
}

void AddProgramArgument(CLI::App& app, std::string& program) {
  app.add_option("program", program,
                 "StableHLO as text, bytecode or portable artifact, or an HloModuleProto; - is standard input")
      ->required()
      ->type_name("PROGRAM");
}

// --isolated: of whatever plugin the command loads.
static bool isolated = false;
// --sandbox: and confined.
static bool confined = false;
// --remote: where the devices are instead.
static std::string remote;

void AddPluginOptions(CLI::App& app, PluginOptions& options) {
  app.add_option("-p,--plugin", options.plugin, "name or file of the plugin; otherwise $TENON_PLUGIN, else tenon")
      ->type_name("PLUGIN");
  app.add_option("--option", options.options, "option NAME=VALUE for the plugin's client; may be repeated")
      ->type_name("NAME=VALUE");
  app.add_flag("--verbose", options.verbose, "show what the plugin writes to stderr while it starts");
  app.add_flag("--isolated", isolated, "run the plugin in a process of its own, whose crash is an error");
  app.add_flag("--sandbox", confined,
               "as --isolated, in a process without network and without files but the plugin's and the system's");
  app.add_option("--remote", remote,
                 "use the devices of a tenon-device-server on another machine; TENON_REMOTE_TOKEN_FILE or "
                 "TENON_REMOTE_CERTIFICATE, _KEY and _AUTHORITY say who asks")
      ->type_name("HOST:PORT");
}

namespace {

// Other projects' plugins by the names that people use for them, and the Python packages that bring them.
constexpr std::pair<std::string_view, std::string_view> kPackages[] = {
    {"xla_cpu", "xla-cpu-pjrt"}, {"tpu", "libtpu"}, {"libtpu", "libtpu"}, {"cuda", "jax-cuda13-pjrt"}};

// What may help with a name that finds nothing: the package that has it, or "did you mean 'tenon'?".
std::string PluginMeant(const std::string& name) {
  if (discovery::IsFile(name) || !discovery::FilesNamed(name).empty()) return {};
  for (const auto& [plugin, package] : kPackages) {
    if (name == plugin)
      return fmt::format("`pip install {}` brings '{}' into an active Python environment;", package, name);
  }
  std::vector<std::string> known;
  for (const discovery::PluginFile& file : discovery::FindPluginFiles()) {
    known.push_back(file.name);
    known.insert(known.end(), file.aliases.begin(), file.aliases.end());
  }
  const std::string meant = DidYouMean(name, known);
  return meant.empty() ? meant : meant.substr(2);
}

}  // namespace

Result<client::Plugin> LoadPlugin(Context& context, const PluginOptions& options) {
  context.stage = kNoPlugin;
  std::string name = options.plugin.empty() ? client::DefaultPlugin() : options.plugin;
  if (confined) {
    isolated = true;
    ::setenv("TENON_ISOLATE_SANDBOX", "1", 1);
  }
  if (!remote.empty() && (isolated || !options.plugin.empty()))
    return InvalidArgument(
        "--remote takes the plugin that the server has: none of --plugin, --isolated and --sandbox goes with it");
  context.advice = "`tenon plugins` lists what is found and why others were refused; -p takes a name or a file";
  if (const std::string meant = PluginMeant(name); !meant.empty()) context.advice = meant + " " + context.advice;
  if (!remote.empty())
    context.advice =
        "docs/remote: both ends have a token (TENON_REMOTE_TOKEN_FILE) or certificates (TENON_REMOTE_CERTIFICATE, _KEY "
        "and _AUTHORITY)";
  BlamePlugin(name);
  const Progress progress(context, "loading");
  std::optional<client::SuppressAbseilLogging> silence;
  if (!options.verbose) silence.emplace();
  if (isolated) {
    // The device process looks for a file only.
    const std::vector<discovery::PluginFile> files =
        discovery::IsFile(name) ? std::vector<discovery::PluginFile>() : discovery::FilesNamed(name);
    ::setenv("TENON_ISOLATE_PLUGIN", files.empty() ? name.c_str() : files.front().path.c_str(), 1);
  }
  if (!remote.empty()) ::setenv("TENON_REMOTE", remote.c_str(), 1);
  Result<client::Plugin> plugin = client::Plugin::Load(isolated || !remote.empty() ? "tenon_isolated" : name);
  silence.reset();
  if (plugin.ok()) {
    BlamePlugin(plugin->path().empty() ? name : plugin->path());
    context.stage = kFailed;
    context.advice.clear();
  }
  return plugin;
}

namespace {

Result<client::Options> ParseOptions(const std::vector<std::string>& options) {
  client::Options all;
  for (const std::string& option : options) {
    TENON_ASSIGN_OR_RETURN(const client::Options some, client::Options::Parse(option));
    for (const client::NamedValue& value : some.values()) {
      std::visit([&](const auto& v) { all.Set(value.name, v); }, value.value);
    }
  }
  return all;
}

Result<client::Client> CreateClient(const client::Plugin& plugin, const client::Options& options, bool verbose) {
  std::optional<client::SuppressAbseilLogging> silence;
  if (!verbose) silence.emplace();
  return plugin.CreateClient(options);
}

}  // namespace

Result<client::Client> OpenClient(Context& context, const client::Plugin& plugin, const PluginOptions& options,
                                  int num_devices) {
  context.stage = kUsage;
  TENON_ASSIGN_OR_RETURN(client::Options values, ParseOptions(options.options));
  context.stage = kNoPlugin;
  const Progress progress(context, "starting");
  Result<client::Client> client = CreateClient(plugin, values, options.verbose);
  if (!client.ok()) {
    context.advice = options.verbose ? "" : "--verbose shows what the plugin itself says";
    if (context.advice_without_client != nullptr) {
      context.advice += fmt::format("{}{}", context.advice.empty() ? "" : "; ", context.advice_without_client);
    }
    return client;
  }
  context.stage = kFailed;
  TENON_ASSIGN_OR_RETURN(std::vector<client::Device> devices, client->AddressableDevices());
  if (static_cast<int>(devices.size()) >= num_devices) return client;
  // CPU plugins make as many devices as they are asked for, each in its own words.
  for (const char* name : {"num_devices", "cpu_device_count"}) {
    client::Options more = values;
    more.Set(name, int64_t{num_devices});
    Result<client::Client> larger = CreateClient(plugin, more, options.verbose);
    if (!larger.ok()) continue;
    TENON_ASSIGN_OR_RETURN(std::vector<client::Device> now, larger->AddressableDevices());
    if (static_cast<int>(now.size()) >= num_devices) return larger;
  }
  context.stage = kUsage;
  context.advice = "CPU plugins often take the number of devices from an option (--option NAME=N) or the environment";
  return InvalidArgument(fmt::format("{} devices are needed, {} has {}", num_devices, plugin.name(), devices.size()));
}

void AddCompileFlags(CLI::App& app, CompileFlags& flags) {
  app.add_option("--replicas", flags.replicas, "copies of the program, one per device")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app.add_option("--partitions", flags.partitions, "devices that one program is partitioned over")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app.add_option("--flag", flags.flags, "debug option as in XLA_FLAGS; may be repeated")->type_name("NAME=VALUE");
  app.add_option("--set", flags.overrides, "compile option of the plugin; may be repeated")->type_name("NAME=VALUE");
}

Result<client::CompileOptions> MakeCompileOptions(Context& context, const CompileFlags& flags) {
  context.stage = kUsage;
  client::CompileOptions options;
  options.SetReplicas(flags.replicas).SetPartitions(flags.partitions);
  if (flags.partitions > 1) options.SetSpmd();
  if (!flags.flags.empty()) {
    std::string text;
    for (const std::string& flag : flags.flags) text += (text.empty() ? "" : " ") + flag;
    options.SetDebugOptions(text);
  }
  TENON_ASSIGN_OR_RETURN(const client::Options overrides, ParseOptions(flags.overrides));
  for (const client::NamedValue& value : overrides.values()) {
    if (const auto* text = std::get_if<std::string>(&value.value))
      options.Set(value.name, client::CompileOptions::Override(*text));
    if (const auto* number = std::get_if<int64_t>(&value.value))
      options.Set(value.name, client::CompileOptions::Override(*number));
    if (const auto* flag = std::get_if<bool>(&value.value))
      options.Set(value.name, client::CompileOptions::Override(*flag));
    if (const auto* real = std::get_if<float>(&value.value))
      options.Set(value.name, client::CompileOptions::Override(double{*real}));
  }
  TENON_RETURN_IF_ERROR(options.Serialize().status());
  context.stage = kFailed;
  return options;
}

namespace {

// Protos have tags that no text contains.
bool IsHloProto(std::string_view bytes) {
  if (bytes.starts_with("ML\xefR")) return false;
  return std::ranges::any_of(bytes.substr(0, 4096), [](char c) {
    return static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t' && c != '\r' && c != '\f';
  });
}

}  // namespace

Result<client::Program> ReadProgram(Context& context, const std::string& file) {
  context.stage = kBadInput;
  context.advice.clear();
  // Read once: it may be standard input or a pipe.
  TENON_ASSIGN_OR_RETURN(std::string bytes, ReadFile(file));
  if (bytes.empty()) return InvalidArgument(fmt::format("'{}' is empty, wanted a program", file));
  // Plugins read HLO as protos only.
  if (bytes.starts_with("HloModule")) {
    Result<std::string> text = Convert(bytes, {});
    if (!text.ok()) return text.status().WithContext(file);
    bytes = std::move(text).value();
    context.stage = kFailed;
    return client::Program::Mlir(std::move(bytes));
  }
  context.stage = kFailed;
  return IsHloProto(bytes) ? client::Program::Hlo(std::move(bytes)) : client::Program::Mlir(std::move(bytes));
}

std::string BytesText(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string SecondsText(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

nlohmann::json ToJson(const client::Value& value) {
  return std::visit([](const auto& v) { return nlohmann::json(v); }, value);
}

nlohmann::json ToJson(const std::vector<client::NamedValue>& values) {
  nlohmann::json object = nlohmann::json::object();
  for (const client::NamedValue& value : values) object[value.name] = ToJson(value.value);
  return object;
}

}  // namespace tenon::cli
