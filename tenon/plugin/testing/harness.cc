#include "tenon/plugin/testing/harness.h"

#include "tenon/abi/program.h"

namespace tenon::plugin::testing {

// Weak: tests of tables that wrap this one bring their own.
__attribute__((weak)) const PJRT_Api* api() { return MakeApi(FakePlugin::Get()); }

Status TakeStatus(PJRT_Error* error) {
  if (error == nullptr) return OkStatus();
  PJRT_Error_GetCode_Args code{};
  code.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE;
  code.error = error;
  api()->PJRT_Error_GetCode(&code);
  PJRT_Error_Message_Args message{};
  message.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE;
  message.error = error;
  api()->PJRT_Error_Message(&message);
  Status status(static_cast<Code>(code.code), std::string(message.message, message.message_size));
  PJRT_Error_Destroy_Args destroy{};
  destroy.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE;
  destroy.error = error;
  api()->PJRT_Error_Destroy(&destroy);
  return status;
}

bool IsReady(PJRT_Event* event) {
  ARGS(PJRT_Event_IsReady, args);
  args.event = event;
  EXPECT_CALL_OK(PJRT_Event_IsReady, args);
  return args.is_ready;
}

void DestroyEvent(PJRT_Event* event) {
  ARGS(PJRT_Event_Destroy, args);
  args.event = event;
  EXPECT_CALL_OK(PJRT_Event_Destroy, args);
}

Status Finish(PJRT_Event* event) {
  RunPending();
  ARGS(PJRT_Event_Await, await);
  await.event = event;
  Status status = CALL(PJRT_Event_Await, await);
  DestroyEvent(event);
  return status;
}

void PluginTest::SetUp() {
  ARGS(PJRT_Client_Create, create);
  ASSERT_CALL(PJRT_Client_Create, create);
  client_ = create.client;
  ARGS(PJRT_Client_AddressableDevices, devices);
  devices.client = client_;
  ASSERT_CALL(PJRT_Client_AddressableDevices, devices);
  devices_.assign(devices.addressable_devices, devices.addressable_devices + devices.num_addressable_devices);
}

void PluginTest::TearDown() {
  RunPending();
  SetScheduling(false);
  FakePlugin::Get().remote_memory = false;
  ARGS(PJRT_Client_Destroy, destroy);
  destroy.client = client_;
  EXPECT_CALL_OK(PJRT_Client_Destroy, destroy);
  static constexpr const char* kNames[] = {
      "clients",     "topologies",         "buffers",          "storages",          "events",
      "executables", "loaded executables", "execute contexts", "transfer managers", "errors"};
  for (int i = 0; i < kNumObjectKinds; ++i)
    EXPECT_EQ(LiveObjects(static_cast<ObjectKind>(i)), 0) << kNames[i] << " left";
}

PJRT_Memory* PluginTest::memory(size_t device_index, std::string_view kind) {
  ARGS(PJRT_Device_AddressableMemories, memories);
  memories.device = device(device_index);
  EXPECT_CALL_OK(PJRT_Device_AddressableMemories, memories);
  for (size_t i = 0; i < memories.num_memories; ++i) {
    ARGS(PJRT_Memory_Kind, args);
    args.memory = memories.memories[i];
    EXPECT_CALL_OK(PJRT_Memory_Kind, args);
    if (std::string_view(args.kind, args.kind_size) == kind) return memories.memories[i];
  }
  ADD_FAILURE() << "no memory " << kind;
  return nullptr;
}

PJRT_Buffer* PluginTest::Upload(const std::vector<float>& values, std::vector<int64_t> dims, PJRT_Device* to) {
  ARGS(PJRT_Client_BufferFromHostBuffer, args);
  args.client = client_;
  args.data = values.data();
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = to == nullptr ? device(0) : to;
  EXPECT_CALL_OK(PJRT_Client_BufferFromHostBuffer, args);
  DestroyEvent(args.done_with_host_buffer);
  return args.buffer;
}

Result<std::vector<float>> PluginTest::Download(PJRT_Buffer* buffer) {
  int64_t row_major[] = {3, 2, 1, 0};
  ARGS(PJRT_Buffer_Dimensions, dims);
  dims.buffer = buffer;
  TENON_RETURN_IF_ERROR(CALL(PJRT_Buffer_Dimensions, dims));
  PJRT_Buffer_MemoryLayout layout{};
  layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout.tiled.minor_to_major = row_major + 4 - dims.num_dims;
  layout.tiled.minor_to_major_size = dims.num_dims;
  ARGS(PJRT_Buffer_ToHostBuffer, args);
  args.src = buffer;
  args.host_layout = &layout;
  TENON_RETURN_IF_ERROR(CALL(PJRT_Buffer_ToHostBuffer, args));
  std::vector<float> values(args.dst_size / sizeof(float));
  char nothing;
  args.dst = values.empty() ? static_cast<void*>(&nothing) : values.data();  // NULL would ask for the size.
  TENON_RETURN_IF_ERROR(CALL(PJRT_Buffer_ToHostBuffer, args));
  TENON_RETURN_IF_ERROR(Finish(args.event));
  return values;
}

void PluginTest::Destroy(PJRT_Buffer* buffer) {
  ARGS(PJRT_Buffer_Destroy, args);
  args.buffer = buffer;
  EXPECT_CALL_OK(PJRT_Buffer_Destroy, args);
}

bool PluginTest::IsDeleted(PJRT_Buffer* buffer) {
  ARGS(PJRT_Buffer_IsDeleted, args);
  args.buffer = buffer;
  EXPECT_CALL_OK(PJRT_Buffer_IsDeleted, args);
  return args.is_deleted;
}

Status PluginTest::Ready(PJRT_Buffer* buffer) {
  ARGS(PJRT_Buffer_ReadyEvent, args);
  args.buffer = buffer;
  TENON_RETURN_IF_ERROR(CALL(PJRT_Buffer_ReadyEvent, args));
  return Finish(args.event);
}

Result<PJRT_LoadedExecutable*> PluginTest::Compile(std::string_view text, std::string_view options) {
  const PJRT_Program program = TenonMakeProgram(text.data(), text.size(), "mlir", 4);
  ARGS(PJRT_Client_Compile, args);
  args.client = client_;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  TENON_RETURN_IF_ERROR(CALL(PJRT_Client_Compile, args));
  return args.executable;
}

void PluginTest::Destroy(PJRT_LoadedExecutable* executable) {
  ARGS(PJRT_LoadedExecutable_Destroy, args);
  args.executable = executable;
  EXPECT_CALL_OK(PJRT_LoadedExecutable_Destroy, args);
}

PJRT_Buffer* PluginTest::Bitcast(PJRT_Buffer* buffer, PJRT_Buffer_Type type, std::vector<int64_t> dims) {
  ARGS(PJRT_Buffer_Bitcast, args);
  args.buffer = buffer;
  args.element_type = type;
  args.dims = dims.data();
  args.num_dims = dims.size();
  EXPECT_CALL_OK(PJRT_Buffer_Bitcast, args);
  return args.out_buffer;
}

Result<PluginTest::Outcome> PluginTest::Execute(PJRT_LoadedExecutable* executable, std::vector<PJRT_Buffer*> arguments,
                                                PJRT_ExecuteOptions* options) {
  ARGS(PJRT_LoadedExecutable_GetExecutable, get);
  get.loaded_executable = executable;
  TENON_RETURN_IF_ERROR(CALL(PJRT_LoadedExecutable_GetExecutable, get));
  ARGS(PJRT_Executable_NumOutputs, num);
  num.executable = get.executable;
  TENON_RETURN_IF_ERROR(CALL(PJRT_Executable_NumOutputs, num));
  ARGS(PJRT_Executable_Destroy, destroy);
  destroy.executable = get.executable;
  TENON_RETURN_IF_ERROR(CALL(PJRT_Executable_Destroy, destroy));

  PJRT_ExecuteOptions defaults{};
  defaults.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  Outcome outcome;
  outcome.outputs.resize(num.num_outputs);
  PJRT_Buffer* const* argument_list = arguments.data();
  PJRT_Buffer** output_list = outcome.outputs.data();
  ARGS(PJRT_LoadedExecutable_Execute, args);
  args.executable = executable;
  args.options = options == nullptr ? &defaults : options;
  args.argument_lists = &argument_list;
  args.num_devices = 1;
  args.num_args = arguments.size();
  args.output_lists = &output_list;
  args.device_complete_events = &outcome.done;
  TENON_RETURN_IF_ERROR(CALL(PJRT_LoadedExecutable_Execute, args));
  return outcome;
}

}  // namespace tenon::plugin::testing
