#pragma once

/// Which file a plugin's name stands for. Looks at files and the environment, loads nothing. Any thread.

#include <string>
#include <string_view>
#include <vector>

namespace tenon::discovery {

/// A folder in which plugins are looked for.
struct SearchFolder {
  std::string path;
  std::string source;  ///< "PJRT_PLUGIN_LIBRARY_PATH", "beside", "user", "system" or "python".
  bool exists = false;
};

/// In the order in which they are searched: those in PJRT_PLUGIN_LIBRARY_PATH (separated by ':'); that of the library
/// that holds this function and that of the program, with ../lib, ../lib/pjrt and, for a build tree, nothing more; the
/// user's (~/.local/lib/pjrt ...); the system's (/usr/local/lib/pjrt ..., LD_LIBRARY_PATH, /etc/ld.so.conf); the
/// folders jax_plugins/*, xla_plugins/*, tenon_jax/lib, libtpu ... of the Python environments in VIRTUAL_ENV,
/// CONDA_PREFIX, of the first python3 in PATH, in PYTHONPATH, ~/.local and /usr. No folder appears twice.
std::vector<SearchFolder> SearchFolders();

/// A file whose name is that of a plugin.
struct PluginFile {
  std::string name;                  ///< "cpu" of pjrt_c_api_cpu_plugin.so.
  std::vector<std::string> aliases;  ///< Other names that find it.
  std::string path;
  std::string source;  ///< Of its folder.
};

/// Everything that is found, each file once. A name may appear several times: the first wins.
std::vector<PluginFile> FindPluginFiles();

/// The files that `name` stands for, best first: those called so, then those with such an alias.
std::vector<PluginFile> FilesNamed(std::string_view name);

/// "cpu" for pjrt_c_api_cpu_plugin.so and pjrt-plugin-cpu.so, "tpu" for libtpu.so; empty for names of no known pattern
/// when `strict`, else the name without its ending.
std::string PluginNameOfFile(std::string_view path, bool strict = false);

/// What to load when nobody says: TENON_PLUGIN, a name or a file, when it is set and not empty, else "tenon".
std::string DefaultPlugin();

/// Whether `text` can only be a file: it has a '/', or ends as shared libraries do and lies in the working folder.
/// Names of plugins have neither.
bool IsFile(std::string_view text);

/// "found: a, b; searched: /x, /y (missing)": for messages about plugins that were not found.
std::string DescribeSearch();

}  // namespace tenon::discovery
