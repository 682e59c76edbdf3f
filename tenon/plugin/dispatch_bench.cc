// What the SDK itself costs in one jit call of JAX: the calls that JAX makes, against a backend that does nothing.

#include <chrono>
#include <cstdio>
#include <cstring>

#include "tenon/abi/pjrt_ffi.h"
#include "tenon/plugin/testing/noop_plugin.h"

using namespace tenon::plugin;           // NOLINT(google-build-using-namespace): a main program.
using namespace tenon::plugin::testing;  // NOLINT(google-build-using-namespace)

int main() {
  static NoopPlugin plugin;
  const PJRT_Api* api = MakeApi(plugin);
  NOOP_ARGS(PJRT_Client_Create, create);
  Check(api->PJRT_Client_Create(&create));
  NOOP_ARGS(PJRT_Client_AddressableDevices, devices);
  devices.client = create.client;
  Check(api->PJRT_Client_AddressableDevices(&devices));
  PJRT_Program program{};
  char code[] = "x";
  program.code = code;
  program.code_size = 1;
  program.format = "mlir";
  program.format_size = 4;
  NOOP_ARGS(PJRT_Client_Compile, compile);
  compile.client = create.client;
  compile.program = &program;
  Check(api->PJRT_Client_Compile(&compile));
  NOOP_ARGS(PJRT_LoadedExecutable_GetExecutable, get);
  get.loaded_executable = compile.executable;
  Check(api->PJRT_LoadedExecutable_GetExecutable(&get));
  float data[16] = {};
  int64_t dims[] = {16};
  PJRT_Buffer* buffers[2];
  for (PJRT_Buffer*& b : buffers) {
    NOOP_ARGS(PJRT_Client_BufferFromHostBuffer, from);
    from.client = create.client;
    from.data = data;
    from.type = PJRT_Buffer_Type_F32;
    from.dims = dims;
    from.num_dims = 1;
    from.device = devices.addressable_devices[0];
    Check(api->PJRT_Client_BufferFromHostBuffer(&from));
    b = from.buffer;
  }
  const auto* ffi = reinterpret_cast<const PJRT_FFI_Extension*>(api->extension_start->next);

  constexpr int kRounds = 200000;
  for (int repeat = 0; repeat < 5; ++repeat) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kRounds; ++i) {
      for (PJRT_Buffer* b : buffers) {
        NOOP_ARGS(PJRT_Buffer_IsDeleted, is_deleted);
        is_deleted.buffer = b;
        Check(api->PJRT_Buffer_IsDeleted(&is_deleted));
      }
      NOOP_ARGS(PJRT_ExecuteContext_Create, context);
      Check(api->PJRT_ExecuteContext_Create(&context));
      NOOP_ARGS(PJRT_FFI_UserData_Add, user_data);
      user_data.context = context.context;
      user_data.user_data = {.type_id = 77, .data = data};
      Check(ffi->user_data_add(&user_data));
      NOOP_ARGS(PJRT_Executable_NumOutputs, num_outputs);
      num_outputs.executable = get.executable;
      Check(api->PJRT_Executable_NumOutputs(&num_outputs));
      PJRT_ExecuteOptions options{};
      options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
      options.context = context.context;
      options.call_location = "";
      PJRT_Buffer* const* inputs = buffers;
      PJRT_Buffer* outs[1];
      PJRT_Buffer** outputs = outs;
      PJRT_Event* done = nullptr;
      NOOP_ARGS(PJRT_LoadedExecutable_Execute, execute);
      execute.executable = compile.executable;
      execute.options = &options;
      execute.argument_lists = &inputs;
      execute.num_devices = 1;
      execute.num_args = 2;
      execute.output_lists = &outputs;
      execute.device_complete_events = &done;
      Check(api->PJRT_LoadedExecutable_Execute(&execute));
      NOOP_ARGS(PJRT_Event_OnReady, on_ready);
      on_ready.event = done;
      on_ready.callback = [](PJRT_Error*, void*) {};
      Check(api->PJRT_Event_OnReady(&on_ready));
      NOOP_ARGS(PJRT_Event_Destroy, destroy_event);
      destroy_event.event = done;
      Check(api->PJRT_Event_Destroy(&destroy_event));
      NOOP_ARGS(PJRT_ExecuteContext_Destroy, destroy_context);
      destroy_context.context = context.context;
      Check(api->PJRT_ExecuteContext_Destroy(&destroy_context));
      NOOP_ARGS(PJRT_Buffer_Device, device);
      device.buffer = outs[0];
      Check(api->PJRT_Buffer_Device(&device));
      NOOP_ARGS(PJRT_Buffer_Memory, memory);
      memory.buffer = outs[0];
      Check(api->PJRT_Buffer_Memory(&memory));
      NOOP_ARGS(PJRT_Memory_Kind, kind);
      kind.memory = memory.memory;
      Check(api->PJRT_Memory_Kind(&kind));
      NOOP_ARGS(PJRT_Buffer_Destroy, destroy);
      destroy.buffer = outs[0];
      Check(api->PJRT_Buffer_Destroy(&destroy));
    }
    double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / kRounds;
    std::printf("one jit call, 13 functions, 2 arguments, 1 output: %.0f ns in the SDK\n", ns);
  }
  return 0;
}
