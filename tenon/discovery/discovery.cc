#include "tenon/discovery/discovery.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "tenon/base/code_file.h"

namespace tenon::discovery {
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

bool CutAffixes(std::string_view& text, std::string_view prefix, std::string_view suffix) {
  if (text.size() <= prefix.size() + suffix.size() || !text.starts_with(prefix) || !text.ends_with(suffix))
    return false;
  text = text.substr(prefix.size(), text.size() - prefix.size() - suffix.size());
  return true;
}

/// The file's name without the ending of shared libraries; empty for other files.
std::string_view LibraryStem(std::string_view path) {
  std::string_view stem = path.substr(path.find_last_of('/') + 1);
  for (const std::string_view ending : {".so", ".dylib", ".dll"}) {
    if (stem.ends_with(ending)) return stem.substr(0, stem.size() - ending.size());
  }
  return {};
}

class Folders {
 public:
  void Add(const fs::path& path, const char* source, bool only_if_there = false) {
    const bool exists = IsFolder(path);
    if (only_if_there && !exists) return;
    std::error_code error;
    const fs::path real = exists ? fs::canonical(path, error) : path;
    if (seen_.insert((error ? path : real).string()).second) list_.push_back({path.string(), source, exists});
  }
  /// A folder of programs or libraries, and what an installation or a build tree has next to it.
  void AddBeside(const fs::path& file) {
    const fs::path folder = file.parent_path();
    for (const char* next : {"", "../lib", "../lib/pjrt"}) {
      Add((folder / next).lexically_normal(), "beside", true);
    }
  }
  /// Packages of the folder of a Python environment that keep plugins.
  void AddSite(const fs::path& site) {
    for (const char* package : {"jax_plugins", "xla_plugins"}) {
      for (const fs::path& plugin : Children(site / package)) Add(plugin, "python", true);
    }
    for (const char* package : {"tenon_jax/lib", "libtpu", "jax_rocm_pjrt", "torch_xla/lib"})
      Add(site / package, "python", true);
  }
  void AddPythonPrefix(const fs::path& prefix) {
    for (const char* lib : {"lib", "lib64", "local/lib"}) {
      for (const fs::path& python : Children(prefix / lib)) {
        if (!python.filename().string().starts_with("python3")) continue;
        AddSite(python / "site-packages");
        AddSite(python / "dist-packages");
      }
    }
  }
  /// Folders that the dynamic linker is told of.
  void AddLinkerFolders() {
    std::vector<fs::path> files = Children("/etc/ld.so.conf.d");
    files.insert(files.begin(), "/etc/ld.so.conf");
    for (const fs::path& path : files) {
      std::ifstream file(path);
      for (std::string line; std::getline(file, line);) {
        if (line.starts_with('/')) Add(line, "system");
      }
    }
  }
  std::vector<SearchFolder> Take() { return std::move(list_); }

 private:
  std::vector<SearchFolder> list_;
  std::set<std::string> seen_;
};

/// The file that holds this code: the program, or a library in it.
fs::path OwnFile() { return FileOfCode(reinterpret_cast<const void*>(&SearchFolders)); }

/// The environment whose python3 the shell would start: that of an activated one, or of one that PATH names.
fs::path PrefixInPath() {
  for (const std::string& folder : Split(std::getenv("PATH"), ':')) {
    const fs::path python = fs::path(folder) / "python3";
    if (access(python.c_str(), X_OK) == 0) return fs::path(folder).parent_path();
  }
  return {};
}

/// The further names of a file: of the Python package that holds it, and of the file without what says "plugin".
std::vector<std::string> AliasesOf(const std::string& name, const fs::path& path) {
  std::vector<std::string> aliases;
  const auto add = [&](std::string_view alias) {
    for (const std::string_view ending : {"_pjrt", "_plugin"}) {
      if (alias.size() > ending.size() && alias.ends_with(ending)) alias.remove_suffix(ending.size());
    }
    if (alias != name && std::find(aliases.begin(), aliases.end(), alias) == aliases.end()) aliases.emplace_back(alias);
  };
  const std::string parent = path.parent_path().parent_path().filename().string();
  if (parent == "jax_plugins" || parent == "xla_plugins") add(path.parent_path().filename().string());
#define TENON_PLUGIN_ALIAS(alias, of) \
  if (name == (of)) add(alias);
#include "tenon/discovery/aliases.def"
  return aliases;
}

}  // namespace

std::string PluginNameOfFile(std::string_view path, bool strict) {
  const std::string_view stem = LibraryStem(path);
  if (stem.empty()) return strict ? std::string() : std::string(path.substr(path.find_last_of('/') + 1));
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
  return strict ? std::string() : std::string(stem);
}

std::vector<SearchFolder> SearchFolders() {
  Folders folders;
  for (const std::string& path : Split(std::getenv("PJRT_PLUGIN_LIBRARY_PATH"), ':'))
    folders.Add(path, "PJRT_PLUGIN_LIBRARY_PATH");
  if (const fs::path own = OwnFile(); !own.empty()) folders.AddBeside(own);
  std::error_code error;
  if (const fs::path program = fs::read_symlink("/proc/self/exe", error); !error) folders.AddBeside(program);
  const char* const home = std::getenv("HOME");
  const bool has_home = home != nullptr && *home != '\0';
  if (has_home) {
    for (const char* path : {".local/lib/pjrt", ".local/lib/go-xla", ".local/lib/gomlx/pjrt", "Library/pjrt"})
      folders.Add(fs::path(home) / path, "user");
  }
  for (const char* path : {"/usr/local/lib/pjrt", "/usr/local/lib/go-xla", "/usr/local/lib/gomlx/pjrt", "/usr/lib/pjrt",
                           "/opt/homebrew/lib/pjrt", "/usr/local/lib"}) {
    folders.Add(path, "system");
  }
  for (const char* variable : {"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"}) {
    for (const std::string& path : Split(std::getenv(variable), ':')) folders.Add(path, "system");
  }
  folders.AddLinkerFolders();
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const char* prefix = std::getenv(variable); prefix != nullptr && *prefix != '\0')
      folders.AddPythonPrefix(prefix);
  }
  if (const fs::path prefix = PrefixInPath(); !prefix.empty()) folders.AddPythonPrefix(prefix);
  for (const std::string& path : Split(std::getenv("PYTHONPATH"), ':')) folders.AddSite(path);
  if (has_home) folders.AddPythonPrefix(fs::path(home) / ".local");
  folders.AddPythonPrefix("/usr");
  return folders.Take();
}

std::vector<PluginFile> FindPluginFiles() {
  std::vector<PluginFile> files;
  std::set<std::string> seen;
  for (const SearchFolder& folder : SearchFolders()) {
    if (!folder.exists) continue;
    for (const fs::path& path : Children(folder.path)) {
      std::string name = PluginNameOfFile(path.string(), true);
      if (name.empty()) continue;
      std::error_code error;
      const fs::path real = fs::canonical(path, error);
      if (!seen.insert((error ? path : real).string()).second) continue;
      std::vector<std::string> aliases = AliasesOf(name, path);
      files.push_back({std::move(name), std::move(aliases), path.string(), folder.source});
    }
  }
  return files;
}

std::vector<PluginFile> FilesNamed(std::string_view name) {
  std::vector<PluginFile> named;
  std::vector<PluginFile> by_alias;
  for (PluginFile& file : FindPluginFiles()) {
    if (file.name == name) {
      named.push_back(std::move(file));
    } else if (std::find(file.aliases.begin(), file.aliases.end(), name) != file.aliases.end()) {
      by_alias.push_back(std::move(file));
    }
  }
  named.insert(named.end(), std::make_move_iterator(by_alias.begin()), std::make_move_iterator(by_alias.end()));
  return named;
}

std::string DefaultPlugin() {
  const char* const given = std::getenv("TENON_PLUGIN");
  return given != nullptr && *given != '\0' ? given : "tenon";
}

bool IsFile(std::string_view text) {
  if (text.find('/') != std::string_view::npos) return true;
  return !LibraryStem(text).empty() && access(std::string(text).c_str(), R_OK) == 0;
}

std::string DescribeSearch() {
  std::string text = "found: ";
  bool first = true;
  for (const PluginFile& file : FindPluginFiles()) {
    text += (first ? "" : ", ") + file.name;
    for (size_t i = 0; i < file.aliases.size(); ++i) text += (i == 0 ? " (also " : ", ") + file.aliases[i];
    if (!file.aliases.empty()) text += ")";
    first = false;
  }
  text += first ? "none; searched: " : "; searched: ";
  first = true;
  for (const SearchFolder& folder : SearchFolders()) {
    text += (first ? "" : ", ") + folder.path + (folder.exists ? "" : " (missing)");
    first = false;
  }
  return text;
}

}  // namespace tenon::discovery
