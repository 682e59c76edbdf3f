// What the trace adds to a call: the same calls on a backend that does nothing, bare and traced.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tenon/plugin/testing/noop_plugin.h"
#include "tenon/trace/call.h"
#include "tenon/trace/recorder.h"

namespace {

using namespace tenon;                   // NOLINT(google-build-using-namespace): a main program.
using namespace tenon::plugin;           // NOLINT(google-build-using-namespace)
using namespace tenon::plugin::testing;  // NOLINT(google-build-using-namespace)

struct Figures {
  double query = 1e9, run = 1e9;  // nanoseconds, the best of many runs
};

Figures Measure(const PJRT_Api* api, int batch, int batches) {
  NOOP_ARGS(PJRT_Client_Create, create);
  Check(api->PJRT_Client_Create(&create));
  NOOP_ARGS(PJRT_Client_AddressableDevices, devices);
  devices.client = create.client;
  Check(api->PJRT_Client_AddressableDevices(&devices));
  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  char code[] = "x";
  program.code = code;
  program.code_size = 1;
  program.format = "mlir";
  program.format_size = 4;
  NOOP_ARGS(PJRT_Client_Compile, compile);
  compile.client = create.client;
  compile.program = &program;
  compile.compile_options = "\x1a\x04\x20\x01\x28\x01";
  compile.compile_options_size = 6;
  Check(api->PJRT_Client_Compile(&compile));
  float values[16] = {};
  const int64_t dims[] = {16};
  NOOP_ARGS(PJRT_Client_BufferFromHostBuffer, upload);
  upload.client = create.client;
  upload.data = values;
  upload.type = PJRT_Buffer_Type_F32;
  upload.dims = dims;
  upload.num_dims = 1;
  upload.device = devices.addressable_devices[0];
  Check(api->PJRT_Client_BufferFromHostBuffer(&upload));
  NOOP_ARGS(PJRT_Event_Destroy, done);
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
      NOOP_ARGS(PJRT_Client_ProcessIndex, index);
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
      NOOP_ARGS(PJRT_LoadedExecutable_Execute, execute);
      execute.executable = compile.executable;
      execute.options = &options;
      execute.argument_lists = lists;
      execute.num_devices = 1;
      execute.num_args = 2;
      execute.output_lists = output_lists;
      Check(api->PJRT_LoadedExecutable_Execute(&execute));
      NOOP_ARGS(PJRT_Buffer_Destroy, destroy);
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
