#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/client/plugin.h"

namespace tenon::client {

/// A file that looks like a plugin, or a plugin registered in this process.
struct Candidate {
  std::string name;    // "cpu" of pjrt_c_api_cpu_plugin.so
  std::string path;    // empty for registered plugins
  std::string source;  // where it was found: "PJRT_PLUGIN_LIBRARY_PATH", "system", "user", "python", "registered"
};

/// Folders that are searched, in this order: those in PJRT_PLUGIN_LIBRARY_PATH (separated by ':'); the user's
/// (~/.local/lib/pjrt ...); the system's (/usr/local/lib/pjrt ..., LD_LIBRARY_PATH, /etc/ld.so.conf); the folders
/// jax_plugins/*, xla_plugins/* and libtpu of the Python environments in VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH,
/// ~/.local and /usr.
struct SearchFolder {
  std::string path;
  std::string source;
  bool exists = false;
};
std::vector<SearchFolder> SearchFolders();

/// Everything that is found, without loading it. A name may appear several times: the first wins.
std::vector<Candidate> FindPlugins();

/// A candidate that was tried.
struct Availability {
  Candidate candidate;
  Status status;        // why it was refused
  std::string version;  // "0.117", when it was not
};
/// Loads every candidate and says which can be used and why others cannot.
std::vector<Availability> ListPlugins();

/// "cpu" for pjrt_c_api_cpu_plugin.so and pjrt-plugin-cpu.so, "tpu" for libtpu.so; empty for names of no known pattern
/// when `strict`, else the name without its ending.
std::string PluginNameOfFile(std::string_view path, bool strict = false);

/// The first candidate of this name that loads. NOT_FOUND lists names and folders; the first refusal if there was one.
Result<Plugin> LoadByName(std::string_view name);

/// Names given to Plugin::Register.
std::vector<std::string> RegisteredPlugins();

}  // namespace tenon::client
