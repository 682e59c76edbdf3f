// The plugin object, its options, and the one symbol that the shared library exports.

#include "tenon/plugin/plugin.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tenon/host/build.h"
#include "tenon/host/plugin_base.h"
#include "tenon/vulkan/plugin/client.h"
#include "tenon/vulkan/plugin/code.h"
#include "tenon/vulkan/plugin/executable.h"
#include "tenon/vulkan/policy.h"

namespace tenon::vulkan {
namespace {

std::string FromEnvironment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string() : std::string(text);
}

/// What the caller asked for (null: nothing), else TENON_NUM_DEVICES, else 0: as many as there are.
Result<int64_t> NumDevices(const int64_t* asked) {
  const std::string text = FromEnvironment("TENON_NUM_DEVICES");
  int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (!text.empty() && (error != std::errc() || end != text.data() + text.size()))
    return InvalidArgument(fmt::format("TENON_NUM_DEVICES is '{}', wanted a number", text));
  if (asked != nullptr) n = *asked;
  if (n < 0 || n > policy::kMaxDevices)
    return InvalidArgument(fmt::format("num_devices is {}, wanted 0 to {}", n, policy::kMaxDevices));
  return n;
}

class VulkanPlugin final : public host::PluginBase {
 public:
  VulkanPlugin() : PluginBase(kPlatformName) {}

  std::span<const plugin::OptionSpec> client_option_specs() const override {
    static const std::vector<plugin::OptionSpec>& specs =
        *new std::vector<plugin::OptionSpec>{{"devices", plugin::ValueType::kString},
                                             {"num_devices", plugin::ValueType::kInt64},
                                             {"memory_limit_bytes", plugin::ValueType::kInt64}};
    return specs;
  }

  Result<plugin::Ref<plugin::Client>> CreateClient(plugin::ClientOptions options) override {
    if (const int64_t nodes = options.GetInt("num_nodes", 1); nodes != 1) {
      return Unimplemented(fmt::format(
          "num_nodes is {}, wanted 1: this plugin's devices are those of one process, and it cannot take part in a job "
          "of several",
          nodes));
    }
    if (const int64_t node = options.GetInt("node_id", 0); node != 0)
      return InvalidArgument(fmt::format("node_id is {} of 1 node, wanted 0", node));
    VulkanClient::Setup setup;
    setup.devices = options.GetString("devices", FromEnvironment("TENON_VULKAN_DEVICES"));
    TENON_ASSIGN_OR_RETURN(setup.num_devices, NumDevices(plugin::FindOption<int64_t>(options.values, "num_devices")));
    setup.memory_limit_bytes = options.GetInt("memory_limit_bytes", 0);
    if (setup.memory_limit_bytes < 0)
      return InvalidArgument(fmt::format("memory_limit_bytes is {}, wanted 0 or more", setup.memory_limit_bytes));
    setup.never_map = FromEnvironment("TENON_VULKAN_STAGING") == "1";
    setup.matrix_units_of_software = FromEnvironment("TENON_VULKAN_MATRIX_UNITS") == "1";
    return VulkanClient::Create(setup);
  }

  /// A topology is called by a target's name ("gpu:software", "gpu:discrete" and so on), or "" or "vulkan": the devices
  /// that a client without options has.
  Result<plugin::Ref<plugin::Topology>> CreateTopology(std::string_view name, const plugin::Options& given) override {
    static const std::vector<plugin::OptionSpec>& specs = *new std::vector<plugin::OptionSpec>{};
    TENON_RETURN_IF_ERROR(plugin::CheckOptions(given, specs, "topology option").status());
    if (name.empty() || name == kPlatformName) {
      TENON_ASSIGN_OR_RETURN(const plugin::Ref<plugin::Client> client, CreateClient({}));
      return plugin::MakeRef<plugin::Topology>(client->topology()->info());
    }
    TENON_ASSIGN_OR_RETURN(const target::Target target, target::TargetByName(name));
    if (target.kind != target::Kind::kGpu)
      return InvalidArgument(fmt::format("topology '{}', wanted one of a GPU: gpu:NAME", name));
    plugin::Topology::Info info{std::string(kPlatformName), host::BuildName()};
    info.attributes = {{std::string(kTargetAttribute), target::Print(target)}};
    PhysicalDevice device;
    device.name = target.name;
    info.devices.push_back(DescribeDevice(0, device));
    return plugin::MakeRef<plugin::Topology>(std::move(info));
  }

  Result<plugin::Ref<plugin::Executable>> CompileForTopology(const plugin::Program& program,
                                                             const plugin::CompileOptions& options,
                                                             plugin::Topology& topology, plugin::Client*) override {
    std::shared_ptr<const target::Target> target;
    for (const plugin::NamedValue& a : topology.info().attributes) {
      const auto* text = std::get_if<std::string>(&a.value);
      if (a.name != kTargetAttribute || text == nullptr) continue;
      TENON_ASSIGN_OR_RETURN(target::Target parsed, target::Parse(*text));
      target = std::make_shared<const target::Target>(std::move(parsed));
    }
    if (target == nullptr || target->kind != target::Kind::kGpu)
      return InvalidArgument("the topology does not say which GPU it is of");
    TENON_ASSIGN_OR_RETURN(std::shared_ptr<const Compiled> compiled, CompileFor(program.code, options, target, true));
    TENON_ASSIGN_OR_RETURN(plugin::Ref<VulkanExecutable> executable,
                           VulkanExecutable::Create(std::move(compiled), options));
    return plugin::Ref<plugin::Executable>(std::move(executable));
  }
};

}  // namespace
}  // namespace tenon::vulkan

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  // Leaked: objects of the plugin may outlive every destructor of the library.
  static tenon::vulkan::VulkanPlugin& plugin = *new tenon::vulkan::VulkanPlugin;
  return tenon::plugin::MakeApi(plugin);
}
