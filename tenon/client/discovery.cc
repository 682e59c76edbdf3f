#include "tenon/client/discovery.h"

#include <fmt/format.h>

namespace tenon::client {

std::vector<Candidate> FindPlugins() {
  std::vector<Candidate> candidates;
  for (std::string& name : RegisteredPlugins()) candidates.push_back({std::move(name), {}, "", "registered"});
  for (discovery::PluginFile& file : discovery::FindPluginFiles()) {
    candidates.push_back({std::move(file.name), std::move(file.aliases), std::move(file.path), std::move(file.source)});
  }
  return candidates;
}

std::vector<Availability> ListPlugins() { return ProbePlugins(FindPlugins()); }

Result<Plugin> LoadByName(std::string_view name) {
  Status refusal;
  for (const discovery::PluginFile& file : discovery::FilesNamed(name)) {
    Result<Plugin> plugin = Plugin::LoadFile(file.path);
    if (plugin.ok()) return plugin;
    if (refusal.ok()) refusal = plugin.status();
  }
  if (!refusal.ok()) return refusal;
  return NotFound(
      fmt::format("no plugin '{}'; {}. Set PJRT_PLUGIN_LIBRARY_PATH to the folder of the plugin, or give a path", name,
                  discovery::DescribeSearch()));
}

}  // namespace tenon::client
