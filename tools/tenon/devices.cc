// tenon devices: what all plugins have, on one screen.

#include <fmt/format.h>

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

using Rows = std::vector<std::vector<std::string>>;

// A row for each device of this process, the plugin's name in the first.
Rows Describe(const std::string& name, const json& answer) {
  Rows rows;
  for (const json& device : answer["devices"]) {
    if (device.value("addressable", json(true)) == json(false)) continue;
    std::string memories;
    for (const json& memory : device["memories"]) memories += (memories.empty() ? "" : ", ") + Text(memory["kind"]);
    const std::string size = device.contains("bytes_limit") ? BytesText(device["bytes_limit"].get<double>()) : "";
    rows.push_back({rows.empty() ? name : "", Text(device["id"]), Text(device["kind"]), answer.value("platform", ""),
                    size, memories});
  }
  return rows;
}

// The devices, then what plugins have none, and why.
void Show(Context& context, const json& plugins) {
  Rows rows{{"plugin", "id", "kind", "platform", "memory", "kinds of memory"}};
  std::string others;
  for (const json& plugin : plugins) {
    const std::string name = plugin["name"];
    if (plugin.contains("reason")) {
      // The first line tells enough here; `tenon info -p NAME` says it all.
      const std::string reason = plugin["reason"];
      others += fmt::format("{} {} {}\n", name, Styled(Style::kWarn, "refused:"), reason.substr(0, reason.find('\n')));
      continue;
    }
    const Rows devices = Describe(name, plugin);
    if (devices.empty()) others += name + " has no devices of this process\n";
    rows.insert(rows.end(), devices.begin(), devices.end());
  }
  std::vector<std::string> lines = Aligned(rows);
  lines[0] = Styled(Style::kHeading, lines[0]);
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string& name = rows[i][0];
    lines[i] = Styled(Style::kGood, name) + lines[i].substr(name.size());
  }
  for (const std::string& line : lines) context.Say(line);
  if (!others.empty()) context.Say(others.substr(0, others.size() - 1));
}

Status ListDevices(Context& context, double seconds) {
  json list = json::array();
  for (const discovery::PluginFile& file : discovery::FindPluginFiles()) {
    const Progress progress(context, "asking " + file.name);
    const json answer = Ask(file.path, seconds);
    json about = {{"name", file.name}, {"path", file.path}};
    for (const char* key : {"reason", "platform", "platform_version", "devices"}) {
      if (answer.contains(key)) about[key] = answer[key];
    }
    list.push_back(std::move(about));
  }
  if (list.empty()) {
    context.Say(
        "no plugin was found; PJRT_PLUGIN_LIBRARY_PATH adds folders, and -p of the other commands takes a file");
  } else {
    Show(context, list);
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
