#include "tenon/client/client.h"

#include <fmt/format.h>

#include "tenon/client/internal/client_state.h"
#include "tenon/client/internal/program_argument.h"

namespace tenon::client {

using internal::Text;

namespace internal {

ClientState::~ClientState() {
  if (client == nullptr) return;
  auto args = MakeArgs<PJRT_Client_Destroy_Args>();
  args.client = client;
  (void)api->Call(args);
  Count(Kind::kClient, -1);
}

Status CheckOpen(const std::shared_ptr<ClientState>& client) {
  if (client != nullptr) return OkStatus();
  return FailedPrecondition("this Client is closed, or was moved from");
}

Status CheckSameClient(const ClientState* a, const ClientState* b, const char* what) {
  if (a == b) return OkStatus();
  const std::string name_a = a == nullptr ? "nothing" : a->name;
  const std::string name_b = b == nullptr ? "nothing" : b->name;
  return InvalidArgument(
      fmt::format("{} belongs to another client (of plugin '{}') than the object it is used with (plugin '{}'); "
                  "Buffer::CopyTo copies between clients",
                  what, name_b, name_a));
}

namespace {
// The minor version that brought an element type.
int SinceMinor(DType type) {
  switch (type) {
    case DType::kF8E4M3:
    case DType::kF8E3M4:
      return 55;
    case DType::kF8E8M0FNU:
    case DType::kF4E2M1FN:
      return 63;
    case DType::kS1:
    case DType::kU1:
      return 94;
    case DType::kF6E2M3FN:
    case DType::kF6E3M2FN:
      return 114;
    default:
      return 0;
  }
}
}  // namespace

Status CheckShape(const Api& api, DType dtype, const int64_t* dims, size_t rank) {
  const int type = static_cast<int>(dtype);
  if (type <= 0 || type >= kNumDTypes) return InvalidArgument(fmt::format("{} is not an element type", type));
  if (api.minor_version() < SinceMinor(dtype)) {
    return Unimplemented(fmt::format("the element type {} came with PJRT 0.{}; {} has 0.{}", DTypeName(dtype),
                                     SinceMinor(dtype), api.name(), api.minor_version()));
  }
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) return InvalidArgument(fmt::format("dimension {} has the negative extent {}", i, dims[i]));
  }
  return OkStatus();
}

}  // namespace internal

Status Client::Close() && {
  if (state_ == nullptr) return FailedPrecondition("this Client is closed already, or was moved from");
  if (state_.use_count() > 1) {
    const LiveObjects live = live_objects();
    return FailedPrecondition(
        fmt::format("the client of '{}' cannot be closed: alive are {}", state_->name,
                    live.total() > 1 ? client::ToString(live) : "handles of its devices, memories or topology"));
  }
  state_.reset();
  return OkStatus();
}

LiveObjects Client::live_objects() const {
  LiveObjects live;
  if (state_ == nullptr) return live;
  live.clients = 1;
  live.buffers = state_->buffers.load();
  live.loaded_executables = state_->loaded_executables.load();
  live.others = state_->others.load();
  return live;
}

Plugin Client::plugin() const { return state_->plugin; }
const Api& Client::api() const { return *state_->api; }
PJRT_Client* Client::get() const { return state_->client; }

// Every method begins with this: the object may have been moved from.
#define TENON_CHECK_OPEN() TENON_RETURN_IF_ERROR(internal::CheckOpen(state_))

std::string Client::ToString() const {
  if (state_ == nullptr) return "closed client";
  const auto devices = Devices();
  const auto process = ProcessIndex();
  return fmt::format("{}, {} devices, process {}, by {}", PlatformName().ok() ? *PlatformName() : "unknown platform",
                     devices.ok() ? devices->size() : 0, process.ok() ? *process : 0, state_->plugin.ToString());
}

Result<std::string> Client::PlatformName() const {
  TENON_CHECK_OPEN();
  auto args = MakeArgs<PJRT_Client_PlatformName_Args>();
  args.client = state_->client;
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  return Text(args.platform_name, args.platform_name_size);
}

Result<std::string> Client::PlatformVersion() const {
  TENON_CHECK_OPEN();
  auto args = MakeArgs<PJRT_Client_PlatformVersion_Args>();
  args.client = state_->client;
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  return Text(args.platform_version, args.platform_version_size);
}

Result<int> Client::ProcessIndex() const {
  TENON_CHECK_OPEN();
  auto args = MakeArgs<PJRT_Client_ProcessIndex_Args>();
  args.client = state_->client;
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  return args.process_index;
}

Result<std::vector<Device>> Client::Devices() const {
  TENON_CHECK_OPEN();
  auto args = MakeArgs<PJRT_Client_Devices_Args>();
  args.client = state_->client;
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  std::vector<Device> devices;
  for (size_t i = 0; i < args.num_devices; ++i) devices.emplace_back(state_, args.devices[i]);
  return devices;
}

Result<std::vector<Device>> Client::AddressableDevices() const {
  TENON_CHECK_OPEN();
  auto args = MakeArgs<PJRT_Client_AddressableDevices_Args>();
  args.client = state_->client;
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  std::vector<Device> devices;
  for (size_t i = 0; i < args.num_addressable_devices; ++i) devices.emplace_back(state_, args.addressable_devices[i]);
  return devices;
}

Result<Device> Client::device(size_t index) const {
  TENON_CHECK_OPEN();
  auto args = MakeArgs<PJRT_Client_AddressableDevices_Args>();
  args.client = state_->client;
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  if (index >= args.num_addressable_devices) {
    return OutOfRange(fmt::format("addressable device {} of '{}' was asked for; there are {}", index, state_->name,
                                  args.num_addressable_devices));
  }
  return Device(state_, args.addressable_devices[index]);
}

Result<size_t> Client::IndexOf(const Device& device) const {
  TENON_ASSIGN_OR_RETURN(const std::vector<Device> devices, AddressableDevices());
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i] == device) return i;
  }
  return NotFound("the device is none of the addressable devices of this client");
}

Result<Device> Client::LookupDevice(int id) const {
  TENON_CHECK_OPEN();
  auto args = MakeArgs<PJRT_Client_LookupDevice_Args>();
  args.client = state_->client;
  args.id = id;
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  return Device(state_, args.device);
}

Result<Device> Client::LookupAddressableDevice(int local_hardware_id) const {
  TENON_CHECK_OPEN();
  auto args = MakeArgs<PJRT_Client_LookupAddressableDevice_Args>();
  args.client = state_->client;
  args.local_hardware_id = local_hardware_id;
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  return Device(state_, args.addressable_device);
}

Result<std::vector<Memory>> Client::AddressableMemories() const {
  TENON_CHECK_OPEN();
  auto args = MakeArgs<PJRT_Client_AddressableMemories_Args>();
  args.client = state_->client;
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  std::vector<Memory> memories;
  for (size_t i = 0; i < args.num_addressable_memories; ++i)
    memories.emplace_back(state_, args.addressable_memories[i]);
  return memories;
}

Result<Topology> Client::GetTopology() const {
  TENON_CHECK_OPEN();
  auto args = MakeArgs<PJRT_Client_TopologyDescription_Args>();
  args.client = state_->client;
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  return Topology(state_->api, args.topology, false, state_);
}

Result<DeviceAssignment> Client::DefaultDeviceAssignment(int num_replicas, int num_partitions) const {
  TENON_CHECK_OPEN();
  if (num_replicas < 1 || num_partitions < 1 || int64_t{num_replicas} * num_partitions > (1 << 24)) {
    return InvalidArgument(
        fmt::format("a device assignment of {} replicas and {} partitions", num_replicas, num_partitions));
  }
  DeviceAssignment assignment{num_replicas, num_partitions, {}};
  assignment.ids.resize(static_cast<size_t>(num_replicas) * static_cast<size_t>(num_partitions), -1);
  auto args = MakeArgs<PJRT_Client_DefaultDeviceAssignment_Args>();
  args.client = state_->client;
  args.num_replicas = num_replicas;
  args.num_partitions = num_partitions;
  args.default_assignment = assignment.ids.data();
  args.default_assignment_size = assignment.ids.size();
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  return assignment;
}

Result<LoadedExecutable> Client::Compile(const Program& program, const CompileOptions& options) const {
  TENON_ASSIGN_OR_RETURN(const std::string bytes, options.Serialize());
  return CompileWithSerializedOptions(program, bytes);
}

Result<LoadedExecutable> Client::Compile(std::string_view stablehlo, const CompileOptions& options) const {
  return Compile(Program::Mlir(std::string(stablehlo)), options);
}

Result<LoadedExecutable> Client::CompileWithSerializedOptions(const Program& program, std::string_view options) const {
  TENON_CHECK_OPEN();
  if (options.empty()) {
    return InvalidArgument(
        "the serialized compile options are empty, on which some plugins end the process; "
        "CompileOptions().Serialize() gives the defaults");
  }
  const PJRT_Program c = internal::ProgramArgument(program);
  auto args = MakeArgs<PJRT_Client_Compile_Args>();
  args.client = state_->client;
  args.program = &c;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  return LoadedExecutable::Wrap(state_, args.executable);
}

Result<LoadedExecutable> Client::Load(const Executable& executable) const {
  TENON_CHECK_OPEN();
  if (executable.get() == nullptr) return FailedPrecondition("Client::Load: the Executable was moved from");
  if (&executable.api() != state_->api) {
    return InvalidArgument(fmt::format("Client::Load: the executable was compiled by '{}' and the client is of '{}'",
                                       executable.api().name(), state_->name));
  }
  auto args = MakeArgs<PJRT_Client_Load_Args>();
  args.client = state_->client;
  args.executable = executable.get();
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  return LoadedExecutable::Wrap(state_, args.loaded_executable);
}

Result<LoadedExecutable> Client::DeserializeAndLoad(std::string_view bytes,
                                                    const std::optional<CompileOptions>& overrides) const {
  TENON_CHECK_OPEN();
  std::string options;
  if (overrides.has_value()) {
    TENON_ASSIGN_OR_RETURN(options, overrides->Serialize());
  }
  auto args = MakeArgs<PJRT_Executable_DeserializeAndLoad_Args>();
  args.client = state_->client;
  args.serialized_executable = bytes.data();
  args.serialized_executable_size = bytes.size();
  if (overrides.has_value()) {
    args.overridden_serialized_compile_options = options.data();
    args.overridden_serialized_compile_options_size = options.size();
  }
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  return LoadedExecutable::Wrap(state_, args.loaded_executable);
}

Result<PinnedHostMemory> Client::PinHostMemory(void* data, size_t size) const {
  TENON_CHECK_OPEN();
  auto args = MakeArgs<PJRT_Client_DmaMap_Args>();
  args.client = state_->client;
  args.data = data;
  args.size = size;
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  return PinnedHostMemory(state_, data);
}

Status Client::UpdateGlobalProcessInfo(std::span<const ProcessInfo> processes) const {
  TENON_CHECK_OPEN();
  if (state_->api->minor_version() < 78) {
    return Unimplemented(
        fmt::format("'{}' has PJRT {}, in which the process information has another layout; wanted 0.78", state_->name,
                    state_->plugin.version()));
  }
  std::vector<PJRT_ProcessInfo> infos;
  for (const ProcessInfo& process : processes) {
    PJRT_ProcessInfo c{};
    c.struct_size = PJRT_ProcessInfo_STRUCT_SIZE;
    c.task_id = process.task_id;
    c.incarnation_id = process.incarnation_id;
    c.state = process.state;
    c.error_code = static_cast<int>(process.error.code());
    c.error_message = process.error.message().data();
    c.error_message_size = process.error.message().size();
    infos.push_back(c);
  }
  auto args = MakeArgs<PJRT_Client_UpdateGlobalProcessInfo_Args>();
  args.client = state_->client;
  args.process_infos = infos.data();
  args.num_process_infos = infos.size();
  return state_->api->Call(args);
}

#undef TENON_CHECK_OPEN

}  // namespace tenon::client
