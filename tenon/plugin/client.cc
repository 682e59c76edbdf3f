#include "tenon/plugin/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tenon/abi/pjrt_callback.h"

namespace tenon::plugin {

Client::Client(Info info) : info_(std::move(info)) {}
Client::~Client() = default;

Device* Client::AddDevice(std::unique_ptr<Device> device) {
  device->client_ = this;
  devices_.push_back(device.get());
  if (device->is_addressable()) addressable_devices_.push_back(device.get());
  owned_devices_.push_back(std::move(device));
  return devices_.back();
}

Memory* Client::AddMemory(std::unique_ptr<Memory> memory, std::span<Device* const> devices, bool is_default) {
  memory->client_ = this;
  memory->devices_.assign(devices.begin(), devices.end());
  for (Device* device : devices) {
    device->memories_.push_back(memory.get());
    device->c_memories_.push_back(memory->c_memory());
    if (is_default) device->default_memory_ = memory.get();
  }
  memories_.push_back(memory.get());
  c_memories_.push_back(memory->c_memory());
  owned_memories_.push_back(std::move(memory));
  return memories_.back();
}

void Client::Ready(Ref<Topology> topology) {
  if (topology == nullptr) {
    Topology::Info info{.platform_name = info_.platform_name, .platform_version = info_.platform_version};
    for (Device* device : devices_) info.devices.push_back(device->shared_description());
    topology = MakeRef<Topology>(std::move(info));
  }
  topology_ = std::move(topology);
}

Device* Client::FindDevice(int id) const {
  for (Device* device : devices_) {
    if (device->id() == id) return device;
  }
  return nullptr;
}

Device* Client::FindAddressableDevice(int local_hardware_id) const {
  for (Device* device : addressable_devices_) {
    if (device->local_hardware_id() == local_hardware_id) return device;
  }
  return nullptr;
}

Memory* Client::FindMemory(const Device& device, std::string_view kind) const {
  for (Memory* memory : device.memories()) {
    if (memory->kind().name == kind) return memory;
  }
  return nullptr;
}

EventRef Client::SendToProcess(Ref<Buffer> buffer, int device_id, int64_t key) {
  return EventRef::Of(Unimplemented(fmt::format("platform '{}' sends nothing to other processes", platform_name())));
}

Result<Ref<Buffer>> Client::ReceiveFromProcess(ArraySpec spec, Device* device, int device_id, int64_t key) {
  return Unimplemented(fmt::format("platform '{}' receives nothing from other processes", platform_name()));
}

void Client::AddCallback(int type, void (*function)(void* args, void* user_arg), void* user_arg) {
  const std::lock_guard lock(callbacks_mutex_);
  callbacks_.push_back({type, function, user_arg});
}

void Client::InvokeCallbacks(int type, void* args) {
  std::vector<Callback> callbacks;
  {
    const std::lock_guard lock(callbacks_mutex_);
    callbacks = callbacks_;
  }
  for (const Callback& c : callbacks) {
    if (c.type == type) c.function(args, c.user_arg);
  }
}

void Client::TellPrefatal(const Status& error) {
  PJRT_Callback_PrefatalArgs args{.struct_size = PJRT_Callback_PrefatalArgs_STRUCT_SIZE,
                                  .error_code = static_cast<PJRT_Error_Code>(error.code()),
                                  .error_message = error.message().data(),
                                  .error_message_size = error.message().size()};
  InvokeCallbacks(PJRT_Callback_Type_Prefatal, &args);
}

bool Client::Owns(const Device* device) const { return device->client() == this; }
bool Client::Owns(const Memory* memory) const { return memory->client() == this; }

bool Client::AcceptsFormat(std::string_view format) const {
  return format == "mlir" || format == "hlo" || format == "hlo_with_config";
}

Result<Ref<LoadedExecutable>> Client::Load(Ref<Executable> executable, const CompileOptions* options) {
  return Unimplemented(fmt::format("platform '{}' cannot load executables compiled ahead of time", platform_name()));
}

Result<Ref<LoadedExecutable>> Client::Deserialize(std::string_view bytes, const CompileOptions* options) {
  return Unimplemented(fmt::format("platform '{}' cannot deserialize executables", platform_name()));
}

Result<DeviceAssignment> Client::DefaultDeviceAssignment(int num_replicas, int num_partitions) const {
  DeviceAssignment assignment{.num_replicas = num_replicas, .num_partitions = num_partitions};
  // As long as one process's devices suffice they are taken, so that every process of a job can run programs of its
  // own.
  int64_t wanted = int64_t{num_replicas} * num_partitions;
  const std::vector<Device*>& from =
      wanted <= static_cast<int64_t>(addressable_devices_.size()) ? addressable_devices_ : devices_;
  if (wanted > static_cast<int64_t>(from.size())) {
    return FailedPrecondition(fmt::format("{} replicas of {} partitions need {} devices; the client has {}",
                                          num_replicas, num_partitions, wanted, from.size()));
  }
  for (int64_t i = 0; i < wanted; ++i) assignment.ids.push_back(from[i]->id());
  return assignment;
}

Status Client::DmaMap(void* data, size_t size_bytes) { return OkStatus(); }
Status Client::DmaUnmap(void* data) { return OkStatus(); }

Result<void*> Client::AllocateHostMemory(size_t size_bytes, size_t alignment, int numa_node) {
  // More than any address space has: allocators of sanitizers take such a request for a mistake of the program.
  constexpr size_t kMost = size_t{1} << 47;
  void* data = nullptr;
  if (size_bytes > kMost ||
      ::posix_memalign(&data, std::max(alignment, sizeof(void*)), std::max<size_t>(size_bytes, 1)) != 0)
    return ResourceExhausted(fmt::format("no memory for {} bytes of the host, aligned to {}", size_bytes, alignment));
  return data;
}

void Client::FreeHostMemory(void* data) { std::free(data); }

Result<DeviceAssignment> Client::ResolveAssignment(const CompileOptions& options) const {
  if (options.portable) {
    if (options.num_replicas != 1 || options.num_partitions != 1) {
      return InvalidArgument(fmt::format("a portable executable has one replica and one partition, got {} and {}",
                                         options.num_replicas, options.num_partitions));
    }
    return DeviceAssignment{};
  }
  DeviceAssignment assignment = options.device_assignment;
  if (assignment.empty() && options.device_ordinal >= 0 && options.num_replicas == 1 && options.num_partitions == 1) {
    assignment =
        DeviceAssignment{.num_replicas = 1, .num_partitions = 1, .ids = {static_cast<int>(options.device_ordinal)}};
  }
  if (assignment.empty()) return DefaultDeviceAssignment(options.num_replicas, options.num_partitions);
  bool any_here = false;
  for (size_t i = 0; i < assignment.ids.size(); ++i) {
    Device* device = FindDevice(assignment.ids[i]);
    if (device == nullptr) {
      return InvalidArgument(
          fmt::format("the device assignment names device {}, which does not exist", assignment.ids[i]));
    }
    any_here = any_here || device->is_addressable();
    if (std::find(assignment.ids.begin(), assignment.ids.begin() + i, assignment.ids[i]) !=
        assignment.ids.begin() + i) {
      return InvalidArgument(fmt::format("the device assignment names device {} twice", assignment.ids[i]));
    }
  }
  if (!any_here && !TakesProgramsOfOthers())
    return InvalidArgument("the device assignment names no device of this process");
  return assignment;
}

}  // namespace tenon::plugin
