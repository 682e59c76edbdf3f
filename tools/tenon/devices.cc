// tenon devices: what all plugins have, on one screen.

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/signal_name.h"
#include "tenon/discovery/discovery.h"
#include "tools/tenon/command.h"
#include "tools/tenon/process.h"
#include "tools/tenon/style.h"

namespace tenon::cli {
namespace {

using nlohmann::json;

// What `tenon info` says of the plugin, in a process of its own: opening devices is where plugins crash and hang.
json Ask(const std::string& path, double seconds) {
  const Result<Captured> captured = CaptureProcess({"/proc/self/exe", "--json", "info", "-p", path}, seconds);
  if (!captured.ok()) return {{"reason", std::string(captured.status().message())}};
  json answer = json::parse(captured->output, nullptr, false);
  if (answer.is_object() && answer.contains("devices")) return answer;
  if (answer.is_object() && answer.contains("error")) return {{"reason", answer["error"].value("message", "")}};
  return {{"reason", captured->status > 128 ? fmt::format("crashed with {}", SignalName(captured->status - 128))
                                            : fmt::format("ended with status {}", captured->status)}};
}

std::string Text(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void Show(Context& context, const std::string& name, const json& answer) {
  if (answer.contains("reason")) {
    // The first line tells enough here; `tenon info -p NAME` says it all.
    const std::string reason = answer["reason"].get<std::string>();
    context.Say(
        fmt::format("{:<12} {} {}", name, Styled(Style::kWarn, "refused:"), reason.substr(0, reason.find('\n'))));
    return;
  }
  size_t here = 0;
  for (const json& device : answer["devices"]) {
    if (device.value("addressable", json(true)) == json(false)) continue;
    std::string memories;
    for (const json& memory : device["memories"]) memories += (memories.empty() ? "" : ", ") + Text(memory["kind"]);
    std::string size;
    if (device.contains("bytes_limit")) size = BytesText(device["bytes_limit"].get<double>());
    context.Say(fmt::format("{:<12} {:>3}  {:<24} {:<10} {:>10}  {}",
                            here == 0 ? Styled(Style::kGood, fmt::format("{:<12}", name)) : "", Text(device["id"]),
                            Text(device["kind"]), answer.value("platform", ""), size, memories));
    ++here;
  }
  if (here == 0) context.Say(fmt::format("{:<12} no devices of this process", name));
}

Status ListDevices(Context& context, double seconds) {
  json list = json::array();
  context.Say(Styled(Style::kHeading, fmt::format("{:<12} {:>3}  {:<24} {:<10} {:>10}  {}", "plugin", "id", "kind",
                                                  "platform", "memory", "kinds of memory")));
  for (const discovery::PluginFile& file : discovery::FindPluginFiles()) {
    json answer;
    {
      const Progress progress(context, "asking " + file.name);
      answer = Ask(file.path, seconds);
    }
    Show(context, file.name, answer);
    json about = {{"name", file.name}, {"path", file.path}};
    for (const char* key : {"reason", "platform", "platform_version", "devices"}) {
      if (answer.contains(key)) about[key] = answer[key];
    }
    list.push_back(std::move(about));
  }
  if (list.empty()) {
    context.Say(
        "no plugin was found; PJRT_PLUGIN_LIBRARY_PATH adds folders, and -p of the other commands takes a file");
  }
  context.output["plugins"] = std::move(list);
  return OkStatus();
}

}  // namespace

void AddDevices(CLI::App& app, Context& context) {
  const auto seconds = std::make_shared<double>(20);
  CLI::App* command = app.add_subcommand("devices", "list the devices of all plugins that are found");
  command->add_option("--time-limit", *seconds, "how long a plugin may take to start, 20 otherwise")
      ->check(CLI::Range(0.001, 86400.0))
      ->type_name("SECONDS");
  AddExamples(*command, {"tenon devices"});
  context.commands[command] = [&context, seconds] { return ListDevices(context, *seconds); };
}

}  // namespace tenon::cli
