// Every function with the struct sizes that older, equal and newer callers send, with one too short, and without its
// object. The rows of struct_sizes.def are the sizes.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

struct SizeRow {
  const char* name;
  int since;
  size_t size;
};
constexpr SizeRow kSizes[] = {
#define PJRT_SIZE(structure, since, size) {#structure, since, size},
#include "tenon/abi/struct_sizes.def"
#undef PJRT_SIZE
};

// What functions are asked about; made when wanted.
class Objects {
 public:
  explicit Objects(Env& env) : env_(env) {}
  Env& env() { return env_; }
  PJRT_Client* client() { return env_.client(); }
  PJRT_Device* device() { return env_.device(); }
  PJRT_Buffer* buffer() {
    if (buffer_.get() == nullptr) buffer_ = env_.Four();
    return buffer_;
  }
  PJRT_LoadedExecutable* loaded() {
    if (loaded_.get() == nullptr) loaded_ = env_.Compile(kAddProgram);
    return loaded_;
  }
  PJRT_Executable* executable() {
    if (executable_.get() == nullptr) executable_ = env_.GetExecutable(loaded());
    return executable_;
  }
  PJRT_Event* event() {
    if (event_.get() == nullptr) event_ = NewEvent();
    return event_;
  }
  Event NewEvent() {
    auto args = New<PJRT_Buffer_ReadyEvent_Args>();
    args.buffer = buffer();
    env_.Ok(args);
    Event event(env_, args.event);
    (void)env_.Await(event);
    return event;
  }
  PJRT_TopologyDescription* topology() { return env_.AnyTopology(&topology_); }
  PJRT_DeviceDescription* description() {
    if (env_.profile().device) return env_.Description(env_.device());
    auto args = New<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
    args.topology = topology();
    env_.Ok(args);
    env_.Expect(args.num_descriptions > 0, "the topology has no devices");
    return args.descriptions[0];
  }
  PJRT_Memory* memory() { return env_.DefaultMemory(env_.device()); }
  PJRT_AsyncHostToDeviceTransferManager* manager() {
    if (manager_.get() == nullptr) {
      static const int64_t extents[] = {4};
      PJRT_ShapeSpec spec;
      std::memset(static_cast<void*>(&spec), 0, sizeof(spec));
      spec.struct_size = PJRT_ShapeSpec_STRUCT_SIZE;
      spec.dims = extents;
      spec.num_dims = 1;
      spec.element_type = PJRT_Buffer_Type_F32;
      auto args = New<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
      args.client = env_.client();
      args.shape_specs = &spec;
      args.num_shape_specs = 1;
      args.memory = memory();
      env_.Ok(args);
      manager_ = Manager(env_, args.transfer_manager);
    }
    return manager_;
  }

  std::vector<float> values{1, 2, 3, 4};
  std::vector<int64_t> dims{4};
  std::vector<int> numbers = std::vector<int>(16);
  std::string text;
  PJRT_Program program;
  PJRT_Error* error = nullptr;

 private:
  Env& env_;
  Topology topology_;
  Buffer buffer_;
  Loaded loaded_;
  Executable executable_;
  Event event_;
  Manager manager_;
};

constexpr size_t kTail = 64;
constexpr unsigned char kCanary = 0xA5;

enum class Null { kRefused, kAllowed, kNotTested };

// A function of the table without the type of its arguments: a hundred tests share the code that follows.
struct Function {
  std::string name;  // without PJRT_
  int since;
  size_t slot;         // its place in the table
  size_t size;         // struct_size as of this header
  size_t object_size;  // sizeof its arguments
  Needs needs;
  Null null;
  void (*fill)();     // void (*)(Objects&, Args&)
  void (*release)();  // void (*)(Env&, Args&), or null
  PJRT_Error* (*call)(const PJRT_Api* api, void* args);
  void (*call_fill)(void (*fill)(), Objects& objects, void* args);
  void (*call_release)(void (*release)(), Env& env, void* args);
};

template <class Args>
PJRT_Error* Call(const PJRT_Api* api, void* args) {
  return Fn<Args>::Slot(api)(static_cast<Args*>(args));
}
template <class Args>
void CallFill(void (*fill)(), Objects& objects, void* args) {
  reinterpret_cast<void (*)(Objects&, Args&)>(fill)(objects, *static_cast<Args*>(args));
}
template <class Args>
void CallRelease(void (*release)(), Env& env, void* args) {
  reinterpret_cast<void (*)(Env&, Args&)>(release)(env, *static_cast<Args*>(args));
}

// The arguments as a caller of another version has them: struct_size says `size`, and what lies behind is not the
// plugin's.
class Caller {
 public:
  Caller(const Function& function, Objects& objects)
      : function_(function), memory_(function.object_size + kTail + sizeof(std::max_align_t)) {
    SetSize(function.size);
    function.call_fill(function.fill, objects, memory_.data());
  }
  void* args() { return memory_.data(); }
  void SetSize(size_t size) {
    size_ = size;
    std::memcpy(memory_.data(), &size, sizeof(size));
  }
  void MarkTail() { std::memset(memory_.data() + size_, kCanary, memory_.size() - size_); }
  void CheckTail(Env& env, size_t from) const {
    for (size_t i = std::max(from, size_); i < memory_.size(); ++i) {
      if (memory_[i] != static_cast<char>(kCanary)) {
        env.Fail("PJRT_" + function_.name + " wrote byte " + std::to_string(i) + " although struct_size is " +
                 std::to_string(size_));
      }
    }
  }
  Status Call(Env& env) {
    if (!Has(env.api(), function_.slot, function_.since)) env.Missing("PJRT_" + function_.name);
    return env.Take(function_.call(env.api(), memory_.data()));
  }

 private:
  const Function& function_;
  size_t size_;
  std::vector<char> memory_;
};

// Calls with `size` and expects success.
void CallWithSize(Env& env, const Function& function, size_t size, size_t written = 0) {
  if (!Has(env.api(), function.slot, function.since)) env.Missing("PJRT_" + function.name);
  Objects objects(env);
  Caller caller(function, objects);
  caller.SetSize(size);
  caller.MarkTail();
  Status status = caller.Call(env);
  if (status.code() == Code::kUnimplemented)
    env.Unsupported("PJRT_" + function.name + ": " + std::string(status.message()));
  caller.CheckTail(env, written);
  if (!status.ok())
    env.Fail("PJRT_" + function.name + " with struct_size " + std::to_string(size) + " failed: " + status.ToString());
  if (function.release != nullptr) function.call_release(function.release, env, caller.args());
}

constexpr size_t kHead = 16;  // struct_size and extension_start

void CallTooShort(Env& env, const Function& function) {
  Objects objects(env);
  Caller caller(function, objects);
  caller.SetSize(kHead);
  env.CheckFailure(caller.Call(env), {Code::kInvalidArgument}, "PJRT_" + function.name, "struct_size is 16");
}

void CallWithoutObject(Env& env, const Function& function) {
  Objects objects(env);
  Caller caller(function, objects);
  std::memset(static_cast<char*>(caller.args()) + kHead, 0, sizeof(void*));
  Status status = caller.Call(env);
  if (function.null == Null::kAllowed) {
    env.CheckOk(status, "PJRT_" + function.name);
  } else {
    env.CheckFailure(status, {Code::kInvalidArgument}, "PJRT_" + function.name, "the object is NULL");
  }
}

void AddFunction(Suite& suite, Function of) {
  auto function = std::make_shared<const Function>(std::move(of));
  const std::string name = function->name;
  const std::string pjrt_name = "PJRT_" + name;
  for (const SizeRow& row : kSizes) {
    if (pjrt_name + "_Args" != row.name) continue;
    // Callers before 0.74 understated this one; both fields are there all the same.
    size_t written = name == "Plugin_Attributes" ? PJRT_Plugin_Attributes_Args_STRUCT_SIZE : 0;
    size_t size = row.size;
    suite.Add("structs.caller." + name + "." + std::to_string(size), function->needs,
              pjrt_name + " serves callers that send struct_size " + std::to_string(size) + " (from 0." +
                  std::to_string(row.since) + " on) and writes nothing behind",
              kHeader, [=](Env& env) { CallWithSize(env, *function, size, written); });
  }
  suite.Add("structs.newer." + name, function->needs,
            pjrt_name + " serves a caller whose struct is longer than any known and leaves the rest alone", kHeader,
            [=](Env& env) { CallWithSize(env, *function, function->size + kTail, function->size + kTail); });
  if (function->object_size < kHead + sizeof(void*)) return;
  suite.Add("structs.short." + name, function->needs,
            pjrt_name + " refuses a struct_size that does not reach its first field", kReference,
            [=](Env& env) { CallTooShort(env, *function); });
  if (function->null == Null::kNotTested) return;
  bool allowed = function->null == Null::kAllowed;
  suite.Add("bad_input.null." + name, function->needs,
            pjrt_name + (allowed ? " of NULL does nothing" : " without its object gives an error"),
            allowed ? kReference : kRobust, [=](Env& env) { CallWithoutObject(env, *function); });
}

template <class Args>
void Add(Suite& suite, Needs needs, void (*fill)(Objects&, Args&), void (*release)(Env&, Args&) = nullptr,
         Null null = Null::kRefused) {
  AddFunction(suite, {.name = Fn<Args>::kName + 5,
                      .since = Fn<Args>::kSince,
                      .slot = Fn<Args>::kOffset,
                      .size = Fn<Args>::kSize,
                      .object_size = sizeof(Args),
                      .needs = needs,
                      .null = null,
                      .fill = reinterpret_cast<void (*)()>(fill),
                      .release = reinterpret_cast<void (*)()>(release),
                      .call = Call<Args>,
                      .call_fill = CallFill<Args>,
                      .call_release = CallRelease<Args>});
}

void AddEvents(Suite& suite) {
  Add<PJRT_Event_Destroy_Args>(
      suite, Needs::kClient, [](Objects& o, auto& a) { a.event = o.NewEvent().Release(); }, {}, Null::kNotTested);
  Add<PJRT_Event_IsReady_Args>(
      suite, Needs::kClient, [](Objects& o, auto& a) { a.event = o.event(); },
      [](Env& env, auto& a) { env.Expect(a.is_ready, "the event is not ready"); });
  Add<PJRT_Event_Error_Args>(suite, Needs::kClient, [](Objects& o, auto& a) { a.event = o.event(); });
  Add<PJRT_Event_Await_Args>(suite, Needs::kClient, [](Objects& o, auto& a) { a.event = o.event(); });
  Add<PJRT_Event_OnReady_Args>(suite, Needs::kClient, [](Objects& o, auto& a) {
    a.event = o.event();
    a.callback = [](PJRT_Error*, void*) {};
  });
  Add<PJRT_Event_Create_Args>(
      suite, Needs::kTable, [](Objects&, auto&) {},
      [](Env& env, auto& a) {
        Event event(env, a.event);
        auto set = New<PJRT_Event_Set_Args>();
        set.event = event;
        env.Ok(set);
      },
      Null::kNotTested);
}

void AddClients(Suite& suite) {
  Add<PJRT_Plugin_Initialize_Args>(suite, Needs::kTable, [](Objects&, auto&) {});
  Add<PJRT_Plugin_Attributes_Args>(
      suite, Needs::kTable, [](Objects&, auto&) {},
      [](Env& env, auto& a) { env.Expect(a.num_attributes > 0 && a.attributes != nullptr, "no attributes"); },
      Null::kNotTested);
  Add<PJRT_Client_Create_Args>(
      suite, Needs::kClient, [](Objects&, auto&) {}, [](Env& env, auto& a) { Client client(env, a.client); },
      Null::kNotTested);
  Add<PJRT_Client_Destroy_Args>(
      suite, Needs::kClient, [](Objects& o, auto& a) { a.client = o.env().NewClient().Release(); }, {},
      Null::kNotTested);
  Add<PJRT_Client_PlatformName_Args>(
      suite, Needs::kClient, [](Objects& o, auto& a) { a.client = o.client(); },
      [](Env& env, auto& a) { env.Expect(a.platform_name_size > 0, "no name"); });
  Add<PJRT_Client_PlatformVersion_Args>(suite, Needs::kClient, [](Objects& o, auto& a) { a.client = o.client(); });
  Add<PJRT_Client_ProcessIndex_Args>(suite, Needs::kClient, [](Objects& o, auto& a) { a.client = o.client(); });
  Add<PJRT_Client_TopologyDescription_Args>(
      suite, Needs::kClient, [](Objects& o, auto& a) { a.client = o.client(); },
      [](Env& env, auto& a) { env.Expect(a.topology != nullptr, "no topology"); });
  Add<PJRT_Client_Devices_Args>(
      suite, Needs::kClient, [](Objects& o, auto& a) { a.client = o.client(); },
      [](Env& env, auto& a) { env.Expect(a.num_devices > 0, "no devices"); });
  Add<PJRT_Client_AddressableDevices_Args>(
      suite, Needs::kClient, [](Objects& o, auto& a) { a.client = o.client(); },
      [](Env& env, auto& a) { env.Expect(a.num_addressable_devices > 0, "no devices"); });
  Add<PJRT_Client_AddressableMemories_Args>(
      suite, Needs::kClient, [](Objects& o, auto& a) { a.client = o.client(); },
      [](Env& env, auto& a) { env.Expect(a.num_addressable_memories > 0, "no memories"); });
  Add<PJRT_Client_LookupDevice_Args>(
      suite, Needs::kClient,
      [](Objects& o, auto& a) {
        a.client = o.client();
        a.id = o.env().DeviceId(o.device());
      },
      [](Env& env, auto& a) { env.Expect(a.device == env.device(), "another device"); });
  Add<PJRT_Client_LookupAddressableDevice_Args>(
      suite, Needs::kClient,
      [](Objects& o, auto& a) {
        auto id = New<PJRT_Device_LocalHardwareId_Args>();
        id.device = o.device();
        o.env().Ok(id);
        a.client = o.client();
        a.local_hardware_id = id.local_hardware_id;
      },
      [](Env& env, auto& a) { env.Expect(a.addressable_device == env.device(), "another device"); });
  Add<PJRT_Client_DefaultDeviceAssignment_Args>(suite, Needs::kClient, [](Objects& o, auto& a) {
    a.client = o.client();
    a.num_replicas = a.num_partitions = 1;
    a.default_assignment = o.numbers.data();
    a.default_assignment_size = 1;
  });
  Add<PJRT_Client_UpdateGlobalProcessInfo_Args>(suite, Needs::kClient,
                                                [](Objects& o, auto& a) { a.client = o.client(); });
  Add<PJRT_Client_Compile_Args>(
      suite, Needs::kClient,
      [](Objects& o, auto& a) {
        o.text = kAddProgram;
        o.program = NewProgram(o.text);
        a.client = o.client();
        a.program = &o.program;
        a.compile_options = Env::kOneDevice.data();
        a.compile_options_size = Env::kOneDevice.size();
      },
      [](Env& env, auto& a) { Loaded loaded(env, a.executable); });
  Add<PJRT_Client_BufferFromHostBuffer_Args>(
      suite, Needs::kClient,
      [](Objects& o, auto& a) {
        a.client = o.client();
        a.data = o.values.data();
        a.type = PJRT_Buffer_Type_F32;
        a.dims = o.dims.data();
        a.num_dims = 1;
        a.device = o.device();
      },
      [](Env& env, auto& a) {
        Buffer buffer(env, a.buffer);
        Event done(env, a.done_with_host_buffer);
        env.ExpectValues(buffer, {1, 2, 3, 4});
      });
  Add<PJRT_Client_CreateUninitializedBuffer_Args>(
      suite, Needs::kClient,
      [](Objects& o, auto& a) {
        a.client = o.client();
        a.shape_dims = o.dims.data();
        a.shape_num_dims = 1;
        a.shape_element_type = PJRT_Buffer_Type_F32;
        a.memory = o.memory();
      },
      [](Env& env, auto& a) { Buffer buffer(env, a.buffer); });
  Add<PJRT_Client_CreateErrorBuffer_Args>(
      suite, Needs::kClient,
      [](Objects& o, auto& a) {
        a.client = o.client();
        a.error_code = PJRT_Error_Code_ABORTED;
        a.error_message = "on purpose";
        a.error_message_size = 10;
        a.shape_dims = o.dims.data();
        a.shape_num_dims = 1;
        a.shape_element_type = PJRT_Buffer_Type_F32;
        a.memory = o.memory();
      },
      [](Env& env, auto& a) { Buffer buffer(env, a.buffer); });
  Add<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>(
      suite, Needs::kClient,
      [](Objects& o, auto& a) {
        static const int64_t dims[] = {4};
        static PJRT_ShapeSpec spec = {PJRT_ShapeSpec_STRUCT_SIZE, nullptr, dims, 1, PJRT_Buffer_Type_F32};
        a.client = o.client();
        a.shape_specs = &spec;
        a.num_shape_specs = 1;
        a.memory = o.memory();
      },
      [](Env& env, auto& a) { Manager manager(env, a.transfer_manager); });
  Add<PJRT_Client_CreateViewOfDeviceBuffer_Args>(
      suite, Needs::kClient,
      [](Objects& o, auto& a) {
        alignas(64) static float values[16] = {1, 2, 3, 4};
        a.client = o.client();
        a.device_buffer_ptr = values;
        a.dims = o.dims.data();
        a.num_dims = 1;
        a.element_type = PJRT_Buffer_Type_F32;
        a.device = o.device();
      },
      [](Env& env, auto& a) { Buffer buffer(env, a.buffer); });
}

void AddDevices(Suite& suite) {
  auto description = [](Objects& o, auto& a) { a.device_description = o.description(); };
  Add<PJRT_DeviceDescription_Id_Args>(suite, Needs::kTopology, description);
  Add<PJRT_DeviceDescription_ProcessIndex_Args>(suite, Needs::kTopology, description);
  Add<PJRT_DeviceDescription_Attributes_Args>(suite, Needs::kTopology, description);
  Add<PJRT_DeviceDescription_Kind_Args>(suite, Needs::kTopology, description,
                                        [](Env& env, auto& a) { env.Expect(a.device_kind_size > 0, "no kind"); });
  Add<PJRT_DeviceDescription_DebugString_Args>(suite, Needs::kTopology, description);
  Add<PJRT_DeviceDescription_ToString_Args>(suite, Needs::kTopology, description);
  auto device = [](Objects& o, auto& a) { a.device = o.device(); };
  Add<PJRT_Device_GetDescription_Args>(suite, Needs::kClient, device, [](Env& env, auto& a) {
    env.Expect(a.device_description != nullptr, "no description");
  });
  Add<PJRT_Device_IsAddressable_Args>(suite, Needs::kClient, device, [](Env& env, auto& a) {
    env.Expect(a.is_addressable, "an addressable device says no");
  });
  Add<PJRT_Device_LocalHardwareId_Args>(suite, Needs::kClient, device);
  Add<PJRT_Device_AddressableMemories_Args>(suite, Needs::kClient, device,
                                            [](Env& env, auto& a) { env.Expect(a.num_memories > 0, "no memories"); });
  Add<PJRT_Device_DefaultMemory_Args>(suite, Needs::kClient, device,
                                      [](Env& env, auto& a) { env.Expect(a.memory != nullptr, "no memory"); });
  Add<PJRT_Device_MemoryStats_Args>(suite, Needs::kClient, device);
  Add<PJRT_Device_ClearMemoryStats_Args>(suite, Needs::kClient, device);
  Add<PJRT_Device_GetAttributes_Args>(suite, Needs::kClient, device, [](Env& env, auto& a) {
    env.Expect(a.attributes_deleter != nullptr, "no deleter");
    a.attributes_deleter(a.device_attributes);
  });
  Add<PJRT_Device_PoisonExecution_Args>(suite, Needs::kClient, [](Objects& o, auto& a) {
    a.device = o.device();
    a.launch_id = 123456;
    a.error_code = PJRT_Error_Code_ABORTED;
    a.error_message = "on purpose";
    a.error_message_size = 10;
  });
  Add<PJRT_Device_CreateAsyncTrackingEvent_Args>(
      suite, Needs::kClient,
      [](Objects& o, auto& a) {
        a.device = o.device();
        a.description = "conformance";
        a.description_size = 11;
      },
      [](Env& env, auto& a) {
        auto destroy = New<PJRT_AsyncTrackingEvent_Destroy_Args>();
        destroy.event = a.event;
        env.Ok(destroy);
      });
  auto memory = [](Objects& o, auto& a) { a.memory = o.memory(); };
  Add<PJRT_Memory_Id_Args>(suite, Needs::kClient, memory);
  Add<PJRT_Memory_Kind_Args>(suite, Needs::kClient, memory,
                             [](Env& env, auto& a) { env.Expect(a.kind_size > 0, "no kind"); });
  Add<PJRT_Memory_Kind_Id_Args>(suite, Needs::kClient, memory);
  Add<PJRT_Memory_DebugString_Args>(suite, Needs::kClient, memory);
  Add<PJRT_Memory_ToString_Args>(suite, Needs::kClient, memory);
  Add<PJRT_Memory_AddressableByDevices_Args>(suite, Needs::kClient, memory,
                                             [](Env& env, auto& a) { env.Expect(a.num_devices > 0, "no devices"); });
}

void AddExecutables(Suite& suite) {
  auto executable = [](Objects& o, auto& a) { a.executable = o.executable(); };
  Add<PJRT_Executable_Destroy_Args>(
      suite, Needs::kClient, [](Objects& o, auto& a) { a.executable = o.env().GetExecutable(o.loaded()).Release(); },
      {}, Null::kNotTested);
  Add<PJRT_Executable_Name_Args>(suite, Needs::kClient, executable);
  Add<PJRT_Executable_NumReplicas_Args>(suite, Needs::kClient, executable,
                                        [](Env& env, auto& a) { env.Equal(a.num_replicas, 1, "replicas"); });
  Add<PJRT_Executable_NumPartitions_Args>(suite, Needs::kClient, executable,
                                          [](Env& env, auto& a) { env.Equal(a.num_partitions, 1, "partitions"); });
  Add<PJRT_Executable_NumOutputs_Args>(suite, Needs::kClient, executable,
                                       [](Env& env, auto& a) { env.Equal(a.num_outputs, 1, "outputs"); });
  Add<PJRT_Executable_SizeOfGeneratedCodeInBytes_Args>(suite, Needs::kClient, executable);
  Add<PJRT_Executable_Fingerprint_Args>(suite, Needs::kClient, executable);
  Add<PJRT_Executable_GetCostAnalysis_Args>(suite, Needs::kClient, executable);
  Add<PJRT_Executable_GetCompiledMemoryStats_Args>(suite, Needs::kClient, executable, [](Env& env, auto& a) {
    env.Expect(a.argument_size_in_bytes >= 32 && a.output_size_in_bytes >= 16, "too few bytes of arguments or outputs");
  });
  Add<PJRT_Executable_OutputElementTypes_Args>(suite, Needs::kClient, executable, [](Env& env, auto& a) {
    env.Equal(a.num_output_types, 1, "outputs");
    env.Equal(a.output_types[0], PJRT_Buffer_Type_F32, "output type");
  });
  Add<PJRT_Executable_OutputDimensions_Args>(suite, Needs::kClient, executable, [](Env& env, auto& a) {
    env.Equal(a.num_outputs, 1, "outputs");
    env.Equal(a.dim_sizes[0], 1, "rank");
    env.Equal(a.dims[0], 4, "extent");
  });
  Add<PJRT_Executable_OutputMemoryKinds_Args>(suite, Needs::kClient, executable,
                                              [](Env& env, auto& a) { env.Equal(a.num_outputs, 1, "outputs"); });
  Add<PJRT_Executable_ParameterMemoryKinds_Args>(
      suite, Needs::kClient, executable, [](Env& env, auto& a) { env.Equal(a.num_parameters, 2, "parameters"); });
  Add<PJRT_Executable_OptimizedProgram_Args>(suite, Needs::kClient, [](Objects& o, auto& a) {
    o.program = NewProgram({}, {});
    a.executable = o.executable();
    a.program = &o.program;
  });
  Add<PJRT_Executable_Serialize_Args>(
      suite, Needs::kClient, [](Objects& o, auto& a) { a.executable = o.executable(); },
      [](Env& env, auto& a) {
        env.Expect(a.serialized_executable_deleter != nullptr, "no deleter");
        a.serialized_executable_deleter(a.serialized_executable);
      });
  Add<PJRT_Executable_GetCompileOptions_Args>(suite, Needs::kClient, executable, [](Env& env, auto& a) {
    env.Expect(a.serialized_compile_options_deleter != nullptr, "no deleter");
    a.serialized_compile_options_deleter(a.serialized_compile_options);
  });
  Add<PJRT_Executable_DeserializeAndLoad_Args>(
      suite, Needs::kClient,
      [](Objects& o, auto& a) {
        auto serialize = New<PJRT_Executable_Serialize_Args>();
        serialize.executable = o.executable();
        o.env().Ok(serialize);
        o.text.assign(serialize.serialized_bytes, serialize.serialized_bytes_size);
        serialize.serialized_executable_deleter(serialize.serialized_executable);
        a.client = o.client();
        a.serialized_executable = o.text.data();
        a.serialized_executable_size = o.text.size();
      },
      [](Env& env, auto& a) { Loaded loaded(env, a.loaded_executable); });
  auto loaded = [](Objects& o, auto& a) { a.executable = o.loaded(); };
  Add<PJRT_LoadedExecutable_GetExecutable_Args>(
      suite, Needs::kClient, [](Objects& o, auto& a) { a.loaded_executable = o.loaded(); },
      [](Env& env, auto& a) { Executable made(env, a.executable); });
  Add<PJRT_LoadedExecutable_AddressableDevices_Args>(
      suite, Needs::kClient, loaded, [](Env& env, auto& a) { env.Equal(a.num_addressable_devices, 1, "devices"); });
  Add<PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args>(suite, Needs::kClient, loaded, [](Env& env, auto& a) {
    env.Equal(a.num_addressable_device_logical_ids, 1, "devices");
  });
  Add<PJRT_LoadedExecutable_GetDeviceAssignment_Args>(suite, Needs::kClient, loaded, [](Env& env, auto& a) {
    env.Expect(a.serialized_device_assignment_deleter != nullptr, "no deleter");
    a.serialized_device_assignment_deleter(a.serialized_device_assignment);
  });
  Add<PJRT_LoadedExecutable_IsDeleted_Args>(suite, Needs::kClient, loaded,
                                            [](Env& env, auto& a) { env.Expect(!a.is_deleted, "it is deleted"); });
  Add<PJRT_LoadedExecutable_Delete_Args>(suite, Needs::kClient, loaded);
  Add<PJRT_LoadedExecutable_Destroy_Args>(
      suite, Needs::kClient, [](Objects& o, auto& a) { a.executable = o.env().Compile(kAddProgram).Release(); }, {},
      Null::kNotTested);
  Add<PJRT_ExecuteContext_Create_Args>(
      suite, Needs::kClient, [](Objects&, auto&) {},
      [](Env& env, auto& a) { Handle<PJRT_ExecuteContext> context(env, a.context); }, Null::kNotTested);
}

void AddBuffers(Suite& suite) {
  auto buffer = [](Objects& o, auto& a) { a.buffer = o.buffer(); };
  Add<PJRT_Buffer_ElementType_Args>(suite, Needs::kClient, buffer,
                                    [](Env& env, auto& a) { env.Equal(a.type, PJRT_Buffer_Type_F32, "type"); });
  Add<PJRT_Buffer_Dimensions_Args>(suite, Needs::kClient, buffer,
                                   [](Env& env, auto& a) { env.Equal(a.num_dims, 1, "rank"); });
  Add<PJRT_Buffer_UnpaddedDimensions_Args>(suite, Needs::kClient, buffer,
                                           [](Env& env, auto& a) { env.Equal(a.num_dims, 1, "rank"); });
  Add<PJRT_Buffer_DynamicDimensionIndices_Args>(
      suite, Needs::kClient, buffer, [](Env& env, auto& a) { env.Equal(a.num_dynamic_dims, 0, "dynamic dimensions"); });
  Add<PJRT_Buffer_GetMemoryLayout_Args>(suite, Needs::kClient, buffer);
  Add<PJRT_Buffer_OnDeviceSizeInBytes_Args>(suite, Needs::kClient, buffer, [](Env& env, auto& a) {
    env.Expect(a.on_device_size_in_bytes >= 16, "too few bytes");
  });
  Add<PJRT_Buffer_Device_Args>(suite, Needs::kClient, buffer,
                               [](Env& env, auto& a) { env.Expect(a.device == env.device(), "another device"); });
  Add<PJRT_Buffer_Memory_Args>(suite, Needs::kClient, buffer, [](Env& env, auto& a) {
    env.Expect(a.memory == env.DefaultMemory(env.device()), "another memory");
  });
  Add<PJRT_Buffer_IsDeleted_Args>(suite, Needs::kClient, buffer,
                                  [](Env& env, auto& a) { env.Expect(!a.is_deleted, "it is deleted"); });
  Add<PJRT_Buffer_IsOnCpu_Args>(suite, Needs::kClient, buffer);
  Add<PJRT_Buffer_ReadyEvent_Args>(suite, Needs::kClient, buffer, [](Env& env, auto& a) { Event event(env, a.event); });
  Add<PJRT_Buffer_UnsafePointer_Args>(suite, Needs::kClient, buffer,
                                      [](Env& env, auto& a) { env.Expect(a.buffer_pointer != 0, "NULL"); });
  Add<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>(
      suite, Needs::kClient, buffer, [](Env& env, auto& a) { env.Expect(a.device_memory_ptr != nullptr, "NULL"); });
  Add<PJRT_Buffer_IncreaseExternalReferenceCount_Args>(suite, Needs::kClient, buffer, [](Env& env, auto& a) {
    auto decrease = New<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
    decrease.buffer = a.buffer;
    env.Ok(decrease);
  });
  Add<PJRT_Buffer_DecreaseExternalReferenceCount_Args>(suite, Needs::kClient, [](Objects& o, auto& a) {
    auto increase = New<PJRT_Buffer_IncreaseExternalReferenceCount_Args>();
    increase.buffer = a.buffer = o.buffer();
    o.env().Ok(increase);
  });
  Add<PJRT_Buffer_Delete_Args>(suite, Needs::kClient, buffer);
  Add<PJRT_Buffer_Destroy_Args>(
      suite, Needs::kClient, [](Objects& o, auto& a) { a.buffer = o.env().Four().Release(); }, {}, Null::kNotTested);
  Add<PJRT_Buffer_ToHostBuffer_Args>(
      suite, Needs::kClient,
      [](Objects& o, auto& a) {
        a.src = o.buffer();
        a.dst = o.values.data();
        a.dst_size = 16;
      },
      [](Env& env, auto& a) {
        Event event(env, a.event);
        env.Expect(env.Await(event).ok(), "the copy failed");
      });
  Add<PJRT_Buffer_CopyToDevice_Args>(
      suite, Needs::kDevices2,
      [](Objects& o, auto& a) {
        a.buffer = o.buffer();
        a.dst_device = o.env().device(1);
      },
      [](Env& env, auto& a) { Buffer copy(env, a.dst_buffer); });
  Add<PJRT_Buffer_CopyToMemory_Args>(
      suite, Needs::kDevices2,
      [](Objects& o, auto& a) {
        a.buffer = o.buffer();
        a.dst_memory = o.env().DefaultMemory(o.env().device(1));
      },
      [](Env& env, auto& a) { Buffer copy(env, a.dst_buffer); });
  Add<PJRT_Buffer_CopyRawToHost_Args>(
      suite, Needs::kClient,
      [](Objects& o, auto& a) {
        a.buffer = o.buffer();
        a.dst = o.values.data();
        a.transfer_size = 16;
      },
      [](Env& env, auto& a) {
        Event event(env, a.event);
        env.Expect(env.Await(event).ok(), "the copy failed");
      });
  Add<PJRT_Buffer_Bitcast_Args>(
      suite, Needs::kClient,
      [](Objects& o, auto& a) {
        a.buffer = o.buffer();
        a.element_type = PJRT_Buffer_Type_S32;
        a.dims = o.dims.data();
        a.num_dims = 1;
      },
      [](Env& env, auto& a) { Buffer out(env, a.out_buffer); });
  auto manager = [](Objects& o, auto& a) { a.transfer_manager = o.manager(); };
  Add<PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args>(
      suite, Needs::kClient, manager, [](Env& env, auto& a) { env.Equal(a.buffer_count, 1, "buffers"); });
  Add<PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args>(
      suite, Needs::kClient, manager, [](Env& env, auto& a) { env.Expect(a.buffer_size >= 16, "too few bytes"); });
  Add<PJRT_AsyncHostToDeviceTransferManager_Device_Args>(suite, Needs::kClient, manager, [](Env& env, auto& a) {
    env.Expect(a.device_out == env.device(), "another device");
  });
  Add<PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args>(suite, Needs::kClient, manager);
  Add<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>(
      suite, Needs::kClient, manager, [](Env& env, auto& a) { Buffer out(env, a.buffer_out); });
}

void AddTopologies(Suite& suite) {
  auto topology = [](Objects& o, auto& a) { a.topology = o.topology(); };
  Add<PJRT_TopologyDescription_PlatformName_Args>(
      suite, Needs::kTopology, topology, [](Env& env, auto& a) { env.Expect(a.platform_name_size > 0, "no name"); });
  Add<PJRT_TopologyDescription_PlatformVersion_Args>(suite, Needs::kTopology, topology);
  Add<PJRT_TopologyDescription_GetDeviceDescriptions_Args>(
      suite, Needs::kTopology, topology, [](Env& env, auto& a) { env.Expect(a.num_descriptions > 0, "no devices"); });
  Add<PJRT_TopologyDescription_Attributes_Args>(suite, Needs::kTopology, topology);
  Add<PJRT_TopologyDescription_Fingerprint_Args>(suite, Needs::kTopology, topology);
  Add<PJRT_TopologyDescription_GetMemorySpaceKindIds_Args>(suite, Needs::kTopology, topology);
  Add<PJRT_TopologyDescription_Serialize_Args>(suite, Needs::kTopology, topology, [](Env& env, auto& a) {
    env.Expect(a.serialized_topology_deleter != nullptr, "no deleter");
    a.serialized_topology_deleter(a.serialized_topology);
  });
  Add<PJRT_TopologyDescription_Deserialize_Args>(
      suite, Needs::kTopology,
      [](Objects& o, auto& a) {
        auto serialize = New<PJRT_TopologyDescription_Serialize_Args>();
        serialize.topology = o.topology();
        o.env().Ok(serialize);
        o.text.assign(serialize.serialized_bytes, serialize.serialized_bytes_size);
        serialize.serialized_topology_deleter(serialize.serialized_topology);
        a.serialized_topology = o.text.data();
        a.serialized_topology_size = o.text.size();
      },
      [](Env& env, auto& a) { Topology topology_made(env, a.topology); }, Null::kNotTested);
}

// PJRT_ExecuteOptions is no args struct but grew more often than any.
void AddExecuteOptions(Suite& suite) {
  auto run = [](Env& env, size_t size) {
    Loaded loaded = env.Compile(kAddProgram);
    Buffer a = env.Four(1), b = env.Four(10);
    std::vector<char> memory(sizeof(PJRT_ExecuteOptions) + 2 * kTail, static_cast<char>(kCanary));
    PJRT_ExecuteOptions options = NewExecuteOptions();
    std::memcpy(memory.data(), &options, std::min(size, sizeof(options)));
    auto* sent = reinterpret_cast<PJRT_ExecuteOptions*>(memory.data());
    sent->struct_size = size;
    std::vector<Buffer> out = env.Execute(loaded, {a, b}, sent);
    env.ExpectValues(out[0], {11, 13, 15, 17});
    for (size_t i = std::max(size, sizeof(options)); i < memory.size(); ++i) {
      env.Expect(memory[i] == static_cast<char>(kCanary), "the plugin wrote behind the options");
    }
  };
  for (const SizeRow& row : kSizes) {
    if (std::string_view(row.name) != "PJRT_ExecuteOptions") continue;
    size_t size = row.size;
    suite.Add("structs.caller.ExecuteOptions." + std::to_string(size), Needs::kClient,
              "Execute accepts PJRT_ExecuteOptions of " + std::to_string(size) + " bytes (from 0." +
                  std::to_string(row.since) + " on) and reads nothing behind",
              kClients, [=](Env& env) { run(env, size); });
  }
  suite.Add("structs.newer.ExecuteOptions", Needs::kClient, "Execute accepts PJRT_ExecuteOptions longer than any known",
            kHeader, [=](Env& env) { run(env, PJRT_ExecuteOptions_STRUCT_SIZE + kTail); });
}

// Destroying nothing is allowed: clients do it.
template <class Args>
void AddDestroyNull(Suite& suite, Needs needs) {
  suite.Add(std::string("teardown.null.") + (Fn<Args>::kName + 5), needs,
            std::string(Fn<Args>::kName) + " of NULL does nothing", kReference, [](Env& env) {
              auto args = New<Args>();
              env.Ok(args);
            });
}

}  // namespace

void AddStructTests(Suite& suite) {
  AddEvents(suite);
  AddClients(suite);
  AddDevices(suite);
  AddExecutables(suite);
  AddBuffers(suite);
  AddTopologies(suite);
  AddExecuteOptions(suite);
  AddDestroyNull<PJRT_Event_Destroy_Args>(suite, Needs::kTable);
  AddDestroyNull<PJRT_Client_Destroy_Args>(suite, Needs::kTable);
  AddDestroyNull<PJRT_Buffer_Destroy_Args>(suite, Needs::kTable);
  AddDestroyNull<PJRT_Executable_Destroy_Args>(suite, Needs::kTable);
  AddDestroyNull<PJRT_LoadedExecutable_Destroy_Args>(suite, Needs::kTable);
  AddDestroyNull<PJRT_ExecuteContext_Destroy_Args>(suite, Needs::kTable);
  AddDestroyNull<PJRT_TopologyDescription_Destroy_Args>(suite, Needs::kTable);
  AddDestroyNull<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>(suite, Needs::kTable);
}

}  // namespace tenon::conformance
