#include "tenon/plugin/bind.h"

namespace tenon::plugin::bind {

TENON_BIND(PJRT_LoadedExecutable_Destroy) {
  if (args.executable != nullptr) FromC(args.executable)->Release();
  return OkStatus();
}

TENON_BIND(PJRT_LoadedExecutable_GetExecutable) {
  TENON_REQUIRE(loaded_executable);
  args.executable = ToC(Ref<Executable>(FromC(args.loaded_executable)->executable()));
  return OkStatus();
}

TENON_BIND(PJRT_LoadedExecutable_GetDeviceAssignment) {
  TENON_REQUIRE(executable);
  LoadedExecutable& executable = *FromC(args.executable);
  std::string bytes;
  if (!executable.portable()) bytes = SerializeDeviceAssignment(executable.assignment());
  args.serialized_device_assignment =
      NewHolder<PJRT_DeviceAssignmentSerialized>(std::move(bytes), &args.serialized_bytes, &args.serialized_bytes_size);
  args.serialized_device_assignment_deleter = DeleteHolder<PJRT_DeviceAssignmentSerialized>;
  return OkStatus();
}

TENON_BIND(PJRT_LoadedExecutable_AddressableDevices) {
  TENON_REQUIRE(executable);
  std::span<Device* const> devices = FromC(args.executable)->addressable_devices();
  args.addressable_devices = ToC(devices);
  args.num_addressable_devices = devices.size();
  return OkStatus();
}

TENON_BIND(PJRT_LoadedExecutable_AddressableDeviceLogicalIds) {
  TENON_REQUIRE(executable);
  std::span<const PJRT_LogicalDeviceIds> ids = FromC(args.executable)->logical_ids();
  args.addressable_device_logical_ids = const_cast<PJRT_LogicalDeviceIds*>(ids.data());
  args.num_addressable_device_logical_ids = ids.size();
  return OkStatus();
}

TENON_BIND(PJRT_LoadedExecutable_Delete) {
  TENON_REQUIRE(executable);
  FromC(args.executable)->MarkDeleted();
  return OkStatus();
}

TENON_BIND(PJRT_LoadedExecutable_IsDeleted) {
  TENON_REQUIRE(executable);
  args.is_deleted = FromC(args.executable)->is_deleted();
  return OkStatus();
}

TENON_BIND(PJRT_LoadedExecutable_Fingerprint) {
  TENON_REQUIRE(executable);
  const std::string& fingerprint = FromC(args.executable)->info().fingerprint;
  if (fingerprint.empty()) return Unimplemented("PJRT_LoadedExecutable_Fingerprint: the executable has no fingerprint");
  args.executable_fingerprint = fingerprint.data();
  args.executable_fingerprint_size = fingerprint.size();
  return OkStatus();
}

}  // namespace tenon::plugin::bind
