#include "tenon/plugin/bind.h"

namespace tenon::plugin::bind {

TENON_BIND(PJRT_Memory_Id) {
  TENON_REQUIRE(memory);
  args.id = FromC(args.memory)->id();
  return OkStatus();
}

TENON_BIND(PJRT_Memory_Kind) {
  TENON_REQUIRE(memory);
  const std::string& kind = FromC(args.memory)->kind().name;
  args.kind = kind.data();
  args.kind_size = kind.size();
  return OkStatus();
}

TENON_BIND(PJRT_Memory_Kind_Id) {
  TENON_REQUIRE(memory);
  args.kind_id = FromC(args.memory)->kind().id;
  return OkStatus();
}

TENON_BIND(PJRT_Memory_DebugString) {
  TENON_REQUIRE(memory);
  const std::string& text = FromC(args.memory)->debug_string();
  args.debug_string = text.data();
  args.debug_string_size = text.size();
  return OkStatus();
}

TENON_BIND(PJRT_Memory_ToString) {
  TENON_REQUIRE(memory);
  const std::string& text = FromC(args.memory)->to_string();
  args.to_string = text.data();
  args.to_string_size = text.size();
  return OkStatus();
}

TENON_BIND(PJRT_Memory_AddressableByDevices) {
  TENON_REQUIRE(memory);
  std::span<Device* const> devices = FromC(args.memory)->devices();
  args.devices = ToC(devices);
  args.num_devices = devices.size();
  return OkStatus();
}

}  // namespace tenon::plugin::bind
