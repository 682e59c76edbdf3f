#include "tenon/vulkan/plugin/client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "tenon/emit_llvm/emit.h"
#include "tenon/host/build.h"
#include "tenon/host/front_end.h"
#include "tenon/host/plugin_base.h"
#include "tenon/host/profile_log.h"
#include "tenon/host/warm_up.h"
#include "tenon/vulkan/plugin/code.h"
#include "tenon/vulkan/plugin/executable.h"
#include "tenon/vulkan/policy.h"
#include "tenon/vulkan/runner/facts.h"

namespace tenon::vulkan {
namespace {

/// "0: llvmpipe (fit), 1: Old GPU (its driver is of Vulkan 1.1, wanted 1.3)".
std::string Listed(const Instance& instance) {
  std::string text;
  for (size_t i = 0; i < instance.devices().size(); ++i) {
    const PhysicalDevice& d = instance.devices()[i];
    text += fmt::format("{}{}: {} ({}, {})", i == 0 ? "" : "; ", i, d.name, d.type_name(),
                        d.unfit.empty() ? std::string_view("fit") : std::string_view(d.unfit));
  }
  return text.empty() ? "none" : text;
}

Result<std::vector<size_t>> Choose(const Instance& instance, std::string_view wanted) {
  std::vector<size_t> chosen;
  const std::vector<PhysicalDevice>& devices = instance.devices();
  if (wanted.empty() || wanted == "all") {
    for (const bool cpus : {false, true}) {
      if (cpus && !chosen.empty() && wanted.empty()) break;
      for (size_t i = 0; i < devices.size(); ++i) {
        if (devices[i].unfit.empty() && (devices[i].type == VK_PHYSICAL_DEVICE_TYPE_CPU) == cpus) chosen.push_back(i);
      }
    }
    if (chosen.empty())
      return NotFound(fmt::format("no Vulkan device that can be used; the drivers have: {}", Listed(instance)));
    std::ranges::sort(chosen);
    return chosen;
  }
  for (std::string_view rest = wanted; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string_view number = rest.substr(0, end);
    size_t index = 0;
    const auto [at, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (error != std::errc() || at != number.data() + number.size() || index >= devices.size()) {
      return InvalidArgument(
          fmt::format("devices is '{}', wanted 'all' or numbers of devices, which are: {}", wanted, Listed(instance)));
    }
    chosen.push_back(index);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return chosen;
}

}  // namespace

VulkanClient::VulkanClient(std::shared_ptr<const Instance> instance, std::shared_ptr<threads::ThreadPool> pool)
    : Client({std::string(kPlatformName), host::BuildName(), 0}),
      instance_(std::move(instance)),
      codegen_threads_(emit_llvm::KeepCodegenThreads()),
      pool_(std::move(pool)),
      host_memory_(std::make_shared<runtime::MemoryPool>(runtime::PhysicalMemoryBytes(), policy::kMaxHostCacheBytes,
                                                         &runtime::MemoryLeftBytes)),
      owner_pid_(getpid()) {}

VulkanClient::~VulkanClient() { host::WriteProfilesOrWarn(); }

void VulkanClient::GivenUp() {
  in_flight_.GiveUp();
  host::WriteProfilesOrWarn();
}

Result<plugin::Ref<plugin::Client>> VulkanClient::Create(const Setup& setup) {
  TENON_RETURN_IF_ERROR(emit_llvm::CheckSettings());
  TENON_RETURN_IF_ERROR(host::CheckDumpDir());
  TENON_RETURN_IF_ERROR(host::WriteProfiles());
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<const Instance> instance, Instance::Create());
  TENON_ASSIGN_OR_RETURN(std::vector<size_t> chosen, Choose(*instance, setup.devices));
  if (setup.num_devices > 0) {
    const size_t distinct = chosen.size();
    chosen.resize(static_cast<size_t>(setup.num_devices));
    for (size_t i = distinct; i < chosen.size(); ++i) chosen[i] = chosen[i % distinct];
  }
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<threads::ThreadPool> pool, threads::AcquireProcessPool());
  emit_llvm::SetCodegenThreads(pool->num_threads());
  plugin::Ref<VulkanClient> client = plugin::Ref<VulkanClient>::Adopt(new VulkanClient(instance, std::move(pool)));
  for (size_t i = 0; i < chosen.size(); ++i) {
    Device::Setup open;
    open.memory_limit_bytes = setup.memory_limit_bytes;
    open.never_map = setup.never_map;
    open.matrix_units_of_software = setup.matrix_units_of_software;
    open.left_bytes = &runtime::MemoryLeftBytes;
    TENON_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, Device::Open(instance, chosen[i], open));
    Result<target::DeviceFacts> facts = Probe(*device);
    if (!facts.ok()) {
      return std::move(facts).status().WithContext(
          fmt::format("trying out Vulkan device {} ({})", chosen[i], device->info().name));
    }
    auto target = std::make_shared<const target::Target>(target::GpuTarget(*facts));
    const int id = static_cast<int>(i);
    const auto description = DescribeDevice(id, device->info());
    const std::vector<plugin::MemoryKind>& kinds = description->info().memory_kinds;
    plugin::Device* added =
        client->AddDevice(std::make_unique<VulkanDevice>(description, id, device, std::move(target)));
    for (size_t k = 0; k < kinds.size(); ++k) {
      const int memory = id * static_cast<int>(kinds.size()) + static_cast<int>(k);
      client->AddMemory(std::make_unique<VulkanMemory>(memory, kinds[k], device), {&added, 1}, k == 0);
    }
  }
  plugin::Topology::Info topology{std::string(kPlatformName), host::BuildName()};
  for (plugin::Device* d : client->devices()) topology.devices.push_back(d->shared_description());
  const auto* first = static_cast<const VulkanDevice*>(client->devices().front());
  topology.attributes = {{std::string(kTargetAttribute), target::Print(*first->target())}};
  client->Ready(plugin::MakeRef<plugin::Topology>(std::move(topology)));
  client->Schedule(host::WarmUp());
  return plugin::Ref<plugin::Client>(std::move(client));
}

Status VulkanClient::CheckNotForked() const {
  if (getpid() == owner_pid_) return OkStatus();
  return FailedPrecondition(fmt::format(
      "process {} was forked from {}, which made this client; a forked child cannot use it (the driver stayed behind): "
      "make the client after the fork, or start the child with spawn",
      getpid(), owner_pid_));
}

VulkanDevice& VulkanClient::TargetDevice(const plugin::DeviceAssignment& assignment) const {
  plugin::Device* device = assignment.empty() ? nullptr : FindDevice(assignment.ids[0]);
  return static_cast<VulkanDevice&>(device == nullptr ? *devices()[0] : *device);
}

Result<plugin::Ref<plugin::LoadedExecutable>> VulkanClient::Compile(const plugin::Program& program,
                                                                    const plugin::CompileOptions& options,
                                                                    const plugin::DeviceAssignment& assignment) {
  TENON_RETURN_IF_ERROR(CheckNotForked());
  TENON_RETURN_IF_ERROR(host::CheckFormat(program));
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<const Compiled> compiled,
                         CompileFor(program.code, options, TargetDevice(assignment).target(), true));
  TENON_ASSIGN_OR_RETURN(plugin::Ref<VulkanExecutable> executable,
                         VulkanExecutable::Create(std::move(compiled), options));
  return VulkanLoadedExecutable::Create(plugin::Ref<VulkanClient>(this), std::move(executable), assignment);
}

Result<plugin::Ref<plugin::LoadedExecutable>> VulkanClient::Load(plugin::Ref<plugin::Executable> executable,
                                                                 const plugin::CompileOptions* options) {
  TENON_RETURN_IF_ERROR(CheckNotForked());
  // Every executable of this plugin is a VulkanExecutable.
  plugin::Ref<VulkanExecutable> ours(static_cast<VulkanExecutable*>(executable.get()));
  plugin::CompileOptions stored;
  if (options == nullptr) {
    TENON_ASSIGN_OR_RETURN(stored, plugin::DecodeCompileOptions(ours->info().compile_options));
    options = &stored;
  }
  TENON_ASSIGN_OR_RETURN(plugin::DeviceAssignment assignment, ResolveAssignment(*options));
  return VulkanLoadedExecutable::Create(plugin::Ref<VulkanClient>(this), std::move(ours), std::move(assignment));
}

Result<plugin::Ref<plugin::LoadedExecutable>> VulkanClient::Deserialize(std::string_view bytes,
                                                                        const plugin::CompileOptions* options) {
  TENON_RETURN_IF_ERROR(CheckNotForked());
  TENON_ASSIGN_OR_RETURN(Loaded loaded, LoadCompiled(bytes, TargetDevice({}).target()));
  plugin::CompileOptions stored;
  if (options == nullptr) {
    TENON_ASSIGN_OR_RETURN(stored, plugin::DecodeCompileOptions(loaded.compile_options));
    options = &stored;
  }
  TENON_ASSIGN_OR_RETURN(plugin::DeviceAssignment assignment, ResolveAssignment(*options));
  TENON_ASSIGN_OR_RETURN(plugin::Ref<VulkanExecutable> executable,
                         VulkanExecutable::Create(std::move(loaded.compiled), *options));
  return VulkanLoadedExecutable::Create(plugin::Ref<VulkanClient>(this), std::move(executable), std::move(assignment));
}

void VulkanClient::Schedule(std::function<void()> work) {
  if (!CheckNotForked().ok()) {  // Nobody would run it.
    work();
    return;
  }
  static_cast<VulkanDevice*>(devices()[0])->queue().Schedule(std::move(work));
}

}  // namespace tenon::vulkan
