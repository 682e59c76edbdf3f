#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tenon/plugin/bind.h"

namespace tenon::plugin::bind {

namespace {

// Given by frameworks to the processes of a job, so that every plugin accepts them.
const std::array<OptionSpec, 3>& JobOptions() {
  static const auto* const specs = new std::array<OptionSpec, 3>{
      {{"node_id", ValueType::kInt64}, {"num_nodes", ValueType::kInt64}, {"partition_index", ValueType::kInt64}}};
  return *specs;
}

// CheckOptions, where the plugin takes others: of those that are known.
Result<Options> CheckNamed(Options given, std::span<const OptionSpec> known, std::string_view what) {
  Options others;
  if (ThePlugin().takes_other_options()) {
    for (auto it = given.begin(); it != given.end();) {
      const auto next = std::next(it);
      const bool named =
          std::any_of(known.begin(), known.end(), [&](const OptionSpec& k) { return k.name == it->first; });
      if (!named) others.insert(given.extract(it));
      it = next;
    }
  }
  TENON_ASSIGN_OR_RETURN(Options checked, CheckOptions(std::move(given), known, what));
  checked.merge(others);
  return checked;
}

Result<ClientOptions> DecodeClientOptions(const PJRT_Client_Create_Args& args) {
  TENON_ASSIGN_OR_RETURN(Options given, DecodeNamedValues(args.create_options, args.num_options));
  std::span<const OptionSpec> own = ThePlugin().client_option_specs();
  std::vector<OptionSpec> known(own.begin(), own.end());
  known.insert(known.end(), JobOptions().begin(), JobOptions().end());
  ClientOptions options;
  TENON_ASSIGN_OR_RETURN(options.values, CheckNamed(std::move(given), known, "client option"));
  // Without a job the callbacks can be garbage: they are looked at only when there is one.
  if (options.GetInt("num_nodes", 1) > 1) {
    bool has_try = TENON_HAS(args, kv_try_get_user_arg);
    if (args.kv_get_callback == nullptr || args.kv_put_callback == nullptr) {
      return InvalidArgument("PJRT_Client_Create: num_nodes is greater than 1, but there are no key-value callbacks");
    }
    options.store.emplace(args.kv_get_callback, args.kv_get_user_arg, has_try ? args.kv_try_get_callback : nullptr,
                          has_try ? args.kv_try_get_user_arg : nullptr, args.kv_put_callback, args.kv_put_user_arg);
  }
  return options;
}

}  // namespace

Result<CompileOptions> DecodeCallersCompileOptions(std::string_view fn, const char* data, size_t size) {
  if (size != 0 && data == nullptr) return NullArgument(fn, "compile_options");
  Result<CompileOptions> options = DecodeCompileOptions(std::string_view(data, size));
  if (!options.ok()) return options.status().WithContext(fn);
  TENON_ASSIGN_OR_RETURN(options->overrides,
                         CheckNamed(options->overrides, ThePlugin().compile_option_specs(), "compile option"));
  return options;
}

Result<CompileOptions> DecodeCompileRequest(std::string_view fn, const char* options, size_t options_size,
                                            const PJRT_Program* program, Program* decoded) {
  if (program == nullptr) return NullArgument(fn, "program");
  if (program->format_size != 0 && program->format == nullptr) return NullArgument(fn, "program->format");
  decoded->format = std::string_view(program->format, program->format_size);
  decoded->code = std::string_view(program->code, program->code == nullptr ? 0 : program->code_size);
  return DecodeCallersCompileOptions(fn, options, options_size);
}

TENON_BIND(PJRT_Client_Create) {
  TENON_ASSIGN_OR_RETURN(ClientOptions options, DecodeClientOptions(args));
  TENON_ASSIGN_OR_RETURN(Ref<Client> client, ThePlugin().CreateClient(std::move(options)));
  if (client->topology() == nullptr) return Internal("PJRT_Client_Create: the client's constructor did not call Ready");
  args.client = ToC(std::move(client));
  return OkStatus();
}

TENON_BIND(PJRT_Client_Destroy) {
  if (args.client == nullptr) return OkStatus();
  const Ref<Client> client = Ref<Client>::Adopt(FromC(args.client));
  client->GivenUp();
  return OkStatus();
}

TENON_BIND(PJRT_Client_PlatformName) {
  TENON_REQUIRE(client);
  const std::string& name = FromC(args.client)->platform_name();
  args.platform_name = name.data();
  args.platform_name_size = name.size();
  return OkStatus();
}

TENON_BIND(PJRT_Client_ProcessIndex) {
  TENON_REQUIRE(client);
  args.process_index = FromC(args.client)->process_index();
  return OkStatus();
}

TENON_BIND(PJRT_Client_PlatformVersion) {
  TENON_REQUIRE(client);
  const std::string& version = FromC(args.client)->platform_version();
  args.platform_version = version.data();
  args.platform_version_size = version.size();
  return OkStatus();
}

TENON_BIND(PJRT_Client_TopologyDescription) {
  TENON_REQUIRE(client);
  args.topology = reinterpret_cast<PJRT_TopologyDescription*>(FromC(args.client)->topology());
  return OkStatus();
}

TENON_BIND(PJRT_Client_Devices) {
  TENON_REQUIRE(client);
  std::span<Device* const> devices = FromC(args.client)->devices();
  args.devices = ToC(devices);
  args.num_devices = devices.size();
  return OkStatus();
}

TENON_BIND(PJRT_Client_AddressableDevices) {
  TENON_REQUIRE(client);
  std::span<Device* const> devices = FromC(args.client)->addressable_devices();
  args.addressable_devices = ToC(devices);
  args.num_addressable_devices = devices.size();
  return OkStatus();
}

TENON_BIND(PJRT_Client_LookupDevice) {
  TENON_REQUIRE(client);
  Device* device = FromC(args.client)->FindDevice(args.id);
  if (device == nullptr) return InvalidArgument(fmt::format("No matching device found for device_id {}", args.id));
  args.device = ToC(device);
  return OkStatus();
}

TENON_BIND(PJRT_Client_LookupAddressableDevice) {
  TENON_REQUIRE(client);
  Device* device = FromC(args.client)->FindAddressableDevice(args.local_hardware_id);
  if (device == nullptr) {
    return InvalidArgument(fmt::format("No matching device found for local_hardware_id {}", args.local_hardware_id));
  }
  args.addressable_device = ToC(device);
  return OkStatus();
}

TENON_BIND(PJRT_Client_AddressableMemories) {
  TENON_REQUIRE(client);
  std::span<PJRT_Memory* const> memories = FromC(args.client)->c_memories();
  args.addressable_memories = memories.data();
  args.num_addressable_memories = memories.size();
  return OkStatus();
}

// Watchers call this from time to time and treat an error as fatal.
TENON_BIND(PJRT_Client_UpdateGlobalProcessInfo) {
  TENON_REQUIRE(client);
  std::vector<Client::ProcessState> states;
  for (size_t i = 0; args.process_infos != nullptr && i < args.num_process_infos; ++i) {
    const PJRT_ProcessInfo& info = args.process_infos[i];
    Client::ProcessState& s = states.emplace_back();
    s.process = info.task_id;
    s.is_lost = info.state == PJRT_ProcessState_kDisconnected || info.state == PJRT_ProcessState_kError;
    if (info.error_message != nullptr) s.message.assign(info.error_message, info.error_message_size);
  }
  FromC(args.client)->ProcessesChanged(states);
  return OkStatus();
}

TENON_BIND(PJRT_Client_Compile) {
  TENON_REQUIRE(client);
  Client& client = *FromC(args.client);
  Program program;
  TENON_ASSIGN_OR_RETURN(
      CompileOptions options,
      DecodeCompileRequest(fn, args.compile_options, args.compile_options_size, args.program, &program));
  if (!client.AcceptsFormat(program.format)) {
    return InvalidArgument(fmt::format("Unknown program format '{}'.", program.format));
  }
  if (program.code.data() == nullptr) return NullArgument(fn, "program->code");
  TENON_ASSIGN_OR_RETURN(DeviceAssignment assignment, client.ResolveAssignment(options));
  TENON_ASSIGN_OR_RETURN(Ref<LoadedExecutable> executable, client.Compile(program, options, assignment));
  args.executable = ToC(std::move(executable));
  return OkStatus();
}

TENON_BIND(PJRT_Client_Load) {
  TENON_REQUIRE(client);
  TENON_REQUIRE(executable);
  std::optional<CompileOptions> options;
  if (args.compile_options_size != 0) {
    TENON_ASSIGN_OR_RETURN(options, DecodeCallersCompileOptions(fn, args.compile_options, args.compile_options_size));
  }
  TENON_ASSIGN_OR_RETURN(
      Ref<LoadedExecutable> loaded,
      FromC(args.client)->Load(Ref<Executable>(FromC(args.executable)), options ? &*options : nullptr));
  args.loaded_executable = ToC(std::move(loaded));
  return OkStatus();
}

TENON_BIND(PJRT_Executable_DeserializeAndLoad) {
  TENON_REQUIRE(client);
  TENON_REQUIRE(serialized_executable);
  std::optional<CompileOptions> options;
  if (TENON_HAS(args, overridden_serialized_compile_options_size) &&
      args.overridden_serialized_compile_options_size != 0) {
    TENON_ASSIGN_OR_RETURN(options, DecodeCallersCompileOptions(fn, args.overridden_serialized_compile_options,
                                                                args.overridden_serialized_compile_options_size));
  }
  std::string_view bytes(args.serialized_executable, args.serialized_executable_size);
  TENON_ASSIGN_OR_RETURN(Ref<LoadedExecutable> loaded,
                         FromC(args.client)->Deserialize(bytes, options ? &*options : nullptr));
  args.loaded_executable = ToC(std::move(loaded));
  return OkStatus();
}

TENON_BIND(PJRT_Client_DefaultDeviceAssignment) {
  TENON_REQUIRE(client);
  if (args.num_replicas < 1 || args.num_partitions < 1) {
    return InvalidArgument(fmt::format("{}: got {} replicas and {} partitions, wanted at least 1", fn,
                                       args.num_replicas, args.num_partitions));
  }
  size_t wanted = static_cast<size_t>(args.num_replicas) * static_cast<size_t>(args.num_partitions);
  if (args.default_assignment_size < wanted) {
    return FailedPrecondition(
        fmt::format("{}: `default_assignment_size` {} < `num_replicas * num_partitions`, {} * {} = {}", fn,
                    args.default_assignment_size, args.num_replicas, args.num_partitions, wanted));
  }
  TENON_REQUIRE(default_assignment);
  TENON_ASSIGN_OR_RETURN(DeviceAssignment assignment,
                         FromC(args.client)->DefaultDeviceAssignment(args.num_replicas, args.num_partitions));
  std::copy(assignment.ids.begin(), assignment.ids.end(), args.default_assignment);
  return OkStatus();
}

TENON_BIND(PJRT_Client_DmaMap) {
  TENON_REQUIRE(client);
  TENON_REQUIRE(data);
  return FromC(args.client)->DmaMap(args.data, args.size);
}

TENON_BIND(PJRT_Client_DmaUnmap) {
  TENON_REQUIRE(client);
  TENON_REQUIRE(data);
  return FromC(args.client)->DmaUnmap(args.data);
}

}  // namespace tenon::plugin::bind
