// What the trace adds to a call: the same calls on a backend that does nothing, bare and traced.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tenon/plugin/plugin.h"
#include "tenon/trace/call.h"
#include "tenon/trace/recorder.h"

namespace {

using namespace tenon;          // NOLINT(google-build-using-namespace): a main program.
using namespace tenon::plugin;  // NOLINT(google-build-using-namespace)

class NoopExecutable final : public LoadedExecutable {
 public:
  using LoadedExecutable::LoadedExecutable;
  Status Execute(ExecuteRequest& request) override {
    DeviceExecution& device = request.devices[0];
    device.outputs[0] = Buffer::Make(device.device, device.device->default_memory(), info().outputs[0].array,
                                     device.arguments[0].storage);
    return OkStatus();
  }
};

class NoopClient final : public Client {
 public:
  NoopClient() : Client({.platform_name = "noop", .platform_version = "noop"}) {
    Device* device =
        AddDevice(std::make_unique<Device>(std::make_shared<DeviceDescription>(DeviceDescription::Info()), 0));
    AddMemory(std::make_unique<Memory>(0, MakeMemoryKind(kDeviceMemoryKind)), {&device, 1}, true);
    Ready();
  }
  Result<Ref<LoadedExecutable>> Compile(const Program&, const CompileOptions&,
                                        const DeviceAssignment& assignment) override {
    const ValueSpec value{.array = {.shape = {DType::kF32, {16}}}};
    ExecutableInfo info;
    info.parameters = {value, value};
    info.outputs = {value};
    return Ref<LoadedExecutable>(
        MakeRef<NoopExecutable>(Ref<Client>(this), MakeRef<Executable>(std::move(info)), assignment));
  }
};

class NoopPlugin final : public Plugin {
 public:
  Result<Ref<Client>> CreateClient(ClientOptions) override { return Ref<Client>(MakeRef<NoopClient>()); }
};

#define ARGS(function, name)           \
  function##_Args name;                \
  std::memset(&name, 0, sizeof(name)); \
  name.struct_size = function##_Args_STRUCT_SIZE

// Any error ends the program: there is nothing to measure then.
void Check(PJRT_Error* error) {
  if (error == nullptr) return;
  const char* text = nullptr;
  size_t size = 0;
  error->vtable->message(error, &text, &size);
  std::fprintf(stderr, "%.*s\n", static_cast<int>(size), text);
  std::exit(1);
}

struct Figures {
  double query = 1e9, run = 1e9;  // nanoseconds, the best of many runs
};

Figures Measure(const PJRT_Api* api, int batch, int batches) {
  ARGS(PJRT_Client_Create, create);
  Check(api->PJRT_Client_Create(&create));
  ARGS(PJRT_Client_AddressableDevices, devices);
  devices.client = create.client;
  Check(api->PJRT_Client_AddressableDevices(&devices));
  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  char code[] = "x";
  program.code = code;
  program.code_size = 1;
  program.format = "mlir";
  program.format_size = 4;
  ARGS(PJRT_Client_Compile, compile);
  compile.client = create.client;
  compile.program = &program;
  compile.compile_options = "\x1a\x04\x20\x01\x28\x01";
  compile.compile_options_size = 6;
  Check(api->PJRT_Client_Compile(&compile));
  float values[16] = {};
  const int64_t dims[] = {16};
  ARGS(PJRT_Client_BufferFromHostBuffer, upload);
  upload.client = create.client;
  upload.data = values;
  upload.type = PJRT_Buffer_Type_F32;
  upload.dims = dims;
  upload.num_dims = 1;
  upload.device = devices.addressable_devices[0];
  Check(api->PJRT_Client_BufferFromHostBuffer(&upload));
  ARGS(PJRT_Event_Destroy, done);
  done.event = upload.done_with_host_buffer;
  Check(api->PJRT_Event_Destroy(&done));

  using Clock = std::chrono::steady_clock;
  Figures best;
  const auto nanoseconds = [&](Clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / batch;
  };
  for (int b = 0; b < batches; ++b) {
    Clock::time_point begin = Clock::now();
    for (int i = 0; i < batch; ++i) {
      ARGS(PJRT_Client_ProcessIndex, index);
      index.client = create.client;
      Check(api->PJRT_Client_ProcessIndex(&index));
    }
    best.query = std::min(best.query, nanoseconds(begin));
    begin = Clock::now();
    for (int i = 0; i < batch; ++i) {
      PJRT_Buffer* arguments[] = {upload.buffer, upload.buffer};
      PJRT_Buffer* const* lists[] = {arguments};
      PJRT_Buffer* outputs[1] = {};
      PJRT_Buffer** output_lists[] = {outputs};
      PJRT_ExecuteOptions options{};
      options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
      ARGS(PJRT_LoadedExecutable_Execute, execute);
      execute.executable = compile.executable;
      execute.options = &options;
      execute.argument_lists = lists;
      execute.num_devices = 1;
      execute.num_args = 2;
      execute.output_lists = output_lists;
      Check(api->PJRT_LoadedExecutable_Execute(&execute));
      ARGS(PJRT_Buffer_Destroy, destroy);
      destroy.buffer = outputs[0];
      Check(api->PJRT_Buffer_Destroy(&destroy));
    }
    best.run = std::min(best.run, nanoseconds(begin));
  }
  return best;
}

void Print(const char* name, const Figures& bare, const Figures& traced) {
  std::printf("%-34s %8.1f %+8.1f   %8.1f %+8.1f\n", name, traced.query, traced.query - bare.query, traced.run,
              traced.run - bare.run);
}

}  // namespace

int main() {
  static NoopPlugin plugin;
  const PJRT_Api* bare = MakeApi(plugin);
  const PJRT_Api* traced = trace::TraceApi(bare);
  constexpr int kBatch = 500, kBatches = 200;
  const Figures without = Measure(bare, kBatch, kBatches);
  std::printf("%-34s %17s   %17s\n", "nanoseconds (best of 200 runs)", "query, added", "execute+destroy, added");
  Print("bare", without, without);
  Print("forwarded, not recording", without, Measure(traced, kBatch, kBatches));
  // Short bursts fit into the ring and show what a call pays; long ones also pay for writing when they outrun the
  // writer.
  trace::StartTrace({.file = "/dev/null", .text = ""});
  Print("recording JSON, bursts", without, Measure(traced, kBatch, kBatches));
  Print("recording JSON, 200000 in a row", without, Measure(traced, 200000, 3));
  trace::StartTrace({.file = "/dev/null", .text = "/dev/null"});
  Print("JSON and text, 200000 in a row", without, Measure(traced, 200000, 3));
  trace::StopTrace();
  return 0;
}
