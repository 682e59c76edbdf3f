#include "tenon/client/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tenon/abi/pjrt_memory_descriptions.h"
#include "tenon/abi/pjrt_stream.h"
#include "tenon/client/internal/client_state.h"
#include "tenon/client/internal/extension.h"

namespace tenon::client {

using internal::Text;

Result<int> DeviceDescription::id() const {
  auto args = MakeArgs<PJRT_DeviceDescription_Id_Args>();
  args.device_description = description_;
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return args.id;
}

Result<int> DeviceDescription::process_index() const {
  auto args = MakeArgs<PJRT_DeviceDescription_ProcessIndex_Args>();
  args.device_description = description_;
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return args.process_index;
}

Result<std::string> DeviceDescription::kind() const {
  auto args = MakeArgs<PJRT_DeviceDescription_Kind_Args>();
  args.device_description = description_;
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return Text(args.device_kind, args.device_kind_size);
}

Result<std::string> DeviceDescription::DebugString() const {
  auto args = MakeArgs<PJRT_DeviceDescription_DebugString_Args>();
  args.device_description = description_;
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return Text(args.debug_string, args.debug_string_size);
}

Result<std::string> DeviceDescription::ToString() const {
  auto args = MakeArgs<PJRT_DeviceDescription_ToString_Args>();
  args.device_description = description_;
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return Text(args.to_string, args.to_string_size);
}

Result<std::vector<NamedValue>> DeviceDescription::Attributes() const {
  auto args = MakeArgs<PJRT_DeviceDescription_Attributes_Args>();
  args.device_description = description_;
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return FromC(args.attributes, args.num_attributes);
}

Result<std::vector<DeviceDescription::MemoryKind>> DeviceDescription::MemoryKinds() const {
  PJRT_DeviceDescription_MemoryDescriptions_Args args{};
  args.struct_size = PJRT_DeviceDescription_MemoryDescriptions_Args_STRUCT_SIZE;
  args.device_description = description_;
  TENON_RETURN_IF_ERROR(TENON_CALL_EXTENSION(*api_, PJRT_Extension_Type_MemoryDescriptions,
                                             PJRT_MemoryDescriptions_Extension,
                                             PJRT_DeviceDescription_MemoryDescriptions, args));
  std::vector<MemoryKind> kinds;
  for (size_t i = 0; i < args.num_memory_descriptions; ++i) {
    PJRT_MemoryDescription_Kind_Args kind{};
    kind.struct_size = PJRT_MemoryDescription_Kind_Args_STRUCT_SIZE;
    kind.memory_description = args.memory_descriptions[i];
    TENON_RETURN_IF_ERROR(TENON_CALL_EXTENSION(*api_, PJRT_Extension_Type_MemoryDescriptions,
                                               PJRT_MemoryDescriptions_Extension, PJRT_MemoryDescription_Kind, kind));
    kinds.push_back({Text(kind.kind, kind.kind_size), kind.kind_id, i == args.default_memory_index});
  }
  return kinds;
}

Device::Device(std::shared_ptr<internal::ClientState> client, PJRT_Device* device)
    : client_(std::move(client)), device_(device) {}

Result<DeviceDescription> Device::Description() const {
  auto args = MakeArgs<PJRT_Device_GetDescription_Args>();
  args.device = device_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return DeviceDescription(client_->api, args.device_description, client_);
}

Result<int> Device::id() const {
  TENON_ASSIGN_OR_RETURN(const DeviceDescription description, Description());
  return description.id();
}
Result<std::string> Device::kind() const {
  TENON_ASSIGN_OR_RETURN(const DeviceDescription description, Description());
  return description.kind();
}
Result<std::string> Device::ToString() const {
  TENON_ASSIGN_OR_RETURN(const DeviceDescription description, Description());
  return description.ToString();
}
Result<std::string> Device::DebugString() const {
  TENON_ASSIGN_OR_RETURN(const DeviceDescription description, Description());
  return description.DebugString();
}

Result<bool> Device::IsAddressable() const {
  auto args = MakeArgs<PJRT_Device_IsAddressable_Args>();
  args.device = device_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return args.is_addressable;
}

Result<int> Device::LocalHardwareId() const {
  auto args = MakeArgs<PJRT_Device_LocalHardwareId_Args>();
  args.device = device_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return args.local_hardware_id;
}

Result<std::vector<NamedValue>> Device::Attributes() const {
  auto args = MakeArgs<PJRT_Device_GetAttributes_Args>();
  args.device = device_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  std::vector<NamedValue> attributes = FromC(args.attributes, args.num_attributes);
  if (args.attributes_deleter != nullptr) args.attributes_deleter(args.device_attributes);
  return attributes;
}

Result<std::vector<Memory>> Device::AddressableMemories() const {
  auto args = MakeArgs<PJRT_Device_AddressableMemories_Args>();
  args.device = device_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  std::vector<Memory> memories;
  for (size_t i = 0; i < args.num_memories; ++i) memories.emplace_back(client_, args.memories[i]);
  return memories;
}

Result<Memory> Device::DefaultMemory() const {
  auto args = MakeArgs<PJRT_Device_DefaultMemory_Args>();
  args.device = device_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return Memory(client_, args.memory);
}

Result<Memory> Device::MemoryOfKind(std::string_view kind) const {
  TENON_ASSIGN_OR_RETURN(const std::vector<Memory> memories, AddressableMemories());
  std::vector<std::string> kinds;
  for (const Memory& memory : memories) {
    TENON_ASSIGN_OR_RETURN(std::string this_kind, memory.kind());
    if (this_kind == kind) return memory;
    kinds.push_back(std::move(this_kind));
  }
  return NotFound(fmt::format("the device has no memory of kind '{}', but {}", kind,
                              kinds.empty() ? "none at all" : fmt::format("{}", fmt::join(kinds, ", "))));
}

Result<MemoryStats> Device::GetMemoryStats() const {
  auto args = MakeArgs<PJRT_Device_MemoryStats_Args>();
  args.device = device_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  MemoryStats stats;
  stats.bytes_in_use = args.bytes_in_use;
  const auto set = [](std::optional<int64_t>& out, bool is_set, int64_t value) {
    if (is_set) out = value;
  };
  set(stats.peak_bytes_in_use, args.peak_bytes_in_use_is_set, args.peak_bytes_in_use);
  set(stats.num_allocs, args.num_allocs_is_set, args.num_allocs);
  set(stats.largest_alloc_size, args.largest_alloc_size_is_set, args.largest_alloc_size);
  set(stats.bytes_limit, args.bytes_limit_is_set, args.bytes_limit);
  set(stats.bytes_reserved, args.bytes_reserved_is_set, args.bytes_reserved);
  set(stats.peak_bytes_reserved, args.peak_bytes_reserved_is_set, args.peak_bytes_reserved);
  set(stats.bytes_reservable_limit, args.bytes_reservable_limit_is_set, args.bytes_reservable_limit);
  set(stats.largest_free_block_bytes, args.largest_free_block_bytes_is_set, args.largest_free_block_bytes);
  set(stats.pool_bytes, args.pool_bytes_is_set, args.pool_bytes);
  set(stats.peak_pool_bytes, args.peak_pool_bytes_is_set, args.peak_pool_bytes);
  set(stats.peak_allocated_bytes, args.peak_allocated_bytes_is_set, args.peak_allocated_bytes);
  return stats;
}

Status Device::ClearMemoryStats() const {
  auto args = MakeArgs<PJRT_Device_ClearMemoryStats_Args>();
  args.device = device_;
  return client_->api->Call(args);
}

Result<bool> Device::PoisonExecution(int32_t launch_id, const Status& error) const {
  if (error.ok()) return InvalidArgument("Device::PoisonExecution needs an error, not OK");
  auto args = MakeArgs<PJRT_Device_PoisonExecution_Args>();
  args.device = device_;
  args.launch_id = launch_id;
  args.error_code = static_cast<PJRT_Error_Code>(error.code());
  args.error_message = error.message().data();
  args.error_message_size = error.message().size();
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return args.poisoned;
}

TrackingScope::~TrackingScope() {
  if (event_ == nullptr) return;
  auto args = MakeArgs<PJRT_AsyncTrackingEvent_Destroy_Args>();
  args.event = event_;
  (void)api_->Call(args);
}

Result<TrackingScope> Device::StartTrackingScope(std::string_view description) const {
  auto args = MakeArgs<PJRT_Device_CreateAsyncTrackingEvent_Args>();
  args.device = device_;
  args.description = description.data();
  args.description_size = description.size();
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return TrackingScope(client_->api, args.event);
}

Result<intptr_t> Device::StreamForExternalReadyEvents() const {
  PJRT_Get_Stream_For_External_Ready_Events_Args args{};
  args.struct_size = PJRT_Get_Stream_For_External_Ready_Events_Args_STRUCT_SIZE;
  args.device = device_;
  TENON_RETURN_IF_ERROR(
      TENON_CALL_EXTENSION(*client_->api, PJRT_Extension_Type_Stream, PJRT_Stream_Extension, get_stream, args));
  return args.stream;
}

Memory::Memory(std::shared_ptr<internal::ClientState> client, PJRT_Memory* memory)
    : client_(std::move(client)), memory_(memory) {}

Result<int> Memory::id() const {
  auto args = MakeArgs<PJRT_Memory_Id_Args>();
  args.memory = memory_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return args.id;
}

Result<std::string> Memory::kind() const {
  auto args = MakeArgs<PJRT_Memory_Kind_Args>();
  args.memory = memory_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return Text(args.kind, args.kind_size);
}

Result<int> Memory::kind_id() const {
  auto args = MakeArgs<PJRT_Memory_Kind_Id_Args>();
  args.memory = memory_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return args.kind_id;
}

Result<std::string> Memory::ToString() const {
  auto args = MakeArgs<PJRT_Memory_ToString_Args>();
  args.memory = memory_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return Text(args.to_string, args.to_string_size);
}

Result<std::string> Memory::DebugString() const {
  auto args = MakeArgs<PJRT_Memory_DebugString_Args>();
  args.memory = memory_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return Text(args.debug_string, args.debug_string_size);
}

Result<std::vector<Device>> Memory::AddressableByDevices() const {
  auto args = MakeArgs<PJRT_Memory_AddressableByDevices_Args>();
  args.memory = memory_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  std::vector<Device> devices;
  for (size_t i = 0; i < args.num_devices; ++i) devices.emplace_back(client_, args.devices[i]);
  return devices;
}

}  // namespace tenon::client
