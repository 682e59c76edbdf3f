#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"

namespace tenon::plugin::bind {

// A PJRT_MemoryDescription is a MemoryKind of the device description.
TENON_BIND_EXTENSION(PJRT_DeviceDescription_MemoryDescriptions) {
  TENON_REQUIRE(device_description);
  const DeviceDescription& description = *FromC(args.device_description);
  std::span<const MemoryKind* const> kinds = description.memory_kinds();
  args.memory_descriptions = reinterpret_cast<const PJRT_MemoryDescription* const*>(kinds.data());
  args.num_memory_descriptions = kinds.size();
  int index = description.info().default_memory_kind;
  args.default_memory_index = index < 0 ? static_cast<size_t>(-1) : static_cast<size_t>(index);
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_MemoryDescription_Kind) {
  TENON_REQUIRE(memory_description);
  const auto* kind = reinterpret_cast<const MemoryKind*>(args.memory_description);
  args.kind = kind->name.data();
  args.kind_size = kind->name.size();
  args.kind_id = kind->id;
  return OkStatus();
}

PJRT_Extension_Base* MemoryDescriptionsExtension(PJRT_Extension_Base* next) {
  static PJRT_MemoryDescriptions_Extension extension = {
      .base = {.struct_size = PJRT_MemoryDescriptions_Extension_STRUCT_SIZE,
               .type = PJRT_Extension_Type_MemoryDescriptions,
               .next = next},
      .PJRT_DeviceDescription_MemoryDescriptions = Bind_PJRT_DeviceDescription_MemoryDescriptions,
      .PJRT_MemoryDescription_Kind = Bind_PJRT_MemoryDescription_Kind,
  };
  return &extension.base;
}

}  // namespace tenon::plugin::bind
