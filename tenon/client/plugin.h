#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/client/api.h"
#include "tenon/client/named_value.h"

namespace tenon::client {

class Client;
class KeyValueStore;
class Topology;

/// A loaded PJRT plugin: a cheap handle that copies. Plugins are never unloaded, so handles are valid for ever. Safe to
/// use from any thread. Several plugins may be loaded at once.
class Plugin {
 public:
  /// Loads the shared library at `path` and initializes it. Loading the same file again gives the same plugin.
  /// NOT_FOUND when there is no such file; FAILED_PRECONDITION with the reason when the file cannot be loaded, is no
  /// plugin, has a version that is not supported, or refuses to start on this machine.
  static Result<Plugin> LoadFile(const std::string& path);

  /// Finds a plugin by name ("cpu", "cuda", "tenon" ...) or path: first those registered in this process, then files,
  /// see discovery.h. An empty text stands for TENON_PLUGIN, else "tenon". NOT_FOUND lists what was looked at.
  static Result<Plugin> Load(std::string_view name_or_path);

  /// Wraps a table that is in this process already, e.g. of a statically linked plugin, and initializes it.
  static Result<Plugin> FromApi(const PJRT_Api* table, std::string name);
  /// The same, under a name that Load finds. ALREADY_EXISTS when another table has the name.
  static Result<Plugin> Register(std::string name, const PJRT_Api* table);

  const std::string& name() const { return api_->name(); }
  /// The file it came from; empty for tables that were in the process.
  const std::string& path() const { return *path_; }
  /// Checked access to the table of functions.
  const Api& api() const { return *api_; }
  int minor_version() const { return api_->minor_version(); }
  /// "0.117".
  std::string version() const;

  /// "cpu (PJRT 0.81, /path/of/it.so)".
  std::string ToString() const;

  /// What the plugin says of itself, e.g. "stablehlo_current_version".
  Result<std::vector<NamedValue>> Attributes() const;
  /// Newest StableHLO version that the plugin reads, e.g. {1, 13, 3}; empty when it does not say.
  std::vector<int64_t> StablehloVersion() const;

  /// Opens the devices. `store` connects the processes of a job and may be null.
  Result<Client> CreateClient(const Options& options = {}, std::shared_ptr<KeyValueStore> store = nullptr) const;

  /// Describes devices that need not be present; names are the plugin's own ("v5e:2x2").
  Result<Topology> CreateTopology(std::string_view name, const Options& options = {}) const;
  Result<Topology> DeserializeTopology(std::string_view bytes) const;

  friend bool operator==(const Plugin& a, const Plugin& b) { return a.api_->raw() == b.api_->raw(); }

 private:
  Plugin(const Api* api, const std::string* path) : api_(api), path_(path) {}
  const Api* api_;
  const std::string* path_;  // never freed
};

}  // namespace tenon::client
