// Compiling, what executables say of themselves, serialization, and compiling for topologies.
#include <set>
#include <string>
#include <vector>

#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

std::string Serialize(Env& env, PJRT_Executable* executable) {
  auto args = New<PJRT_Executable_Serialize_Args>();
  args.executable = executable;
  env.Ok(args);
  env.Expect(args.serialized_bytes != nullptr && args.serialized_bytes_size > 0, "no bytes");
  env.Expect(args.serialized_executable_deleter != nullptr, "no deleter");
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  args.serialized_executable_deleter(args.serialized_executable);
  return bytes;
}

Result<Loaded> Deserialize(Env& env, std::string_view bytes, std::string_view options = {},
                           PJRT_Client* client = nullptr) {
  auto args = New<PJRT_Executable_DeserializeAndLoad_Args>();
  args.client = client != nullptr ? client : env.client();
  args.serialized_executable = bytes.data();
  args.serialized_executable_size = bytes.size();
  args.overridden_serialized_compile_options = options.empty() ? nullptr : options.data();
  args.overridden_serialized_compile_options_size = options.size();
  TENON_RETURN_IF_ERROR(env.Try(args));
  return Loaded(env, args.loaded_executable);
}

std::string Fingerprint(Env& env, PJRT_LoadedExecutable* loaded) {
  Executable executable = env.GetExecutable(loaded);
  auto args = New<PJRT_Executable_Fingerprint_Args>();
  args.executable = executable;
  env.Ok(args);
  return {args.executable_fingerprint, args.executable_fingerprint_size};
}

std::string SerializeTopology(Env& env, PJRT_TopologyDescription* topology) {
  auto args = New<PJRT_TopologyDescription_Serialize_Args>();
  args.topology = topology;
  env.Ok(args);
  env.Expect(args.serialized_topology_deleter != nullptr, "no deleter");
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  args.serialized_topology_deleter(args.serialized_topology);
  return bytes;
}

void ExpectRefusedProgram(Env& env, std::string_view code, std::string_view why) {
  Result<Loaded> loaded = env.TryCompile(code);
  // A parser's complaint is INVALID_ARGUMENT, or UNKNOWN in XLA's plugins.
  env.CheckFailure(loaded.status(), {Code::kInvalidArgument, Code::kUnknown}, "PJRT_Client_Compile", why);
}

}  // namespace

void AddCompileTests(Suite& suite) {
  suite.Add("compile.text", Needs::kClient, "StableHLO text compiles", kHeader,
            [](Env& env) { Loaded loaded = env.Compile(kAddProgram); });
  suite.Add("compile.generic_text", Needs::kClient,
            "StableHLO text in generic form, ending with stablehlo.return, compiles", "go-xla sends it", [](Env& env) {
              Loaded loaded = env.Compile(R"("builtin.module"() ({
                "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
                ^bb0(%arg0: tensor<4xf32>):
                  %0 = "stablehlo.add"(%arg0, %arg0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
                  "stablehlo.return"(%0) : (tensor<4xf32>) -> ()
                }) : () -> ()
              }) : () -> ())");
              Buffer a = env.Four();
              env.ExpectValues(env.Execute(loaded, {a})[0], {2, 4, 6, 8});
            });
  suite.Add("compile.twice", Needs::kClient, "The same program compiles again into another object", kHeader,
            [](Env& env) {
              Loaded one = env.Compile(kAddProgram), two = env.Compile(kAddProgram);
              env.Expect(one.get() != two.get(), "the same object");
            });
  suite.Add("compile.program_not_kept", Needs::kClient, "Program and options may change after the call", kHeader,
            [](Env& env) {
              std::string code = kAddOneProgram, options(Env::kOneDevice);
              Loaded loaded = env.Compile(code, options);
              code.assign(code.size(), 'x');
              options.assign(options.size(), 'x');
              Buffer a = env.Four();
              env.ExpectValues(env.Execute(loaded, {a})[0], {2, 3, 4, 5});
            });
  suite.Add(
      "compile.unknown_format", Needs::kClient, "An unknown format gives INVALID_ARGUMENT", kReference, [](Env& env) {
        Result<Loaded> loaded = env.TryCompile(kAddProgram, Env::kOneDevice, "invalid");
        env.CheckFailure(loaded.status(), {Code::kInvalidArgument}, "PJRT_Client_Compile", "the format is 'invalid'");
      });
  suite.Add("compile.format_before_code", Needs::kClient,
            "The format is looked at before the code: code NULL is no crash",
            "upstream's CompileInvalidProgramFormat test", [](Env& env) {
              PJRT_Program program = NewProgram({}, "invalid");
              auto args = New<PJRT_Client_Compile_Args>();
              args.client = env.client();
              args.program = &program;
              args.compile_options = Env::kOneDevice.data();
              args.compile_options_size = Env::kOneDevice.size();
              env.Fails(args, {Code::kInvalidArgument}, "the format is 'invalid'");
            });
  suite.Add("compile.bad_options", Needs::kClient, "Options that are no message give INVALID_ARGUMENT",
            "upstream's CompileInvalidOption test", [](Env& env) {
              Result<Loaded> loaded = env.TryCompile(kAddProgram, "invalid compile options");
              env.CheckFailure(loaded.status(), {Code::kInvalidArgument}, "PJRT_Client_Compile",
                               "the options are text");
            });
  suite.Add("compile.empty_options", Needs::kClient,
            "Empty options mean one replica and one partition, or give an error", kRobust, [](Env& env) {
              Result<Loaded> loaded = env.TryCompile(kAddProgram, "");
              if (!loaded.ok())
                env.CheckFailure(loaded.status(), {Code::kInvalidArgument}, "PJRT_Client_Compile",
                                 "the options are empty");
            });
  suite.Add("compile.unknown_override", Needs::kClient, "An override that the compiler does not know is refused",
            "JAX expects \"No such compile option\"", [](Env& env) {
              // env_option_overrides {"conformance_no_such_option": {string "1"}}
              std::string key = "conformance_no_such_option", value("\x0a\x01\x31", 3);
              std::string entry = std::string("\x0a") + static_cast<char>(key.size()) + key + "\x12" +
                                  static_cast<char>(value.size()) + value;
              std::string options = std::string(Env::kOneDevice) + "\x3a" + static_cast<char>(entry.size()) + entry;
              Result<Loaded> loaded = env.TryCompile(kAddProgram, options);
              env.CheckFailure(loaded.status(), {Code::kInvalidArgument}, "PJRT_Client_Compile",
                               "there is no such option");
            });
  suite.Add("compile.too_many_replicas", Needs::kClient, "More replicas than devices are refused", kRobust,
            [](Env& env) {
              Result<Loaded> loaded = env.TryCompile(kAddProgram, Env::CompileOptions(100, 1));
              env.CheckFailure(loaded.status(), {}, "PJRT_Client_Compile", "there are not 100 devices");
            });
  suite.Add("compile.garbage_text", Needs::kClient, "Text that is no program is refused", kRobust,
            [](Env& env) { ExpectRefusedProgram(env, "this is not a program", "the code is prose"); });
  suite.Add("compile.empty", Needs::kClient, "An empty program is refused", kRobust,
            [](Env& env) { ExpectRefusedProgram(env, "", "the code is empty"); });
  suite.Add("compile.garbage_bytecode", Needs::kClient, "Bytecode that is cut off is refused", kRobust, [](Env& env) {
    ExpectRefusedProgram(env, std::string_view("ML\xefR\x0d\x01\x02\x03\x04", 9), "the bytecode is cut off");
  });
  suite.Add("compile.truncated_text", Needs::kClient, "Text that is cut off is refused", kRobust, [](Env& env) {
    ExpectRefusedProgram(env, std::string_view(kAddProgram).substr(0, 150), "the text is cut off");
  });
  suite.Add(
      "compile.type_error", Needs::kClient, "A program whose types do not fit is refused", kStableHlo, [](Env& env) {
        ExpectRefusedProgram(env,
                             R"(module { func.func public @main(%a: tensor<4xf32>, %b: tensor<5xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.add"(%a, %b) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32> } })",
                             "4 and 5 elements are added");
      });
  suite.Add("compile.unknown_op", Needs::kClient, "An op that does not exist is refused", kStableHlo, [](Env& env) {
    Result<Loaded> loaded = env.TryCompile(R"(module { func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.conformance_no_such_op"(%a) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32> } })");
    env.CheckFailure(loaded.status(), {Code::kInvalidArgument, Code::kUnknown, Code::kUnimplemented},
                     "PJRT_Client_Compile", "there is no such op");
  });
  suite.Add(
      "compile.no_main", Needs::kClient, "A program without main is refused, or its only function is what runs",
      kRobust, [](Env& env) {
        Result<Loaded> loaded = env.TryCompile(
            R"(module { func.func public @other(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> } })");
        if (loaded.ok()) {
          Buffer a = env.Four();
          env.ExpectValues(env.Execute(*loaded, {a})[0], {1, 2, 3, 4});
          return;
        }
        env.CheckFailure(loaded.status(), {Code::kInvalidArgument, Code::kUnknown, Code::kNotFound, Code::kInternal},
                         "PJRT_Client_Compile", "there is no main");
      });
  suite.Add(
      "compile.unknown_custom_call", Needs::kClient,
      "A custom call that nobody registered fails, when compiled or when run", kRobust, [](Env& env) {
        Result<Loaded> loaded = env.TryCompile(R"(module { func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.custom_call"(%a) {call_target_name = "conformance_no_such_target", api_version = 4 : i32, backend_config = {}} : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32> } })");
        Status status = loaded.status();
        if (loaded.ok()) {
          Buffer a = env.Four();
          Result<Run> run = env.TryExecute(*loaded, {{a}});
          status = run.ok() ? env.Await(run->done[0]) : run.status();
        }
        env.CheckFailure(
            status, {Code::kInvalidArgument, Code::kNotFound, Code::kUnimplemented, Code::kInternal, Code::kUnknown},
            "the program", "there is no such target");
      });
  suite.Add("compile.name", Needs::kClient, "An executable has a name", kHeader, [](Env& env) {
    Loaded loaded = env.Compile(kAddProgram);
    Executable executable = env.GetExecutable(loaded);
    auto args = New<PJRT_Executable_Name_Args>();
    args.executable = executable;
    env.Ok(args);
    env.Expect(args.executable_name_size > 0, "it is empty");
  });
  suite.Add("compile.outputs", Needs::kClient, "Element types and extents of several outputs", kHeader, [](Env& env) {
    Loaded loaded =
        env.Compile(R"(module @outputs { func.func public @main() -> (tensor<2x3xf32>, tensor<i32>, tensor<5xf32>) {
      %0 = stablehlo.constant dense<1.0> : tensor<2x3xf32>
      %1 = stablehlo.constant dense<7> : tensor<i32>
      %2 = stablehlo.constant dense<2.0> : tensor<5xf32>
      return %0, %1, %2 : tensor<2x3xf32>, tensor<i32>, tensor<5xf32> } })");
    Executable executable = env.GetExecutable(loaded);
    auto types = New<PJRT_Executable_OutputElementTypes_Args>();
    types.executable = executable;
    env.Ok(types);
    env.Equal(types.num_output_types, 3, "outputs");
    env.Equal(types.output_types[0], PJRT_Buffer_Type_F32, "type");
    env.Equal(types.output_types[1], PJRT_Buffer_Type_S32, "type");
    auto dims = New<PJRT_Executable_OutputDimensions_Args>();
    dims.executable = executable;
    env.Ok(dims);
    env.Equal(dims.num_outputs, 3, "outputs");
    env.Expect(dims.dim_sizes[0] == 2 && dims.dim_sizes[1] == 0 && dims.dim_sizes[2] == 1, "other ranks");
    env.Expect(dims.dims[0] == 2 && dims.dims[1] == 3 && dims.dims[2] == 5, "other extents");
  });
  suite.Add("compile.get_executable_fresh", Needs::kClient,
            "Each GetExecutable gives a handle that outlives the loaded executable", kHeader, [](Env& env) {
              Loaded loaded = env.Compile(kAddProgram);
              Executable one = env.GetExecutable(loaded), two = env.GetExecutable(loaded);
              one.Reset();
              loaded.Reset();
              auto args = New<PJRT_Executable_NumOutputs_Args>();
              args.executable = two;
              env.Ok(args);
              env.Equal(args.num_outputs, 1, "outputs");
            });
  suite.Add("compile.fingerprint_equal", Needs::kClient, "Equal programs have equal fingerprints", kHeader,
            [](Env& env) {
              Loaded one = env.Compile(kAddProgram), two = env.Compile(kAddProgram);
              env.Expect(Fingerprint(env, one) == Fingerprint(env, two), "they differ");
            });
  suite.Add("compile.fingerprint_differs", Needs::kClient, "Different programs have different fingerprints", kHeader,
            [](Env& env) {
              Loaded one = env.Compile(kAddProgram), two = env.Compile(kPairProgram);
              env.Expect(Fingerprint(env, one) != Fingerprint(env, two), "they are equal");
            });
  suite.Add("compile.cost_analysis", Needs::kClient, "Cost properties are named numbers that are not negative",
            kReference, [](Env& env) {
              Loaded loaded = env.Compile(kAddProgram);
              Executable executable = env.GetExecutable(loaded);
              auto args = New<PJRT_Executable_GetCostAnalysis_Args>();
              args.executable = executable;
              env.Ok(args);
              std::set<std::string> names;
              for (size_t i = 0; i < args.num_properties; ++i) {
                const PJRT_NamedValue& value = args.properties[i];
                env.Expect(names.insert(std::string(value.name, value.name_size)).second, "a property appears twice");
                env.Equal(value.type, PJRT_NamedValue_kFloat, "kind");
                env.Expect(value.float_value >= -1, "a property is negative");
              }
            });
  suite.Add("compile.memory_stats", Needs::kClient, "Compiled memory statistics count arguments and outputs", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kPairProgram);
              Executable executable = env.GetExecutable(loaded);
              auto args = New<PJRT_Executable_GetCompiledMemoryStats_Args>();
              args.executable = executable;
              env.Ok(args);
              env.Expect(args.argument_size_in_bytes >= 32,
                         "arguments take " + std::to_string(args.argument_size_in_bytes) + " bytes");
              env.Expect(args.output_size_in_bytes >= 32,
                         "outputs take " + std::to_string(args.output_size_in_bytes) + " bytes");
              env.Expect(args.temp_size_in_bytes >= 0 && args.alias_size_in_bytes >= 0, "a size is negative");
            });
  suite.Add("compile.output_memory_kinds", Needs::kClient, "Outputs land in memory kinds that the device has", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kPairProgram);
              Executable executable = env.GetExecutable(loaded);
              auto args = New<PJRT_Executable_OutputMemoryKinds_Args>();
              args.executable = executable;
              env.Ok(args);
              env.Equal(args.num_outputs, 2, "outputs");
              std::set<std::string> kinds;
              for (PJRT_Memory* memory : env.Memories(env.device())) kinds.insert(env.MemoryKind(memory));
              for (size_t i = 0; i < 2; ++i)
                env.Expect(kinds.contains(std::string(args.memory_kinds[i], args.memory_kind_sizes[i])),
                           "an unknown kind");
            });
  suite.Add("compile.optimized_program", Needs::kClient, "OptimizedProgram gives its size first and its bytes then",
            kHeader, [](Env& env) {
              Loaded loaded = env.Compile(kAddProgram);
              Executable executable = env.GetExecutable(loaded);
              PJRT_Program program = NewProgram({}, {});
              auto args = New<PJRT_Executable_OptimizedProgram_Args>();
              args.executable = executable;
              args.program = &program;
              env.Ok(args);
              env.Expect(program.code_size > 0 && program.format_size > 0, "no size or no format");
              size_t size = program.code_size;
              std::vector<char> code(size + 8, 0x5a);
              program.code = code.data();
              env.Ok(args);
              for (size_t i = 0; i < 8; ++i) env.Equal(static_cast<int>(code[size + i]), 0x5a, "byte behind the code");
            });
  suite.Add("compile.optimized_program_too_small", Needs::kClient,
            "OptimizedProgram into too little room gives INVALID_ARGUMENT", kReference, [](Env& env) {
              Loaded loaded = env.Compile(kAddProgram);
              Executable executable = env.GetExecutable(loaded);
              char code[1];
              PJRT_Program program = NewProgram({}, {});
              program.code = code;
              program.code_size = 1;
              auto args = New<PJRT_Executable_OptimizedProgram_Args>();
              args.executable = executable;
              args.program = &program;
              env.Fails(args, {Code::kInvalidArgument}, "there is room for one byte");
            });
  suite.Add("compile.options_kept", Needs::kClient, "GetCompileOptions gives options that compile again", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddProgram);
              Executable executable = env.GetExecutable(loaded);
              auto args = New<PJRT_Executable_GetCompileOptions_Args>();
              args.executable = executable;
              env.Ok(args);
              std::string options(args.serialized_bytes, args.serialized_bytes_size);
              env.Expect(args.serialized_compile_options_deleter != nullptr, "no deleter");
              args.serialized_compile_options_deleter(args.serialized_compile_options);
              Loaded again = env.Compile(kAddProgram, options);
            });
  suite.Add("compile.device_assignment", Needs::kClient, "GetDeviceAssignment gives bytes and a deleter", kClients,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddProgram);
              auto args = New<PJRT_LoadedExecutable_GetDeviceAssignment_Args>();
              args.executable = loaded;
              env.Ok(args);
              env.Expect(args.serialized_bytes_size > 0, "no bytes");
              env.Expect(args.serialized_device_assignment_deleter != nullptr, "no deleter");
              args.serialized_device_assignment_deleter(args.serialized_device_assignment);
            });
  suite.Add("compile.addressable_devices", Needs::kClient, "The executable's devices are the client's pointers",
            kHeader, [](Env& env) {
              Loaded loaded = env.Compile(kAddProgram);
              auto args = New<PJRT_LoadedExecutable_AddressableDevices_Args>();
              args.executable = loaded;
              env.Ok(args);
              env.Equal(args.num_addressable_devices, 1, "devices");
              env.Expect(args.addressable_devices[0] == env.device(), "another device");
            });
  suite.Add("compile.logical_ids", Needs::kClient, "The only device is replica 0 and partition 0", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddProgram);
              auto args = New<PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args>();
              args.executable = loaded;
              env.Ok(args);
              env.Equal(args.num_addressable_device_logical_ids, 1, "devices");
              env.Equal(args.addressable_device_logical_ids[0].replica, 0, "replica");
              env.Equal(args.addressable_device_logical_ids[0].partition, 0, "partition");
            });
  suite.Add("compile.delete", Needs::kClient, "After Delete an executable says that it is deleted and refuses to run",
            kHeader, [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Buffer a = env.Four();
              auto args = New<PJRT_LoadedExecutable_Delete_Args>();
              args.executable = loaded;
              env.Ok(args);
              auto deleted = New<PJRT_LoadedExecutable_IsDeleted_Args>();
              deleted.executable = loaded;
              env.Ok(deleted);
              env.Expect(deleted.is_deleted, "IsDeleted says no");
              env.CheckFailure(env.TryExecute(loaded, {{a}}).status(),
                               {Code::kInvalidArgument, Code::kFailedPrecondition}, "Execute",
                               "the executable is deleted");
            });
}

void AddAotTests(Suite& suite) {
  suite.Add("serialize.round_trip", Needs::kClient, "A serialized executable is loaded and computes the same", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              std::string bytes = Serialize(env, env.GetExecutable(loaded));
              loaded.Reset();
              Result<Loaded> again = Deserialize(env, bytes);
              env.Expect(again.ok(), again.status().ToString());
              Buffer a = env.Four();
              env.ExpectValues(env.Execute(*again, {a})[0], {2, 3, 4, 5});
            });
  suite.Add("serialize.other_client", Needs::kClient, "Another client loads a serialized executable", kClients,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              std::string bytes = Serialize(env, env.GetExecutable(loaded));
              Client client = env.NewClient();
              Result<Loaded> again = Deserialize(env, bytes, {}, client);
              env.Expect(again.ok(), again.status().ToString());
              env.Equal(env.NumOutputs(*again), 1, "outputs");
            });
  suite.Add("serialize.override_options", Needs::kClient, "Options given when loading replace the stored ones", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              std::string bytes = Serialize(env, env.GetExecutable(loaded));
              Result<Loaded> again = Deserialize(env, bytes, Env::kOneDevice);
              env.Expect(again.ok(), again.status().ToString());
              Buffer a = env.Four();
              env.ExpectValues(env.Execute(*again, {a})[0], {2, 3, 4, 5});
            });
  suite.Add("serialize.fingerprint_kept", Needs::kClient, "A loaded executable keeps its fingerprint", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Result<Loaded> again = Deserialize(env, Serialize(env, env.GetExecutable(loaded)));
              env.Expect(again.ok(), again.status().ToString());
              env.Expect(Fingerprint(env, loaded) == Fingerprint(env, *again), "it differs");
            });
  suite.Add("serialize.garbage", Needs::kClient, "Bytes that are no executable give an error", kRobust, [](Env& env) {
    env.CheckFailure(Deserialize(env, "these bytes are not an executable").status(),
                     {Code::kInvalidArgument, Code::kInternal, Code::kDataLoss, Code::kFailedPrecondition},
                     "DeserializeAndLoad", "the bytes are prose");
  });
  suite.Add("serialize.empty", Needs::kClient, "No bytes give an error", kRobust, [](Env& env) {
    env.CheckFailure(Deserialize(env, "").status(), {}, "DeserializeAndLoad", "there are no bytes");
  });
  suite.Add("serialize.truncated", Needs::kClient, "Bytes that are cut off at any place give an error", kRobust,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              std::string bytes = Serialize(env, env.GetExecutable(loaded));
              for (size_t part : {1, 2, 7}) {
                env.CheckFailure(Deserialize(env, std::string_view(bytes).substr(0, bytes.size() * part / 8)).status(),
                                 {}, "DeserializeAndLoad", "the bytes are cut off");
              }
            });
  suite.Add("serialize.deterministic_size", Needs::kClient, "Serializing twice gives bytes that both load", kHeader,
            [](Env& env) {
              Loaded loaded = env.Compile(kAddOneProgram);
              Executable executable = env.GetExecutable(loaded);
              std::string one = Serialize(env, executable), two = Serialize(env, executable);
              env.Expect(Deserialize(env, one).ok() && Deserialize(env, two).ok(), "one does not load");
            });

  suite.Add("aot.topology_matches_client", Needs::kClient,
            "The client's topology has its platform name and its devices", kHeader, [](Env& env) {
              Topology owned;
              auto name = New<PJRT_TopologyDescription_PlatformName_Args>();
              name.topology = env.AnyTopology(&owned);
              env.Ok(name);
              env.Expect(std::string(name.platform_name, name.platform_name_size) == env.PlatformName(),
                         "another platform name");
              auto devices = New<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
              devices.topology = env.AnyTopology(&owned);
              env.Ok(devices);
              auto all = New<PJRT_Client_Devices_Args>();
              all.client = env.client();
              env.Ok(all);
              env.Equal(devices.num_descriptions, all.num_devices, "devices");
            });
  suite.Add("aot.topology_devices", Needs::kTopology, "A topology has devices with different ids", kHeader,
            [](Env& env) {
              Topology owned;
              auto devices = New<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
              devices.topology = env.AnyTopology(&owned);
              env.Ok(devices);
              env.Expect(devices.num_descriptions > 0, "no devices");
              std::set<int> ids;
              for (size_t i = 0; i < devices.num_descriptions; ++i) {
                auto id = New<PJRT_DeviceDescription_Id_Args>();
                id.device_description = devices.descriptions[i];
                env.Ok(id);
                env.Expect(ids.insert(id.id).second, "two have the same id");
              }
            });
  suite.Add("aot.topology_kind", Needs::kTopology, "The devices of a topology have a kind", kHeader, [](Env& env) {
    Topology owned;
    auto devices = New<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
    devices.topology = env.AnyTopology(&owned);
    env.Ok(devices);
    auto kind = New<PJRT_DeviceDescription_Kind_Args>();
    kind.device_description = devices.descriptions[0];
    env.Ok(kind);
    env.Expect(kind.device_kind_size > 0, "it is empty");
  });
  suite.Add("aot.topology_attributes", Needs::kTopology, "Attributes of a topology are well formed", kHeader,
            [](Env& env) {
              Topology owned;
              auto args = New<PJRT_TopologyDescription_Attributes_Args>();
              args.topology = env.AnyTopology(&owned);
              env.Ok(args);
              for (size_t i = 0; i < args.num_attributes; ++i)
                env.Expect(args.attributes[i].name_size > 0 && args.attributes[i].type <= PJRT_NamedValue_kBool,
                           "one is not");
            });
  suite.Add("aot.topology_serialize_same", Needs::kTopology, "Serializing a topology gives the same bytes each time",
            kHeader, [](Env& env) {
              Topology owned;
              PJRT_TopologyDescription* topology = env.AnyTopology(&owned);
              std::string one = SerializeTopology(env, topology), two = SerializeTopology(env, topology);
              env.Expect(!one.empty() && one == two, "they are empty or differ");
            });
  suite.Add("aot.topology_round_trip", Needs::kTopology, "A topology read back has the same devices and fingerprint",
            kHeader, [](Env& env) {
              Topology owned;
              PJRT_TopologyDescription* topology = env.AnyTopology(&owned);
              std::string bytes = SerializeTopology(env, topology);
              auto args = New<PJRT_TopologyDescription_Deserialize_Args>();
              args.serialized_topology = bytes.data();
              args.serialized_topology_size = bytes.size();
              env.Ok(args);
              Topology again(env, args.topology);
              auto before = New<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
              auto after = before;
              before.topology = topology;
              after.topology = again;
              env.Ok(before);
              env.Ok(after);
              env.Equal(after.num_descriptions, before.num_descriptions, "devices");
              if (!env.Supports<PJRT_TopologyDescription_Fingerprint_Args>()) return;
              auto one = New<PJRT_TopologyDescription_Fingerprint_Args>();
              auto two = one;
              one.topology = topology;
              two.topology = again;
              env.Ok(one);
              env.Ok(two);
              env.Equal(two.fingerprint, one.fingerprint, "fingerprint");
            });
  suite.Add(
      "aot.topology_garbage", Needs::kTopology, "Bytes that are no topology give an error", kRobust, [](Env& env) {
        auto args = New<PJRT_TopologyDescription_Deserialize_Args>();
        std::string bytes = "these bytes are not a topology";
        args.serialized_topology = bytes.data();
        args.serialized_topology_size = bytes.size();
        env.Fails(args, {Code::kInvalidArgument, Code::kInternal, Code::kDataLoss, Code::kNotFound, Code::kUnknown},
                  "the bytes are prose");
      });
  suite.Add("aot.topology_unknown_name", Needs::kTable, "A topology that nobody knows gives an error", kRobust,
            [](Env& env) {
              auto args = New<PJRT_TopologyDescription_Create_Args>();
              args.topology_name = "conformance:no:such:topology";
              args.topology_name_size = 28;
              env.Fails(args, {}, "there is no such topology");
            });
  suite.Add("aot.memory_kinds", Needs::kTopology, "A topology names the kinds of its devices' memories", kHeader,
            [](Env& env) {
              Topology owned;
              auto args = New<PJRT_TopologyDescription_GetMemorySpaceKindIds_Args>();
              args.topology = env.AnyTopology(&owned);
              env.Ok(args);
              env.Expect(args.num_memory_space_kind_ids > 0, "there are none");
            });
  suite.Add("aot.compile", Needs::kTopology, "PJRT_Compile compiles for a topology without a client", kHeader,
            [](Env& env) {
              Topology owned;
              Executable executable = env.CompileAhead(env.AnyTopology(&owned));
              auto args = New<PJRT_Executable_NumOutputs_Args>();
              args.executable = executable;
              env.Ok(args);
              env.Equal(args.num_outputs, 1, "outputs");
            });
  suite.Add("aot.compile_serialize", Needs::kTopology, "An executable compiled for a topology can be serialized",
            kHeader, [](Env& env) {
              Topology owned;
              Executable executable = env.CompileAhead(env.AnyTopology(&owned));
              env.Expect(!Serialize(env, executable).empty(), "no bytes");
            });
  suite.Add("aot.compile_garbage", Needs::kTopology, "PJRT_Compile refuses what is no program", kRobust, [](Env& env) {
    Topology owned;
    PJRT_Program program = NewProgram("not a program");
    auto args = New<PJRT_Compile_Args>();
    args.topology = env.AnyTopology(&owned);
    args.program = &program;
    args.compile_options = Env::kOneDevice.data();
    args.compile_options_size = Env::kOneDevice.size();
    env.Fails(args, {Code::kInvalidArgument, Code::kUnknown}, "the code is prose");
  });
  suite.Add("aot.compile_load", Needs::kClient, "An executable compiled for the client's topology is loaded and runs",
            kHeader, [](Env& env) {
              Topology owned;
              Executable executable = env.CompileAhead(env.AnyTopology(&owned), kAddOneProgram);
              auto args = New<PJRT_Client_Load_Args>();
              args.client = env.client();
              args.executable = executable;
              args.compile_options = Env::kOneDevice.data();
              args.compile_options_size = Env::kOneDevice.size();
              env.Ok(args);
              Loaded loaded(env, args.loaded_executable);
              Buffer a = env.Four();
              env.ExpectValues(env.Execute(loaded, {a})[0], {2, 3, 4, 5});
            });
  suite.Add("aot.compile_deserialize", Needs::kClient,
            "What was compiled for the topology and serialized is loaded and runs", kHeader, [](Env& env) {
              Topology owned;
              Executable executable = env.CompileAhead(env.AnyTopology(&owned), kAddOneProgram);
              Result<Loaded> loaded = Deserialize(env, Serialize(env, executable));
              env.Expect(loaded.ok(), loaded.status().ToString());
              Buffer a = env.Four();
              env.ExpectValues(env.Execute(*loaded, {a})[0], {2, 3, 4, 5});
            });
  suite.Add("aot.compile_with_client", Needs::kClient, "PJRT_Compile accepts a client as well", kHeader, [](Env& env) {
    Topology owned;
    Executable executable = env.CompileAhead(env.AnyTopology(&owned), kAddProgram, env.client());
    auto args = New<PJRT_Executable_NumOutputs_Args>();
    args.executable = executable;
    env.Ok(args);
  });
}

}  // namespace tenon::conformance
