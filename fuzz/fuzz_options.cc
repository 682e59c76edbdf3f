// Everything that the SDK decodes: compile options, named values, layouts, serialized topologies and executables, FFI
// types. The first byte says which.

#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz/c_call.h"
#include "tenon/abi/pjrt_ffi.h"
#include "tenon/plugin/caller_value.h"

namespace tenon::fuzz {
namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "must hold: %s\n", what);
  std::abort();
}

PJRT_Client* NewClient() {
  FUZZ_ARGS(PJRT_Client_Create, args);
  Require(FUZZ_PLAIN(PJRT_Client_Create, args), "a client without options");
  return args.client;
}

void Destroy(PJRT_Client* client) {
  FUZZ_ARGS(PJRT_Client_Destroy, args);
  args.client = client;
  Require(FUZZ_PLAIN(PJRT_Client_Destroy, args), "a client's end");
}

void Destroy(PJRT_LoadedExecutable* executable) {
  FUZZ_ARGS(PJRT_LoadedExecutable_Destroy, args);
  args.executable = executable;
  Require(FUZZ_PLAIN(PJRT_LoadedExecutable_Destroy, args), "an executable's end");
}

// What was compiled under these options tells them, and its assignment.
void CheckExecutable(PJRT_LoadedExecutable* loaded, const std::string* options) {
  FUZZ_ARGS(PJRT_LoadedExecutable_GetExecutable, get);
  get.loaded_executable = loaded;
  Require(FUZZ_PLAIN(PJRT_LoadedExecutable_GetExecutable, get), "GetExecutable");
  FUZZ_ARGS(PJRT_Executable_GetCompileOptions, back);
  back.executable = get.executable;
  if (FUZZ_PLAIN(PJRT_Executable_GetCompileOptions, back)) {
    const std::string bytes(back.serialized_bytes, back.serialized_bytes_size);
    back.serialized_compile_options_deleter(back.serialized_compile_options);
    Require(options == nullptr || bytes == *options, "GetCompileOptions gives what Compile got");
  }
  FUZZ_ARGS(PJRT_Executable_Destroy, destroy);
  destroy.executable = get.executable;
  Require(FUZZ_PLAIN(PJRT_Executable_Destroy, destroy), "Executable_Destroy");
  FUZZ_ARGS(PJRT_LoadedExecutable_GetDeviceAssignment, assignment);
  assignment.executable = loaded;
  if (FUZZ_PLAIN(PJRT_LoadedExecutable_GetDeviceAssignment, assignment)) {
    assignment.serialized_device_assignment_deleter(assignment.serialized_device_assignment);
  }
}

void CompileOptions(ByteInput& in) {
  PJRT_Client* client = NewClient();
  const std::string options = in.Rest();
  PJRT_Program program = ZeroArgs<PJRT_Program>(PJRT_Program_STRUCT_SIZE);
  const std::string_view code = Programs()[0];
  program.code = const_cast<char*>(code.data());
  program.code_size = code.size();
  program.format = "mlir";
  program.format_size = 4;
  FUZZ_ARGS(PJRT_Client_Compile, args);
  args.client = client;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  if (FUZZ_PLAIN(PJRT_Client_Compile, args)) {
    CheckExecutable(args.executable, &options);
    Destroy(args.executable);
  }
  Destroy(client);
}

/// Values in memory of exactly their sizes.
class NamedValues {
 public:
  explicit NamedValues(ByteInput& in) {
    for (size_t n = in.Below(6); n > 0; --n) {
      PJRT_NamedValue value = ZeroArgs<PJRT_NamedValue>(PJRT_NamedValue_STRUCT_SIZE);
      const std::span<const std::string_view> known = OptionNames();
      const std::string name = in.OneIn(4) ? in.Bytes(12) : std::string(known[in.Below(known.size())]);
      value.name = in.OneIn(64) ? nullptr : Exact(name);
      value.name_size = value.name == nullptr ? in.Below(2) : name.size();
      const int type = in.OneIn(32) ? static_cast<int8_t>(in.U8()) : static_cast<int>(in.Below(5));
      std::memcpy(&value.type, &type, sizeof(type));
      value.value_size = 1;
      switch (type) {
        case PJRT_NamedValue_kString: {
          const std::string text = in.OneIn(2) ? in.Bytes(20) : std::to_string(static_cast<int8_t>(in.U8()));
          value.string_value = in.OneIn(64) ? nullptr : Exact(text);
          value.value_size = text.size();
          break;
        }
        case PJRT_NamedValue_kInt64List: {
          std::string bytes = in.Bytes(40);
          bytes.resize(bytes.size() / 8 * 8);
          value.int64_array_value = in.OneIn(64) ? nullptr : reinterpret_cast<const int64_t*>(Exact(bytes));
          value.value_size = bytes.size() / 8;
          break;
        }
        case PJRT_NamedValue_kFloat:
          value.int64_value = in.I64() & 0xffffffff;
          break;
        case PJRT_NamedValue_kBool:
          value.bool_value = in.OneIn(2);
          break;
        default:
          value.int64_value = in.OneIn(4) ? in.I64() : static_cast<int8_t>(in.U8());
      }
      values_.push_back(value);
    }
    null_ = in.OneIn(64);
  }
  ~NamedValues() {
    for (void* block : blocks_) std::free(block);
  }
  const PJRT_NamedValue* data() const { return null_ ? nullptr : values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  const char* Exact(const std::string& bytes) {
    blocks_.push_back(std::malloc(bytes.size()));
    std::memcpy(blocks_.back(), bytes.data(), bytes.size());
    return static_cast<const char*>(blocks_.back());
  }
  std::vector<PJRT_NamedValue> values_;
  std::vector<void*> blocks_;
  bool null_ = false;
};

void ClientOptions(ByteInput& in) {
  const NamedValues values(in);
  FUZZ_ARGS(PJRT_Client_Create, args);
  args.create_options = values.data();
  args.num_options = values.size();
  if (FUZZ_CALL(PJRT_Client_Create, args, in) == Outcome::kOk) Destroy(args.client);
}

void TopologyOptions(ByteInput& in) {
  const NamedValues values(in);
  const std::string name = in.OneIn(4) ? in.Bytes(16) : std::string(TopologyName());
  FUZZ_ARGS(PJRT_TopologyDescription_Create, args);
  args.topology_name = name.data();
  args.topology_name_size = name.size();
  args.create_options = values.data();
  args.num_options = values.size();
  if (!FUZZ_PLAIN(PJRT_TopologyDescription_Create, args)) return;
  FUZZ_ARGS(PJRT_TopologyDescription_Destroy, destroy);
  destroy.topology = args.topology;
  Require(FUZZ_PLAIN(PJRT_TopologyDescription_Destroy, destroy), "TopologyDescription_Destroy");
}

uint64_t Fingerprint(PJRT_TopologyDescription* topology) {
  FUZZ_ARGS(PJRT_TopologyDescription_Fingerprint, args);
  args.topology = topology;
  Require(FUZZ_PLAIN(PJRT_TopologyDescription_Fingerprint, args), "Fingerprint");
  return args.fingerprint;
}

// Bytes that are a topology say so again when written and read.
void TopologyBytes(ByteInput& in) {
  const std::string bytes = in.Rest();
  FUZZ_ARGS(PJRT_TopologyDescription_Deserialize, args);
  args.serialized_topology = bytes.data();
  args.serialized_topology_size = bytes.size();
  if (!FUZZ_PLAIN(PJRT_TopologyDescription_Deserialize, args)) return;
  FUZZ_ARGS(PJRT_TopologyDescription_Serialize, write);
  write.topology = args.topology;
  Require(FUZZ_PLAIN(PJRT_TopologyDescription_Serialize, write), "what was read can be written");
  FUZZ_ARGS(PJRT_TopologyDescription_Deserialize, again);
  again.serialized_topology = write.serialized_bytes;
  again.serialized_topology_size = write.serialized_bytes_size;
  Require(FUZZ_PLAIN(PJRT_TopologyDescription_Deserialize, again), "what was written can be read");
  Require(Fingerprint(args.topology) == Fingerprint(again.topology), "a topology's copy has its fingerprint");
  write.serialized_topology_deleter(write.serialized_topology);
  FUZZ_ARGS(PJRT_TopologyDescription_Destroy, destroy);
  for (PJRT_TopologyDescription* topology : {args.topology, again.topology}) {
    destroy.topology = topology;
    Require(FUZZ_PLAIN(PJRT_TopologyDescription_Destroy, destroy), "TopologyDescription_Destroy");
  }
}

void ExecutableBytes(ByteInput& in) {
  PJRT_Client* client = NewClient();
  const std::string options = in.OneIn(2) ? in.Bytes(40) : "";
  const std::string bytes = in.OneIn(2) ? "fake:" + in.Rest() : in.Rest();
  FUZZ_ARGS(PJRT_Executable_DeserializeAndLoad, args);
  args.client = client;
  args.serialized_executable = bytes.data();
  args.serialized_executable_size = bytes.size();
  args.overridden_serialized_compile_options = options.data();
  args.overridden_serialized_compile_options_size = options.size();
  if (FUZZ_PLAIN(PJRT_Executable_DeserializeAndLoad, args)) {
    CheckExecutable(args.loaded_executable, nullptr);
    Destroy(args.loaded_executable);
  }
  Destroy(client);
}

void ErrorPayload(ByteInput& in) {
  PJRT_Client* client = NewClient();
  FUZZ_ARGS(PJRT_Client_AddressableMemories, memories);
  memories.client = client;
  Require(FUZZ_PLAIN(PJRT_Client_AddressableMemories, memories), "AddressableMemories");
  const NamedValues values(in);
  std::vector<int64_t> dims;
  for (size_t n = in.Below(4); n > 0; --n) dims.push_back(in.OneIn(4) ? in.I64() : static_cast<int64_t>(in.Below(5)));
  std::vector<int64_t> order;
  for (size_t n = in.Below(4); n > 0; --n) order.push_back(in.OneIn(8) ? in.I64() : static_cast<int64_t>(in.Below(4)));
  auto layout = ZeroArgs<PJRT_Buffer_MemoryLayout>(PJRT_Buffer_MemoryLayout_STRUCT_SIZE);
  layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout.tiled.minor_to_major = order.data();
  layout.tiled.minor_to_major_size = order.size();
  FUZZ_ARGS(PJRT_Client_CreateErrorBuffer, args);
  args.client = client;
  args.error_code = static_cast<PJRT_Error_Code>(in.Below(19));
  args.shape_dims = dims.data();
  args.shape_num_dims = dims.size();
  args.shape_element_type = static_cast<PJRT_Buffer_Type>(in.Below(36));
  args.device_layout = in.OneIn(2) ? &layout : nullptr;
  args.memory = memories.addressable_memories[0];
  args.payload = values.data();
  args.num_payload = values.size();
  if (FUZZ_CALL(PJRT_Client_CreateErrorBuffer, args, in) == Outcome::kOk) {
    FUZZ_ARGS(PJRT_Buffer_Destroy, destroy);
    destroy.buffer = args.buffer;
    Require(FUZZ_PLAIN(PJRT_Buffer_Destroy, destroy), "Buffer_Destroy");
  }
  Destroy(client);
}

// The registry of types belongs to the process, so a few names are enough.
void FfiTypes(ByteInput& in) {
  for (const PJRT_Extension_Base* e = Api()->extension_start; e != nullptr; e = e->next) {
    if (plugin::CallerValue(e->type) != PJRT_Extension_Type_FFI) continue;  // Plugins know types of their own.
    const auto* ffi = reinterpret_cast<const PJRT_FFI_Extension*>(e);
    const std::string name(1, static_cast<char>('a' + in.Below(4)));
    FUZZ_ARGS(PJRT_FFI_Type_Register, type);
    type.type_name = name.data();
    type.type_name_size = in.OneIn(8) ? 0 : name.size();
    type.type_id = in.OneIn(2) ? 0 : in.I64();
    const bool registered = !TakeError(ffi->type_register(&type), "FFI_Type_Register");
    FUZZ_ARGS(PJRT_ExecuteContext_Create, context);
    Require(FUZZ_PLAIN(PJRT_ExecuteContext_Create, context), "ExecuteContext_Create");
    FUZZ_ARGS(PJRT_FFI_UserData_Add, data);
    data.context = context.context;
    data.user_data = {.type_id = registered ? type.type_id : in.I64(), .data = nullptr};
    TakeError(ffi->user_data_add(&data), "FFI_UserData_Add");
    TakeError(ffi->user_data_add(&data), "FFI_UserData_Add");
    FUZZ_ARGS(PJRT_ExecuteContext_Destroy, destroy);
    destroy.context = context.context;
    Require(FUZZ_PLAIN(PJRT_ExecuteContext_Destroy, destroy), "ExecuteContext_Destroy");
  }
}

}  // namespace
}  // namespace tenon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon::fuzz;
  ByteInput in(data, size);
  ResetBackend(0);
  using Target = void (*)(ByteInput&);
  static constexpr Target kTargets[] = {CompileOptions, CompileOptions,  ClientOptions, TopologyOptions,
                                        TopologyBytes,  ExecutableBytes, ErrorPayload,  FfiTypes};
  kTargets[in.Below(std::size(kTargets))](in);
  Settle();
  if (!NothingLives()) std::abort();
  return 0;
}
