// Questions, and events.

#include "fuzz/api_machine.h"
#include "tenon/abi/pjrt_layouts.h"
#include "tenon/abi/pjrt_memory_descriptions.h"
#include "tenon/abi/pjrt_shardings.h"
#include "tenon/plugin/caller_value.h"

namespace tenon::fuzz {

namespace {

template <class Extension>
const Extension* FindExtension(PJRT_Extension_Type type) {
  for (const PJRT_Extension_Base* e = Api()->extension_start; e != nullptr; e = e->next) {
    if (plugin::CallerValue(e->type) == type) return reinterpret_cast<const Extension*>(e);
  }
  return nullptr;
}

// Reads a text that a call returned.
void Read(const char* text, size_t size) {
  static volatile char sink;
  for (size_t i = 0; i < size; ++i) sink = text[i];
  (void)sink;
}

}  // namespace

/// One case of a switch: a function that has one handle and answers with a number or the like.
#define ASK(number, function, field, handle) \
  case number: {                             \
    FUZZ_ARGS(function, args);               \
    args.field = handle;                     \
    FUZZ_CALL(function, args, in_);          \
    return;                                  \
  }
/// The same for a function that answers with a text.
#define ASK_TEXT(number, function, field, handle, text, size)                       \
  case number: {                                                                    \
    FUZZ_ARGS(function, args);                                                      \
    args.field = handle;                                                            \
    if (FUZZ_CALL(function, args, in_) == Outcome::kOk) Read(args.text, args.size); \
    return;                                                                         \
  }

void Machine::InspectBuffer() {
  PJRT_Buffer* buffer = AnyBuffer();
  switch (in_.Below(14)) {
    ASK(0, PJRT_Buffer_ElementType, buffer, buffer)
    ASK(1, PJRT_Buffer_Dimensions, buffer, buffer)
    ASK(2, PJRT_Buffer_UnpaddedDimensions, buffer, buffer)
    ASK(3, PJRT_Buffer_DynamicDimensionIndices, buffer, buffer)
    ASK(4, PJRT_Buffer_OnDeviceSizeInBytes, buffer, buffer)
    ASK(5, PJRT_Buffer_Device, buffer, buffer)
    ASK(6, PJRT_Buffer_Memory, buffer, buffer)
    ASK(7, PJRT_Buffer_IsDeleted, buffer, buffer)
    ASK(8, PJRT_Buffer_IsOnCpu, buffer, buffer)
    ASK(9, PJRT_Buffer_UnsafePointer, buffer, buffer)
    ASK(10, PJRT_Buffer_OpaqueDeviceMemoryDataPointer, buffer, buffer)
    ASK(11, PJRT_Buffer_GetMemoryLayout, buffer, buffer)
    default: {
      FUZZ_ARGS(PJRT_Buffer_ReadyEvent, args);
      args.buffer = buffer;
      if (FUZZ_CALL(PJRT_Buffer_ReadyEvent, args, in_) == Outcome::kOk) Keep(args.event);
    }
  }
}

void Machine::InspectClient() {
  PJRT_Client* client = AnyClient();
  switch (in_.Below(8)) {
    ASK_TEXT(0, PJRT_Client_PlatformName, client, client, platform_name, platform_name_size)
    ASK_TEXT(1, PJRT_Client_PlatformVersion, client, client, platform_version, platform_version_size)
    ASK(2, PJRT_Client_ProcessIndex, client, client)
    ASK(3, PJRT_Client_Devices, client, client)
    ASK(4, PJRT_Client_UpdateGlobalProcessInfo, client, client)
    case 5: {
      FUZZ_ARGS(PJRT_Client_LookupDevice, args);
      args.client = client;
      args.id = static_cast<int8_t>(in_.U8());
      FUZZ_CALL(PJRT_Client_LookupDevice, args, in_);
      return;
    }
    case 6: {
      FUZZ_ARGS(PJRT_Client_LookupAddressableDevice, args);
      args.client = client;
      args.local_hardware_id = static_cast<int8_t>(in_.U8());
      FUZZ_CALL(PJRT_Client_LookupAddressableDevice, args, in_);
      return;
    }
    default: {
      std::vector<int> ids(in_.Below(5));
      FUZZ_ARGS(PJRT_Client_DefaultDeviceAssignment, args);
      args.client = client;
      args.num_replicas = in_.OneIn(16) ? INT32_MAX : static_cast<int>(in_.Below(5)) - 1;
      args.num_partitions = in_.OneIn(16) ? INT32_MAX : static_cast<int>(in_.Below(5)) - 1;
      args.default_assignment_size = ids.size();
      args.default_assignment = ids.data();
      FUZZ_CALL(PJRT_Client_DefaultDeviceAssignment, args, in_);
    }
  }
}

void Machine::InspectDevice() {
  PJRT_Device* device = AnyDevice();
  PJRT_DeviceDescription* description = nullptr;
  if (device != nullptr) {
    FUZZ_ARGS(PJRT_Device_GetDescription, get);
    get.device = device;
    if (!FUZZ_PLAIN(PJRT_Device_GetDescription, get)) std::abort();
    description = get.device_description;
  }
  switch (in_.Below(17)) {
    ASK(0, PJRT_Device_IsAddressable, device, device)
    ASK(1, PJRT_Device_LocalHardwareId, device, device)
    ASK(2, PJRT_Device_AddressableMemories, device, device)
    ASK(3, PJRT_Device_DefaultMemory, device, device)
    ASK(4, PJRT_Device_MemoryStats, device, device)
    ASK(5, PJRT_Device_ClearMemoryStats, device, device)
    ASK(6, PJRT_DeviceDescription_Id, device_description, description)
    ASK(7, PJRT_DeviceDescription_ProcessIndex, device_description, description)
    ASK(8, PJRT_DeviceDescription_Attributes, device_description, description)
    ASK_TEXT(9, PJRT_DeviceDescription_Kind, device_description, description, device_kind, device_kind_size)
    ASK_TEXT(10, PJRT_DeviceDescription_DebugString, device_description, description, debug_string, debug_string_size)
    ASK_TEXT(11, PJRT_DeviceDescription_ToString, device_description, description, to_string, to_string_size)
    case 12: {
      FUZZ_ARGS(PJRT_Device_GetAttributes, args);
      args.device = device;
      if (FUZZ_CALL(PJRT_Device_GetAttributes, args, in_) == Outcome::kOk)
        args.attributes_deleter(args.device_attributes);
      return;
    }
    case 13: {
      FUZZ_ARGS(PJRT_Device_PoisonExecution, args);
      args.device = device;
      args.launch_id = static_cast<int>(in_.Below(8));
      args.error_code = ChooseCode();
      args.error_message = "poison";
      args.error_message_size = 6;
      FUZZ_CALL(PJRT_Device_PoisonExecution, args, in_);
      return;
    }
    case 14: {
      FUZZ_ARGS(PJRT_Device_CreateAsyncTrackingEvent, args);
      args.device = device;
      args.description = "d";
      args.description_size = 1;
      if (FUZZ_CALL(PJRT_Device_CreateAsyncTrackingEvent, args, in_) != Outcome::kOk) return;
      FUZZ_ARGS(PJRT_AsyncTrackingEvent_Destroy, destroy);
      destroy.event = args.event;
      if (!FUZZ_PLAIN(PJRT_AsyncTrackingEvent_Destroy, destroy)) std::abort();
      return;
    }
    default: {
      static const auto* const extension =
          FindExtension<PJRT_MemoryDescriptions_Extension>(PJRT_Extension_Type_MemoryDescriptions);
      if (extension == nullptr) return;
      FUZZ_ARGS(PJRT_DeviceDescription_MemoryDescriptions, args);
      args.device_description = description;
      if (TakeError(extension->PJRT_DeviceDescription_MemoryDescriptions(&args), "MemoryDescriptions")) return;
      for (size_t i = 0; i < args.num_memory_descriptions; ++i) {
        FUZZ_ARGS(PJRT_MemoryDescription_Kind, kind);
        kind.memory_description = args.memory_descriptions[i];
        if (TakeError(extension->PJRT_MemoryDescription_Kind(&kind), "MemoryDescription_Kind")) std::abort();
        Read(kind.kind, kind.kind_size);
      }
    }
  }
}

void Machine::InspectMemory() {
  PJRT_Memory* memory = AnyMemory();
  switch (in_.Below(6)) {
    ASK(0, PJRT_Memory_Id, memory, memory)
    ASK(1, PJRT_Memory_Kind_Id, memory, memory)
    ASK_TEXT(2, PJRT_Memory_Kind, memory, memory, kind, kind_size)
    ASK_TEXT(3, PJRT_Memory_DebugString, memory, memory, debug_string, debug_string_size)
    ASK_TEXT(4, PJRT_Memory_ToString, memory, memory, to_string, to_string_size)
    ASK(5, PJRT_Memory_AddressableByDevices, memory, memory)
  }
}

void Machine::InspectExecutable() {
  PJRT_Executable* executable = AnyExecutable();
  switch (in_.Below(16)) {
    ASK_TEXT(0, PJRT_Executable_Name, executable, executable, executable_name, executable_name_size)
    ASK(1, PJRT_Executable_NumReplicas, executable, executable)
    ASK(2, PJRT_Executable_NumPartitions, executable, executable)
    ASK(3, PJRT_Executable_NumOutputs, executable, executable)
    ASK(4, PJRT_Executable_SizeOfGeneratedCodeInBytes, executable, executable)
    ASK_TEXT(5, PJRT_Executable_Fingerprint, executable, executable, executable_fingerprint,
             executable_fingerprint_size)
    ASK(6, PJRT_Executable_GetCostAnalysis, executable, executable)
    ASK(7, PJRT_Executable_GetCompiledMemoryStats, executable, executable)
    ASK(8, PJRT_Executable_OutputElementTypes, executable, executable)
    ASK(9, PJRT_Executable_OutputDimensions, executable, executable)
    ASK(10, PJRT_Executable_ParameterMemoryKinds, executable, executable)
    ASK(11, PJRT_Executable_OutputMemoryKinds, executable, executable)
    case 12: {
      FUZZ_ARGS(PJRT_Executable_GetCompileOptions, args);
      args.executable = executable;
      if (FUZZ_CALL(PJRT_Executable_GetCompileOptions, args, in_) != Outcome::kOk) return;
      Read(args.serialized_bytes, args.serialized_bytes_size);
      args.serialized_compile_options_deleter(args.serialized_compile_options);
      return;
    }
    case 13: {
      // Asked for the size, then for the text.
      auto program = ZeroArgs<PJRT_Program>(PJRT_Program_STRUCT_SIZE);
      FUZZ_ARGS(PJRT_Executable_OptimizedProgram, args);
      args.executable = executable;
      args.program = in_.OneIn(16) ? nullptr : &program;
      if (FUZZ_CALL(PJRT_Executable_OptimizedProgram, args, in_) != Outcome::kOk || args.program == nullptr) return;
      std::string code(program.code_size, '\0');
      program.code = code.data();
      if (FUZZ_CALL(PJRT_Executable_OptimizedProgram, args, in_) == Outcome::kOk)
        Read(program.format, program.format_size);
      return;
    }
    default: {
      static const auto* const extension = FindExtension<PJRT_Shardings_Extension>(PJRT_Extension_Type_Shardings);
      if (extension == nullptr) return;
      FUZZ_ARGS(PJRT_Shardings_PJRT_Executable_ParameterShardings, args);
      args.executable = executable;
      if (!TakeError(extension->PJRT_Shardings_PJRT_Executable_ParameterShardings(&args), "ParameterShardings") &&
          args.shardings != nullptr) {
        for (size_t i = 0; i < args.num_parameters; ++i) Read(args.shardings[i], args.sharding_sizes[i]);
      }
      FUZZ_ARGS(PJRT_Shardings_PJRT_Executable_OutputShardings, outputs);
      outputs.executable = executable;
      if (!TakeError(extension->PJRT_Shardings_PJRT_Executable_OutputShardings(&outputs), "OutputShardings") &&
          outputs.shardings != nullptr) {
        for (size_t i = 0; i < outputs.num_outputs; ++i) Read(outputs.shardings[i], outputs.sharding_sizes[i]);
      }
    }
  }
}

void Machine::InspectLoaded() {
  PJRT_LoadedExecutable* executable = AnyLoaded();
  switch (in_.Below(5)) {
    ASK(0, PJRT_LoadedExecutable_AddressableDevices, executable, executable)
    ASK(1, PJRT_LoadedExecutable_AddressableDeviceLogicalIds, executable, executable)
    ASK(2, PJRT_LoadedExecutable_IsDeleted, executable, executable)
    ASK_TEXT(3, PJRT_LoadedExecutable_Fingerprint, executable, executable, executable_fingerprint,
             executable_fingerprint_size)
    default: {
      FUZZ_ARGS(PJRT_LoadedExecutable_GetDeviceAssignment, args);
      args.executable = executable;
      if (FUZZ_CALL(PJRT_LoadedExecutable_GetDeviceAssignment, args, in_) != Outcome::kOk) return;
      Read(args.serialized_bytes, args.serialized_bytes_size);
      args.serialized_device_assignment_deleter(args.serialized_device_assignment);
    }
  }
}

void Machine::InspectTopology() {
  PJRT_TopologyDescription* topology =
      topologies_.empty() || in_.OneIn(32) ? nullptr : topologies_[in_.Below(topologies_.size())];
  switch (in_.Below(8)) {
    ASK_TEXT(0, PJRT_TopologyDescription_PlatformName, topology, topology, platform_name, platform_name_size)
    ASK_TEXT(1, PJRT_TopologyDescription_PlatformVersion, topology, topology, platform_version, platform_version_size)
    ASK(2, PJRT_TopologyDescription_GetDeviceDescriptions, topology, topology)
    ASK(3, PJRT_TopologyDescription_Attributes, topology, topology)
    ASK(4, PJRT_TopologyDescription_Fingerprint, topology, topology)
    ASK(5, PJRT_TopologyDescription_GetMemorySpaceKindIds, topology, topology)
    default: {
      ShapeChoice shape = ChooseShape();
      LayoutChoice layout = ChooseLayout(shape.dims.size());
      FUZZ_ARGS(PJRT_TopologyDescription_GetMemorySpaceKindIds, kinds);
      kinds.topology = topology;
      FUZZ_ARGS(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, args);
      args.topology = topology;
      args.memory_space_kind_id =
          FUZZ_PLAIN(PJRT_TopologyDescription_GetMemorySpaceKindIds, kinds) && kinds.num_memory_space_kind_ids != 0
              ? kinds.memory_space_kind_ids[0]
              : 1;
      args.dims = shape.dims.data();
      args.num_dims = shape.dims.size();
      args.element_type = static_cast<PJRT_Buffer_Type>(shape.type);
      args.layout = layout.get();
      if (FUZZ_CALL(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, args, in_) != Outcome::kOk) return;
      Read(args.serialized_shape, args.serialized_shape_size);
      args.serialized_shape_deleter(args.serialized_shape);
    }
  }
}

void Machine::InspectLayouts() {
  static const auto* const extension = FindExtension<PJRT_Layouts_Extension>(PJRT_Extension_Type_Layouts);
  if (extension == nullptr) return;
  PJRT_Layouts_MemoryLayout* layout = nullptr;
  if (in_.OneIn(2)) {
    FUZZ_ARGS(PJRT_Layouts_PJRT_Buffer_MemoryLayout, args);
    args.buffer = AnyBuffer();
    if (TakeError(extension->PJRT_Layouts_PJRT_Buffer_MemoryLayout(&args), "Layouts of a buffer")) return;
    layout = args.layout;
  } else {
    ShapeChoice shape = ChooseShape();
    FUZZ_ARGS(PJRT_Layouts_PJRT_Client_GetDefaultLayout, args);
    args.client = AnyClient();
    args.type = static_cast<PJRT_Buffer_Type>(shape.type);
    args.dims = shape.dims.data();
    args.num_dims = shape.dims.size();
    if (TakeError(extension->PJRT_Layouts_PJRT_Client_GetDefaultLayout(&args), "GetDefaultLayout")) return;
    layout = args.layout;
  }
  FUZZ_ARGS(PJRT_Layouts_MemoryLayout_Serialize, text);
  text.layout = layout;
  if (TakeError(extension->PJRT_Layouts_MemoryLayout_Serialize(&text), "Layouts_Serialize")) std::abort();
  Read(text.serialized_bytes, text.serialized_bytes_size);
  text.serialized_layout_deleter(text.serialized_layout);
  FUZZ_ARGS(PJRT_Layouts_MemoryLayout_Destroy, destroy);
  destroy.layout = layout;
  if (TakeError(extension->PJRT_Layouts_MemoryLayout_Destroy(&destroy), "Layouts_Destroy")) std::abort();
}

void Machine::CreateEvent() {
  FUZZ_ARGS(PJRT_Event_Create, args);
  if (FUZZ_CALL(PJRT_Event_Create, args, in_) != Outcome::kOk) return;
  Keep(args.event);
  unset_.push_back(args.event);
}

void Machine::SetOwnEvent() {
  PJRT_Event* event = TakeOne(unset_);
  FUZZ_ARGS(PJRT_Event_Set, args);
  args.event = event;
  args.error_code = ChooseCode();
  args.error_message = "set";
  args.error_message_size = 3;
  const Outcome outcome = FUZZ_CALL(PJRT_Event_Set, args, in_);
  if (outcome == Outcome::kTooSmall) unset_.push_back(event);
  if (outcome == Outcome::kError) std::abort();
}

void Machine::SetEvent() {
  if (!unset_.empty() && in_.OneIn(2)) return SetOwnEvent();
  if (events_.empty()) return;
  PJRT_Event* event = events_[in_.Below(events_.size())];
  // Those of the plugin are not the caller's to set; those that are ready refuse.
  FUZZ_ARGS(PJRT_Event_IsReady, ready);
  ready.event = event;
  if (!FUZZ_PLAIN(PJRT_Event_IsReady, ready)) std::abort();
  if (!ready.is_ready) return;
  FUZZ_ARGS(PJRT_Event_Set, args);
  args.event = in_.OneIn(32) ? nullptr : event;
  args.error_code = ChooseCode();
  if (FUZZ_CALL(PJRT_Event_Set, args, in_) == Outcome::kOk) std::abort();
}

void Machine::QueryEvent() {
  if (events_.empty()) return;
  PJRT_Event* event = events_[in_.Below(events_.size())];
  FUZZ_ARGS(PJRT_Event_IsReady, ready);
  ready.event = event;
  if (FUZZ_CALL(PJRT_Event_IsReady, ready, in_) != Outcome::kOk) return;
  FUZZ_ARGS(PJRT_Event_Error, error);
  error.event = in_.OneIn(64) ? nullptr : event;
  FUZZ_CALL(PJRT_Event_Error, error, in_);
  if (!ready.is_ready) return;  // It may wait for this thread.
  FUZZ_ARGS(PJRT_Event_Await, await);
  await.event = event;
  FUZZ_CALL(PJRT_Event_Await, await, in_);
}

void Machine::CallBackEvent() {
  // The callback destroys the handle that it was registered on.
  if (events_.empty()) return;
  PJRT_Event* event = TakeOne(events_);
  FUZZ_ARGS(PJRT_Event_OnReady, args);
  args.event = event;
  args.user_arg = event;
  args.callback = [](PJRT_Error* error, void* handle) {
    TakeError(error, "an event");
    FUZZ_ARGS(PJRT_Event_Destroy, destroy);
    destroy.event = static_cast<PJRT_Event*>(handle);
    if (!FUZZ_PLAIN(PJRT_Event_Destroy, destroy)) std::abort();
  };
  if (FUZZ_CALL(PJRT_Event_OnReady, args, in_) != Outcome::kOk) events_.push_back(event);
}

void Machine::DestroyEvent() {
  if (events_.empty()) return;
  PJRT_Event* event = TakeOne(events_);
  FUZZ_ARGS(PJRT_Event_Destroy, args);
  args.event = event;
  if (FUZZ_CALL(PJRT_Event_Destroy, args, in_) == Outcome::kTooSmall) {
    events_.push_back(event);
  } else {
    std::erase(unset_, event);
  }
}

void Machine::RunWork() { Settle(); }

}  // namespace tenon::fuzz
