// The plugin object, its options, and the one symbol that the shared library exports.
#include "tenon/plugin/plugin.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/base/code_file.h"
#include "tenon/proxy/client.h"
#include "tenon/proxy/convert.h"
#include "tenon/proxy/handlers.h"
#include "tenon/proxy/program.h"
#include "tenon/sandbox/sandbox.h"

namespace tenon::proxy {
namespace {

using plugin::Ref;

// Options that are ours; all others go to the plugin in the device process.
const std::vector<plugin::OptionSpec>& OwnOptions() {
  static const auto& specs = *new std::vector<plugin::OptionSpec>{{"plugin", plugin::ValueType::kString},
                                                                  {"restart", plugin::ValueType::kString},
                                                                  {"hang_timeout_s", plugin::ValueType::kInt64},
                                                                  {"array_limit_bytes", plugin::ValueType::kInt64},
                                                                  {"process_limit_bytes", plugin::ValueType::kInt64},
                                                                  {"process_cpu_limit_s", plugin::ValueType::kInt64},
                                                                  {"process_limit_threads", plugin::ValueType::kInt64},
                                                                  {"sandbox", plugin::ValueType::kBool},
                                                                  {"sandbox_read", plugin::ValueType::kString},
                                                                  {"sandbox_write", plugin::ValueType::kString},
                                                                  {"remote", plugin::ValueType::kString},
                                                                  {"remote_token_file", plugin::ValueType::kString},
                                                                  {"remote_certificate", plugin::ValueType::kString},
                                                                  {"remote_key", plugin::ValueType::kString},
                                                                  {"remote_authority", plugin::ValueType::kString}};
  return specs;
}

// TENON_ISOLATE_PLUGIN, else Tenon's CPU plugin where it lies beside this library; empty when there is neither.
std::string DefaultPlugin() {
  if (const char* named = std::getenv("TENON_ISOLATE_PLUGIN"); named != nullptr && *named != '\0') return named;
  for (const char* name : {"pjrt_plugin_tenon.so", "libtenon.so"}) {
    std::string file = FileBeside(reinterpret_cast<const void*>(&DefaultPlugin), name);
    if (::access(file.c_str(), R_OK) == 0) return file;
  }
  return {};
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::vector<std::string> PathList(std::string_view text) {
  std::vector<std::string> paths;
  while (!text.empty()) {
    const size_t end = std::min(text.find(':'), text.size());
    if (end != 0) paths.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return paths;
}

// What a confined device process may use besides its plugin's files; none when it is not to be confined.
Result<std::optional<sandbox::Paths>> SandboxFrom(const plugin::ClientOptions& given) {
  const std::string named = Environment("TENON_ISOLATE_SANDBOX");
  const bool on = given.GetBool("sandbox", !named.empty() && named != "0");
  const sandbox::Paths paths{PathList(given.GetString("sandbox_read", Environment("TENON_ISOLATE_SANDBOX_READ"))),
                             PathList(given.GetString("sandbox_write", Environment("TENON_ISOLATE_SANDBOX_WRITE")))};
  if (on) return std::optional(paths);
  for (const char* name : {"sandbox_read", "sandbox_write"}) {
    if (given.values.contains(name))
      return InvalidArgument(fmt::format("client option '{}' is given without 'sandbox'", name));
  }
  return std::optional<sandbox::Paths>();
}

// The servers that the options name, else TENON_REMOTE, apart by commas; none when the devices are to be on this
// machine.
Result<std::vector<session::RemoteOptions>> RemotesFrom(const plugin::ClientOptions& given) {
  std::vector<session::RemoteOptions> remotes;
  const std::string addresses = given.GetString("remote", Environment("TENON_REMOTE"));
  if (addresses.empty()) return remotes;
  session::RemoteOptions remote;
  remote.handlers = Handlers();
  remote.credentials.certificate = given.GetString("remote_certificate", Environment("TENON_REMOTE_CERTIFICATE"));
  remote.credentials.key = given.GetString("remote_key", Environment("TENON_REMOTE_KEY"));
  remote.credentials.authority = given.GetString("remote_authority", Environment("TENON_REMOTE_AUTHORITY"));
  const std::string token = given.GetString("remote_token_file", Environment("TENON_REMOTE_TOKEN_FILE"));
  if (!token.empty()) {
    TENON_ASSIGN_OR_RETURN(remote.credentials.token, channel::ReadTokenFile(token));
  }
  for (size_t at = 0; at <= addresses.size();) {
    const size_t end = std::min(addresses.find(',', at), addresses.size());
    remote.address = addresses.substr(at, end - at);
    remote.address.erase(0, remote.address.find_first_not_of(' '));
    remote.address.erase(remote.address.find_last_not_of(' ') + 1);
    if (remote.address.empty())
      return InvalidArgument(fmt::format("the addresses of servers '{}' have an empty one", addresses));
    for (const session::RemoteOptions& other : remotes) {
      if (other.address == remote.address)
        return InvalidArgument(fmt::format("the server {} is named twice in '{}'", remote.address, addresses));
    }
    remotes.push_back(remote);
    at = end + 1;
  }
  return remotes;
}

class IsolatedPlugin final : public plugin::Plugin {
 public:
  // The plugin is loaded in its process now: whether it runs here is known then, and what it reads.
  Status Initialize() override {
    TENON_ASSIGN_OR_RETURN(const Where where, DefaultWhere());
    if (!where.remote && where.process.plugin.empty()) return OkStatus();  // The client's options will name it.
    std::lock_guard lock(mutex_);
    if (spare_ != nullptr) return OkStatus();
    TENON_ASSIGN_OR_RETURN(spare_, where.Start());
    attributes_ = ToValues(spare_->welcome().attributes);
    return OkStatus();
  }

  std::array<int64_t, 3> stablehlo_current_version() const override {
    return Version("stablehlo_current_version", Plugin::stablehlo_current_version());
  }
  std::array<int64_t, 3> stablehlo_minimum_version() const override {
    return Version("stablehlo_minimum_version", Plugin::stablehlo_minimum_version());
  }
  std::vector<plugin::NamedValue> Attributes() const override {
    std::lock_guard lock(mutex_);
    std::vector<plugin::NamedValue> others;
    for (const plugin::NamedValue& a : attributes_) {
      if (a.name != "xla_version" && a.name != "stablehlo_current_version" && a.name != "stablehlo_minimum_version")
        others.push_back(a);
    }
    return others;
  }

  std::span<const plugin::OptionSpec> client_option_specs() const override { return OwnOptions(); }
  bool takes_other_options() const override { return true; }

  Result<Ref<plugin::Client>> CreateClient(plugin::ClientOptions given) override {
    Core::Options options;
    TENON_ASSIGN_OR_RETURN(std::vector<session::RemoteOptions> remotes, RemotesFrom(given));
    TENON_ASSIGN_OR_RETURN(options.where.process, ToProcessOptions(given, !remotes.empty()));
    const std::string restart = given.GetString("restart", "lazy");
    if (restart != "lazy" && restart != "never")
      return InvalidArgument(fmt::format("client option 'restart' is '{}', wanted lazy or never", restart));
    options.restart = restart == "lazy" ? Restart::kLazy : Restart::kNever;
    options.memory_limit_bytes = given.GetInt("array_limit_bytes", 0);
    if (given.GetInt("num_nodes", 1) != 1)
      return Unimplemented("num_nodes is greater than 1: an isolated plugin's devices are those of one process");
    plugin::Options rest = given.values;
    for (const plugin::OptionSpec& own : OwnOptions()) rest.erase(own.name);
    options.client.options = ToAttributes(rest);
    options.has_client = true;
    ProxyClient::Cores cores;
    for (size_t i = 0; i < std::max<size_t>(remotes.size(), 1); ++i) {
      if (!remotes.empty()) options.where.remote = remotes[i];
      if (remotes.size() > 1) options.label = remotes[i].address;
      std::shared_ptr<Session> session;
      {
        std::lock_guard lock(mutex_);
        // The process that Initialize started is the first client's, if it is as that wants it.
        if (spare_ != nullptr && IsDefault(options.where) && spare_->state().ok())
          session = std::exchange(spare_, nullptr);
      }
      cores.push_back(std::make_shared<Core>(options, std::move(session)));
    }
    return ProxyClient::Create(std::move(cores));
  }

  Result<Ref<plugin::Topology>> CreateTopology(std::string_view name, const plugin::Options& options) override {
    wire::MakeTopology request;
    request.name = name;
    request.options = ToAttributes(options);
    return MakeTopology(std::move(request));
  }
  Result<Ref<plugin::Topology>> DeserializeTopology(std::string_view bytes) override {
    wire::MakeTopology request;
    request.serialized = true;
    request.name = bytes;
    return MakeTopology(std::move(request));
  }
  Result<Ref<plugin::Executable>> CompileForTopology(const plugin::Program& program,
                                                     const plugin::CompileOptions& options, plugin::Topology& topology,
                                                     plugin::Client*) override {
    auto* ours = dynamic_cast<ProxyTopology*>(&topology);
    if (ours == nullptr) return InvalidArgument("the topology is not one of this plugin");
    RemoteProgram::Source source;
    source.kind = RemoteProgram::Source::kAheadOfTime;
    source.format = program.format;
    source.code = program.code;
    source.options = options.serialized;
    source.topology = Ref<plugin::Topology>(&topology);
    wire::Executable record;
    TENON_ASSIGN_OR_RETURN(std::shared_ptr<RemoteProgram> made,
                           RemoteProgram::Make(ours->core(), std::move(source), &record));
    TENON_ASSIGN_OR_RETURN(plugin::ExecutableInfo info, ToInfo(record));
    return Ref<plugin::Executable>(plugin::MakeRef<ProxyExecutable>(std::move(made), std::move(info)));
  }
  Status RegisterFfiHandler(const plugin::FfiHandlerRegistration& registration) override {
    return RegisterHandler(registration);
  }

 private:
  static Result<Where> DefaultWhere() {
    Where where;
    TENON_ASSIGN_OR_RETURN(const std::vector<session::RemoteOptions> remotes, RemotesFrom({}));
    if (!remotes.empty()) where.remote = remotes.front();  // What it reads is taken for what all read.
    where.process.plugin = DefaultPlugin();
    where.process.handlers = Handlers();
    TENON_ASSIGN_OR_RETURN(where.process.sandbox, SandboxFrom({}));
    return where;
  }
  static bool IsDefault(const Where& where) {
    if (where.remote) {
      // Whoever comes as somebody else gets a session of its own, or none.
      const Result<Where> usual = DefaultWhere();
      return usual.ok() && usual->remote && usual->remote->address == where.remote->address &&
             usual->remote->credentials == where.remote->credentials;
    }
    const session::Limits& l = where.process.limits;
    return Environment("TENON_REMOTE").empty() && where.process.plugin == DefaultPlugin() &&
           where.process.sandbox == SandboxFrom({}).value() && where.process.hang_timeout_s == 0 &&
           l.memory_bytes == 0 && l.cpu_seconds == 0 && l.processes == 0;
  }

  static Result<session::ProcessOptions> ToProcessOptions(const plugin::ClientOptions& given, bool is_remote) {
    session::ProcessOptions options;
    options.handlers = Handlers();
    if (is_remote) {
      for (const char* name :
           {"plugin", "hang_timeout_s", "array_limit_bytes", "process_limit_bytes", "process_cpu_limit_s",
            "process_limit_threads", "sandbox", "sandbox_read", "sandbox_write"}) {
        if (given.values.contains(name))
          return InvalidArgument(
              fmt::format("client option '{}' is for a process of this machine, and 'remote' is given: "
                          "the server says what its processes may take",
                          name));
      }
      return options;
    }
    options.plugin = given.GetString("plugin", DefaultPlugin());
    if (options.plugin.empty()) {
      return InvalidArgument(
          "there is no plugin to isolate: name it by the client option 'plugin' or by TENON_ISOLATE_PLUGIN");
    }
    for (const auto& [name, field] : {std::pair<const char*, int64_t*>{"hang_timeout_s", &options.hang_timeout_s},
                                      {"process_limit_bytes", &options.limits.memory_bytes},
                                      {"process_cpu_limit_s", &options.limits.cpu_seconds},
                                      {"process_limit_threads", &options.limits.processes}}) {
      *field = given.GetInt(name, 0);
      if (*field < 0) return InvalidArgument(fmt::format("client option '{}' is {}, wanted 0 or more", name, *field));
    }
    TENON_ASSIGN_OR_RETURN(options.sandbox, SandboxFrom(given));
    return options;
  }

  // Topologies that belong to no client have a device process of their own, shared by all of them.
  Result<Ref<plugin::Topology>> MakeTopology(wire::MakeTopology request) {
    std::shared_ptr<Core> core;
    {
      std::lock_guard lock(mutex_);
      if (topologies_ == nullptr) {
        Core::Options options;
        TENON_ASSIGN_OR_RETURN(options.where, DefaultWhere());
        if (!options.where.remote && options.where.process.plugin.empty())
          return FailedPrecondition("there is no plugin to isolate: TENON_ISOLATE_PLUGIN can name it");
        topologies_ = std::make_shared<Core>(std::move(options), nullptr);
      }
      core = topologies_;
    }
    request.number = core->NextNumber();
    TENON_ASSIGN_OR_RETURN(const std::shared_ptr<Session> session, core->Live());
    TENON_ASSIGN_OR_RETURN(const std::string body, session->Call(request));
    TENON_ASSIGN_OR_RETURN(const wire::Topology record, wire::Decode<wire::Topology>(body));
    return ProxyTopology::Make(core, std::move(request), record, session->generation());
  }

  std::array<int64_t, 3> Version(std::string_view name, std::array<int64_t, 3> otherwise) const {
    std::lock_guard lock(mutex_);
    for (const plugin::NamedValue& a : attributes_) {
      const auto* list = std::get_if<std::vector<int64_t>>(&a.value);
      if (a.name == name && list != nullptr && list->size() == 3) return {(*list)[0], (*list)[1], (*list)[2]};
    }
    return otherwise;
  }

  mutable std::mutex mutex_;
  std::shared_ptr<Session> spare_;
  std::shared_ptr<Core> topologies_;
  std::vector<plugin::NamedValue> attributes_;
};

}  // namespace
}  // namespace tenon::proxy

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  // Leaked: objects of the plugin may outlive every destructor of the library.
  static tenon::proxy::IsolatedPlugin& plugin = *new tenon::proxy::IsolatedPlugin;
  return tenon::plugin::MakeApi(plugin);
}
