// The plugin object, its options, and the one symbol that the shared library exports.

#include "tenon/plugin/plugin.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "tenon/ffi_host/call_site.h"
#include "tenon/ffi_host/registry.h"
#include "tenon/host/build.h"
#include "tenon/plugin/ffi_types.h"
#include "tenon/vulkan/plugin/client.h"
#include "tenon/vulkan/plugin/code.h"
#include "tenon/vulkan/plugin/executable.h"

namespace tenon::vulkan {
namespace {

std::string FromEnvironment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string() : std::string(text);
}

/// The topology's attribute that says what it is compiled for.
constexpr std::string_view kTarget = "target";

class VulkanPlugin final : public plugin::Plugin {
 public:
  VulkanPlugin() { ffi_host::InstallTypeRegistry({&plugin::RegisterFfiType, &plugin::FfiTypeDeleter}); }

  std::array<int64_t, 3> stablehlo_current_version() const override { return {1, 16, 3}; }

  std::span<const plugin::OptionSpec> client_option_specs() const override {
    static const std::vector<plugin::OptionSpec>& specs = *new std::vector<plugin::OptionSpec>{
        {"devices", plugin::ValueType::kString}, {"memory_limit_bytes", plugin::ValueType::kInt64}};
    return specs;
  }

  std::span<const plugin::OptionSpec> compile_option_specs() const override {
    static const std::vector<plugin::OptionSpec>& specs = *new std::vector<plugin::OptionSpec>{
#define TENON_XLA_OPTION(name, type) {#name, plugin::ValueType::type},
#include "tenon/host/xla_options.def"
#undef TENON_XLA_OPTION
    };
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
    setup.memory_limit_bytes = options.GetInt("memory_limit_bytes", 0);
    if (setup.memory_limit_bytes < 0)
      return InvalidArgument(fmt::format("memory_limit_bytes is {}, wanted 0 or more", setup.memory_limit_bytes));
    setup.never_map = FromEnvironment("TENON_VULKAN_STAGING") == "1";
    return VulkanClient::Create(setup);
  }

  /// A topology is called by a target's name: "gpu:software", "gpu:discrete" and so on.
  Result<plugin::Ref<plugin::Topology>> CreateTopology(std::string_view name, const plugin::Options& given) override {
    static const std::vector<plugin::OptionSpec>& specs = *new std::vector<plugin::OptionSpec>{};
    TENON_RETURN_IF_ERROR(plugin::CheckOptions(given, specs, "topology option").status());
    TENON_ASSIGN_OR_RETURN(const target::Target target, target::TargetByName(name));
    if (target.kind != target::Kind::kGpu)
      return InvalidArgument(fmt::format("topology '{}', wanted one of a GPU: gpu:NAME", name));
    plugin::Topology::Info info{std::string(kPlatformName), host::BuildName()};
    info.attributes = {{std::string(kTarget), target.name}};
    PhysicalDevice device;
    device.name = target.name;
    info.devices.push_back(DescribeDevice(0, device));
    return plugin::MakeRef<plugin::Topology>(std::move(info));
  }

  Result<plugin::Ref<plugin::Executable>> CompileForTopology(const plugin::Program& program,
                                                             const plugin::CompileOptions& options,
                                                             plugin::Topology& topology,
                                                             plugin::Client* client) override {
    std::shared_ptr<const target::Target> target;
    for (const plugin::NamedValue& a : topology.info().attributes) {
      const auto* name = std::get_if<std::string>(&a.value);
      if (a.name != kTarget || name == nullptr) continue;
      TENON_ASSIGN_OR_RETURN(target::Target named, target::TargetByName(*name));
      target = std::make_shared<const target::Target>(std::move(named));
    }
    // A client's own topology: for its first device.
    if (target == nullptr && client != nullptr)
      target = static_cast<VulkanDevice*>(client->devices().front())->target();
    if (target == nullptr)
      return InvalidArgument("the topology does not say which device it is of, and there is no client");
    TENON_ASSIGN_OR_RETURN(std::shared_ptr<const Compiled> compiled, CompileFor(program.code, options, target, true));
    TENON_ASSIGN_OR_RETURN(plugin::Ref<VulkanExecutable> executable,
                           VulkanExecutable::Create(std::move(compiled), options));
    return plugin::Ref<plugin::Executable>(std::move(executable));
  }

  Status RegisterFfiHandler(const plugin::FfiHandlerRegistration& registration) override {
    if (registration.platform_name != "Host" && registration.platform_name != kPlatformName) {
      return InvalidArgument(fmt::format("FFI handler '{}' is for platform '{}', wanted Host: handlers run on the host",
                                         registration.target_name, registration.platform_name));
    }
    XLA_FFI_Handler_Bundle bundle = {};
    if ((registration.traits & ffi_host::kBundleTrait) != 0)
      bundle = *static_cast<const XLA_FFI_Handler_Bundle*>(registration.handler);
    else
      bundle.execute = reinterpret_cast<XLA_FFI_Handler*>(registration.handler);
    return ffi_host::RegisterHandler(registration.target_name, bundle, registration.traits & ~ffi_host::kBundleTrait);
  }
};

}  // namespace
}  // namespace tenon::vulkan

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  // Leaked: objects of the plugin may outlive every destructor of the library.
  static tenon::vulkan::VulkanPlugin& plugin = *new tenon::vulkan::VulkanPlugin;
  return tenon::plugin::MakeApi(plugin);
}
