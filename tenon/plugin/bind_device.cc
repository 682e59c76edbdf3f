#include "tenon/plugin/bind.h"

namespace tenon::plugin::bind {

TENON_BIND(PJRT_DeviceDescription_Id) {
  TENON_REQUIRE(device_description);
  args.id = FromC(args.device_description)->id();
  return OkStatus();
}

TENON_BIND(PJRT_DeviceDescription_ProcessIndex) {
  TENON_REQUIRE(device_description);
  args.process_index = FromC(args.device_description)->info().process_index;
  return OkStatus();
}

TENON_BIND(PJRT_DeviceDescription_Attributes) {
  TENON_REQUIRE(device_description);
  const NamedValueArray& attributes = FromC(args.device_description)->attributes();
  args.attributes = attributes.data();
  args.num_attributes = attributes.size();
  return OkStatus();
}

TENON_BIND(PJRT_DeviceDescription_Kind) {
  TENON_REQUIRE(device_description);
  const std::string& kind = FromC(args.device_description)->info().kind;
  args.device_kind = kind.data();
  args.device_kind_size = kind.size();
  return OkStatus();
}

TENON_BIND(PJRT_DeviceDescription_DebugString) {
  TENON_REQUIRE(device_description);
  const std::string& text = FromC(args.device_description)->info().debug_string;
  args.debug_string = text.data();
  args.debug_string_size = text.size();
  return OkStatus();
}

TENON_BIND(PJRT_DeviceDescription_ToString) {
  TENON_REQUIRE(device_description);
  const std::string& text = FromC(args.device_description)->info().to_string;
  args.to_string = text.data();
  args.to_string_size = text.size();
  return OkStatus();
}

TENON_BIND(PJRT_Device_GetDescription) {
  TENON_REQUIRE(device);
  args.device_description = ToC(&FromC(args.device)->description());
  return OkStatus();
}

TENON_BIND(PJRT_Device_IsAddressable) {
  TENON_REQUIRE(device);
  args.is_addressable = FromC(args.device)->is_addressable();
  return OkStatus();
}

TENON_BIND(PJRT_Device_LocalHardwareId) {
  TENON_REQUIRE(device);
  args.local_hardware_id = FromC(args.device)->local_hardware_id();
  return OkStatus();
}

TENON_BIND(PJRT_Device_AddressableMemories) {
  TENON_REQUIRE(device);
  std::span<PJRT_Memory* const> memories = FromC(args.device)->c_memories();
  args.memories = memories.data();
  args.num_memories = memories.size();
  return OkStatus();
}

TENON_BIND(PJRT_Device_DefaultMemory) {
  TENON_REQUIRE(device);
  Memory* memory = FromC(args.device)->default_memory();
  if (memory == nullptr)
    return Unimplemented("PJRT_Device_DefaultMemory: the device has no memory that this process can use");
  args.memory = ToC(memory);
  return OkStatus();
}

TENON_BIND(PJRT_Device_MemoryStats) {
  TENON_REQUIRE(device);
  TENON_ASSIGN_OR_RETURN(MemoryStats stats, FromC(args.device)->GetMemoryStats());
  args.bytes_in_use = stats.bytes_in_use;
  // Every other figure has a flag, and the later ones may lie outside a caller's struct.
#define TENON_STAT(name)                         \
  if (TENON_HAS(args, name##_is_set)) {          \
    args.name = stats.name.value_or(0);          \
    args.name##_is_set = stats.name.has_value(); \
  }
  TENON_STAT(peak_bytes_in_use)
  TENON_STAT(num_allocs)
  TENON_STAT(largest_alloc_size)
  TENON_STAT(bytes_limit)
  TENON_STAT(bytes_reserved)
  TENON_STAT(peak_bytes_reserved)
  TENON_STAT(bytes_reservable_limit)
  TENON_STAT(largest_free_block_bytes)
  TENON_STAT(pool_bytes)
  TENON_STAT(peak_pool_bytes)
  TENON_STAT(peak_allocated_bytes)
#undef TENON_STAT
  return OkStatus();
}

TENON_BIND(PJRT_Device_ClearMemoryStats) {
  TENON_REQUIRE(device);
  return FromC(args.device)->ClearMemoryStats();
}

TENON_BIND(PJRT_Device_PoisonExecution) {
  TENON_REQUIRE(device);
  Status error;
  TENON_RETURN_IF_ERROR(TakeFailure(fn, args, error));
  TENON_ASSIGN_OR_RETURN(bool poisoned, FromC(args.device)->PoisonExecution(args.launch_id, error));
  args.poisoned = poisoned;
  return OkStatus();
}

TENON_BIND(PJRT_Device_GetAttributes) {
  TENON_REQUIRE(device);
  auto* attributes = new NamedValueArray(FromC(args.device)->GetAttributes());
  args.attributes = attributes->data();
  args.num_attributes = attributes->size();
  args.device_attributes = reinterpret_cast<PJRT_Device_Attributes*>(attributes);
  args.attributes_deleter = [](PJRT_Device_Attributes* a) { delete reinterpret_cast<NamedValueArray*>(a); };
  return OkStatus();
}

TENON_BIND(PJRT_Device_CreateAsyncTrackingEvent) {
  TENON_REQUIRE(device);
  args.event = nullptr;  // Success without an object: there is nothing that would look at it.
  return OkStatus();
}

TENON_BIND(PJRT_AsyncTrackingEvent_Destroy) { return OkStatus(); }

}  // namespace tenon::plugin::bind
