// tenon plugins, tenon info.

#include <fmt/format.h>

#include "tenon/client/discovery.h"
#include "tools/tenon/command.h"
#include "tools/tenon/style.h"

namespace tenon::cli {
namespace {

using nlohmann::json;

Status ListPlugins(Context& context, bool load, bool folders, double seconds) {
  json list = json::array();
  if (load) {
    const Progress progress(context, "loading plugins");
    for (const client::Availability& found : client::ProbePlugins(client::FindPlugins(), seconds)) {
      list.push_back({{"name", found.candidate.name},
                      {"aliases", found.candidate.aliases},
                      {"path", found.candidate.path},
                      {"source", found.candidate.source},
                      {"usable", found.status.ok()},
                      {"version", found.version},
                      {"reason", std::string(found.status.message())}});
    }
  } else {
    for (const client::Candidate& found : client::FindPlugins()) {
      list.push_back(
          {{"name", found.name}, {"aliases", found.aliases}, {"path", found.path}, {"source", found.source}});
    }
  }
  std::vector<std::vector<std::string>> rows;
  for (const json& plugin : list)
    rows.push_back({plugin["name"], plugin.value("version", ""), plugin["source"], plugin["path"]});
  const std::vector<std::string> lines = Aligned(rows);
  for (size_t i = 0; i < lines.size(); ++i) {
    context.Say(lines[i]);
    if (!list[i].value("usable", true)) context.Say("  refused: " + list[i]["reason"].get<std::string>());
  }
  if (list.empty()) {
    context.Say(
        "no plugin was found; PJRT_PLUGIN_LIBRARY_PATH adds folders, and -p of the other commands takes a file");
  }
  context.output["plugins"] = std::move(list);
  json searched = json::array();
  for (const client::SearchFolder& folder : client::SearchFolders()) {
    searched.push_back({{"path", folder.path}, {"source", folder.source}, {"exists", folder.exists}});
    if (folders)
      context.Say(
          fmt::format("searched {} ({}){}", folder.path, folder.source, folder.exists ? "" : ", which does not exist"));
  }
  if (folders) context.output["folders"] = std::move(searched);
  return OkStatus();
}

// An answer that a plugin may refuse to give.
template <class T>
json OrNull(const Result<T>& result) {
  return result.ok() ? json(*result) : json(nullptr);
}
json OrNull(const Result<std::vector<client::NamedValue>>& result) {
  return result.ok() ? ToJson(*result) : json(nullptr);
}

json Describe(const client::Device& device) {
  json about = {{"id", OrNull(device.id())},
                {"kind", OrNull(device.kind())},
                {"text", OrNull(device.ToString())},
                {"addressable", OrNull(device.IsAddressable())},
                {"local_hardware_id", OrNull(device.LocalHardwareId())}};
  if (const auto description = device.Description(); description.ok()) {
    about["process"] = OrNull(description->process_index());
    about["attributes"] = OrNull(description->Attributes());
  }
  about["memories"] = json::array();
  if (const auto memories = device.AddressableMemories(); memories.ok()) {
    const auto standard = device.DefaultMemory();
    for (const client::Memory& memory : *memories) {
      about["memories"].push_back({{"id", OrNull(memory.id())},
                                   {"kind", OrNull(memory.kind())},
                                   {"default", standard.ok() && *standard == memory}});
    }
  }
  if (const auto stats = device.GetMemoryStats(); stats.ok()) {
    about["bytes_in_use"] = stats->bytes_in_use;
    if (stats->bytes_limit) about["bytes_limit"] = *stats->bytes_limit;
  }
  return about;
}

Status Info(Context& context, const PluginOptions& options, bool open, bool all_entries) {
  TENON_ASSIGN_OR_RETURN(const client::Plugin plugin, LoadPlugin(context, options));
  json& out = context.output;
  out["name"] = plugin.name();
  out["path"] = plugin.path();
  out["version"] = plugin.version();
  context.Say(
      fmt::format("plugin      {} ({})", plugin.name(), plugin.path().empty() ? "in this program" : plugin.path()));
  context.Say(fmt::format("C API       {}", plugin.version()));
  const Result<std::vector<client::NamedValue>> attributes = plugin.Attributes();
  out["attributes"] = OrNull(attributes);
  if (attributes.ok()) {
    for (const client::NamedValue& value : *attributes)
      context.Say(fmt::format("  {} = {}", value.name, client::ToString(value.value)));
  }
  out["extensions"] = json::array();
  std::string extensions;
  for (const auto& [type, size] : plugin.api().Extensions()) {
    out["extensions"].push_back({{"type", type}, {"name", client::ExtensionName(type)}, {"bytes", size}});
    extensions += (extensions.empty() ? "" : ", ") + client::ExtensionName(type);
  }
  context.Say(fmt::format("extensions  {}", extensions.empty() ? "none" : extensions));
  out["entries"] = json::array();
  size_t present = 0;
  const std::vector<client::TableEntry> entries = plugin.api().Entries();
  for (const client::TableEntry& entry : entries) {
    present += entry.present ? 1 : 0;
    out["entries"].push_back(
        {{"name", entry.name}, {"since", entry.since_minor}, {"present", entry.present}, {"reason", entry.reason}});
  }
  context.Say(fmt::format("entries     {} of {}", present, entries.size()));
  for (const client::TableEntry& entry : entries) {
    if (!entry.present)
      context.Say(fmt::format("  without {}: {}", entry.name, entry.reason));
    else if (all_entries)
      context.Say(fmt::format("  {}", entry.name));
  }
  if (!open) return OkStatus();

  context.advice_without_client = "--no-client leaves the devices alone";
  TENON_ASSIGN_OR_RETURN(const client::Client client, OpenClient(context, plugin, options));
  TENON_ASSIGN_OR_RETURN(const std::string platform, client.PlatformName());
  TENON_ASSIGN_OR_RETURN(const std::string platform_version, client.PlatformVersion());
  out["platform"] = platform;
  out["platform_version"] = platform_version;
  out["process"] = OrNull(client.ProcessIndex());
  context.Say(fmt::format("platform    {}\n  {}", platform, platform_version));
  TENON_ASSIGN_OR_RETURN(const std::vector<client::Device> devices, client.Devices());
  out["devices"] = json::array();
  for (const client::Device& device : devices) {
    json about = Describe(device);
    std::string memories;
    for (const json& memory : about["memories"]) {
      memories += fmt::format("{}{}{}", memories.empty() ? "" : ", ",
                              memory["kind"].is_string() ? memory["kind"].get<std::string>() : "?",
                              memory["default"].get<bool>() ? " (default)" : "");
    }
    context.Say(fmt::format("device {}    {}, kind {}", about["id"].dump(),
                            about["text"].is_string() ? about["text"].get<std::string>() : "?",
                            about["kind"].is_string() ? about["kind"].get<std::string>() : "?"));
    if (!memories.empty()) context.Say(fmt::format("  memories: {}", memories));
    if (about.contains("bytes_limit")) {
      context.Say(fmt::format("  {} of {} in use", BytesText(about["bytes_in_use"].get<double>()),
                              BytesText(about["bytes_limit"].get<double>())));
    }
    if (about.contains("attributes")) {
      for (const auto& [name, value] : about["attributes"].items())
        context.Say(fmt::format("  {} = {}", name, value.dump()));
    }
    out["devices"].push_back(std::move(about));
  }
  if (const Result<client::Topology> topology = client.GetTopology(); topology.ok()) {
    out["topology"] = {{"platform", OrNull(topology->PlatformName())},
                       {"attributes", OrNull(topology->Attributes())},
                       {"fingerprint", OrNull(topology->Fingerprint())}};
  }
  return OkStatus();
}

}  // namespace

void AddPlugins(CLI::App& app, Context& context) {
  struct Options {
    bool no_load = false, folders = false;
    double seconds = 20;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("plugins", "list the plugins that are found, their versions, and why others are refused");
  command->add_flag("--no-load", options->no_load, "only look for files; do not load them");
  command->add_flag("--folders", options->folders, "list the folders that were searched, too");
  command->add_option("--time-limit", options->seconds, "how long a plugin may take to load, 20 otherwise")
      ->check(CLI::Range(0.001, 86400.0))
      ->type_name("SECONDS");
  AddExamples(*command, {"tenon plugins", "tenon plugins --no-load --folders"});
  context.commands[command] = [&context, options] {
    return ListPlugins(context, !options->no_load, options->folders, options->seconds);
  };
}

void AddInfo(CLI::App& app, Context& context) {
  struct Options {
    PluginOptions plugin;
    bool no_client = false, entries = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("info", "show a plugin's devices, memories, attributes, extensions and table entries");
  AddPluginOptions(*command, options->plugin);
  command->add_flag("--no-client", options->no_client, "do not open the devices");
  command->add_flag("--entries", options->entries, "list the entries that are there, not only those that are missing");
  AddExamples(*command, {"tenon info", "tenon info -p tenon --no-client --entries"});
  context.commands[command] = [&context, options] {
    return Info(context, options->plugin, !options->no_client, options->entries);
  };
}

}  // namespace tenon::cli
