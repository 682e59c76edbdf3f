// The plugin object, its options, and the one symbol that the shared library exports.

#include "tenon/plugin/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "tenon/cpu/client.h"
#include "tenon/cpu/code.h"
#include "tenon/cpu/device.h"
#include "tenon/cpu/executable.h"
#include "tenon/cpu/job.h"
#include "tenon/cpu/policy.h"
#include "tenon/host/build.h"
#include "tenon/host/front_end.h"
#include "tenon/host/plugin_base.h"
#include "tenon/kernels/families.h"

namespace tenon::cpu {
namespace {

Result<std::optional<int64_t>> NumberFromEnvironment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::optional<int64_t>();
  const std::string_view view(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size())
    return InvalidArgument(fmt::format("{} is '{}', wanted a number", name, view));
  return std::optional<int64_t>(value);
}

/// The count in XLA_FLAGS that JAX users set for the built-in backend.
std::optional<int64_t> HostDeviceCountFlag() {
  const char* flags = std::getenv("XLA_FLAGS");
  if (flags == nullptr) return std::nullopt;
  constexpr std::string_view kFlag = "--xla_force_host_platform_device_count=";
  const std::string_view text(flags);
  const size_t at = text.rfind(kFlag);
  if (at == std::string_view::npos) return std::nullopt;
  int64_t value = 0;
  const char* first = text.data() + at + kFlag.size();
  const auto parsed = std::from_chars(first, text.data() + text.size(), value);
  return parsed.ec == std::errc() ? std::optional(value) : std::nullopt;
}

/// What the caller asked for (null: nothing), else TENON_NUM_DEVICES, else XLA's flag, else 1.
Result<int> NumDevices(const int64_t* asked) {
  TENON_ASSIGN_OR_RETURN(const std::optional<int64_t> environment, NumberFromEnvironment("TENON_NUM_DEVICES"));
  const int64_t n = asked ? *asked : environment ? *environment : HostDeviceCountFlag().value_or(1);
  if (n < 1 || n > policy::kMaxDevices)
    return InvalidArgument(fmt::format("num_devices is {}, wanted 1 to {}", n, policy::kMaxDevices));
  return static_cast<int>(n);
}

/// The topology's attribute, and the option of that name, that says what it is compiled for.
constexpr std::string_view kTarget = "target";

/// The target that the attributes name; this process's when they name none, as in a client's own topology.
Result<std::shared_ptr<const target::Target>> TargetOf(const std::vector<plugin::NamedValue>& attributes) {
  for (const plugin::NamedValue& a : attributes) {
    const auto* name = std::get_if<std::string>(&a.value);
    if (a.name != kTarget || name == nullptr || *name == SharedHostTarget()->name) continue;
    TENON_ASSIGN_OR_RETURN(target::Target target, target::TargetByName(*name));
    return std::make_shared<const target::Target>(std::move(target));
  }
  return SharedHostTarget();
}

/// The framework's store as the job wants it.
class JobStore final : public collectives::Store {
 public:
  explicit JobStore(const plugin::KeyValueStore& store) : store_(store) {}
  Status Put(std::string_view key, std::string_view value) override { return store_.Put(key, value); }
  Result<std::string> Get(std::string_view key, collectives::Milliseconds timeout) override {
    return store_.Get(key, static_cast<int>(std::min<int64_t>(timeout.count(), std::numeric_limits<int>::max())));
  }
  Result<std::string> TryGet(std::string_view key) override { return store_.TryGet(key); }

 private:
  plugin::KeyValueStore store_;
};

/// An option, else the variable, else `otherwise`: a number of seconds.
Result<collectives::Milliseconds> Seconds(const plugin::ClientOptions& options, std::string_view option,
                                          const char* variable, int64_t otherwise) {
  TENON_ASSIGN_OR_RETURN(const std::optional<int64_t> environment, NumberFromEnvironment(variable));
  const int64_t seconds = options.GetInt(option, environment.value_or(otherwise));
  if (seconds < 1 || seconds > policy::kMaxTimeoutSeconds)
    return InvalidArgument(fmt::format("{} is {}, wanted 1 to {}", option, seconds, policy::kMaxTimeoutSeconds));
  return collectives::Milliseconds(seconds * 1000);
}

std::string Text(const plugin::ClientOptions& options, std::string_view option, const char* variable,
                 std::string_view otherwise) {
  const char* environment = std::getenv(variable);
  const bool set = environment != nullptr && *environment != '\0';
  return options.GetString(option, set ? std::string_view(environment) : otherwise);
}

Result<std::unique_ptr<Job>> JoinJob(const plugin::ClientOptions& options, int node, int nodes,
                                     const CpuClient::Setup& client) {
  if (!options.store)
    return InvalidArgument("num_nodes is greater than 1, but there is no key-value store to meet the others in");
  Job::Setup setup;
  setup.node = node;
  setup.num_nodes = nodes;
  setup.num_devices = client.num_devices;
  setup.store = std::make_shared<JobStore>(*options.store);
  setup.engine = Text(options, "collectives", "TENON_COLLECTIVES", "auto");
  setup.address = Text(options, "host_address", "TENON_HOST_ADDRESS", "");
  TENON_ASSIGN_OR_RETURN(setup.join_timeout,
                         Seconds(options, "join_timeout_s", "TENON_JOIN_TIMEOUT_S", policy::kJoinSeconds));
  TENON_ASSIGN_OR_RETURN(setup.timeout, Seconds(options, "collective_timeout_s", "TENON_COLLECTIVE_TIMEOUT_S",
                                                policy::kCollectiveSeconds));
  setup.build = host::BuildName();
  // All else that decides bits is the build's.
  setup.target = SharedHostTarget()->numerics.fused_multiply_add ? "products and sums rounded together"
                                                                 : "products and sums rounded apart";
  return Job::Join(std::move(setup));
}

constexpr std::string_view kOptimize = "optimize";

class CpuPlugin final : public host::PluginBase {
 public:
  CpuPlugin() : PluginBase(kPlatformName) {}

  std::span<const plugin::OptionSpec> client_option_specs() const override {
    static const std::vector<plugin::OptionSpec>& specs = *new std::vector<plugin::OptionSpec>{
        {"num_devices", plugin::ValueType::kInt64},          {"memory_limit_bytes", plugin::ValueType::kInt64},
        {"collectives", plugin::ValueType::kString},         {"host_address", plugin::ValueType::kString},
        {"collective_timeout_s", plugin::ValueType::kInt64}, {"join_timeout_s", plugin::ValueType::kInt64}};
    return specs;
  }

  bool has_cross_host_transfers() const override { return true; }
  /// JAX saves nothing where they are told.
  bool has_abi_versions() const override { return std::getenv("TENON_ABI_VERSIONS") != nullptr; }
  /// The name by which JAX learns that it may move arrays between processes.
  std::vector<plugin::NamedValue> Attributes() const override { return {{"supports_cross_host_transfers", true}}; }

  Result<plugin::Ref<plugin::Client>> CreateClient(plugin::ClientOptions options) override {
    const int64_t nodes = options.GetInt("num_nodes", 1);
    if (nodes < 1 || nodes > policy::kMaxProcesses)
      return InvalidArgument(fmt::format("num_nodes is {}, wanted 1 to {}", nodes, policy::kMaxProcesses));
    const int64_t node = options.GetInt("node_id", 0);
    if (node < 0 || node >= nodes)
      return InvalidArgument(fmt::format("node_id is {}, wanted 0 to {} in a job of {}", node, nodes - 1, nodes));
    CpuClient::Setup setup;
    TENON_ASSIGN_OR_RETURN(setup.num_devices, NumDevices(plugin::FindOption<int64_t>(options.values, "num_devices")));
    setup.memory_limit_bytes = options.GetInt("memory_limit_bytes", 0);
    if (setup.memory_limit_bytes < 0)
      return InvalidArgument(fmt::format("memory_limit_bytes is {}, wanted 0 or more", setup.memory_limit_bytes));
    if (nodes > 1) {
      TENON_ASSIGN_OR_RETURN(setup.job, JoinJob(options, static_cast<int>(node), static_cast<int>(nodes), setup));
    }
    return CpuClient::Create(std::move(setup));
  }

  /// A topology is called "" or "cpu", for this process's target, or by a target's name ("cpu:avx2:cores=4"); the
  /// option `target` may say the latter instead.
  Result<plugin::Ref<plugin::Topology>> CreateTopology(std::string_view name, const plugin::Options& given) override {
    static const std::vector<plugin::OptionSpec>& specs = *new std::vector<plugin::OptionSpec>{
        {"num_devices", plugin::ValueType::kInt64}, {std::string(kTarget), plugin::ValueType::kString}};
    TENON_ASSIGN_OR_RETURN(const plugin::Options options, plugin::CheckOptions(given, specs, "topology option"));
    const auto* asked = plugin::FindOption<std::string>(options, kTarget);
    const bool unnamed = name.empty() || name == kPlatformName;
    if (asked != nullptr && !unnamed && *asked != name)
      return InvalidArgument(fmt::format("topology '{}' with target '{}', wanted one of them", name, *asked));
    target::Target target = *SharedHostTarget();
    if (asked != nullptr || !unnamed) {
      TENON_ASSIGN_OR_RETURN(target, target::TargetByName(asked != nullptr ? std::string_view(*asked) : name));
    }
    TENON_ASSIGN_OR_RETURN(const int num_devices, NumDevices(plugin::FindOption<int64_t>(options, "num_devices")));
    plugin::Topology::Info info{std::string(kPlatformName), host::BuildName()};
    info.attributes = {{std::string(kTarget), target.name}};
    for (int id = 0; id < num_devices; ++id) info.devices.push_back(DescribeDevice(id));
    return plugin::MakeRef<plugin::Topology>(std::move(info));
  }

  /// "optimize": to the program that the kernels are made of, as StableHLO; "compile": to a saved program.
  std::vector<std::string> phase_names() const override { return {std::string(kOptimize), "compile"}; }
  Result<plugin::PartialProgram> RunPhase(std::string_view phase, const plugin::PartialProgram& program,
                                          const plugin::CompileOptions& options, plugin::Topology& topology) override {
    if (phase != kOptimize) return Plugin::RunPhase(phase, program, options, topology);
    TENON_ASSIGN_OR_RETURN(const std::shared_ptr<const target::Target> target, TargetOf(topology.info().attributes));
    compiler::CompiledProgram about;
    about.source = program.code;
    plugin::PartialProgram made;
    TENON_ASSIGN_OR_RETURN(made.code, host::OptimizedProgram(about, options, *target, kernels::CpuFamilies()));
    made.format = "mlir";
    return made;
  }

  Result<plugin::Ref<plugin::Executable>> CompileForTopology(const plugin::Program& program,
                                                             const plugin::CompileOptions& options,
                                                             plugin::Topology& topology, plugin::Client*) override {
    TENON_ASSIGN_OR_RETURN(const std::shared_ptr<const target::Target> target, TargetOf(topology.info().attributes));
    TENON_ASSIGN_OR_RETURN(std::shared_ptr<const Code> code, CompileCode(program.code, options, target));
    TENON_ASSIGN_OR_RETURN(plugin::Ref<CpuExecutable> executable, CpuExecutable::Create(std::move(code), options));
    return plugin::Ref<plugin::Executable>(std::move(executable));
  }
};

}  // namespace
}  // namespace tenon::cpu

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  // Leaked: objects of the plugin may outlive every destructor of the library.
  static tenon::cpu::CpuPlugin& plugin = *new tenon::cpu::CpuPlugin;
  return tenon::plugin::MakeApi(plugin);
}
