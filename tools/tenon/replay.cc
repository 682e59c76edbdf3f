// tenon replay: what `tenon trace --capture` kept, done again on any plugin.

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <map>

#include "tools/tenon/command.h"
#include "tools/tenon/compare.h"
#include "tools/tenon/inputs.h"
#include "tools/tenon/npy.h"
#include "tools/tenon/style.h"

namespace tenon::cli {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

struct ReplayOptions {
  PluginOptions plugin;
  std::string against, folder;
  double tolerance = -1;  // below 0: what suits the type
};

double Since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Figures {
  double compile = 0, captured_compile = 0, run = 0, captured_run = 0;
  int compiles = 0, runs = 0;
};

// One plugin on which the calls are made.
class Player {
 public:
  static Result<std::unique_ptr<Player>> Make(Context& context, const PluginOptions& options, std::string folder) {
    TENON_ASSIGN_OR_RETURN(const client::Plugin plugin, LoadPlugin(context, options));
    TENON_ASSIGN_OR_RETURN(client::Client client, OpenClient(context, plugin, options));
    auto player = std::unique_ptr<Player>(new Player(std::move(client), std::move(folder)));
    player->name_ = plugin.name();
    return player;
  }

  const std::string& name() const { return name_; }
  const Figures& figures() const { return figures_; }
  /// Arguments whose contents the capture lacks: zeros stand for them.
  int unknown() const { return unknown_; }

  /// One line. The outputs of an execution, per device, go to `outputs` when it is not null.
  Status Play(const json& call, std::vector<std::vector<Array>>* outputs) {
    const std::string op = call.value("op", "");
    if (op == "compile") return Compile(call);
    if (op == "execute") return Execute(call, outputs);
    const uint32_t buffer = call.value("buffer", 0u);
    if (op == "destroy") {
      buffers_.erase(buffer);
    } else if (op == "buffer") {
      buffers_[buffer] = Entry{.call = call, .made = {}};
    } else if (op == "copy") {
      if (const auto source = buffers_.find(call.value("of", 0u)); source != buffers_.end())
        buffers_[buffer] = source->second;
    } else {
      return InvalidArgument(fmt::format("there is no call '{}'", op));
    }
    return OkStatus();
  }

 private:
  // A buffer: what is known of it, and where it is already. Copies share.
  struct Entry {
    json call;
    std::map<size_t, std::shared_ptr<client::Buffer>> made;  // by the number of the device
  };

  Player(client::Client client, std::string folder) : client_(std::move(client)), folder_(std::move(folder)) {}

  Status Compile(const json& call) {
    TENON_ASSIGN_OR_RETURN(std::string code, ReadFile(folder_ + "/" + call.value("program", "")));
    TENON_ASSIGN_OR_RETURN(const std::string options, ReadFile(folder_ + "/" + call.value("options", "")));
    const client::Program program{std::move(code), call.value("format", "")};
    const Clock::time_point begin = Clock::now();
    Result<client::LoadedExecutable> executable = client_.CompileWithSerializedOptions(program, options);
    // Options name devices by the numbers that the other plugin gave them.
    if (!executable.ok()) {
      if (Result<client::LoadedExecutable> again = client_.Compile(program, {}); again.ok())
        executable = std::move(again);
    }
    if (!executable.ok()) return executable.status().WithContext(call.value("program", ""));
    figures_.compile += Since(begin);
    figures_.captured_compile += call.value("ns", 0.0) * 1e-9;
    ++figures_.compiles;
    executables_.insert_or_assign(call.value("executable", 0u), std::move(executable).value());
    return OkStatus();
  }

  Result<std::shared_ptr<client::Buffer>> Upload(const Entry& entry, const client::Device& device) {
    TENON_ASSIGN_OR_RETURN(const DType type, ParseDType(entry.call.value("type", "")));
    const auto dims = entry.call.value("dims", std::vector<int64_t>());
    TENON_ASSIGN_OR_RETURN(Array array, MakeArray({type, {dims.begin(), dims.end()}}));
    if (entry.call.contains("data")) {
      TENON_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(folder_ + "/" + entry.call.value("data", "")));
      if (bytes.size() != array.bytes.size()) {
        return InvalidArgument(
            fmt::format("{} has {} bytes, wanted {}", entry.call.value("data", ""), bytes.size(), array.bytes.size()));
      }
      std::memcpy(array.bytes.data(), bytes.data(), bytes.size());
    } else if (!array.bytes.empty()) {
      ++unknown_;
    }
    TENON_ASSIGN_OR_RETURN(client::Buffer buffer, client_.ToDevice(array.View(), device));
    return std::make_shared<client::Buffer>(std::move(buffer));
  }

  Result<std::shared_ptr<client::Buffer>> Argument(uint32_t number, size_t d, const client::Device& device) {
    const auto found = buffers_.find(number);
    if (found == buffers_.end()) return FailedPrecondition(fmt::format("nothing made buffer {}", number));
    std::shared_ptr<client::Buffer>& buffer = found->second.made[d];
    if (buffer != nullptr) return buffer;
    if (found->second.call.contains("type")) {
      TENON_ASSIGN_OR_RETURN(buffer, Upload(found->second, device));
    } else {  // An output that was made on another device.
      for (const auto& [other, made] : found->second.made) {
        if (made == nullptr) continue;
        TENON_ASSIGN_OR_RETURN(client::Buffer copy, made->CopyTo(device));
        buffer = std::make_shared<client::Buffer>(std::move(copy));
        break;
      }
    }
    if (buffer == nullptr) return FailedPrecondition(fmt::format("buffer {} has no contents", number));
    return buffer;
  }

  Status Execute(const json& call, std::vector<std::vector<Array>>* fetched) {
    const auto found = executables_.find(call.value("executable", 0u));
    if (found == executables_.end()) {
      return FailedPrecondition(
          "an execution of a program that was loaded in compiled form; such programs belong to one plugin");
    }
    const client::LoadedExecutable& executable = found->second;
    const std::vector<client::Device> devices = executable.AddressableDevices();
    const auto wanted = call.value("arguments", std::vector<std::vector<uint32_t>>());
    if (wanted.size() > devices.size()) {
      return FailedPrecondition(
          fmt::format("an execution on {} devices, and the program has {} here", wanted.size(), devices.size()));
    }
    std::vector<std::vector<std::shared_ptr<client::Buffer>>> held(wanted.size());
    std::vector<std::vector<const client::Buffer*>> lists(wanted.size());
    for (size_t d = 0; d < wanted.size(); ++d) {
      for (const uint32_t number : wanted[d]) {
        TENON_ASSIGN_OR_RETURN(std::shared_ptr<client::Buffer> buffer, Argument(number, d, devices[d]));
        TENON_RETURN_IF_ERROR(buffer->Await());
        lists[d].push_back(buffer.get());
        held[d].push_back(std::move(buffer));
      }
    }
    const Clock::time_point begin = Clock::now();
    TENON_ASSIGN_OR_RETURN(client::Execution execution, executable.ExecuteOnDevices(lists));
    for (const std::vector<client::Buffer>& list : execution.outputs) {
      for (const client::Buffer& buffer : list) TENON_RETURN_IF_ERROR(buffer.Await());
    }
    figures_.run += Since(begin);
    figures_.captured_run += call.value("ns", 0.0) * 1e-9;
    ++figures_.runs;
    if (fetched != nullptr) {
      TENON_ASSIGN_OR_RETURN(*fetched, FetchOutputs(execution));
    }
    const auto names = call.value("outputs", std::vector<std::vector<uint32_t>>());
    for (size_t d = 0; d < execution.outputs.size() && d < names.size(); ++d) {
      for (size_t i = 0; i < execution.outputs[d].size() && i < names[d].size(); ++i) {
        buffers_[names[d][i]] = Entry{};
        buffers_[names[d][i]].made[d] = std::make_shared<client::Buffer>(std::move(execution.outputs[d][i]));
      }
    }
    return OkStatus();
  }

  client::Client client_;
  std::string folder_, name_;
  std::map<uint32_t, client::LoadedExecutable> executables_;
  std::map<uint32_t, Entry> buffers_;
  Figures figures_;
  int unknown_ = 0;
};

// How outputs of one execution differ, as a line; empty when they agree.
Result<std::string> Differences(const std::vector<std::vector<Array>>& got,
                                const std::vector<std::vector<Array>>& wanted, double given) {
  for (size_t d = 0; d < std::min(got.size(), wanted.size()); ++d) {
    for (size_t i = 0; i < std::min(got[d].size(), wanted[d].size()); ++i) {
      const double tolerance = given < 0 ? UsualTolerance(wanted[d][i].shape.dtype) : given;
      TENON_ASSIGN_OR_RETURN(const Difference difference, Compare(got[d][i], wanted[d][i], tolerance));
      if (difference.different > 0) return fmt::format("output {}: {}", i, ToText(difference, wanted[d][i].shape));
    }
  }
  return std::string();
}

Status Replay(Context& context, const ReplayOptions& options) {
  context.stage = kBadInput;
  TENON_ASSIGN_OR_RETURN(const std::string calls, ReadFile(options.folder + "/calls.jsonl"));
  std::vector<std::unique_ptr<Player>> players;
  TENON_ASSIGN_OR_RETURN(std::unique_ptr<Player> first, Player::Make(context, options.plugin, options.folder));
  players.push_back(std::move(first));
  if (!options.against.empty()) {
    const PluginOptions second{.plugin = options.against, .options = {}, .verbose = options.plugin.verbose};
    TENON_ASSIGN_OR_RETURN(std::unique_ptr<Player> other, Player::Make(context, second, options.folder));
    players.push_back(std::move(other));
  }
  context.stage = kFailed;
  std::vector<std::string> differ;
  {
    const Progress progress(context, "replaying");
    int line = 0;
    for (size_t at = 0; at < calls.size();) {
      const size_t end = std::min(calls.find('\n', at), calls.size());
      const json call = json::parse(std::string_view(calls).substr(at, end - at), nullptr, false);
      at = end + 1;
      ++line;
      // A capture that was cut off lacks the end of its last line.
      if (call.is_discarded() && at >= calls.size()) break;
      const std::string place = fmt::format("{}/calls.jsonl:{}", options.folder, line);
      if (!call.is_object()) return InvalidArgument("is no call").WithContext(place);
      std::vector<std::vector<Array>> outputs[2];
      for (size_t p = 0; p < players.size(); ++p) {
        const Status status = players[p]->Play(call, players.size() > 1 ? &outputs[p] : nullptr);
        if (!status.ok()) return status.WithContext(place + " on " + players[p]->name());
      }
      if (players.size() < 2 || call.value("op", "") != "execute") continue;
      TENON_ASSIGN_OR_RETURN(const std::string text, Differences(outputs[1], outputs[0], options.tolerance));
      if (!text.empty()) differ.push_back(fmt::format("line {}: {}", line, text));
    }
  }
  context.output["results"] = json::array();
  context.Say(Styled(Style::kHeading, fmt::format("{:<14} {:>9} {:>11} {:>11} {:>9} {:>11} {:>11}", "plugin",
                                                  "compiles", "time", "captured", "runs", "time", "in calls")));
  for (const auto& player : players) {
    const Figures& f = player->figures();
    context.Say(fmt::format("{:<14} {:>9} {:>11} {:>11} {:>9} {:>11} {:>11}", player->name(), f.compiles,
                            SecondsText(f.compile), SecondsText(f.captured_compile), f.runs, SecondsText(f.run),
                            SecondsText(f.captured_run)));
    context.output["results"].push_back({{"plugin", player->name()},
                                         {"compiles", f.compiles},
                                         {"compile_seconds", f.compile},
                                         {"captured_compile_seconds", f.captured_compile},
                                         {"runs", f.runs},
                                         {"run_seconds", f.run},
                                         {"captured_call_seconds", f.captured_run},
                                         {"unknown_arguments", player->unknown()}});
    if (player->unknown() > 0) {
      context.Say(fmt::format("{} {} arguments are zeros: the capture has no contents of them",
                              Styled(Style::kWarn, "warning:"), player->unknown()));
    }
  }
  if (players.size() > 1) {
    context.output["different"] = differ;
    context.Say(differ.empty() ? "outputs agree" : Styled(Style::kBad, "outputs differ"));
    for (const std::string& text : differ) context.Say("  " + text);
    if (!differ.empty()) context.result = kFailed;
  }
  return OkStatus();
}

}  // namespace

void AddReplay(CLI::App& app, Context& context) {
  const auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = app.add_subcommand("replay", "do again, on any plugin, what trace --capture kept");
  command->add_option("capture", options->folder, "the folder that `tenon trace --capture` wrote")
      ->required()
      ->type_name("FOLDER");
  AddPluginOptions(*command, options->plugin);
  command->add_option("--against", options->against, "name or file of a second plugin; outputs are compared")
      ->type_name("PLUGIN");
  AddToleranceOption(*command, options->tolerance, "1e-4, or 0.05 for types of 16 bits and less");
  AddExamples(*command, {"tenon replay capture", "tenon replay capture -p tenon --against xla_cpu"});
  context.commands[command] = [&context, options] { return Replay(context, *options); };
}

}  // namespace tenon::cli
