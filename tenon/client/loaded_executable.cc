#include <fmt/format.h>

#include "tenon/client/executable.h"
#include "tenon/client/internal/client_state.h"

namespace tenon::client {

Result<LoadedExecutable> LoadedExecutable::Wrap(std::shared_ptr<internal::ClientState> client,
                                                PJRT_LoadedExecutable* loaded) {
  const Api& api = *client->api;
  auto program = MakeArgs<PJRT_LoadedExecutable_GetExecutable_Args>();
  program.loaded_executable = loaded;
  const Status got_program = api.Call(program);
  Executable executable(&api, got_program.ok() ? program.executable : nullptr, client);
  // From here on the destructors clean up.
  LoadedExecutable result(client, loaded, std::move(executable), 0, {});
  TENON_RETURN_IF_ERROR(got_program);
  TENON_ASSIGN_OR_RETURN(result.num_outputs_, result.executable_.NumOutputs());
  auto devices = MakeArgs<PJRT_LoadedExecutable_AddressableDevices_Args>();
  devices.executable = loaded;
  TENON_RETURN_IF_ERROR(api.Call(devices));
  for (size_t i = 0; i < devices.num_addressable_devices; ++i)
    result.devices_.push_back(devices.addressable_devices[i]);
  return result;
}

LoadedExecutable::LoadedExecutable(std::shared_ptr<internal::ClientState> client, PJRT_LoadedExecutable* loaded,
                                   Executable executable, size_t num_outputs, std::vector<PJRT_Device*> devices)
    : client_(std::move(client)),
      loaded_(loaded),
      executable_(std::move(executable)),
      num_outputs_(num_outputs),
      devices_(std::move(devices)) {
  client_->CountHere(client_->loaded_executables, internal::Kind::kLoadedExecutable, 1);
}

LoadedExecutable::LoadedExecutable(LoadedExecutable&& other) noexcept
    : client_(std::move(other.client_)),
      loaded_(std::exchange(other.loaded_, nullptr)),
      executable_(std::move(other.executable_)),
      num_outputs_(other.num_outputs_),
      devices_(std::move(other.devices_)),
      deleted_(other.deleted_.load()) {}

LoadedExecutable& LoadedExecutable::operator=(LoadedExecutable&& other) noexcept {
  if (this != &other) {
    Reset();
    client_ = std::move(other.client_);
    loaded_ = std::exchange(other.loaded_, nullptr);
    executable_ = std::move(other.executable_);
    num_outputs_ = other.num_outputs_;
    devices_ = std::move(other.devices_);
    deleted_ = other.deleted_.load();
  }
  return *this;
}

void LoadedExecutable::Reset() {
  if (loaded_ == nullptr) return;
  // Clients of plugins have always been seen to free the program first.
  executable_ = Executable(client_->api, nullptr, nullptr);
  auto args = MakeArgs<PJRT_LoadedExecutable_Destroy_Args>();
  args.executable = std::exchange(loaded_, nullptr);
  (void)client_->api->Call(args);
  client_->CountHere(client_->loaded_executables, internal::Kind::kLoadedExecutable, -1);
  client_.reset();
}

Status LoadedExecutable::Check() const {
  if (loaded_ == nullptr) [[unlikely]]
    return FailedPrecondition("this LoadedExecutable was moved from");
  if (deleted_.load(std::memory_order_relaxed)) [[unlikely]] {
    return FailedPrecondition("this LoadedExecutable was deleted; compile or load the program again");
  }
  return OkStatus();
}

std::vector<Device> LoadedExecutable::AddressableDevices() const {
  std::vector<Device> devices;
  for (PJRT_Device* device : devices_) devices.emplace_back(client_, device);
  return devices;
}

Result<std::vector<LogicalId>> LoadedExecutable::AddressableDeviceLogicalIds() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = MakeArgs<PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args>();
  args.executable = loaded_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  std::vector<LogicalId> ids;
  for (size_t i = 0; i < args.num_addressable_device_logical_ids; ++i) {
    ids.push_back({args.addressable_device_logical_ids[i].replica, args.addressable_device_logical_ids[i].partition});
  }
  return ids;
}

Result<DeviceAssignment> LoadedExecutable::GetDeviceAssignment() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = MakeArgs<PJRT_LoadedExecutable_GetDeviceAssignment_Args>();
  args.executable = loaded_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  // Size 0: portable; the pointer need not be set then.
  Result<DeviceAssignment> assignment =
      args.serialized_bytes_size == 0
          ? Result<DeviceAssignment>(DeviceAssignment{})
          : ParseDeviceAssignment(std::string_view(args.serialized_bytes, args.serialized_bytes_size));
  if (args.serialized_device_assignment_deleter != nullptr) {
    args.serialized_device_assignment_deleter(args.serialized_device_assignment);
  }
  return assignment;
}

Status LoadedExecutable::Delete() {
  if (loaded_ == nullptr) return FailedPrecondition("this LoadedExecutable was moved from");
  auto args = MakeArgs<PJRT_LoadedExecutable_Delete_Args>();
  args.executable = loaded_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  deleted_ = true;
  return OkStatus();
}

Result<bool> LoadedExecutable::IsDeleted() const {
  if (loaded_ == nullptr) return FailedPrecondition("this LoadedExecutable was moved from");
  if (deleted_) return true;
  auto args = MakeArgs<PJRT_LoadedExecutable_IsDeleted_Args>();
  args.executable = loaded_;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return args.is_deleted;
}

}  // namespace tenon::client
