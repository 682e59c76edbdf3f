// Programs: compiled, loaded, copied through bytes, run.

#include "fuzz/api_machine.h"
#include "tenon/abi/program.h"

namespace tenon::fuzz {

namespace {

PJRT_Program MakeProgram(std::string_view code, std::string_view format) {
  return TenonMakeProgram(code.data(), code.size(), format.data(), format.size());
}

// Copies what the plugin serialized, without room behind it.
std::string CopyOf(const char* bytes, size_t size) { return std::string(bytes, size); }

}  // namespace

void Machine::Compile() {
  if (loaded_.size() >= kMaxPool) return;
  const std::span<const std::string_view> programs = Programs();
  const std::string own = in_.OneIn(64) ? in_.Bytes(60) : std::string(programs[in_.Below(programs.size())]);
  const PJRT_Program program = MakeProgram(own, in_.OneIn(32) ? "text" : "mlir");
  const std::string options = ChooseOptions();
  FUZZ_ARGS(PJRT_Client_Compile, args);
  args.client = AnyClient();
  args.program = in_.OneIn(64) ? nullptr : &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  if (FUZZ_CALL(PJRT_Client_Compile, args, in_) == Outcome::kOk) loaded_.push_back(args.executable);
}

void Machine::CompileForTopology() {
  if (executables_.size() >= kMaxPool || topologies_.empty()) return;
  const std::span<const std::string_view> programs = Programs();
  const PJRT_Program program = MakeProgram(programs[in_.Below(programs.size())], "mlir");
  const std::string options = ChooseOptions();
  FUZZ_ARGS(PJRT_Compile, args);
  args.topology = topologies_[in_.Below(topologies_.size())];
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  if (in_.OneIn(4)) args.client = AnyClient();
  if (FUZZ_CALL(PJRT_Compile, args, in_) == Outcome::kOk) executables_.push_back(args.executable);
}

void Machine::CreateTopology() {
  if (topologies_.size() >= kMaxPool) return;
  FUZZ_ARGS(PJRT_TopologyDescription_Create, args);
  const std::string_view name = in_.OneIn(16) ? "nowhere" : TopologyName();
  args.topology_name = name.data();
  args.topology_name_size = name.size();
  if (FUZZ_CALL(PJRT_TopologyDescription_Create, args, in_) == Outcome::kOk) topologies_.push_back(args.topology);
}

void Machine::CopyTopology() {
  if (topologies_.size() >= kMaxPool) return;
  FUZZ_ARGS(PJRT_TopologyDescription_Serialize, args);
  if (!topologies_.empty() && in_.OneIn(2)) {
    args.topology = topologies_[in_.Below(topologies_.size())];
  } else {
    FUZZ_ARGS(PJRT_Client_TopologyDescription, of_client);
    of_client.client = AnyClient();
    if (FUZZ_CALL(PJRT_Client_TopologyDescription, of_client, in_) != Outcome::kOk) return;
    args.topology = of_client.topology;  // The client's own.
  }
  if (FUZZ_CALL(PJRT_TopologyDescription_Serialize, args, in_) != Outcome::kOk) return;
  std::string bytes = CopyOf(args.serialized_bytes, args.serialized_bytes_size);
  args.serialized_topology_deleter(args.serialized_topology);
  const bool damaged = in_.OneIn(4) && !bytes.empty();
  if (damaged) bytes[in_.U8() % bytes.size()] ^= static_cast<char>(1 << in_.Below(8));
  FUZZ_ARGS(PJRT_TopologyDescription_Deserialize, read);
  read.serialized_topology = bytes.data();
  read.serialized_topology_size = bytes.size();
  const Outcome outcome = FUZZ_CALL(PJRT_TopologyDescription_Deserialize, read, in_);
  if (outcome == Outcome::kOk) topologies_.push_back(read.topology);
  if (outcome == Outcome::kError && !damaged) std::abort();
}

void Machine::DestroyTopology() {
  if (topologies_.empty()) return;
  PJRT_TopologyDescription* topology = TakeOne(topologies_);
  FUZZ_ARGS(PJRT_TopologyDescription_Destroy, args);
  args.topology = topology;
  if (FUZZ_CALL(PJRT_TopologyDescription_Destroy, args, in_) == Outcome::kTooSmall) topologies_.push_back(topology);
}

void Machine::LoadExecutable() {
  if (loaded_.size() >= kMaxPool) return;
  const std::string options = in_.OneIn(2) ? ChooseOptions() : "";
  FUZZ_ARGS(PJRT_Client_Load, args);
  args.client = AnyClient();
  args.executable = AnyExecutable();
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  if (FUZZ_CALL(PJRT_Client_Load, args, in_) == Outcome::kOk) loaded_.push_back(args.loaded_executable);
}

void Machine::CopyExecutable() {
  if (loaded_.size() >= kMaxPool) return;
  FUZZ_ARGS(PJRT_Executable_Serialize, args);
  args.executable = AnyExecutable();
  if (FUZZ_CALL(PJRT_Executable_Serialize, args, in_) != Outcome::kOk) return;
  std::string bytes = CopyOf(args.serialized_bytes, args.serialized_bytes_size);
  args.serialized_executable_deleter(args.serialized_executable);
  if (in_.OneIn(4) && !bytes.empty())
    bytes[static_cast<size_t>(in_.U8() * 257 + in_.U8()) % bytes.size()] ^= static_cast<char>(1 << in_.Below(8));
  const std::string options = in_.OneIn(4) ? ChooseOptions() : "";
  FUZZ_ARGS(PJRT_Executable_DeserializeAndLoad, read);
  read.client = AnyClient();
  read.serialized_executable = bytes.data();
  read.serialized_executable_size = bytes.size();
  read.overridden_serialized_compile_options = options.empty() ? nullptr : options.data();
  read.overridden_serialized_compile_options_size = options.size();
  if (FUZZ_CALL(PJRT_Executable_DeserializeAndLoad, read, in_) == Outcome::kOk)
    loaded_.push_back(read.loaded_executable);
}

void Machine::GetExecutable() {
  if (executables_.size() >= kMaxPool) return;
  FUZZ_ARGS(PJRT_LoadedExecutable_GetExecutable, args);
  args.loaded_executable = AnyLoaded();
  if (FUZZ_CALL(PJRT_LoadedExecutable_GetExecutable, args, in_) == Outcome::kOk)
    executables_.push_back(args.executable);
}

void Machine::DestroyExecutable() {
  if (executables_.empty()) return;
  PJRT_Executable* executable = TakeOne(executables_);
  FUZZ_ARGS(PJRT_Executable_Destroy, args);
  args.executable = executable;
  if (FUZZ_CALL(PJRT_Executable_Destroy, args, in_) == Outcome::kTooSmall) executables_.push_back(executable);
}

void Machine::DestroyLoaded() {
  if (loaded_.empty()) return;
  PJRT_LoadedExecutable* executable = TakeOne(loaded_);
  FUZZ_ARGS(PJRT_LoadedExecutable_Destroy, args);
  args.executable = executable;
  if (FUZZ_CALL(PJRT_LoadedExecutable_Destroy, args, in_) == Outcome::kTooSmall) loaded_.push_back(executable);
}

void Machine::DeleteLoaded() {
  FUZZ_ARGS(PJRT_LoadedExecutable_Delete, args);
  args.executable = AnyLoaded();
  FUZZ_CALL(PJRT_LoadedExecutable_Delete, args, in_);
}

void Machine::Execute() {
  PJRT_LoadedExecutable* loaded = AnyLoaded();
  if (loaded == nullptr) return;
  // What the caller must know to make room.
  FUZZ_ARGS(PJRT_LoadedExecutable_GetExecutable, get);
  get.loaded_executable = loaded;
  if (!FUZZ_PLAIN(PJRT_LoadedExecutable_GetExecutable, get)) std::abort();
  FUZZ_ARGS(PJRT_Executable_NumOutputs, outputs);
  outputs.executable = get.executable;
  FUZZ_ARGS(PJRT_Executable_ParameterMemoryKinds, parameters);
  parameters.executable = get.executable;
  if (!FUZZ_PLAIN(PJRT_Executable_NumOutputs, outputs) || !FUZZ_PLAIN(PJRT_Executable_ParameterMemoryKinds, parameters))
    std::abort();
  FUZZ_ARGS(PJRT_Executable_Destroy, destroy);
  destroy.executable = get.executable;
  if (!FUZZ_PLAIN(PJRT_Executable_Destroy, destroy)) std::abort();
  FUZZ_ARGS(PJRT_LoadedExecutable_AddressableDevices, devices);
  devices.executable = loaded;
  const bool has_devices = FUZZ_PLAIN(PJRT_LoadedExecutable_AddressableDevices, devices);

  size_t num_devices = has_devices && devices.num_addressable_devices != 0 ? devices.num_addressable_devices : 1;
  size_t num_args = parameters.num_parameters;
  if (in_.OneIn(16)) num_devices = in_.Below(4);
  if (in_.OneIn(32)) num_args = in_.Below(4);
  std::vector<std::vector<PJRT_Buffer*>> arguments(num_devices), results(num_devices);
  std::vector<PJRT_Buffer* const*> argument_lists(num_devices);
  std::vector<PJRT_Buffer**> output_lists(num_devices);
  for (size_t d = 0; d < num_devices; ++d) {
    for (size_t i = 0; i < num_args; ++i) arguments[d].push_back(AnyBuffer());
    results[d].resize(outputs.num_outputs);
    argument_lists[d] = in_.OneIn(128) ? nullptr : arguments[d].data();
    output_lists[d] = in_.OneIn(128) ? nullptr : results[d].data();
  }
  std::vector<PJRT_Event*> done(num_devices);

  // Options of some caller's size, in memory of exactly that size.
  std::vector<int64_t> keep;
  if (in_.OneIn(4)) keep.assign(1 + in_.Below(2), static_cast<int8_t>(in_.U8()) % 3);
  auto options = ZeroArgs<PJRT_ExecuteOptions>(PJRT_ExecuteOptions_STRUCT_SIZE);
  size_t oldest = 0;
  options.struct_size = CallerSize("PJRT_ExecuteOptions", PJRT_ExecuteOptions_STRUCT_SIZE, in_, &oldest);
  if (in_.OneIn(64)) options.struct_size = oldest - 1;
  options.launch_id = static_cast<int>(in_.Below(8));
  options.non_donatable_input_indices = in_.OneIn(32) ? nullptr : keep.data();
  options.num_non_donatable_input_indices = keep.size();
  if (in_.OneIn(4) && !contexts_.empty()) options.context = contexts_[in_.Below(contexts_.size())];
  options.call_location = in_.OneIn(4) ? "fuzz.py:1" : nullptr;
  if (in_.OneIn(64)) options.num_send_ops = 1;
  if (in_.OneIn(64)) options.num_hlo_output_callbacks = 1;
  auto* exact = static_cast<PJRT_ExecuteOptions*>(std::calloc(1, options.struct_size));
  std::memcpy(static_cast<void*>(exact), &options, std::min(options.struct_size, sizeof(options)));

  FUZZ_ARGS(PJRT_LoadedExecutable_Execute, args);
  args.executable = loaded;
  args.options = in_.OneIn(16) ? nullptr : exact;
  args.argument_lists = in_.OneIn(128) ? nullptr : argument_lists.data();
  args.num_devices = num_devices;
  args.num_args = num_args;
  args.output_lists = in_.OneIn(128) ? nullptr : output_lists.data();
  args.device_complete_events = in_.OneIn(2) ? nullptr : done.data();
  args.execute_device = in_.OneIn(4) ? AnyDevice() : nullptr;
  const bool wants_events = args.device_complete_events != nullptr;
  const Outcome outcome = FUZZ_CALL(PJRT_LoadedExecutable_Execute, args, in_);
  std::free(exact);
  if (outcome != Outcome::kOk) return;
  for (size_t d = 0; d < num_devices; ++d) {
    for (PJRT_Buffer* result : results[d]) Keep(result);
    if (wants_events) Keep(done[d]);
  }
}

}  // namespace tenon::fuzz
