#include "tenon/client/discovery.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace tenon::client {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Split(const char* text, char separator) {
  std::vector<std::string> parts;
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(separator), rest.size());
    if (end > 0) parts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return parts;
}

std::vector<fs::path> Children(const fs::path& folder) {
  std::vector<fs::path> children;
  std::error_code error;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator(); it.increment(error)) {
    children.push_back(it->path());
  }
  std::sort(children.begin(), children.end());
  return children;
}

bool IsFolder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Folders that the dynamic linker is told of.
void AddLinkerFolders(std::vector<SearchFolder>& folders) {
  std::vector<fs::path> files = Children("/etc/ld.so.conf.d");
  files.insert(files.begin(), "/etc/ld.so.conf");
  for (const fs::path& path : files) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with('/')) folders.push_back({line, "system", IsFolder(line)});
    }
  }
}

// The folders in which Python environments below `prefix` keep plugins.
void AddPython(const fs::path& site, std::vector<SearchFolder>& folders) {
  for (const char* package : {"jax_plugins", "xla_plugins"}) {
    for (const fs::path& plugin : Children(site / package)) {
      if (IsFolder(plugin)) folders.push_back({plugin.string(), "python", true});
    }
  }
  for (const char* package : {"libtpu", "jax_rocm_pjrt", "torch_xla/lib"}) {
    if (IsFolder(site / package)) folders.push_back({(site / package).string(), "python", true});
  }
}
void AddPythonPrefix(const fs::path& prefix, std::vector<SearchFolder>& folders) {
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    for (const fs::path& python : Children(prefix / lib)) {
      if (!python.filename().string().starts_with("python3")) continue;
      AddPython(python / "site-packages", folders);
      AddPython(python / "dist-packages", folders);
    }
  }
}

bool CutAffixes(std::string_view& text, std::string_view prefix, std::string_view suffix) {
  if (text.size() <= prefix.size() + suffix.size() || !text.starts_with(prefix) || !text.ends_with(suffix))
    return false;
  text = text.substr(prefix.size(), text.size() - prefix.size() - suffix.size());
  return true;
}

}  // namespace

std::string PluginNameOfFile(std::string_view path, bool strict) {
  std::string_view stem = path.substr(path.find_last_of('/') + 1);
  bool library = false;
  for (const std::string_view ending : {".so", ".dylib", ".dll"}) {
    if (stem.ends_with(ending)) {
      stem.remove_suffix(ending.size());
      library = true;
      break;
    }
  }
  if (!library) {
    if (strict) return {};
    return std::string(stem);
  }
  if (stem == "libtpu") return "tpu";
  // The longer patterns first: the shorter ones would match parts of them.
  for (const auto& [prefix, suffix] : {std::pair<std::string_view, std::string_view>{"pjrt_c_api_", "_plugin"},
                                       {"libpjrt_c_api_", "_plugin"},
                                       {"pjrt-plugin-", ""},
                                       {"libpjrt-plugin-", ""},
                                       {"pjrt_plugin_", ""},
                                       {"libpjrt_plugin_", ""},
                                       {"xla_", "_plugin"},
                                       {"xla_", "_pjrt"},
                                       {"libpjrt_", ""}}) {
    std::string_view name = stem;
    if (CutAffixes(name, prefix, suffix)) return std::string(name);
  }
  if (strict) return {};
  return std::string(stem);
}

std::vector<SearchFolder> SearchFolders() {
  std::vector<SearchFolder> folders;
  const auto add = [&](fs::path path, const char* source) {
    folders.push_back({path.string(), source, IsFolder(path)});
  };
  for (const std::string& path : Split(std::getenv("PJRT_PLUGIN_LIBRARY_PATH"), ':'))
    add(path, "PJRT_PLUGIN_LIBRARY_PATH");
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') {
    for (const char* path : {".local/lib/pjrt", ".local/lib/go-xla", ".local/lib/gomlx/pjrt", "Library/pjrt"}) {
      add(fs::path(home) / path, "user");
    }
  }
  for (const char* path : {"/usr/local/lib/pjrt", "/usr/local/lib/go-xla", "/usr/local/lib/gomlx/pjrt", "/usr/lib/pjrt",
                           "/opt/homebrew/lib/pjrt", "/usr/local/lib"}) {
    add(path, "system");
  }
  for (const char* variable : {"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"}) {
    for (const std::string& path : Split(std::getenv(variable), ':')) add(path, "system");
  }
  AddLinkerFolders(folders);
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const char* prefix = std::getenv(variable); prefix != nullptr && *prefix != '\0')
      AddPythonPrefix(prefix, folders);
  }
  for (const std::string& path : Split(std::getenv("PYTHONPATH"), ':')) AddPython(path, folders);
  if (home != nullptr && *home != '\0') AddPythonPrefix(fs::path(home) / ".local", folders);
  AddPythonPrefix("/usr", folders);
  return folders;
}

std::vector<Candidate> FindPlugins() {
  std::vector<Candidate> candidates;
  for (std::string& name : RegisteredPlugins()) candidates.push_back({std::move(name), "", "registered"});
  std::set<std::string> seen;
  for (const SearchFolder& folder : SearchFolders()) {
    if (!folder.exists) continue;
    for (const fs::path& path : Children(folder.path)) {
      std::string name = PluginNameOfFile(path.string(), true);
      if (name.empty()) continue;
      std::error_code error;
      const fs::path real = fs::canonical(path, error);
      if (!seen.insert((error ? path : real).string()).second) continue;
      candidates.push_back({std::move(name), path.string(), folder.source});
    }
  }
  return candidates;
}

std::vector<Availability> ListPlugins() {
  std::vector<Availability> list;
  for (Candidate& candidate : FindPlugins()) {
    Result<Plugin> plugin = candidate.path.empty() ? Plugin::Load(candidate.name) : Plugin::LoadFile(candidate.path);
    std::string version = plugin.ok() ? plugin->version() : "";
    list.push_back({std::move(candidate), plugin.status(), std::move(version)});
  }
  return list;
}

Result<Plugin> LoadByName(std::string_view name) {
  const std::vector<Candidate> candidates = FindPlugins();
  Status refusal;
  for (const Candidate& candidate : candidates) {
    if (candidate.name != name || candidate.path.empty()) continue;
    Result<Plugin> plugin = Plugin::LoadFile(candidate.path);
    if (plugin.ok()) return plugin;
    if (refusal.ok()) refusal = plugin.status();
  }
  if (!refusal.ok()) return refusal;
  std::vector<std::string> names, folders;
  for (const Candidate& candidate : candidates) names.push_back(candidate.name);
  for (const SearchFolder& folder : SearchFolders())
    folders.push_back(folder.path + (folder.exists ? "" : " (missing)"));
  return NotFound(fmt::format(
      "no plugin '{}'; found: {}; searched: {}. Set PJRT_PLUGIN_LIBRARY_PATH to the folder of the plugin, or give "
      "a path",
      name, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")), fmt::join(folders, ", ")));
}

}  // namespace tenon::client
