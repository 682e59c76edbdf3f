// Clients, devices, memories, topologies, options, executables' answers, extensions, lifetimes.

#include <algorithm>

#include "tenon/abi/pjrt_layouts.h"
#include "tenon/abi/pjrt_memory_descriptions.h"
#include "tenon/abi/pjrt_profiler.h"
#include "tenon/abi/pjrt_shardings.h"
#include "tenon/base/activity.h"
#include "tenon/plugin/testing/harness.h"

namespace tenon::plugin::testing {
namespace {

class ClientTest : public PluginTest {
 protected:
  PJRT_Executable* GetExecutable(PJRT_LoadedExecutable* loaded) {
    ARGS(PJRT_LoadedExecutable_GetExecutable, get);
    get.loaded_executable = loaded;
    EXPECT_CALL_OK(PJRT_LoadedExecutable_GetExecutable, get);
    return get.executable;
  }
  void DestroyExecutable(PJRT_Executable* executable) {
    ARGS(PJRT_Executable_Destroy, destroy);
    destroy.executable = executable;
    EXPECT_CALL_OK(PJRT_Executable_Destroy, destroy);
  }
};

TEST_F(ClientTest, Names) {
  ARGS(PJRT_Client_PlatformName, name);
  name.client = client_;
  ASSERT_CALL(PJRT_Client_PlatformName, name);
  EXPECT_EQ(std::string_view(name.platform_name, name.platform_name_size), "fake");
  ARGS(PJRT_Client_PlatformVersion, version);
  version.client = client_;
  ASSERT_CALL(PJRT_Client_PlatformVersion, version);
  EXPECT_EQ(std::string_view(version.platform_version, version.platform_version_size), "fake 1");
  ARGS(PJRT_Client_ProcessIndex, process);
  process.client = client_;
  ASSERT_CALL(PJRT_Client_ProcessIndex, process);
  EXPECT_EQ(process.process_index, 0);
  ARGS(PJRT_Client_UpdateGlobalProcessInfo, info);
  info.client = client_;
  EXPECT_CALL_OK(PJRT_Client_UpdateGlobalProcessInfo, info);
}

TEST_F(ClientTest, DevicesAndMemoriesAgree) {
  ARGS(PJRT_Client_Devices, devices);
  devices.client = client_;
  ASSERT_CALL(PJRT_Client_Devices, devices);
  ASSERT_EQ(devices.num_devices, 2u);
  ARGS(PJRT_Client_AddressableMemories, memories);
  memories.client = client_;
  ASSERT_CALL(PJRT_Client_AddressableMemories, memories);
  ASSERT_EQ(memories.num_addressable_memories, 4u);
  for (size_t i = 0; i < 2; ++i) {
    ARGS(PJRT_Device_GetDescription, description);
    description.device = devices.devices[i];
    ASSERT_CALL(PJRT_Device_GetDescription, description);
    ARGS(PJRT_DeviceDescription_Id, id);
    id.device_description = description.device_description;
    ASSERT_CALL(PJRT_DeviceDescription_Id, id);
    EXPECT_EQ(id.id, static_cast<int>(i));
    ARGS(PJRT_DeviceDescription_ToString, text);
    text.device_description = description.device_description;
    ASSERT_CALL(PJRT_DeviceDescription_ToString, text);
    EXPECT_EQ(std::string_view(text.to_string, text.to_string_size), "fake:" + std::to_string(i));
    ARGS(PJRT_DeviceDescription_Attributes, attributes);
    attributes.device_description = description.device_description;
    ASSERT_CALL(PJRT_DeviceDescription_Attributes, attributes);
    EXPECT_EQ(attributes.num_attributes, 2u) << "booleans are not for clients";
    ARGS(PJRT_Device_GetAttributes, live);
    live.device = devices.devices[i];
    ASSERT_CALL(PJRT_Device_GetAttributes, live);
    EXPECT_EQ(live.num_attributes, 2u);
    live.attributes_deleter(live.device_attributes);
    ARGS(PJRT_Device_LocalHardwareId, local);
    local.device = devices.devices[i];
    ASSERT_CALL(PJRT_Device_LocalHardwareId, local);
    EXPECT_EQ(local.local_hardware_id, static_cast<int>(i));
    ARGS(PJRT_Device_DefaultMemory, memory_args);
    memory_args.device = devices.devices[i];
    ASSERT_CALL(PJRT_Device_DefaultMemory, memory_args);
    EXPECT_EQ(memory_args.memory, memory(i, "device"));
    ARGS(PJRT_Device_AddressableMemories, reach);
    reach.device = devices.devices[i];
    ASSERT_CALL(PJRT_Device_AddressableMemories, reach);
    ASSERT_EQ(reach.num_memories, 2u);
    for (size_t m = 0; m < reach.num_memories; ++m) {
      ARGS(PJRT_Memory_AddressableByDevices, by);
      by.memory = reach.memories[m];
      ASSERT_CALL(PJRT_Memory_AddressableByDevices, by);
      ASSERT_EQ(by.num_devices, 1u);
      EXPECT_EQ(by.devices[0], devices.devices[i]);
      ARGS(PJRT_Memory_Kind_Id, kind);
      kind.memory = reach.memories[m];
      ASSERT_CALL(PJRT_Memory_Kind_Id, kind);
      EXPECT_NE(kind.kind_id, 0);
    }
    ARGS(PJRT_Device_CreateAsyncTrackingEvent, track);
    track.device = devices.devices[i];
    ASSERT_CALL(PJRT_Device_CreateAsyncTrackingEvent, track);
    ARGS(PJRT_AsyncTrackingEvent_Destroy, untrack);
    untrack.event = track.event;
    EXPECT_CALL_OK(PJRT_AsyncTrackingEvent_Destroy, untrack);
  }
}

TEST_F(ClientTest, LookUps) {
  ARGS(PJRT_Client_LookupDevice, by_id);
  by_id.client = client_;
  by_id.id = 1;
  ASSERT_CALL(PJRT_Client_LookupDevice, by_id);
  EXPECT_EQ(by_id.device, device(1));
  for (int id : {-1, 2}) {
    by_id.id = id;
    Status status = CALL(PJRT_Client_LookupDevice, by_id);
    EXPECT_CODE(status, kInvalidArgument);
    EXPECT_EQ(status.message(), "No matching device found for device_id " + std::to_string(id));
  }
  ARGS(PJRT_Client_LookupAddressableDevice, local);
  local.client = client_;
  local.local_hardware_id = 0;
  ASSERT_CALL(PJRT_Client_LookupAddressableDevice, local);
  EXPECT_EQ(local.addressable_device, device(0));
  local.local_hardware_id = 9;
  EXPECT_CODE(CALL(PJRT_Client_LookupAddressableDevice, local), kInvalidArgument);
}

TEST_F(ClientTest, DefaultDeviceAssignment) {
  int ids[3] = {-7, -7, -7};
  ARGS(PJRT_Client_DefaultDeviceAssignment, args);
  args.client = client_;
  args.num_replicas = 2;
  args.num_partitions = 1;
  args.default_assignment_size = 3;
  args.default_assignment = ids;
  ASSERT_CALL(PJRT_Client_DefaultDeviceAssignment, args);
  EXPECT_EQ(std::vector<int>(ids, ids + 3), (std::vector<int>{0, 1, -7}));
  args.default_assignment_size = 1;
  Status status = CALL(PJRT_Client_DefaultDeviceAssignment, args);
  EXPECT_CODE(status, kFailedPrecondition);
  EXPECT_EQ(
      status.message(),
      "PJRT_Client_DefaultDeviceAssignment: `default_assignment_size` 1 < `num_replicas * num_partitions`, 2 * 1 = 2");
  args.num_replicas = 0;
  EXPECT_CODE(CALL(PJRT_Client_DefaultDeviceAssignment, args), kInvalidArgument);
  args.num_replicas = 3;
  args.default_assignment_size = 3;
  EXPECT_CODE(CALL(PJRT_Client_DefaultDeviceAssignment, args), kFailedPrecondition);
}

TEST_F(ClientTest, MemoryStatsOfEverySize) {
  for (size_t size : {185, 201}) {
    std::vector<char> block(size, 0);
    PJRT_Device_MemoryStats_Args* args = reinterpret_cast<PJRT_Device_MemoryStats_Args*>(block.data());
    args->struct_size = size;
    args->device = device(0);
    Status status = TakeStatus(api()->PJRT_Device_MemoryStats(args));
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(args->bytes_in_use, 123);
    EXPECT_TRUE(args->bytes_limit_is_set);
    EXPECT_EQ(args->bytes_limit, 456);
    EXPECT_FALSE(args->num_allocs_is_set);
    if (size == 201) {
      EXPECT_TRUE(args->peak_allocated_bytes_is_set);
      EXPECT_EQ(args->peak_allocated_bytes, 789);
    }
  }
  ARGS(PJRT_Device_ClearMemoryStats, clear);
  clear.device = device(0);
  EXPECT_CODE(CALL(PJRT_Device_ClearMemoryStats, clear), kUnimplemented);
  ARGS(PJRT_Device_PoisonExecution, poison);
  poison.struct_size = 49;  // As sent before 0.100.
  poison.device = device(0);
  poison.error_code = PJRT_Error_Code_ABORTED;
  for (int launch_id : {5, 6}) {
    poison.launch_id = launch_id;
    ASSERT_CALL(PJRT_Device_PoisonExecution, poison);
    EXPECT_EQ(poison.poisoned, launch_id == 5);
  }
}

TEST_F(ClientTest, MemoriesCarryUserData) {
  PJRT_Memory* m = memory(0, "device");
  ASSERT_NE(m->vtable, nullptr);
  EXPECT_EQ(m->vtable->struct_size, 40u);
  static int deleted = 0;
  auto dtor = [](void*) { ++deleted; };
  int key = 0, other = 0, a = 0, b = 0;
  EXPECT_EQ(m->vtable->get_user_data(m, &key), nullptr);
  m->vtable->set_user_data(m, &key, &a, dtor);
  m->vtable->set_user_data(m, &other, &b, dtor);
  EXPECT_EQ(m->vtable->get_user_data(m, &key), &a);
  m->vtable->set_user_data(m, &key, &b, dtor);
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(m->vtable->get_user_data(m, &key), &b);
}

TEST_F(ClientTest, CreateOptionsAreCheckedByNameAndType) {
  auto create = [](std::vector<PJRT_NamedValue> values) {
    ARGS(PJRT_Client_Create, args);
    args.create_options = values.data();
    args.num_options = values.size();
    // What callers leave there without a job.
    args.kv_get_callback = reinterpret_cast<PJRT_KeyValueGetCallback>(uintptr_t{0xdeadbeef});
    args.kv_put_callback = reinterpret_cast<PJRT_KeyValuePutCallback>(uintptr_t{0xdeadbeef});
    Status status = CALL(PJRT_Client_Create, args);
    if (status.ok()) {
      ARGS(PJRT_Client_Destroy, destroy);
      destroy.client = args.client;
      EXPECT_CALL_OK(PJRT_Client_Destroy, destroy);
    }
    return status;
  };
  auto text = [](const char* name, const char* value) {
    PJRT_NamedValue v{};
    v.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    v.name = name;
    v.name_size = std::strlen(name);
    v.type = PJRT_NamedValue_kString;
    v.string_value = value;
    v.value_size = std::strlen(value);
    return v;
  };
  PJRT_NamedValue number = text("num_devices", "");
  number.type = PJRT_NamedValue_kInt64;
  number.int64_value = 3;
  number.value_size = 1;
  EXPECT_TRUE(
      create({number, text("fast", "true"), text("ratio", "0.5"), text("sizes", "1,2,3"), text("label", "x")}).ok());
  const ClientOptions& seen = FakePlugin::Get().last_client_options;
  EXPECT_EQ(seen.GetInt("num_devices", 0), 3);
  EXPECT_TRUE(seen.GetBool("fast", false));
  EXPECT_EQ(seen.GetString("label", ""), "x");
  EXPECT_EQ(std::get<float>(seen.values.at("ratio")), 0.5f);
  EXPECT_EQ(std::get<std::vector<int64_t>>(seen.values.at("sizes")), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_FALSE(seen.store.has_value());
  EXPECT_TRUE(create({text("num_devices", "4"), text("node_id", "0")}).ok());

  Status unknown = create({text("no_such", "1")});
  EXPECT_CODE(unknown, kInvalidArgument);
  EXPECT_EQ(unknown.message(), "No such client option: 'no_such'");
  Status wrong = create({text("num_devices", "many")});
  EXPECT_CODE(wrong, kInvalidArgument);
  EXPECT_EQ(wrong.message(), "client option 'num_devices': 'many' is not a valid int64 value.");
  EXPECT_CODE(create({text("num_devices", "1000")}), kInvalidArgument);
  PJRT_NamedValue bad = number;
  bad.type = static_cast<PJRT_NamedValue_Type>(77);
  EXPECT_CODE(create({bad}), kInvalidArgument);
  bad = number;
  bad.name = nullptr;
  EXPECT_CODE(create({bad}), kInvalidArgument);
}

// A store of one process, as a framework lends it.
std::map<std::string, std::string>& Store() {
  static std::map<std::string, std::string> store;
  return store;
}
PJRT_Error* Get(PJRT_KeyValueGetCallback_Args* args) {
  auto it = Store().find(std::string(args->key, args->key_size));
  if (it == Store().end()) return (*args->callback_error)(PJRT_Error_Code_DEADLINE_EXCEEDED, "late", 4);
  args->value = new char[it->second.size()];
  std::memcpy(args->value, it->second.data(), it->second.size());
  args->value_size = it->second.size();
  args->value_deleter_callback = [](char* p) { delete[] p; };
  return nullptr;
}
PJRT_Error* Put(PJRT_KeyValuePutCallback_Args* args) {
  Store()[std::string(args->key, args->key_size)] = std::string(args->value, args->value_size);
  return nullptr;
}

TEST_F(ClientTest, KeyValueStoreOfAJob) {
  PJRT_NamedValue nodes{};
  nodes.name = "num_nodes";
  nodes.name_size = 9;
  nodes.type = PJRT_NamedValue_kInt64;
  nodes.int64_value = 2;
  ARGS(PJRT_Client_Create, args);
  args.struct_size = 72;  // Before 0.61 there was no try-get.
  args.create_options = &nodes;
  args.num_options = 1;
  EXPECT_CODE(CALL(PJRT_Client_Create, args), kInvalidArgument);
  args.kv_get_callback = Get;
  args.kv_put_callback = Put;
  ASSERT_CALL(PJRT_Client_Create, args);
  ARGS(PJRT_Client_Destroy, destroy);
  destroy.client = args.client;
  ASSERT_CALL(PJRT_Client_Destroy, destroy);
  const KeyValueStore& store = *FakePlugin::Get().last_client_options.store;
  EXPECT_TRUE(store.Put("k", "value").ok());
  EXPECT_EQ(*store.Get("k", 1), "value");
  EXPECT_CODE(store.Get("x", 1).status(), kDeadlineExceeded);
  EXPECT_CODE(store.TryGet("k").status(), kUnimplemented);
}

TEST_F(ClientTest, CompileErrors) {
  EXPECT_CODE(Compile("nonsense").status(), kInvalidArgument);
  Status junk = Compile("add", "junk\xff").status();
  EXPECT_CODE(junk, kInvalidArgument);
  EXPECT_EQ(junk.message(), "PJRT_Client_Compile: failed to deserialize CompileOptionsProto");
  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  program.format = "invalid";
  program.format_size = 7;
  ARGS(PJRT_Client_Compile, args);
  args.client = client_;
  args.program = &program;
  Status format = CALL(PJRT_Client_Compile, args);
  EXPECT_CODE(format, kInvalidArgument);
  EXPECT_EQ(format.message(), "Unknown program format 'invalid'.");
  program.format = "mlir";
  program.format_size = 4;
  EXPECT_CODE(CALL(PJRT_Client_Compile, args), kInvalidArgument);  // No code.
  // env_option_overrides {"x": "1"}.
  Status option = Compile("add",
                          "\x3a\x08\x0a\x01x\x12\x03\x0a\x01"
                          "1")
                      .status();
  EXPECT_CODE(option, kInvalidArgument);
  EXPECT_EQ(option.message(), "No such compile option: 'x'");
  // Three replicas on two devices; a device that does not exist.
  EXPECT_CODE(Compile("add", "\x1a\x04\x20\x03\x28\x01").status(), kFailedPrecondition);
  EXPECT_CODE(
      Compile("add", std::string_view("\x1a\x0f\x20\x01\x28\x01\x4a\x09\x08\x01\x10\x01\x1a\x03\x0a\x01\x09", 17))
          .status(),
      kInvalidArgument);
}

TEST_F(ClientTest, ExecutableAnswers) {
  Result<PJRT_LoadedExecutable*> loaded = Compile("pair");
  ASSERT_TRUE(loaded.ok());
  PJRT_Executable* executable = GetExecutable(*loaded);
  Destroy(*loaded);  // The program outlives what was loaded.
  ARGS(PJRT_Executable_Name, name);
  name.executable = executable;
  ASSERT_CALL(PJRT_Executable_Name, name);
  EXPECT_EQ(std::string_view(name.executable_name, name.executable_name_size), "pair");
  ARGS(PJRT_Executable_OutputElementTypes, types);
  types.executable = executable;
  ASSERT_CALL(PJRT_Executable_OutputElementTypes, types);
  ASSERT_EQ(types.num_output_types, 2u);
  EXPECT_EQ(types.output_types[1], PJRT_Buffer_Type_S32);
  ARGS(PJRT_Executable_OutputDimensions, dims);
  dims.executable = executable;
  ASSERT_CALL(PJRT_Executable_OutputDimensions, dims);
  ASSERT_EQ(dims.num_outputs, 2u);
  EXPECT_EQ(dims.dim_sizes[0], 1u);
  EXPECT_EQ(dims.dim_sizes[1], 0u);
  EXPECT_EQ(dims.dims[0], 4);
  ARGS(PJRT_Executable_OutputMemoryKinds, kinds);
  kinds.executable = executable;
  ASSERT_CALL(PJRT_Executable_OutputMemoryKinds, kinds);
  EXPECT_EQ(std::string_view(kinds.memory_kinds[1], kinds.memory_kind_sizes[1]), "pinned_host");
  ARGS(PJRT_Executable_GetCostAnalysis, cost);
  cost.executable = executable;
  ASSERT_CALL(PJRT_Executable_GetCostAnalysis, cost);
  ASSERT_EQ(cost.num_properties, 1u);
  EXPECT_EQ(cost.properties[0].float_value, 4.0f);
  ARGS(PJRT_Executable_Fingerprint, print);
  print.executable = executable;
  ASSERT_CALL(PJRT_Executable_Fingerprint, print);
  EXPECT_EQ(std::string_view(print.executable_fingerprint, print.executable_fingerprint_size), "fingerprint of pair");
  ARGS(PJRT_Executable_GetCompileOptions, options);
  options.executable = executable;
  ASSERT_CALL(PJRT_Executable_GetCompileOptions, options);
  EXPECT_EQ(std::string_view(options.serialized_bytes, options.serialized_bytes_size), kOneDevice);
  options.serialized_compile_options_deleter(options.serialized_compile_options);

  for (size_t size : {104, 112, 120, 144}) {
    std::vector<char> block(size, 0);
    auto* stats = reinterpret_cast<PJRT_Executable_GetCompiledMemoryStats_Args*>(block.data());
    stats->struct_size = size;
    stats->executable = executable;
    EXPECT_TRUE(TakeStatus(api()->PJRT_Executable_GetCompiledMemoryStats(stats)).ok());
    EXPECT_EQ(stats->temp_size_in_bytes, 5);
    if (size == 144) {
      EXPECT_EQ(stats->peak_memory_in_bytes, 6);
      EXPECT_EQ(stats->total_size_in_bytes, 7);
    }
  }

  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  ARGS(PJRT_Executable_OptimizedProgram, optimized);
  optimized.executable = executable;
  optimized.program = &program;
  ASSERT_CALL(PJRT_Executable_OptimizedProgram, optimized);
  EXPECT_EQ(program.code_size, 4u);
  char code[4];
  program.code = code;
  program.code_size = 3;
  EXPECT_CODE(CALL(PJRT_Executable_OptimizedProgram, optimized), kInvalidArgument);
  program.code_size = 4;
  ASSERT_CALL(PJRT_Executable_OptimizedProgram, optimized);
  EXPECT_EQ(std::string_view(code, 4), "pair");
  EXPECT_EQ(std::string_view(program.format, program.format_size), "fake");
  DestroyExecutable(executable);
}

TEST_F(ClientTest, SerializeDeserializeAndLoad) {
  Result<PJRT_LoadedExecutable*> loaded = Compile("pair");
  ASSERT_TRUE(loaded.ok());
  PJRT_Executable* executable = GetExecutable(*loaded);
  ARGS(PJRT_Executable_Serialize, serialize);
  serialize.executable = executable;
  ASSERT_CALL(PJRT_Executable_Serialize, serialize);
  for (size_t size : {48, 64, 72}) {
    std::vector<char> block(size, 0);
    auto* args = reinterpret_cast<PJRT_Executable_DeserializeAndLoad_Args*>(block.data());
    args->struct_size = size;
    args->client = client_;
    args->serialized_executable = serialize.serialized_bytes;
    args->serialized_executable_size = serialize.serialized_bytes_size;
    if (size >= 64) {
      args->overridden_serialized_compile_options = kOneDevice.data();
      args->overridden_serialized_compile_options_size = kOneDevice.size();
    }
    Status status = TakeStatus(api()->PJRT_Executable_DeserializeAndLoad(args));
    ASSERT_TRUE(status.ok()) << size << ": " << status.ToString();
    Result<Outcome> out = Execute(args->loaded_executable, {});
    ASSERT_TRUE(out.ok());
    for (PJRT_Buffer* b : out->outputs) Destroy(b);
    DestroyEvent(out->done);
    Destroy(args->loaded_executable);
  }
  serialize.serialized_executable_deleter(serialize.serialized_executable);
  ARGS(PJRT_Executable_DeserializeAndLoad, junk);
  junk.client = client_;
  junk.serialized_executable = "junk";
  junk.serialized_executable_size = 4;
  EXPECT_CODE(CALL(PJRT_Executable_DeserializeAndLoad, junk), kInvalidArgument);
  ARGS(PJRT_Client_Load, load);
  load.client = client_;
  load.executable = executable;
  ASSERT_CALL(PJRT_Client_Load, load);
  Destroy(load.loaded_executable);
  DestroyExecutable(executable);
  Destroy(*loaded);
}

TEST_F(ClientTest, Topologies) {
  ARGS(PJRT_Client_TopologyDescription, own);
  own.client = client_;
  ASSERT_CALL(PJRT_Client_TopologyDescription, own);
  ARGS(PJRT_TopologyDescription_GetDeviceDescriptions, devices);
  devices.topology = own.topology;
  ASSERT_CALL(PJRT_TopologyDescription_GetDeviceDescriptions, devices);
  EXPECT_EQ(devices.num_descriptions, 2u);
  ARGS(PJRT_TopologyDescription_Create, create);
  create.topology_name = "fake:2";
  create.topology_name_size = 6;
  ASSERT_CALL(PJRT_TopologyDescription_Create, create);

  auto serialize = [](PJRT_TopologyDescription* t) {
    ARGS(PJRT_TopologyDescription_Serialize, args);
    args.topology = t;
    EXPECT_CALL_OK(PJRT_TopologyDescription_Serialize, args);
    std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
    args.serialized_topology_deleter(args.serialized_topology);
    return bytes;
  };
  std::string bytes = serialize(create.topology);
  ARGS(PJRT_TopologyDescription_Deserialize, read);
  read.serialized_topology = bytes.data();
  read.serialized_topology_size = bytes.size();
  ASSERT_CALL(PJRT_TopologyDescription_Deserialize, read);
  EXPECT_EQ(serialize(read.topology), bytes);
  ARGS(PJRT_TopologyDescription_Fingerprint, print);
  print.topology = read.topology;
  ASSERT_CALL(PJRT_TopologyDescription_Fingerprint, print);
  uint64_t fingerprint = print.fingerprint;
  print.topology = own.topology;
  ASSERT_CALL(PJRT_TopologyDescription_Fingerprint, print);
  EXPECT_NE(print.fingerprint, fingerprint);  // The client's has no attributes.
  // Truncated and damaged bytes.
  for (size_t n = 0; n < bytes.size(); ++n) {
    read.serialized_topology_size = n;
    EXPECT_FALSE(CALL(PJRT_TopologyDescription_Deserialize, read).ok()) << n;
  }
  uint32_t seed = 7;
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = bytes;
    seed = seed * 1664525u + 1013904223u;
    damaged[seed / 65536u % bytes.size()] ^= static_cast<char>(1 << (seed % 8));
    ARGS(PJRT_TopologyDescription_Deserialize, args);
    args.serialized_topology = damaged.data();
    args.serialized_topology_size = damaged.size();
    if (!CALL(PJRT_TopologyDescription_Deserialize, args).ok()) continue;
    ARGS(PJRT_TopologyDescription_Destroy, destroy_damaged);
    destroy_damaged.topology = args.topology;
    EXPECT_CALL_OK(PJRT_TopologyDescription_Destroy, destroy_damaged);
  }

  ARGS(PJRT_TopologyDescription_GetMemorySpaceKindIds, kinds);
  kinds.topology = create.topology;
  ASSERT_CALL(PJRT_TopologyDescription_GetMemorySpaceKindIds, kinds);
  ASSERT_EQ(kinds.num_memory_space_kind_ids, 2u);
  int64_t dims[] = {2, 3};
  ARGS(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, shape);
  shape.topology = create.topology;
  shape.memory_space_kind_id = kinds.memory_space_kind_ids[0];
  shape.dims = dims;
  shape.num_dims = 2;
  shape.element_type = PJRT_Buffer_Type_BF16;
  ASSERT_CALL(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, shape);
  EXPECT_EQ(std::string_view(shape.serialized_shape, shape.serialized_shape_size),
            std::string_view("\x10\x10\x1a\x02\x02\x03\x2a\x04\x0a\x02\x01\x00", 12));
  shape.serialized_shape_deleter(shape.serialized_shape);
  shape.memory_space_kind_id = 1;
  EXPECT_CODE(CALL(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, shape), kInvalidArgument);

  // Ahead of time, then loaded.
  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  char code[] = "pair";
  program.code = code;
  program.code_size = 4;
  program.format = "mlir";
  program.format_size = 4;
  ARGS(PJRT_Compile, compile);
  compile.topology = create.topology;
  compile.program = &program;
  compile.compile_options = kOneDevice.data();
  compile.compile_options_size = kOneDevice.size();
  ASSERT_CALL(PJRT_Compile, compile);
  ARGS(PJRT_Client_Load, load);
  load.client = client_;
  load.executable = compile.executable;
  ASSERT_CALL(PJRT_Client_Load, load);
  DestroyExecutable(compile.executable);
  Result<Outcome> out = Execute(load.loaded_executable, {});
  ASSERT_TRUE(out.ok());
  for (PJRT_Buffer* b : out->outputs) Destroy(b);
  DestroyEvent(out->done);
  Destroy(load.loaded_executable);
  for (PJRT_TopologyDescription* t : {create.topology, read.topology}) {
    ARGS(PJRT_TopologyDescription_Destroy, destroy);
    destroy.topology = t;
    EXPECT_CALL_OK(PJRT_TopologyDescription_Destroy, destroy);
  }
}

TEST_F(ClientTest, LayoutsExtension) {
  const auto* layouts = FindExtension<PJRT_Layouts_Extension>(PJRT_Extension_Type_Layouts);
  ASSERT_NE(layouts, nullptr);
  EXPECT_EQ(layouts->base.struct_size, 80u);
  auto text = [&](PJRT_Layouts_MemoryLayout* layout, bool owned) {
    ARGS(PJRT_Layouts_MemoryLayout_Serialize, args);
    args.layout = layout;
    EXPECT_TRUE(TakeStatus(layouts->PJRT_Layouts_MemoryLayout_Serialize(&args)).ok());
    if (owned) {
      ARGS(PJRT_Layouts_MemoryLayout_Destroy, destroy);
      destroy.layout = layout;
      EXPECT_TRUE(TakeStatus(layouts->PJRT_Layouts_MemoryLayout_Destroy(&destroy)).ok());
    }
    std::string result(args.serialized_bytes, args.serialized_bytes_size);
    args.serialized_layout_deleter(args.serialized_layout);
    return result;
  };
  PJRT_Buffer* buffer = Upload({1, 2, 3, 4, 5, 6}, {1, 2, 3});
  ARGS(PJRT_Layouts_PJRT_Buffer_MemoryLayout, of_buffer);
  of_buffer.buffer = buffer;
  ASSERT_TRUE(TakeStatus(layouts->PJRT_Layouts_PJRT_Buffer_MemoryLayout(&of_buffer)).ok());
  EXPECT_EQ(text(of_buffer.layout, true), "{2,1,0}");
  Destroy(buffer);
  ARGS(PJRT_Layouts_PJRT_Client_GetDefaultLayout, of_client);
  of_client.client = client_;
  of_client.type = PJRT_Buffer_Type_F32;
  ASSERT_TRUE(TakeStatus(layouts->PJRT_Layouts_PJRT_Client_GetDefaultLayout(&of_client)).ok());
  EXPECT_EQ(text(of_client.layout, true), "{}");
  Result<PJRT_LoadedExecutable*> column = Compile("column");
  PJRT_Executable* executable = GetExecutable(*column);
  ARGS(PJRT_Layouts_PJRT_Executable_GetParameterLayouts, parameters);
  parameters.executable = executable;
  ASSERT_TRUE(TakeStatus(layouts->PJRT_Layouts_PJRT_Executable_GetParameterLayouts(&parameters)).ok());
  ASSERT_EQ(parameters.num_parameters, 1u);
  EXPECT_EQ(text(parameters.layouts[0], false), "{0,1}");
  ARGS(PJRT_Layouts_PJRT_Executable_GetOutputLayouts, outputs);
  outputs.executable = executable;
  ASSERT_TRUE(TakeStatus(layouts->PJRT_Layouts_PJRT_Executable_GetOutputLayouts(&outputs)).ok());
  EXPECT_EQ(text(outputs.layouts[0], false), "{0}");
  DestroyExecutable(executable);
  Destroy(*column);
}

TEST_F(ClientTest, ShardingsExtension) {
  const auto* shardings = FindExtension<PJRT_Shardings_Extension>(PJRT_Extension_Type_Shardings);
  ASSERT_NE(shardings, nullptr);
  for (auto [program, count] : {std::pair("add", 2u), std::pair("pair", 0u)}) {
    Result<PJRT_LoadedExecutable*> loaded = Compile(program);
    PJRT_Executable* executable = GetExecutable(*loaded);
    ARGS(PJRT_Shardings_PJRT_Executable_ParameterShardings, parameters);
    parameters.executable = executable;
    ASSERT_TRUE(TakeStatus(shardings->PJRT_Shardings_PJRT_Executable_ParameterShardings(&parameters)).ok());
    EXPECT_EQ(parameters.num_parameters, count);
    if (count == 0) {
      EXPECT_EQ(parameters.shardings, nullptr);
    } else {
      EXPECT_EQ(std::string_view(parameters.shardings[1], parameters.sharding_sizes[1]), "p1");
    }
    DestroyExecutable(executable);
    Destroy(*loaded);
  }
}

TEST_F(ClientTest, MemoryDescriptionsExtension) {
  const auto* descriptions = FindExtension<PJRT_MemoryDescriptions_Extension>(PJRT_Extension_Type_MemoryDescriptions);
  ASSERT_NE(descriptions, nullptr);
  ARGS(PJRT_Device_GetDescription, get);
  get.device = device(0);
  ASSERT_CALL(PJRT_Device_GetDescription, get);
  ARGS(PJRT_DeviceDescription_MemoryDescriptions, list);
  list.device_description = get.device_description;
  ASSERT_TRUE(TakeStatus(descriptions->PJRT_DeviceDescription_MemoryDescriptions(&list)).ok());
  ASSERT_EQ(list.num_memory_descriptions, 2u);
  EXPECT_EQ(list.default_memory_index, 0u);
  ARGS(PJRT_MemoryDescription_Kind, kind);
  kind.memory_description = list.memory_descriptions[1];
  ASSERT_TRUE(TakeStatus(descriptions->PJRT_MemoryDescription_Kind(&kind)).ok());
  EXPECT_EQ(std::string_view(kind.kind, kind.kind_size), "pinned_host");
  EXPECT_EQ(kind.kind_id, MakeMemoryKind("pinned_host").id);
}

TEST_F(ClientTest, ProfilerExtension) {
  const auto* extension = FindExtension<PJRT_Profiler_Extension>(PJRT_Extension_Type_Profiler);
  ASSERT_NE(extension, nullptr);
  const PLUGIN_Profiler_Api* profiler = extension->profiler_api;
  EXPECT_EQ(profiler->struct_size, 80u);
  PLUGIN_Profiler_Create_Args create{};
  ASSERT_EQ(profiler->create(&create), nullptr);
  PLUGIN_Profiler_Start_Args start{.struct_size = 16, .profiler = create.profiler};
  ASSERT_EQ(profiler->start(&start), nullptr);
  // Once more is no error.
  ASSERT_EQ(profiler->start(&start), nullptr);
  {
    const activity::Scope span("span of this test");
  }
  PLUGIN_Profiler_Stop_Args stop{.struct_size = 16, .profiler = create.profiler};
  ASSERT_EQ(profiler->stop(&stop), nullptr);
  ASSERT_EQ(profiler->stop(&stop), nullptr);
  PLUGIN_Profiler_CollectData_Args collect{};
  collect.profiler = create.profiler;
  ASSERT_EQ(profiler->collect_data(&collect), nullptr);
  ASSERT_GT(collect.buffer_size_in_bytes, 0u);
  ASSERT_NE(collect.buffer, nullptr);
  const std::string lent(reinterpret_cast<const char*>(collect.buffer), collect.buffer_size_in_bytes);
  std::string copied(lent.size(), '\0');
  collect.buffer = reinterpret_cast<uint8_t*>(copied.data());
  ASSERT_EQ(profiler->collect_data(&collect), nullptr);
  EXPECT_EQ(copied, lent);
  EXPECT_NE(copied.find("span of this test"), std::string::npos);
  EXPECT_NE(copied.find("/device:CUSTOM:Tenon"), std::string::npos);

  start.profiler = nullptr;
  PLUGIN_Profiler_Error* error = profiler->start(&start);
  ASSERT_NE(error, nullptr);
  PLUGIN_Profiler_Error_GetCode_Args code{};
  code.error = error;
  ASSERT_EQ(profiler->error_get_code(&code), nullptr);
  EXPECT_EQ(code.code, PJRT_Error_Code_INVALID_ARGUMENT);
  PLUGIN_Profiler_Error_Message_Args message{};
  message.error = error;
  profiler->error_message(&message);
  EXPECT_EQ(std::string_view(message.message, message.message_size), "profiler is NULL");
  PLUGIN_Profiler_Error_Destroy_Args free_error{};
  free_error.error = error;
  profiler->error_destroy(&free_error);
  PLUGIN_Profiler_Destroy_Args destroy{.struct_size = 16, .profiler = create.profiler};
  ASSERT_EQ(profiler->destroy(&destroy), nullptr);
}

TEST_F(ClientTest, TransferManager) {
  int64_t four[] = {4}, matrix[] = {2, 3};
  PJRT_ShapeSpec specs[2] = {};
  specs[0].dims = four;
  specs[0].num_dims = 1;
  specs[0].element_type = PJRT_Buffer_Type_F32;
  specs[1].dims = matrix;
  specs[1].num_dims = 2;
  specs[1].element_type = PJRT_Buffer_Type_F32;
  ARGS(PJRT_Client_CreateBuffersForAsyncHostToDevice, create);
  create.client = client_;
  create.shape_specs = specs;
  create.num_shape_specs = 2;
  create.memory = memory(1, "device");
  ASSERT_CALL(PJRT_Client_CreateBuffersForAsyncHostToDevice, create);
  PJRT_AsyncHostToDeviceTransferManager* manager = create.transfer_manager;
  ARGS(PJRT_AsyncHostToDeviceTransferManager_Device, on);
  on.transfer_manager = manager;
  ASSERT_CALL(PJRT_AsyncHostToDeviceTransferManager_Device, on);
  EXPECT_EQ(on.device_out, device(1));
  ARGS(PJRT_AsyncHostToDeviceTransferManager_BufferSize, size);
  size.transfer_manager = manager;
  size.buffer_index = 1;
  ASSERT_CALL(PJRT_AsyncHostToDeviceTransferManager_BufferSize, size);
  EXPECT_EQ(size.buffer_size, 24u);
  size.buffer_index = 2;
  EXPECT_CODE(CALL(PJRT_AsyncHostToDeviceTransferManager_BufferSize, size), kInvalidArgument);

  ARGS(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve);
  retrieve.transfer_manager = manager;
  ASSERT_CALL(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve);
  PJRT_Buffer* first = retrieve.buffer_out;
  EXPECT_CODE(CALL(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve), kFailedPrecondition);
  ARGS(PJRT_Buffer_ReadyEvent, ready);
  ready.buffer = first;
  ASSERT_CALL(PJRT_Buffer_ReadyEvent, ready);
  const float data[] = {1, 2, 3, 4, 5, 6};
  ARGS(PJRT_AsyncHostToDeviceTransferManager_TransferData, transfer);
  transfer.transfer_manager = manager;
  transfer.data = data + 2;
  transfer.offset = 8;
  transfer.transfer_size = 8;
  ASSERT_CALL(PJRT_AsyncHostToDeviceTransferManager_TransferData, transfer);
  EXPECT_TRUE(Finish(transfer.done_with_h2d_transfer).ok());
  EXPECT_FALSE(IsReady(ready.event));
  transfer.offset = 12;
  EXPECT_CODE(CALL(PJRT_AsyncHostToDeviceTransferManager_TransferData, transfer), kInvalidArgument);
  transfer.data = data;
  transfer.offset = 0;
  transfer.is_last_transfer = true;
  ASSERT_CALL(PJRT_AsyncHostToDeviceTransferManager_TransferData, transfer);
  EXPECT_TRUE(Finish(transfer.done_with_h2d_transfer).ok());
  EXPECT_CODE(CALL(PJRT_AsyncHostToDeviceTransferManager_TransferData, transfer), kFailedPrecondition);
  EXPECT_TRUE(Finish(ready.event).ok());
  EXPECT_EQ(*Download(first), (std::vector<float>{1, 2, 3, 4}));
  Destroy(first);

  retrieve.buffer_index = 1;
  ASSERT_CALL(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve);
  ARGS(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, literal);
  literal.transfer_manager = manager;
  literal.buffer_index = 1;
  literal.data = data;
  literal.shape_dims = matrix;
  literal.shape_num_dims = 2;
  literal.shape_element_type = PJRT_Buffer_Type_S32;
  EXPECT_CODE(CALL(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, literal), kInvalidArgument);
  literal.shape_element_type = PJRT_Buffer_Type_F32;
  const int64_t by_columns[] = {0, 1};
  PJRT_Buffer_MemoryLayout layout{};
  layout.tiled.minor_to_major = by_columns;
  layout.tiled.minor_to_major_size = 2;
  literal.shape_layout = &layout;
  ASSERT_CALL(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, literal);
  EXPECT_TRUE(Finish(literal.done_with_h2d_transfer).ok());
  EXPECT_EQ(*Download(retrieve.buffer_out), (std::vector<float>{1, 3, 5, 2, 4, 6}));
  Destroy(retrieve.buffer_out);
  ARGS(PJRT_AsyncHostToDeviceTransferManager_Destroy, destroy);
  destroy.transfer_manager = manager;
  ASSERT_CALL(PJRT_AsyncHostToDeviceTransferManager_Destroy, destroy);

  // An error for one index, and one that is never filled.
  ASSERT_CALL(PJRT_Client_CreateBuffersForAsyncHostToDevice, create);
  PJRT_Buffer* buffers[2];
  for (int i : {0, 1}) {
    retrieve.transfer_manager = create.transfer_manager;
    retrieve.buffer_index = i;
    ASSERT_CALL(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve);
    buffers[i] = retrieve.buffer_out;
  }
  ARGS(PJRT_AsyncHostToDeviceTransferManager_SetBufferError, error);
  error.transfer_manager = create.transfer_manager;
  error.error_code = PJRT_Error_Code_DATA_LOSS;
  ASSERT_CALL(PJRT_AsyncHostToDeviceTransferManager_SetBufferError, error);
  destroy.transfer_manager = create.transfer_manager;
  ASSERT_CALL(PJRT_AsyncHostToDeviceTransferManager_Destroy, destroy);
  EXPECT_CODE(Ready(buffers[0]), kDataLoss);
  EXPECT_CODE(Ready(buffers[1]), kCancelled);
  Destroy(buffers[0]);
  Destroy(buffers[1]);
}

// Clients destroy things in every order (Go: the client first); whatever is left keeps what it needs. 5! orders.
TEST(Lifetimes, AnyOrderOfDestruction) {
  int order[] = {0, 1, 2, 3, 4};
  do {
    ARGS(PJRT_Client_Create, create);
    ASSERT_CALL(PJRT_Client_Create, create);
    ARGS(PJRT_Client_AddressableDevices, devices);
    devices.client = create.client;
    ASSERT_CALL(PJRT_Client_AddressableDevices, devices);
    PJRT_Program program{};
    program.struct_size = PJRT_Program_STRUCT_SIZE;
    char code[] = "later echo";
    program.code = code;
    program.code_size = 10;
    program.format = "mlir";
    program.format_size = 4;
    ARGS(PJRT_Client_Compile, compile);
    compile.client = create.client;
    compile.program = &program;
    ASSERT_CALL(PJRT_Client_Compile, compile);
    int64_t four[] = {4};
    float data[] = {1, 2, 3, 4};
    ARGS(PJRT_Client_BufferFromHostBuffer, from);
    from.client = create.client;
    from.data = data;
    from.type = PJRT_Buffer_Type_F32;
    from.dims = four;
    from.num_dims = 1;
    from.device = devices.addressable_devices[0];
    ASSERT_CALL(PJRT_Client_BufferFromHostBuffer, from);
    DestroyEvent(from.done_with_host_buffer);
    PJRT_Buffer *ins[] = {from.buffer}, *outs[1];
    PJRT_Buffer* const* inputs = ins;
    PJRT_Buffer** outputs = outs;
    PJRT_Event* done = nullptr;
    PJRT_ExecuteOptions options{};
    options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
    ARGS(PJRT_LoadedExecutable_Execute, execute);
    execute.executable = compile.executable;
    execute.options = &options;
    execute.argument_lists = &inputs;
    execute.num_devices = 1;
    execute.num_args = 1;
    execute.output_lists = &outputs;
    execute.device_complete_events = &done;
    ASSERT_CALL(PJRT_LoadedExecutable_Execute, execute);
    for (int what : order) {
      if (what == 0) {
        ARGS(PJRT_Client_Destroy, args);
        args.client = create.client;
        EXPECT_CALL_OK(PJRT_Client_Destroy, args);
      } else if (what == 1) {
        ARGS(PJRT_LoadedExecutable_Destroy, args);
        args.executable = compile.executable;
        EXPECT_CALL_OK(PJRT_LoadedExecutable_Destroy, args);
      } else if (what == 2 || what == 3) {
        ARGS(PJRT_Buffer_Device, on);
        on.buffer = what == 2 ? from.buffer : outs[0];
        EXPECT_CALL_OK(PJRT_Buffer_Device, on);
        EXPECT_EQ(on.device, from.device);
        ARGS(PJRT_Buffer_Destroy, args);
        args.buffer = on.buffer;
        EXPECT_CALL_OK(PJRT_Buffer_Destroy, args);
      } else {
        DestroyEvent(done);
      }
    }
    RunPending();  // The execution itself ends last of all.
    for (int i = 0; i < kNumObjectKinds; ++i) ASSERT_EQ(LiveObjects(static_cast<ObjectKind>(i)), 0) << i;
  } while (std::next_permutation(std::begin(order), std::end(order)));
}

}  // namespace
}  // namespace tenon::plugin::testing
