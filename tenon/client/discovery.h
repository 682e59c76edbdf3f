#pragma once

/// Plugins on this machine, by name. Which files are looked at: tenon/discovery.

#include <string>
#include <string_view>
#include <vector>

#include "tenon/client/plugin.h"
#include "tenon/discovery/discovery.h"

namespace tenon::client {

using discovery::DefaultPlugin;
using discovery::SearchFolder;
using discovery::SearchFolders;

/// A file that looks like a plugin, or a plugin registered in this process.
struct Candidate {
  std::string name;                  ///< "cpu" of pjrt_c_api_cpu_plugin.so.
  std::vector<std::string> aliases;  ///< Other names that find it: "xla_cpu".
  std::string path;                  ///< Empty for registered plugins.
  std::string source;  ///< Where it was found: "PJRT_PLUGIN_LIBRARY_PATH", "beside", "user", "system", "python",
                       ///< "registered".
};

/// Everything that is found, without loading it. A name may appear several times: the first wins.
std::vector<Candidate> FindPlugins();

/// A candidate that was tried.
struct Availability {
  Candidate candidate;
  Status status;        ///< Why it was refused.
  std::string version;  ///< "0.117", when it was not.
};

/// Loads every candidate in a process of its own (a fork of this one), several at once, and says which can be used and
/// why others cannot: one that crashes, ends its process or has not answered after `seconds` is refused like any
/// other. The order is that of `candidates`. What candidates print is lost; nothing stays loaded here.
std::vector<Availability> ProbePlugins(std::vector<Candidate> candidates, double seconds = 20);
/// The same for all that FindPlugins finds.
std::vector<Availability> ListPlugins();

/// The first file of this name that loads, those called so before those with such an alias. NOT_FOUND lists names and
/// folders; the first refusal if there was one.
Result<Plugin> LoadByName(std::string_view name);

/// Names given to Plugin::Register.
std::vector<std::string> RegisteredPlugins();

}  // namespace tenon::client
