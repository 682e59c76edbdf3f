#include "tenon/client/plugin.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "tenon/client/client.h"
#include "tenon/client/discovery.h"
#include "tenon/client/internal/client_state.h"
#include "tenon/client/internal/kv_callbacks.h"

namespace tenon::client {
namespace {

struct Loaded {
  const Api* api;
  const std::string* path;
};

// What this process has loaded. Never freed: plugins must survive until the process ends.
struct Registry {
  std::mutex mutex;
  std::map<const PJRT_Api*, Loaded> files;
  std::map<std::string, Loaded, std::less<>> names;
};
Registry& TheRegistry() {
  static Registry& registry = *new Registry;
  return registry;
}

Status Initialize(const Api& api) {
  auto args = MakeArgs<PJRT_Plugin_Initialize_Args>();
  if (!api.Has<PJRT_Plugin_Initialize_Args>()) return OkStatus();
  const Status status = api.Call(args);
  return status.ok() ? status
                     : Status(status.code(), api.name() + " does not start here: " + std::string(status.message()));
}

std::string RealPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? path : std::string(real.get());
}

}  // namespace

Result<Plugin> Plugin::LoadFile(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return NotFound("there is no file '" + path + "'");
  if (!S_ISREG(info.st_mode)) return FailedPrecondition("'" + path + "' is not a file");
  const std::string real = RealPath(path);
  Registry& registry = TheRegistry();
  // Held while loading: a library must not be initialized twice.
  std::lock_guard lock(registry.mutex);
  void* const library = ::dlopen(real.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    return FailedPrecondition("cannot load '" + path + "': " + (why == nullptr ? "no reason given" : why));
  }
  const auto get_api = reinterpret_cast<PJRT_GetPjrtApi_Function>(::dlsym(library, "GetPjrtApi"));
  if (get_api == nullptr) {
    ::dlclose(library);
    return FailedPrecondition("'" + path + "' is no PJRT plugin: it has no symbol GetPjrtApi");
  }
  const PJRT_Api* const table = get_api();
  if (const auto found = registry.files.find(table); found != registry.files.end()) {
    return Plugin(found->second.api, found->second.path);
  }
  TENON_ASSIGN_OR_RETURN(const Api* const api, Api::Wrap(table, discovery::PluginNameOfFile(real)));
  TENON_RETURN_IF_ERROR(Initialize(*api));
  const Loaded loaded{api, new std::string(real)};
  registry.files.emplace(table, loaded);
  return Plugin(loaded.api, loaded.path);
}

Result<Plugin> Plugin::FromApi(const PJRT_Api* table, std::string name) {
  TENON_ASSIGN_OR_RETURN(const Api* const api, Api::Wrap(table, std::move(name)));
  TENON_RETURN_IF_ERROR(Initialize(*api));
  static const std::string& no_path = *new std::string;
  return Plugin(api, &no_path);
}

Result<Plugin> Plugin::Register(std::string name, const PJRT_Api* table) {
  Registry& registry = TheRegistry();
  {
    std::lock_guard lock(registry.mutex);
    if (const auto found = registry.names.find(name); found != registry.names.end()) {
      if (found->second.api->raw() == table) return Plugin(found->second.api, found->second.path);
      return AlreadyExists("another plugin is registered as '" + name + "'");
    }
  }
  TENON_ASSIGN_OR_RETURN(Plugin plugin, FromApi(table, name));
  std::lock_guard lock(registry.mutex);
  registry.names.emplace(std::move(name), Loaded{plugin.api_, plugin.path_});
  return plugin;
}

std::vector<std::string> RegisteredPlugins() {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  std::vector<std::string> names;
  for (const auto& [name, loaded] : registry.names) names.push_back(name);
  return names;
}

Result<Plugin> Plugin::Load(std::string_view name_or_path) {
  {
    Registry& registry = TheRegistry();
    std::lock_guard lock(registry.mutex);
    if (const auto found = registry.names.find(name_or_path); found != registry.names.end()) {
      return Plugin(found->second.api, found->second.path);
    }
  }
  if (name_or_path.empty()) return Load(DefaultPlugin());
  return discovery::IsFile(name_or_path) ? LoadFile(std::string(name_or_path)) : LoadByName(name_or_path);
}

std::string Plugin::version() const {
  return std::to_string(api_->major_version()) + "." + std::to_string(api_->minor_version());
}

std::string Plugin::ToString() const {
  return name() + " (PJRT " + version() + (path().empty() ? "" : ", " + path()) + ")";
}

Result<std::vector<NamedValue>> Plugin::Attributes() const {
  auto args = MakeArgs<PJRT_Plugin_Attributes_Args>();
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return FromC(args.attributes, args.num_attributes);
}

std::vector<int64_t> Plugin::StablehloVersion() const {
  const auto attributes = Attributes();
  if (!attributes.ok()) return {};
  const Value* const value = Find(*attributes, "stablehlo_current_version");
  const auto* const list = value == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(value);
  return list == nullptr ? std::vector<int64_t>() : *list;
}

Result<Client> Plugin::CreateClient(const Options& options, std::shared_ptr<KeyValueStore> store) const {
  auto state = std::make_shared<internal::ClientState>(*this);
  state->name = name();
  state->store = std::move(store);
  auto args = MakeArgs<PJRT_Client_Create_Args>();
  const std::vector<PJRT_NamedValue> named = ToC(options.values());
  args.create_options = named.data();
  args.num_options = named.size();
  if (state->store != nullptr) internal::SetKeyValueCallbacks(args, state->store.get());
  TENON_RETURN_IF_ERROR(api_->Call(args));
  if (args.client == nullptr) return Internal(name() + ": PJRT_Client_Create succeeded without a client");
  state->client = args.client;
  internal::Count(internal::Kind::kClient, 1);
  return Client(std::move(state));
}

Result<Topology> Plugin::CreateTopology(std::string_view topology_name, const Options& options) const {
  auto args = MakeArgs<PJRT_TopologyDescription_Create_Args>();
  const std::vector<PJRT_NamedValue> named = ToC(options.values());
  args.topology_name = topology_name.data();
  args.topology_name_size = topology_name.size();
  args.create_options = named.data();
  args.num_options = named.size();
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return Topology(api_, args.topology, true, nullptr);
}

Result<Topology> Plugin::DeserializeTopology(std::string_view bytes) const {
  auto args = MakeArgs<PJRT_TopologyDescription_Deserialize_Args>();
  args.serialized_topology = bytes.data();
  args.serialized_topology_size = bytes.size();
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return Topology(api_, args.topology, true, nullptr);
}

}  // namespace tenon::client
