// Concurrency, and destroying objects in any order.
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

// Runs `work(thread)` on eight threads; the first failure ends the test.
void Parallel(Env& env, const std::function<void(int)>& work) {
  std::mutex mutex;
  std::vector<Stop> stops;
  std::vector<std::thread> threads;
  (void)env.client();
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      try {
        work(t);
      } catch (const Stop& stop) {
        std::lock_guard lock(mutex);
        stops.push_back(stop);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (!stops.empty()) throw stops.front();
}

// One way to end: the letters say in which order client, loaded executable, executable, buffer, output, event go.
void DestroyInOrder(Env& env, const std::string& order) {
  Client client = env.NewClient();
  auto devices = New<PJRT_Client_AddressableDevices_Args>();
  devices.client = client;
  env.Ok(devices);
  Buffer buffer = env.Upload<float>({1, 2, 3, 4}, {4}, {.device = devices.addressable_devices[0], .client = client});
  Loaded loaded = env.Compile(kAddOneProgram, Env::kOneDevice, client);
  Executable executable = env.GetExecutable(loaded);
  Run run = env.Start(loaded, {{buffer}});
  for (char c : order) {
    switch (c) {
      case 'c':
        client.Reset();
        break;
      case 'l':
        loaded.Reset();
        break;
      case 'x':
        executable.Reset();
        break;
      case 'b':
        buffer.Reset();
        break;
      case 'o':
        run.outputs.clear();
        break;
      case 'e':
        run.done.clear();
        break;
      default:
        break;
    }
  }
}

}  // namespace

void AddThreadTests(Suite& suite) {
  suite.Add("threads.execute", Needs::kClient, "Eight threads run one executable at once", kHeader, [](Env& env) {
    Loaded loaded = env.Compile(kAddOneProgram);
    Parallel(env, [&](int t) {
      for (int i = 0; i < 20; ++i) {
        float first = static_cast<float>(t * 100 + i);
        Buffer a = env.Four(first);
        env.ExpectValues(env.Execute(loaded, {a})[0], {first + 1, first + 2, first + 3, first + 4});
      }
    });
  });
  suite.Add("threads.execute_shared_argument", Needs::kClient, "Eight threads use one argument at once", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer a = env.Four(5);
              Parallel(env, [&](int) {
                for (int i = 0; i < 20; ++i) env.ExpectValues(env.Execute(loaded, {a})[0], {6, 7, 8, 9});
              });
            });
  suite.Add("threads.compile", Needs::kClient, "Eight threads compile at once", kHeader, [](Env& env) {
    Parallel(env, [&](int t) {
      std::string n = std::to_string(t + 1);
      Loaded loaded = env.Compile("module @m { func.func public @main(%a: tensor<" + n + "xf32>) -> tensor<" + n +
                                  "xf32> {\n %0 = stablehlo.add %a, %a : tensor<" + n + "xf32>\n return %0 : tensor<" +
                                  n + "xf32> } }");
      std::vector<float> values(static_cast<size_t>(t + 1), 3.0f);
      Buffer a = env.Upload<float>(values, {t + 1});
      env.ExpectValues(env.Execute(loaded, {a})[0], std::vector<float>(static_cast<size_t>(t + 1), 6.0f));
    });
  });
  suite.Add("threads.compile_same", Needs::kClient, "Eight threads compile the same program at once", kHeader,
            [](Env& env) {
              Parallel(env, [&](int) {
                Loaded loaded = env.Compile(kPairProgram);
                env.Equal(env.NumOutputs(loaded), 2, "outputs");
              });
            });
  suite.Add("threads.transfers", Needs::kClient, "Eight threads upload and download at once", kHeader, [](Env& env) {
    Parallel(env, [&](int t) {
      for (int i = 0; i < 20; ++i) {
        std::vector<float> values(10000, static_cast<float>(t * 1000 + i));
        Buffer buffer = env.Upload<float>(values, {10000});
        env.ExpectValues(buffer, values);
      }
    });
  });
  suite.Add("threads.queries", Needs::kClient, "Eight threads ask one executable for lazily computed answers", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kPairProgram);
              Executable executable = env.GetExecutable(loaded);
              Parallel(env, [&](int) {
                auto types = New<PJRT_Executable_OutputElementTypes_Args>();
                types.executable = executable;
                env.Ok(types);
                env.Equal(types.num_output_types, 2, "outputs");
                auto dims = New<PJRT_Executable_OutputDimensions_Args>();
                dims.executable = executable;
                env.Ok(dims);
                env.Equal(dims.num_outputs, 2, "outputs");
                auto cost = New<PJRT_Executable_GetCostAnalysis_Args>();
                cost.executable = executable;
                (void)env.Try(cost);
              });
            });
  suite.Add("threads.buffer_queries", Needs::kClient, "Eight threads ask one buffer for its layout and extents",
            kHeader, [](Env& env) {
              Buffer buffer = env.Four();
              Parallel(env, [&](int) {
                for (int i = 0; i < 50; ++i) {
                  env.Expect(env.BufferDims(buffer) == Dims{4}, "other extents");
                  auto layout = New<PJRT_Buffer_GetMemoryLayout_Args>();
                  layout.buffer = buffer;
                  (void)env.Try(layout);
                  env.Expect(env.Ready(buffer).ok(), "not ready");
                }
              });
            });
  suite.Add("threads.clients", Needs::kClient, "Four threads make and destroy clients at once", kHeader, [](Env& env) {
    Parallel(env, [&](int t) {
      if (t < 4) Client client = env.NewClient();
    });
  });
  suite.Add("threads.delete_and_read", Needs::kClient,
            "One thread deletes what another reads: the reader gets values or an error", kHeader, [](Env& env) {
              for (int i = 0; i < 20; ++i) {
                Buffer buffer = env.Four(3);
                std::thread deleter([&] { env.Delete(buffer); });
                Result<Bytes> bytes = Internal("never read");
                Stop stop{Observed::kPass, ""};
                try {
                  bytes = env.TryDownload(buffer);
                } catch (const Stop& s) {
                  stop = s;
                }
                deleter.join();
                if (stop.observed != Observed::kPass) throw stop;
                if (!bytes.ok()) continue;
                float first;
                std::memcpy(&first, bytes->data(), 4);
                env.Equal(first, 3.0f, "element");
              }
            });
  suite.Add("threads.await_many", Needs::kClient, "Eight threads wait for one event", kHeader, [](Env& env) {
    Loaded loaded = env.Compile(kAddOneProgram);
    Buffer a = env.Four();
    Run run = env.Start(loaded, {{a}});
    Parallel(env, [&](int) { env.Expect(env.Await(run.done[0]).ok(), "it failed"); });
  });
}

void AddTeardownTests(Suite& suite) {
  for (const char* order : {"eoblxc", "cxlboe", "clxboe", "lcoxeb", "bcloxe", "xlceob", "ceolbx", "obexcl"}) {
    suite.Add(std::string("teardown.order_") + order, Needs::kClient,
              "Objects go in the order event, output, buffer, loaded, executable, client as spelt by their letters",
              "Go's finalizers destroy objects after the client", [order](Env& env) { DestroyInOrder(env, order); });
  }
  suite.Add("teardown.buffer_after_client", Needs::kClient, "A buffer may be asked and destroyed after its client",
            "Go's finalizers", [](Env& env) {
              Client client = env.NewClient();
              auto devices = New<PJRT_Client_AddressableDevices_Args>();
              devices.client = client;
              env.Ok(devices);
              Buffer buffer =
                  env.Upload<float>({1, 2, 3, 4}, {4}, {.device = devices.addressable_devices[0], .client = client});
              client.Reset();
              env.Expect(env.BufferDims(buffer) == Dims{4}, "other extents");
            });
  suite.Add("teardown.deleted_buffer", Needs::kClient, "A deleted buffer is still destroyed", kHeader, [](Env& env) {
    Buffer buffer = env.Four();
    env.Delete(buffer);
    buffer.Reset();
  });
  suite.Add("teardown.view_released", Needs::kClient, "A view's callback runs at the latest when its client goes",
            kHeader, [](Env& env) {
              static std::atomic<int> released;
              released = 0;
              alignas(64) static float values[16] = {1, 2, 3, 4};
              static const int64_t dims[] = {4};
              Client client = env.NewClient();
              auto devices = New<PJRT_Client_AddressableDevices_Args>();
              devices.client = client;
              env.Ok(devices);
              auto args = New<PJRT_Client_CreateViewOfDeviceBuffer_Args>();
              args.client = client;
              args.device_buffer_ptr = values;
              args.dims = dims;
              args.num_dims = 1;
              args.element_type = PJRT_Buffer_Type_F32;
              args.device = devices.addressable_devices[0];
              args.on_delete_callback = [](void*, void*) { ++released; };
              env.Ok(args);
              Buffer buffer(env, args.buffer);
              buffer.Reset();
              client.Reset();
              env.Equal(released.load(), 1, "callbacks");
            });
  suite.Add("teardown.many_objects", Needs::kClient, "A thousand buffers come and go", kHeader, [](Env& env) {
    std::vector<Buffer> buffers;
    for (int i = 0; i < 1000; ++i) buffers.push_back(env.Four(static_cast<float>(i)));
    env.ExpectValues(buffers[500], {500, 501, 502, 503});
  });
  suite.Add("teardown.memory_returns", Needs::kClient, "Memory of destroyed buffers is given back", kHeader,
            [](Env& env) {
              // Where the device counts its bytes, the count must return; elsewhere 1.5 GiB one after the other must at
              // least fit.
              auto before = New<PJRT_Device_MemoryStats_Args>();
              before.device = env.device();
              bool counted = env.Supports<PJRT_Device_MemoryStats_Args>() && env.Try(before).ok();
              const int64_t bytes = (counted ? 4 : 64) << 20;
              const int64_t count = bytes / static_cast<int64_t>(sizeof(float));
              std::vector<float> values(static_cast<size_t>(count), 1.0f);
              for (int i = 0; i < 24; ++i) {
                Buffer buffer = env.Upload<float>(values, {count});
                env.Expect(env.Ready(buffer).ok(), "an upload failed");
              }
              // A device elsewhere may hear of it late.
              const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
              bool returned = !counted;
              while (!returned && std::chrono::steady_clock::now() < until) {
                auto after = New<PJRT_Device_MemoryStats_Args>();
                after.device = env.device();
                returned = !env.Try(after).ok() || after.bytes_in_use < before.bytes_in_use + bytes;
                if (!returned) std::this_thread::sleep_for(std::chrono::milliseconds(10));
              }
              env.Expect(returned, "bytes_in_use did not return");
            });
}

}  // namespace tenon::conformance
