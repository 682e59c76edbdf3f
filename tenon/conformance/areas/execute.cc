// Execution, donation, several devices.
#include <atomic>
#include <string>
#include <vector>

#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

const char kReplicaIdProgram[] =
    R"(module @replica { func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<ui32>) {
  %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
  %1 = stablehlo.replica_id : tensor<ui32>
  return %0, %1 : tensor<4xf32>, tensor<ui32> } })";

const char kAllReduceProgram[] = R"(module @sum { func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.all_reduce"(%arg0) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32> } })";

// A loop that takes a while: n steps over one number.
const char kSlowProgram[] = R"(module @slow { func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %x = %arg0) : tensor<i32>, tensor<4xf32>
   cond {
    %n = stablehlo.constant dense<20000> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %half = stablehlo.constant dense<0.5> : tensor<4xf32>
    %y = stablehlo.multiply %x, %half : tensor<4xf32>
    %z = stablehlo.add %y, %half : tensor<4xf32>
    stablehlo.return %next, %z : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32> } })";

PJRT_LoadedExecutable_AddressableDevices_Args Devices(Env& env, PJRT_LoadedExecutable* loaded) {
  auto args = New<PJRT_LoadedExecutable_AddressableDevices_Args>();
  args.executable = loaded;
  env.Ok(args);
  return args;
}

void ExpectInvalid(Env& env, const Result<Run>& run, std::string_view why) {
  env.CheckFailure(run.status(), {Code::kInvalidArgument, Code::kFailedPrecondition}, "Execute", why);
}

}  // namespace

void AddExecuteTests(Suite& suite) {
  suite.Add("execute.add", Needs::kClient, "Two arguments are added", kHeader, [](Env& env) {
    Loaded loaded = env.Compile(kAddProgram);
    Buffer a = env.Four(1), b = env.Four(10);
    env.ExpectValues(env.Execute(loaded, {a, b})[0], {11, 13, 15, 17});
  });
  suite.Add("execute.argument_order", Needs::kClient, "Arguments keep their order", kHeader, [](Env& env) {
    Loaded loaded =
        env.Compile(R"(module @m { func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.subtract %arg0, %arg1 : tensor<4xf32>
      return %0 : tensor<4xf32> } })");
    Buffer a = env.Four(1), b = env.Four(10);
    env.ExpectValues(env.Execute(loaded, {a, b})[0], {-9, -9, -9, -9});
  });
  suite.Add("execute.no_arguments", Needs::kClient, "A program without arguments runs", kHeader, [](Env& env) {
    Loaded loaded = env.Compile(kConstantProgram);
    env.ExpectValues(env.Execute(loaded, {})[0], {1, 2, 3, 4});
  });
  suite.Add("execute.several_outputs", Needs::kClient, "Outputs come flattened and in order", kHeader, [](Env& env) {
    Loaded loaded = env.Compile(kPairProgram);
    Buffer a = env.Four(1), b = env.Four(10);
    std::vector<Buffer> out = env.Execute(loaded, {a, b});
    env.Equal(out.size(), 2, "outputs");
    env.ExpectValues(out[0], {11, 13, 15, 17}, "the sum");
    env.ExpectValues(out[1], {10, 22, 36, 52}, "the product");
  });
  suite.Add("execute.same_argument_twice", Needs::kClient, "One buffer may be two arguments", kHeader, [](Env& env) {
    Loaded loaded = env.Compile(kAddProgram);
    Buffer a = env.Four(1);
    env.ExpectValues(env.Execute(loaded, {a, a})[0], {2, 4, 6, 8});
  });
  suite.Add(
      "execute.same_output_twice", Needs::kClient, "A value returned twice gives two buffers", kHeader, [](Env& env) {
        Loaded loaded =
            env.Compile(R"(module @m { func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
      return %0, %0 : tensor<4xf32>, tensor<4xf32> } })");
        Buffer a = env.Four(1);
        std::vector<Buffer> out = env.Execute(loaded, {a});
        env.Expect(out[0].get() != out[1].get(), "the same handle");
        out[0].Reset();
        env.ExpectValues(out[1], {2, 4, 6, 8});
      });
  suite.Add("execute.identity", Needs::kClient, "Returning an argument leaves the argument alive", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kIdentityProgram);
              Buffer a = env.Four(1);
              std::vector<Buffer> out = env.Execute(loaded, {a});
              a.Reset();
              env.ExpectValues(out[0], {1, 2, 3, 4});
            });
  suite.Add("execute.arguments_untouched", Needs::kClient, "Arguments that are not donated keep their values", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer a = env.Four(1);
              for (int i = 0; i < 3; ++i) env.ExpectValues(env.Execute(loaded, {a})[0], {2, 3, 4, 5});
              env.ExpectValues(a, {1, 2, 3, 4}, "the argument");
              env.Expect(!env.IsDeleted(a), "the argument is deleted");
            });
  suite.Add("execute.chain", Needs::kClient, "Outputs are arguments of the next execution without waiting", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer x = env.Four(0);
              for (int i = 0; i < 100; ++i) {
                Run run = env.Start(loaded, {{x}});
                x = std::move(run.outputs[0][0]);
              }
              env.ExpectValues(x, {100, 101, 102, 103});
            });
  suite.Add("execute.argument_destroyed_at_once", Needs::kClient, "Arguments may be destroyed while the program runs",
            kHeader, [](Env& env) {
              Loaded loaded = env.Compile(kSlowProgram);
              Buffer a = env.Four(1);
              Run run = env.Start(loaded, {{a}});
              a.Reset();
              env.Expect(env.Await(run.done[0]).ok(), "the execution failed");
              env.ExpectValues(run.outputs[0][0], {1, 1, 1, 1});
            });
  suite.Add("execute.output_destroyed_at_once", Needs::kClient, "Outputs may be destroyed while the program runs",
            kHeader, [](Env& env) {
              Loaded loaded = env.Compile(kSlowProgram);
              Buffer a = env.Four(1);
              Run run = env.Start(loaded, {{a}});
              run.outputs.clear();
              env.Expect(env.Await(run.done[0]).ok(), "the execution failed");
            });
  suite.Add("execute.executable_destroyed_at_once", Needs::kClient, "The executable may be destroyed while it runs",
            kHeader, [](Env& env) {
              Loaded loaded = env.Compile(kSlowProgram);
              Buffer a = env.Four(1);
              Run run = env.Start(loaded, {{a}});
              loaded.Reset();
              env.Expect(env.Await(run.done[0]).ok(), "the execution failed");
              env.ExpectValues(run.outputs[0][0], {1, 1, 1, 1});
            });
  suite.Add("execute.output_ready", Needs::kClient, "The ready event of an output fires, and its values are there then",
            kHeader, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer a = env.Four(1);
              Run run = env.Start(loaded, {{a}});
              env.Expect(env.Ready(run.outputs[0][0]).ok(), "the output failed");
              env.ExpectValues(run.outputs[0][0], {2, 3, 4, 5});
            });
  suite.Add("execute.output_placement", Needs::kClient, "Outputs are on the executable's device, in its default memory",
            kHeader, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer a = env.Four(1);
              std::vector<Buffer> out = env.Execute(loaded, {a});
              auto device = New<PJRT_Buffer_Device_Args>();
              device.buffer = out[0];
              env.Ok(device);
              env.Expect(device.device == Devices(env, loaded).addressable_devices[0], "another device");
              auto memory = New<PJRT_Buffer_Memory_Args>();
              memory.buffer = out[0];
              env.Ok(memory);
              env.Expect(memory.memory == env.DefaultMemory(device.device), "another memory");
            });
  suite.Add("execute.without_events", Needs::kClient, "device_complete_events may be NULL", kHeader, [](Env& env) {
    Loaded loaded = env.Compile(kAddOneProgram);
    Buffer a = env.Four(1);
    PJRT_Buffer* argument = a;
    PJRT_Buffer* const* arguments = &argument;
    PJRT_Buffer* output = nullptr;
    PJRT_Buffer** outputs = &output;
    PJRT_ExecuteOptions options = NewExecuteOptions();
    auto args = New<PJRT_LoadedExecutable_Execute_Args>();
    args.executable = loaded;
    args.options = &options;
    args.argument_lists = &arguments;
    args.num_devices = 1;
    args.num_args = 1;
    args.output_lists = &outputs;
    env.Ok(args);
    Buffer result(env, output);
    env.ExpectValues(result, {2, 3, 4, 5});
  });
  suite.Add("execute.no_argument_lists", Needs::kClient,
            "argument_lists may be NULL when the program takes no arguments", kRobust, [](Env& env) {
              Loaded loaded = env.Compile(R"(module @m { func.func public @main() -> tensor<4xf32> {
      %c = stablehlo.constant dense<1.0> : tensor<4xf32>
      return %c : tensor<4xf32> } })");
              PJRT_Buffer* output = nullptr;
              PJRT_Buffer** outputs = &output;
              PJRT_ExecuteOptions options = NewExecuteOptions();
              auto args = New<PJRT_LoadedExecutable_Execute_Args>();
              args.executable = loaded;
              args.options = &options;
              args.num_devices = 1;
              args.output_lists = &outputs;
              env.Ok(args);
              Buffer result(env, output);
              env.ExpectValues(result, {1, 1, 1, 1});
            });
  suite.Add("execute.launch_id", Needs::kClient, "A launch id and a call location are accepted", kHeader, [](Env& env) {
    Loaded loaded = env.Compile(kAddOneProgram);
    Buffer a = env.Four(1);
    PJRT_ExecuteOptions options = NewExecuteOptions();
    options.launch_id = 42;
    options.call_location = "conformance.py:1";
    env.ExpectValues(env.Execute(loaded, {a}, &options)[0], {2, 3, 4, 5});
  });
  suite.Add("execute.context", Needs::kClient, "An execute context may be passed and destroyed at once", kHeader,
            [](Env& env) {
              auto create = New<PJRT_ExecuteContext_Create_Args>();
              env.Ok(create);
              Handle<PJRT_ExecuteContext> context(env, create.context);
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer a = env.Four(1);
              PJRT_ExecuteOptions options = NewExecuteOptions();
              options.context = context;
              Run run = env.Start(loaded, {{a}}, &options);
              env.Expect(env.Await(run.done[0]).ok(), "the execution failed");
              context.Reset();
              env.ExpectValues(run.outputs[0][0], {2, 3, 4, 5});
            });
  suite.Add("execute.large", Needs::kClient, "A program over four million elements", kHeader, [](Env& env) {
    Loaded loaded =
        env.Compile(R"(module @m { func.func public @main(%arg0: tensor<4194304xf32>) -> tensor<4194304xf32> {
      %0 = stablehlo.add %arg0, %arg0 : tensor<4194304xf32>
      return %0 : tensor<4194304xf32> } })");
    std::vector<float> values(4194304);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 4099);
    Buffer a = env.Upload<float>(values, {4194304});
    std::vector<Buffer> out = env.Execute(loaded, {a});
    for (float& value : values) value *= 2;
    env.ExpectValues(out[0], values);
  });
  suite.Add("execute.empty_array", Needs::kClient, "A program over an empty array", kStableHlo, [](Env& env) {
    Loaded loaded = env.Compile(R"(module @m { func.func public @main(%arg0: tensor<0xf32>) -> tensor<0xf32> {
      %0 = stablehlo.add %arg0, %arg0 : tensor<0xf32>
      return %0 : tensor<0xf32> } })");
    Buffer a = env.Upload(PJRT_Buffer_Type_F32, nullptr, {0});
    std::vector<Buffer> out = env.Execute(loaded, {a});
    env.Expect(env.BufferDims(out[0]) == Dims{0}, "other extents");
  });
  suite.Add("execute.loop", Needs::kClient, "A loop of twenty thousand steps converges", kStableHlo, [](Env& env) {
    Loaded loaded = env.Compile(kSlowProgram);
    Buffer a = env.Four(1);
    env.ExpectValues(env.Execute(loaded, {a})[0], {1, 1, 1, 1});
  });
  suite.Add("bad_input.execute_too_few", Needs::kClient, "Too few arguments give INVALID_ARGUMENT", kReference,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddProgram);
              Buffer a = env.Four(1);
              ExpectInvalid(env, env.TryExecute(loaded, {{a}}), "one of two arguments is missing");
            });
  suite.Add("bad_input.execute_too_many", Needs::kClient, "Too many arguments give INVALID_ARGUMENT", kReference,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer a = env.Four(1);
              ExpectInvalid(env, env.TryExecute(loaded, {{a, a}}), "there is an argument too many");
            });
  suite.Add("bad_input.execute_type", Needs::kClient, "An argument of another type gives INVALID_ARGUMENT", kRobust,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer a = env.Upload<int32_t>({1, 2, 3, 4}, {4});
              ExpectInvalid(env, env.TryExecute(loaded, {{a}}), "the argument is s32");
            });
  suite.Add("bad_input.execute_extent", Needs::kClient, "An argument with another extent gives INVALID_ARGUMENT",
            kRobust, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer a = env.Upload<float>({1, 2, 3, 4, 5}, {5});
              ExpectInvalid(env, env.TryExecute(loaded, {{a}}), "the argument has five elements");
            });
  suite.Add("bad_input.execute_same_size", Needs::kClient,
            "An argument of the same size and another shape gives INVALID_ARGUMENT", kRobust, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer a = env.Upload<float>({1, 2, 3, 4}, {2, 2});
              ExpectInvalid(env, env.TryExecute(loaded, {{a}}), "the argument is 2 by 2");
            });
  suite.Add("bad_input.execute_null_argument", Needs::kClient, "An argument that is NULL gives INVALID_ARGUMENT",
            kRobust, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              ExpectInvalid(env, env.TryExecute(loaded, {{nullptr}}), "the argument is NULL");
            });
  suite.Add("bad_input.execute_wrong_device", Needs::kDevices2, "An argument on another device gives INVALID_ARGUMENT",
            kRobust, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              PJRT_Device* own = Devices(env, loaded).addressable_devices[0];
              Buffer a = env.Upload<float>({1, 2, 3, 4}, {4},
                                           {.device = own == env.device(0) ? env.device(1) : env.device(0)});
              ExpectInvalid(env, env.TryExecute(loaded, {{a}}), "the argument is elsewhere");
            });
  suite.Add("bad_input.execute_devices", Needs::kClient,
            "Arguments for two devices of a program for one give INVALID_ARGUMENT", kRobust, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer a = env.Four(1), b = env.Four(1);
              ExpectInvalid(env, env.TryExecute(loaded, {{a}, {b}}), "the program runs on one device");
            });
  suite.Add("bad_input.execute_null_options", Needs::kClient, "Options NULL give an error or mean the default", kRobust,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer a = env.Four(1);
              PJRT_Buffer* argument = a;
              PJRT_Buffer* const* arguments = &argument;
              PJRT_Buffer* output = nullptr;
              PJRT_Buffer** outputs = &output;
              auto args = New<PJRT_LoadedExecutable_Execute_Args>();
              args.executable = loaded;
              args.argument_lists = &arguments;
              args.num_devices = 1;
              args.num_args = 1;
              args.output_lists = &outputs;
              Status status = env.Try(args);
              if (status.ok()) Buffer result(env, output);
              if (!status.ok()) env.CheckFailure(status, {Code::kInvalidArgument}, "Execute", "options are NULL");
            });
}

void AddDonationTests(Suite& suite) {
  suite.Add("donation.consumes", Needs::kClient, "An argument that the program aliases is deleted after Execute",
            kReference, [](Env& env) {
              Loaded loaded = env.Compile(kDonateProgram);
              Buffer a = env.Four(1);
              std::vector<Buffer> out = env.Execute(loaded, {a});
              env.Expect(env.IsDeleted(a), "it is not deleted");
              env.ExpectValues(out[0], {2, 4, 6, 8});
            });
  suite.Add("donation.use_after", Needs::kClient, "A donated buffer is refused as an argument", kReference,
            [](Env& env) {
              Loaded loaded = env.Compile(kDonateProgram);
              Buffer a = env.Four(1);
              std::vector<Buffer> out = env.Execute(loaded, {a});
              ExpectInvalid(env, env.TryExecute(loaded, {{a}}), "the buffer was donated");
            });
  suite.Add("donation.read_after", Needs::kClient, "A donated buffer cannot be read", kReference, [](Env& env) {
    Loaded loaded = env.Compile(kDonateProgram);
    Buffer a = env.Four(1);
    std::vector<Buffer> out = env.Execute(loaded, {a});
    env.CheckFailure(env.TryDownload(a).status(), {Code::kInvalidArgument, Code::kFailedPrecondition}, "ToHostBuffer",
                     "the buffer was donated");
  });
  suite.Add("donation.non_donatable", Needs::kClient, "An argument listed as not donatable stays alive", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kDonateProgram);
              Buffer a = env.Four(1);
              const int64_t indices[] = {0};
              PJRT_ExecuteOptions options = NewExecuteOptions();
              options.non_donatable_input_indices = indices;
              options.num_non_donatable_input_indices = 1;
              std::vector<Buffer> out = env.Execute(loaded, {a}, &options);
              env.Expect(!env.IsDeleted(a), "it is deleted");
              env.ExpectValues(a, {1, 2, 3, 4}, "the argument");
              env.ExpectValues(out[0], {2, 4, 6, 8});
            });
  suite.Add("donation.loop", Needs::kClient, "A value is donated a hundred times in a row", kClients, [](Env& env) {
    Loaded loaded = env.Compile(
        R"(module @m { func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
      %c = stablehlo.constant dense<1.0> : tensor<4xf32>
      %0 = stablehlo.add %arg0, %c : tensor<4xf32>
      return %0 : tensor<4xf32> } })");
    Buffer x = env.Four(0);
    for (int i = 0; i < 100; ++i) {
      Run run = env.Start(loaded, {{x}});
      x = std::move(run.outputs[0][0]);
    }
    env.ExpectValues(x, {100, 101, 102, 103});
  });
  suite.Add(
      "donation.kept_when_refused", Needs::kClient, "A call that is refused consumes nothing", kHeader, [](Env& env) {
        Loaded loaded = env.Compile(
            R"(module @m { func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
      return %0 : tensor<4xf32> } })");
        Buffer a = env.Four(1), wrong = env.Upload<float>({1, 2}, {2});
        ExpectInvalid(env, env.TryExecute(loaded, {{a, wrong}}), "the second argument has two elements");
        env.Expect(!env.IsDeleted(a), "the first argument is deleted");
        env.ExpectValues(a, {1, 2, 3, 4}, "the first argument");
      });
  suite.Add("donation.zero_copy_source", Needs::kClient,
            "Donating an immutable zero-copy upload does not write to the caller's array", kHeader, [](Env& env) {
              alignas(64) static float values[16];
              for (int i = 0; i < 16; ++i) values[i] = static_cast<float>(i);
              Loaded loaded = env.Compile(kDonateProgram);
              Event done;
              Result<Buffer> a = env.TryUpload(PJRT_Buffer_Type_F32, values, {4},
                                               {.semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy}, &done);
              env.Expect(a.ok(), a.status().ToString());
              std::vector<Buffer> out = env.Execute(loaded, {*a});
              env.ExpectValues(out[0], {0, 2, 4, 6});
              for (int i = 0; i < 16; ++i) env.Equal(values[i], static_cast<float>(i), "element of the caller's array");
            });
  suite.Add("donation.held", Needs::kClient,
            "Donating a buffer that is held externally leaves the held bytes alone or is refused", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kDonateProgram);
              Buffer a = env.Four(1);
              auto cpu = New<PJRT_Buffer_IsOnCpu_Args>();
              cpu.buffer = a;
              env.Ok(cpu);
              if (!cpu.is_on_cpu) env.Unsupported("the host cannot read device memory");
              env.Expect(env.Ready(a).ok(), "not ready");
              auto hold = New<PJRT_Buffer_IncreaseExternalReferenceCount_Args>();
              hold.buffer = a;
              env.Ok(hold);
              auto pointer = New<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>();
              pointer.buffer = a;
              env.Ok(pointer);
              Result<Run> run = env.TryExecute(loaded, {{a}});
              if (run.ok()) (void)env.Await(run->done[0]);
              float first = static_cast<const float*>(pointer.device_memory_ptr)[0];
              auto drop = New<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
              drop.buffer = a;
              env.Ok(drop);
              env.Equal(first, 1.0f, "first held element");
            });
  suite.Add(
      "donation.same_buffer_twice", Needs::kClient,
      "One buffer as a donated and as a plain argument gives the right result or an error", kRobust, [](Env& env) {
        Loaded loaded = env.Compile(
            R"(module @m { func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
      return %0 : tensor<4xf32> } })");
        Buffer a = env.Four(1);
        Result<Run> run = env.TryExecute(loaded, {{a, a}});
        if (!run.ok()) {
          ExpectInvalid(env, run, "one buffer is donated and used");
          return;
        }
        env.ExpectValues(run->outputs[0][0], {2, 4, 6, 8});
      });
  suite.Add("donation.control_dependency", Needs::kClient,
            "DonateWithControlDependency gives a buffer that waits for the caller", kHeader, [](Env& env) {
              Buffer a = env.Four(1);
              auto args = New<PJRT_Buffer_DonateWithControlDependency_Args>();
              args.buffer = a;
              env.Ok(args);
              Buffer out(env, args.out_buffer);
              env.Expect(args.dependency_ready_callback != nullptr, "no callback");
              auto ready = New<PJRT_Buffer_ReadyEvent_Args>();
              ready.buffer = out;
              env.Ok(ready);
              Event event(env, ready.event);
              bool early = env.IsReady(event);
              PJRT_Buffer_DonateWithControlDependency_Callback_Args answer = {};
              answer.struct_size = PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE;
              answer.callback_data = args.callback_data;
              args.dependency_ready_callback(&answer);
              env.Expect(!early, "it was ready before the dependency");
              env.Expect(env.Await(event).ok(), "it failed");
              env.ExpectValues(out, {1, 2, 3, 4});
              env.Expect(env.IsDeleted(a), "the source is not consumed");
            });
  suite.Add("donation.control_dependency_error", Needs::kClient, "A dependency that fails fails the new buffer",
            kHeader, [](Env& env) {
              Buffer a = env.Four(1);
              auto args = New<PJRT_Buffer_DonateWithControlDependency_Args>();
              args.buffer = a;
              env.Ok(args);
              Buffer out(env, args.out_buffer);
              PJRT_Buffer_DonateWithControlDependency_Callback_Args answer = {};
              answer.struct_size = PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE;
              answer.callback_data = args.callback_data;
              answer.error_code = PJRT_Error_Code_ABORTED;
              answer.error_message = "on purpose";
              answer.error_message_size = 10;
              args.dependency_ready_callback(&answer);
              Status status = env.Ready(out);
              env.Expect(status.code() == Code::kAborted, "got " + status.ToString());
            });
}

void AddMultiDeviceTests(Suite& suite) {
  suite.Add("multi_device.replicas", Needs::kDevices2, "Two replicas run on two devices with their own arguments",
            kHeader, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram, Env::CompileOptions(2, 1));
              auto devices = Devices(env, loaded);
              env.Equal(devices.num_addressable_devices, 2, "devices");
              env.Expect(devices.addressable_devices[0] != devices.addressable_devices[1], "both are the same device");
              Buffer a = env.Upload<float>({1, 2, 3, 4}, {4}, {.device = devices.addressable_devices[0]});
              Buffer b = env.Upload<float>({10, 20, 30, 40}, {4}, {.device = devices.addressable_devices[1]});
              Run run = env.Start(loaded, {{a}, {b}});
              for (Event& done : run.done) env.Expect(env.Await(done).ok(), "a device failed");
              env.ExpectValues(run.outputs[0][0], {2, 3, 4, 5}, "the first replica's output");
              env.ExpectValues(run.outputs[1][0], {11, 21, 31, 41}, "the second replica's output");
            });
  suite.Add("multi_device.replica_id", Needs::kDevices2,
            "Replicas know their numbers, in the order of the executable's devices", kStableHlo, [](Env& env) {
              Loaded loaded = env.Compile(kReplicaIdProgram, Env::CompileOptions(2, 1));
              auto devices = Devices(env, loaded);
              Buffer a = env.Upload<float>({1, 2, 3, 4}, {4}, {.device = devices.addressable_devices[0]});
              Buffer b = env.Upload<float>({1, 2, 3, 4}, {4}, {.device = devices.addressable_devices[1]});
              Run run = env.Start(loaded, {{a}, {b}});
              for (size_t d = 0; d < 2; ++d) {
                env.Expect(env.Await(run.done[d]).ok(), "a device failed");
                env.Equal(env.Download<int32_t>(run.outputs[d][1]).at(0), d, "replica id");
              }
            });
  suite.Add("multi_device.output_placement", Needs::kDevices2, "Outputs of a replica are on its device", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram, Env::CompileOptions(2, 1));
              auto devices = Devices(env, loaded);
              Buffer a = env.Upload<float>({1, 2, 3, 4}, {4}, {.device = devices.addressable_devices[0]});
              Buffer b = env.Upload<float>({1, 2, 3, 4}, {4}, {.device = devices.addressable_devices[1]});
              Run run = env.Start(loaded, {{a}, {b}});
              for (size_t d = 0; d < 2; ++d) {
                auto args = New<PJRT_Buffer_Device_Args>();
                args.buffer = run.outputs[d][0];
                env.Ok(args);
                env.Expect(args.device == devices.addressable_devices[d], "another device");
              }
            });
  suite.Add("multi_device.all_reduce", Needs::kDevices2, "all_reduce adds the arguments of two replicas", kStableHlo,
            [](Env& env) {
              Loaded loaded = env.Compile(kAllReduceProgram, Env::CompileOptions(2, 1));
              auto devices = Devices(env, loaded);
              Buffer a = env.Upload<float>({1, 2, 3, 4}, {4}, {.device = devices.addressable_devices[0]});
              Buffer b = env.Upload<float>({10, 20, 30, 40}, {4}, {.device = devices.addressable_devices[1]});
              Run run = env.Start(loaded, {{a}, {b}});
              for (size_t d = 0; d < 2; ++d) {
                env.Expect(env.Await(run.done[d]).ok(), "a device failed");
                env.ExpectValues(run.outputs[d][0], {11, 22, 33, 44});
              }
            });
  suite.Add("multi_device.logical_ids", Needs::kDevices2, "Logical ids number the replicas", kHeader, [](Env& env) {
    Loaded loaded = env.Compile(kAddOneProgram, Env::CompileOptions(2, 1));
    auto args = New<PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args>();
    args.executable = loaded;
    env.Ok(args);
    env.Equal(args.num_addressable_device_logical_ids, 2, "devices");
    for (int i = 0; i < 2; ++i) {
      env.Equal(args.addressable_device_logical_ids[i].replica, i, "replica");
      env.Equal(args.addressable_device_logical_ids[i].partition, 0, "partition");
    }
  });
  suite.Add("multi_device.num_replicas", Needs::kDevices2, "The executable says for how many replicas it was compiled",
            kHeader, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram, Env::CompileOptions(2, 1));
              Executable executable = env.GetExecutable(loaded);
              auto args = New<PJRT_Executable_NumReplicas_Args>();
              args.executable = executable;
              env.Ok(args);
              env.Equal(args.num_replicas, 2, "replicas");
            });
  suite.Add("multi_device.partitions", Needs::kDevices2, "A program of two partitions runs on two devices", kHeader,
            [](Env& env) {
              // executable_build_options {num_replicas 1, num_partitions 2, use_spmd_partitioning true}
              Loaded loaded = env.Compile(kAddOneProgram, std::string_view("\x1a\x06\x20\x01\x28\x02\x30\x01", 8));
              auto devices = Devices(env, loaded);
              env.Equal(devices.num_addressable_devices, 2, "devices");
              Buffer a = env.Upload<float>({1, 2, 3, 4}, {4}, {.device = devices.addressable_devices[0]});
              Buffer b = env.Upload<float>({1, 2, 3, 4}, {4}, {.device = devices.addressable_devices[1]});
              Run run = env.Start(loaded, {{a}, {b}});
              for (size_t d = 0; d < 2; ++d) {
                env.Expect(env.Await(run.done[d]).ok(), "a device failed");
                env.ExpectValues(run.outputs[d][0], {2, 3, 4, 5});
              }
            });
  suite.Add("multi_device.execute_device", Needs::kDevices2,
            "A portable executable runs on the device that the call names", kHeader, [](Env& env) {
              // executable_build_options {num_replicas 1 num_partitions 1}, compile_portable_executable true
              Loaded loaded = env.Compile(kAddOneProgram, std::string(Env::kOneDevice) + "\x20\x01");
              for (size_t i = 0; i < 2; ++i) {
                Buffer a = env.Upload<float>({1, 2, 3, 4}, {4}, {.device = env.device(i)});
                Run run = env.Start(loaded, {{a}}, nullptr, env.device(i));
                auto args = New<PJRT_Buffer_Device_Args>();
                args.buffer = run.outputs[0][0];
                env.Ok(args);
                env.Expect(args.device == env.device(i), "it ran on another device");
                env.ExpectValues(run.outputs[0][0], {2, 3, 4, 5});
              }
            });
  suite.Add(
      "multi_device.second_device", Needs::kDevices2, "A device assignment puts a program on the second device",
      kClients, [](Env& env) {
        // executable_build_options {num_replicas 1, num_partitions 1, device_assignment {1, 1, {ids}}}
        int id = env.DeviceId(env.device(1));
        if (id < 0 || id > 127) env.Unsupported("the second device's id does not fit into one byte");
        std::string assignment = std::string("\x08\x01\x10\x01\x1a\x03\x0a\x01") + static_cast<char>(id);
        std::string build = std::string("\x20\x01\x28\x01\x4a") + static_cast<char>(assignment.size()) + assignment;
        Loaded loaded = env.Compile(kAddOneProgram, std::string("\x1a") + static_cast<char>(build.size()) + build);
        auto devices = Devices(env, loaded);
        env.Equal(devices.num_addressable_devices, 1, "devices");
        env.Expect(devices.addressable_devices[0] == env.device(1), "another device");
        Buffer a = env.Upload<float>({1, 2, 3, 4}, {4}, {.device = env.device(1)});
        env.ExpectValues(env.Execute(loaded, {a})[0], {2, 3, 4, 5});
      });
  suite.Add("multi_device.one_list_missing", Needs::kDevices2, "Arguments for one of two devices give INVALID_ARGUMENT",
            kRobust, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram, Env::CompileOptions(2, 1));
              Buffer a = env.Four(1);
              ExpectInvalid(env, env.TryExecute(loaded, {{a}}), "the second device has no arguments");
            });
}

}  // namespace tenon::conformance
