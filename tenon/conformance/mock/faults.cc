#include "tenon/conformance/mock/faults.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tenon/abi/pjrt_abi_version.h"
#include "tenon/abi/pjrt_ffi.h"
#include "tenon/abi/pjrt_host_allocator.h"
#include "tenon/abi/pjrt_host_memory_allocator.h"
#include "tenon/abi/pjrt_layouts.h"
#include "tenon/abi/pjrt_phase_compile.h"
#include "tenon/abi/pjrt_raw_buffer.h"
#include "tenon/conformance/calls.h"

namespace tenon::conformance::mock {

namespace {

const PJRT_Api* g_real = nullptr;

template <class Args>
PJRT_Error* Real(Args* args) {
  return Fn<Args>::Slot(g_real)(args);
}

// An error made by the real plugin: INVALID_ARGUMENT, struct_size 0.
PJRT_Error* Fail() {
  auto args = New<PJRT_Event_Await_Args>();
  args.struct_size = 0;
  return Real(&args);
}
void Drop(PJRT_Error* error) {
  auto args = New<PJRT_Error_Destroy_Args>();
  args.error = error;
  g_real->PJRT_Error_Destroy(&args);
}

// The same fault in every function that returns an error. `Wrap<Args>::Call` is the misbehaving function.
template <template <class> class Wrap>
void WrapAll(PJRT_Api& table) {
#define PJRT_FN(function, args, since, owner)                                                                       \
  if constexpr (!std::is_same_v<args, PJRT_Error_Destroy_Args> && !std::is_same_v<args, PJRT_Error_Message_Args>) { \
    table.function = [](args* a) -> decltype(table.function(a)) {                                                   \
      return decltype(table.function(a))(Wrap<args>::Call(a));                                                      \
    };                                                                                                              \
  }
#include "tenon/abi/api.def"
#undef PJRT_FN
}

constexpr unsigned char kMark = 0xA5;  // What the suite leaves behind structs.

template <class Args>
struct WritesTail {
  static PJRT_Error* Call(Args* args) {
    PJRT_Error* error = Real(args);
    size_t known = Fn<Args>::kSize;
    size_t at = args->struct_size;
    if (std::is_same_v<Args, PJRT_Plugin_Attributes_Args> && at < known) at = known;
    char* byte = reinterpret_cast<char*>(args) + at;
    if (args->struct_size != known && static_cast<unsigned char>(*byte) == kMark) *byte = 1;
    // A caller of this very version is told from the suite's by the mark alone: its struct ends here.
    if (args->struct_size == known && static_cast<unsigned char>(*byte) == kMark) *byte = 1;
    return error;
  }
};
template <class Args>
struct RefusesNewer {
  static PJRT_Error* Call(Args* args) { return args->struct_size > Fn<Args>::kSize ? Fail() : Real(args); }
};
template <class Args>
struct RefusesOlder {
  static PJRT_Error* Call(Args* args) { return args->struct_size < Fn<Args>::kSize ? Fail() : Real(args); }
};
template <class Args>
struct AcceptsShort {
  static PJRT_Error* Call(Args* args) { return args->struct_size == 16 ? nullptr : Real(args); }
};
constexpr size_t kObject = 16;
template <class Args>
bool WithoutObject(const Args* args) {
  if (sizeof(Args) < kObject + sizeof(void*) || args->struct_size < kObject + sizeof(void*)) return false;
  void* object;
  std::memcpy(&object, reinterpret_cast<const char*>(args) + kObject, sizeof(object));
  std::string_view name = Fn<Args>::kName;
  bool has_object = !name.ends_with("_Destroy") && name != "PJRT_Plugin_Attributes" && name != "PJRT_Client_Create" &&
                    name != "PJRT_Event_Create" && name != "PJRT_ExecuteContext_Create" &&
                    name != "PJRT_TopologyDescription_Create" && name != "PJRT_TopologyDescription_Deserialize";
  return object == nullptr && has_object;
}
template <class Args>
struct AcceptsNull {
  static PJRT_Error* Call(Args* args) { return WithoutObject(args) ? nullptr : Real(args); }
};
template <class Args>
struct CrashOnNull {
  static PJRT_Error* Call(Args* args) {
    if (WithoutObject(args)) std::raise(SIGSEGV);
    return Real(args);
  }
};
template <class Args>
struct DestroyNullFails {
  static PJRT_Error* Call(Args* args) {
    if (std::string_view(Fn<Args>::kName).ends_with("_Destroy") && sizeof(Args) >= 24) {
      void* object;
      std::memcpy(&object, reinterpret_cast<const char*>(args) + kObject, sizeof(object));
      if (object == nullptr) return Fail();
    }
    return Real(args);
  }
};

std::string ReadAll(PJRT_Buffer* buffer, size_t size) {
  std::string bytes(size, '\0');
  auto args = New<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer;
  args.dst = bytes.data();
  args.dst_size = size;
  if (PJRT_Error* error = Real(&args)) {
    Drop(error);
    return bytes;
  }
  auto wait = New<PJRT_Event_Await_Args>();
  wait.event = args.event;
  if (PJRT_Error* error = Real(&wait)) Drop(error);
  auto destroy = New<PJRT_Event_Destroy_Args>();
  destroy.event = args.event;
  Real(&destroy);
  return bytes;
}

// Whether the contents of a buffer are there already. What waits for a promise must not be waited for.
bool HasContents(PJRT_Buffer* buffer) {
  auto ready = New<PJRT_Buffer_ReadyEvent_Args>();
  ready.buffer = buffer;
  if (PJRT_Error* error = Real(&ready)) {
    Drop(error);
    return true;
  }
  auto is_ready = New<PJRT_Event_IsReady_Args>();
  is_ready.event = ready.event;
  Real(&is_ready);
  auto destroy = New<PJRT_Event_Destroy_Args>();
  destroy.event = ready.event;
  Real(&destroy);
  return is_ready.is_ready;
}

PJRT_Device* FirstDevice(PJRT_Client* client) {
  auto args = New<PJRT_Client_AddressableDevices_Args>();
  args.client = client;
  if (PJRT_Error* error = Real(&args)) Drop(error);
  return args.num_addressable_devices == 0 ? nullptr : args.addressable_devices[0];
}

PJRT_Event* ReadyNow() {
  auto args = New<PJRT_Event_Create_Args>();
  Real(&args);
  auto set = New<PJRT_Event_Set_Args>();
  set.event = args.event;
  Real(&set);
  return args.event;
}

void DestroyOutput(PJRT_Buffer* buffer) {
  auto destroy = New<PJRT_Buffer_Destroy_Args>();
  destroy.buffer = buffer;
  Real(&destroy);
}

size_t NumOutputs(PJRT_LoadedExecutable* loaded) {
  auto get = New<PJRT_LoadedExecutable_GetExecutable_Args>();
  get.loaded_executable = loaded;
  if (PJRT_Error* error = Real(&get)) {
    Drop(error);
    return 0;
  }
  auto num = New<PJRT_Executable_NumOutputs_Args>();
  num.executable = get.executable;
  Real(&num);
  auto destroy = New<PJRT_Executable_Destroy_Args>();
  destroy.executable = get.executable;
  Real(&destroy);
  return num.num_outputs;
}

// Puts a misbehaving function into an extension, whose struct the mock may change, and keeps the real one.
template <auto kSlot>
struct SlotOf;
template <class Extension, class Function, Function* Extension::* kSlot>
struct SlotOf<kSlot> {
  static inline Function* real = nullptr;
  static void Install(PJRT_Api& table, PJRT_Extension_Type type, Function* lie) {
    for (PJRT_Extension_Base* e = table.extension_start; e != nullptr; e = e->next) {
      if (std::memcmp(&e->type, &type, sizeof(type)) != 0) continue;  // Not every one is the enum's.
      auto* extension = reinterpret_cast<Extension*>(e);
      real = extension->*kSlot;
      extension->*kSlot = lie;
    }
  }
};
constexpr PJRT_Extension_Type kRaw = PJRT_Extension_Type_RawBuffer;
constexpr PJRT_Extension_Type kHostAllocator = PJRT_Extension_Type_HostAllocator;
constexpr PJRT_Extension_Type kHostMemory = PJRT_Extension_Type_HostMemoryAllocator;
constexpr PJRT_Extension_Type kPhases = PJRT_Extension_Type_PhaseCompile;
constexpr PJRT_Extension_Type kAbi = PJRT_Extension_Type_AbiVersion;

using E = PJRT_Error*;
std::atomic<int> g_count{0};
// What the one fault of a process remembers.
PJRT_Buffer *g_alias = nullptr, *g_source = nullptr;
bool g_gone = false;
PJRT_Client* g_client = nullptr;  // the first that was made

struct Fault {
  const char* name;
  void (*install)(PJRT_Api& t);
};

// The functions are what they are called: one lie each.
const Fault kFaults[] = {
    {"major_1", [](PJRT_Api& t) { t.pjrt_api_version.major_version = 1; }},
    {"minor_5", [](PJRT_Api& t) { t.pjrt_api_version.minor_version = 5; }},
    {"version_size_0", [](PJRT_Api& t) { t.pjrt_api_version.struct_size = 0; }},
    {"table_cut", [](PJRT_Api& t) { t.struct_size = offsetof(PJRT_Api, PJRT_Buffer_Bitcast); }},
    {"null_slot", [](PJRT_Api& t) { t.PJRT_Client_DmaMap = nullptr; }},
    {"extension_circle",
     [](PJRT_Api& t) {
       static PJRT_Extension_Base circle = {sizeof(circle), PJRT_Extension_Type_Example, &circle};
       t.extension_start = &circle;
     }},
    {"extension_twice",
     [](PJRT_Api& t) {
       static PJRT_Extension_Base again = {sizeof(again), g_real->extension_start->type, g_real->extension_start};
       again.struct_size = g_real->extension_start->struct_size;
       static char copy[512];
       std::memcpy(copy, g_real->extension_start, std::min<size_t>(sizeof(copy), again.struct_size));
       reinterpret_cast<PJRT_Extension_Base*>(copy)->next = g_real->extension_start;
       t.extension_start = reinterpret_cast<PJRT_Extension_Base*>(copy);
     }},
    {"initialize_once",
     [](PJRT_Api& t) { t.PJRT_Plugin_Initialize = [](auto* a) -> E { return g_count++ == 1 ? Fail() : Real(a); }; }},
    {"attributes_same_name",
     [](PJRT_Api& t) {
       t.PJRT_Plugin_Attributes = [](PJRT_Plugin_Attributes_Args* a) -> E {
         E error = Real(a);
         static std::vector<PJRT_NamedValue> copy(a->attributes, a->attributes + a->num_attributes);
         for (PJRT_NamedValue& value : copy) value.name = "same", value.name_size = 4;
         a->attributes = copy.data();
         return error;
       };
     }},
    {"attributes_change",
     [](PJRT_Api& t) {
       t.PJRT_Plugin_Attributes = [](PJRT_Plugin_Attributes_Args* a) -> E {
         E error = Real(a);
         if (g_count++ % 2 == 1) --a->num_attributes;
         return error;
       };
     }},
    {"writes_tail", [](PJRT_Api& t) { WrapAll<WritesTail>(t); }},
    {"refuses_newer", [](PJRT_Api& t) { WrapAll<RefusesNewer>(t); }},
    {"refuses_older", [](PJRT_Api& t) { WrapAll<RefusesOlder>(t); }},
    {"accepts_short", [](PJRT_Api& t) { WrapAll<AcceptsShort>(t); }},
    {"accepts_null", [](PJRT_Api& t) { WrapAll<AcceptsNull>(t); }},
    {"crash_on_null", [](PJRT_Api& t) { WrapAll<CrashOnNull>(t); }},
    {"destroy_null_fails", [](PJRT_Api& t) { WrapAll<DestroyNullFails>(t); }},
    {"options_full_size",
     [](PJRT_Api& t) {
       t.PJRT_LoadedExecutable_Execute = [](auto* a) -> E {
         return a->options != nullptr && a->options->struct_size < PJRT_ExecuteOptions_STRUCT_SIZE ? Fail() : Real(a);
       };
     }},
    {"options_not_newer",
     [](PJRT_Api& t) {
       t.PJRT_LoadedExecutable_Execute = [](auto* a) -> E {
         return a->options != nullptr && a->options->struct_size > PJRT_ExecuteOptions_STRUCT_SIZE ? Fail() : Real(a);
       };
     }},
    // --- errors
    {"error_no_message",
     [](PJRT_Api& t) { t.PJRT_Error_Message = [](auto* a) { a->message = "", a->message_size = 0; }; }},
    {"error_code_internal",
     [](PJRT_Api& t) {
       t.PJRT_Error_GetCode = [](auto* a) -> E {
         a->code = PJRT_Error_Code_INTERNAL;
         return nullptr;
       };
     }},
    {"error_message_moves",
     [](PJRT_Api& t) {
       t.PJRT_Error_Message = [](auto* a) {
         g_real->PJRT_Error_Message(a);
         if (g_count++ % 2 == 1 && a->message_size > 1) --a->message_size;
       };
     }},
    {"payload_fails", [](PJRT_Api& t) { t.PJRT_Error_ForEachPayload = [](auto*) -> E { return Fail(); }; }},
    // --- client
    {"platform_name_upper",
     [](PJRT_Api& t) {
       t.PJRT_Client_PlatformName = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->platform_name = "MOCK", a->platform_name_size = 4;
         return error;
       };
     }},
    {"platform_version_empty",
     [](PJRT_Api& t) {
       t.PJRT_Client_PlatformVersion = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->platform_version_size = 0;
         return error;
       };
     }},
    {"process_index_7",
     [](PJRT_Api& t) {
       t.PJRT_Client_ProcessIndex = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->process_index = 7;
         return error;
       };
     }},
    {"devices_twice",
     [](PJRT_Api& t) {
       t.PJRT_Client_Devices = [](PJRT_Client_Devices_Args* a) -> E {
         E error = Real(a);
         if (error != nullptr) return error;
         static std::map<PJRT_Client*, std::vector<PJRT_Device*>> lists;
         std::vector<PJRT_Device*>& list = lists[a->client];
         list.assign(a->devices, a->devices + a->num_devices);
         list.push_back(list[0]);
         a->devices = list.data();
         a->num_devices = list.size();
         return nullptr;
       };
     }},
    {"lookup_first",
     [](PJRT_Api& t) {
       t.PJRT_Client_LookupDevice = [](auto* a) -> E {
         if (a->client == nullptr || a->struct_size < 40) return Real(a);
         a->device = FirstDevice(a->client);
         return nullptr;
       };
     }},
    {"lookup_addressable_first",
     [](PJRT_Api& t) {
       t.PJRT_Client_LookupAddressableDevice = [](auto* a) -> E {
         if (a->client == nullptr || a->struct_size < 40) return Real(a);
         a->addressable_device = FirstDevice(a->client);
         return nullptr;
       };
     }},
    {"memories_short",
     [](PJRT_Api& t) {
       t.PJRT_Client_AddressableMemories = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) --a->num_addressable_memories;
         return error;
       };
     }},
    {"assignment_same",
     [](PJRT_Api& t) {
       t.PJRT_Client_DefaultDeviceAssignment = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr && a->num_replicas > 1) a->default_assignment[1] = a->default_assignment[0];
         return error;
       };
     }},
    {"assignment_writes_more",
     [](PJRT_Api& t) {
       t.PJRT_Client_DefaultDeviceAssignment = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr)
           std::fill(a->default_assignment, a->default_assignment + a->default_assignment_size,
                     a->default_assignment[0]);
         return error;
       };
     }},
    {"assignment_any",
     [](PJRT_Api& t) {
       t.PJRT_Client_DefaultDeviceAssignment = [](auto* a) -> E {
         E error = Real(a);
         if (error != nullptr && a->client != nullptr && a->struct_size >= 48) {
           Drop(error);
           error = nullptr;
         }
         return error;
       };
     }},
    {"client_create_fails_second",
     [](PJRT_Api& t) { t.PJRT_Client_Create = [](auto* a) -> E { return g_count++ >= 1 ? Fail() : Real(a); }; }},
    {"calls_key_value_store",
     [](PJRT_Api& t) {
       t.PJRT_Client_Create = [](auto* a) -> E {
         if (a->struct_size >= 72 && a->kv_get_callback != nullptr) {
           auto get = PJRT_KeyValueGetCallback_Args{};
           a->kv_get_callback(&get);
         }
         return Real(a);
       };
     }},
    // --- devices and memories
    {"id_always_0",
     [](PJRT_Api& t) {
       t.PJRT_DeviceDescription_Id = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->id = 0;
         return error;
       };
     }},
    {"not_addressable",
     [](PJRT_Api& t) {
       t.PJRT_Device_IsAddressable = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->is_addressable = false;
         return error;
       };
     }},
    {"kind_empty",
     [](PJRT_Api& t) {
       t.PJRT_DeviceDescription_Kind = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->device_kind_size = 0;
         return error;
       };
     }},
    {"local_id_0",
     [](PJRT_Api& t) {
       t.PJRT_Device_LocalHardwareId = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->local_hardware_id = 0;
         return error;
       };
     }},
    {"to_string_same",
     [](PJRT_Api& t) {
       t.PJRT_DeviceDescription_ToString = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->to_string = "device", a->to_string_size = 6;
         return error;
       };
     }},
    {"device_attributes_bool",
     [](PJRT_Api& t) {
       t.PJRT_DeviceDescription_Attributes = [](auto* a) -> E {
         E error = Real(a);
         static PJRT_NamedValue value;
         value.struct_size = PJRT_NamedValue_STRUCT_SIZE;
         value.name = "flag";
         value.name_size = 4;
         value.type = PJRT_NamedValue_kBool;
         if (error == nullptr) a->attributes = &value, a->num_attributes = 1;
         return error;
       };
     }},
    {"stats_zero",
     [](PJRT_Api& t) {
       t.PJRT_Device_MemoryStats = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->bytes_in_use = 0;
         return error;
       };
     }},
    {"stats_flags_unwritten",
     [](PJRT_Api& t) {
       t.PJRT_Device_MemoryStats = [](auto* a) -> E {
         auto before = *a;
         E error = Real(a);
         if (error == nullptr && a->struct_size >= 185)
           std::memcpy(&a->pool_bytes_is_set, &before.pool_bytes_is_set, 1);
         return error;
       };
     }},
    {"poison_lies",
     [](PJRT_Api& t) {
       t.PJRT_Device_PoisonExecution = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->poisoned = true;
         return error;
       };
     }},
    {"memory_id_0",
     [](PJRT_Api& t) {
       t.PJRT_Memory_Id = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->id = 0;
         return error;
       };
     }},
    {"kind_id_0",
     [](PJRT_Api& t) {
       t.PJRT_Memory_Kind_Id = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->kind_id = 0;
         return error;
       };
     }},
    {"memory_devices_none",
     [](PJRT_Api& t) {
       t.PJRT_Memory_AddressableByDevices = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->num_devices = 0;
         return error;
       };
     }},
    {"memory_string_empty",
     [](PJRT_Api& t) {
       t.PJRT_Memory_ToString = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->to_string_size = 0;
         return error;
       };
     }},
    // --- buffers
    {"dims_cut",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_Dimensions = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr && a->num_dims > 0) --a->num_dims;
         return error;
       };
     }},
    {"unpadded_wrong",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_UnpaddedDimensions = [](auto* a) -> E {
         E error = Real(a);
         static const int64_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
         if (error == nullptr) a->unpadded_dims = ones;
         return error;
       };
     }},
    {"type_wrong",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_ElementType = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->type = a->type == PJRT_Buffer_Type_U8 ? PJRT_Buffer_Type_S8 : PJRT_Buffer_Type_U8;
         return error;
       };
     }},
    {"device_size_0",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_OnDeviceSizeInBytes = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->on_device_size_in_bytes = 0;
         return error;
       };
     }},
    {"to_host_garbled",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_ToHostBuffer = [](PJRT_Buffer_ToHostBuffer_Args* a) -> E {
         const bool now = a->struct_size >= 24 && a->src != nullptr && HasContents(a->src);
         E error = Real(a);
         if (error == nullptr && now && a->dst != nullptr && a->dst_size > 0) {
           auto wait = New<PJRT_Event_Await_Args>();
           wait.event = a->event;
           if (E late = Real(&wait)) Drop(late);
           // The middle bit of the last byte: no tolerance covers it, and it is a different value of each type.
           static_cast<char*>(a->dst)[a->dst_size - 1] ^= 1;
         }
         return error;
       };
     }},
    {"to_host_ignores_layout",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_ToHostBuffer = [](PJRT_Buffer_ToHostBuffer_Args* a) -> E {
         a->host_layout = nullptr;
         return Real(a);
       };
     }},
    {"to_host_small_ok",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_ToHostBuffer = [](PJRT_Buffer_ToHostBuffer_Args* a) -> E {
         E error = Real(a);
         if (error != nullptr && a->dst != nullptr && a->dst_size == 15) {
           Drop(error);
           a->event = ReadyNow();
           return nullptr;
         }
         return error;
       };
     }},
    {"to_host_writes_more",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_ToHostBuffer = [](PJRT_Buffer_ToHostBuffer_Args* a) -> E {
         if (a->dst != nullptr && a->dst_size > 0) std::memset(a->dst, 0, a->dst_size);
         return Real(a);
       };
     }},
    {"upload_ignores_strides",
     [](PJRT_Api& t) {
       t.PJRT_Client_BufferFromHostBuffer = [](auto* a) -> E {
         auto copy = *a;
         copy.num_byte_strides = 0;
         copy.byte_strides = nullptr;
         copy.struct_size =
             a->struct_size > sizeof(copy) ? Fn<PJRT_Client_BufferFromHostBuffer_Args>::kSize : a->struct_size;
         E error = Real(&copy);
         if (error == nullptr) a->buffer = copy.buffer, a->done_with_host_buffer = copy.done_with_host_buffer;
         return error;
       };
     }},
    {"upload_ignores_layout",
     [](PJRT_Api& t) {
       t.PJRT_Client_BufferFromHostBuffer = [](auto* a) -> E {
         a->device_layout = nullptr;
         return Real(a);
       };
     }},
    {"upload_reads_late",
     [](PJRT_Api& t) {
       t.PJRT_Client_BufferFromHostBuffer = [](auto* a) -> E {
         bool copies =
             a->host_buffer_semantics <= PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes && a->num_dims == 1;
         if (a->client == nullptr || a->struct_size < 120 || !copies) return Real(a);
         auto copy = *a;
         copy.struct_size = Fn<PJRT_Client_BufferFromHostBuffer_Args>::kSize;
         copy.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
         E error = Real(&copy);
         if (error == nullptr) {
           auto destroy = New<PJRT_Event_Destroy_Args>();
           destroy.event = copy.done_with_host_buffer;
           Real(&destroy);
           a->buffer = copy.buffer;
           a->done_with_host_buffer = ReadyNow();
         }
         return error;
       };
     }},
    {"upload_wrong_device",
     [](PJRT_Api& t) {
       t.PJRT_Client_BufferFromHostBuffer = [](auto* a) -> E {
         if (a->client != nullptr && a->struct_size >= 120 && a->memory == nullptr && a->device != nullptr)
           a->device = FirstDevice(a->client);
         return Real(a);
       };
     }},
    {"upload_accepts_types",
     [](PJRT_Api& t) {
       t.PJRT_Client_BufferFromHostBuffer = [](auto* a) -> E {
         int type = static_cast<int>(a->type);
         if (type <= 0 || type >= 34 || type == PJRT_Buffer_Type_TOKEN) a->type = PJRT_Buffer_Type_F32;
         return Real(a);
       };
     }},
    {"upload_accepts_semantics",
     [](PJRT_Api& t) {
       t.PJRT_Client_BufferFromHostBuffer = [](auto* a) -> E {
         if (a->host_buffer_semantics > 3) a->host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
         return Real(a);
       };
     }},
    {"upload_accepts_negative",
     [](PJRT_Api& t) {
       t.PJRT_Client_BufferFromHostBuffer = [](auto* a) -> E {
         static const int64_t one[2] = {1, 1};
         if (a->num_dims > 0 && a->dims != nullptr && (a->dims[0] < 0 || a->dims[0] > (1LL << 39))) a->dims = one;
         return Real(a);
       };
     }},
    {"upload_accepts_null",
     [](PJRT_Api& t) {
       t.PJRT_Client_BufferFromHostBuffer = [](auto* a) -> E {
         static const float zeros[64] = {};
         static const int64_t dims[2] = {2, 2};
         if (a->client == nullptr || a->struct_size < 120) return Real(a);
         if (a->data == nullptr && a->num_dims == 1 && a->dims[0] == 4) a->data = zeros;
         if (a->dims == nullptr && a->num_dims == 2) a->dims = dims;
         if (a->device == nullptr && a->memory == nullptr) a->device = FirstDevice(a->client);
         return Real(a);
       };
     }},
    {"delete_nothing",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_Delete = [](auto* a) -> E {
         return a->struct_size < 24 || a->buffer == nullptr ? Real(a) : nullptr;
       };
     }},
    {"delete_twice_fails",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_Delete = [](auto* a) -> E {
         if (a->struct_size < 24 || a->buffer == nullptr) return Real(a);
         auto is = New<PJRT_Buffer_IsDeleted_Args>();
         is.buffer = a->buffer;
         Real(&is);
         return is.is_deleted ? Fail() : Real(a);
       };
     }},
    {"unbalanced_ok",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_DecreaseExternalReferenceCount = [](auto* a) -> E {
         E error = Real(a);
         if (error != nullptr && a->struct_size >= 24 && a->buffer != nullptr) {
           Drop(error);
           error = nullptr;
         }
         return error;
       };
     }},
    {"pointer_other",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_OpaqueDeviceMemoryDataPointer = [](auto* a) -> E {
         E error = Real(a);
         static float other[16];
         if (error == nullptr) a->device_memory_ptr = other;
         return error;
       };
     }},
    {"copy_to_first_device",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_CopyToDevice = [](auto* a) -> E {
         if (a->struct_size < 40 || a->buffer == nullptr) return Real(a);
         auto device = New<PJRT_Buffer_Device_Args>();
         device.buffer = a->buffer;
         Real(&device);
         auto copy = *a;
         copy.struct_size = Fn<PJRT_Buffer_CopyToDevice_Args>::kSize;
         copy.dst_device = device.device;
         E error = Real(&copy);
         if (error == nullptr) a->dst_buffer = copy.dst_buffer;
         return error;
       };
     }},
    {"copy_raw_offset_0",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_CopyRawToHost = [](auto* a) -> E {
         a->offset = 0;
         return Real(a);
       };
     }},
    {"copy_raw_any_range",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_CopyRawToHost = [](auto* a) -> E {
         if (a->buffer != nullptr && a->struct_size >= 56 && (a->offset < 0 || a->offset + a->transfer_size > 16)) {
           a->event = ReadyNow();
           return nullptr;
         }
         return Real(a);
       };
     }},
    {"bitcast_same_type",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_Bitcast = [](auto* a) -> E {
         if (a->element_type == PJRT_Buffer_Type_S32) a->element_type = PJRT_Buffer_Type_F32;
         return Real(a);
       };
     }},
    {"bitcast_any_size",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_Bitcast = [](auto* a) -> E {
         static const int64_t four[] = {4};
         if (a->dims != nullptr && a->num_dims == 1) a->dims = four;
         return Real(a);
       };
     }},
    {"uninitialized_scalar",
     [](PJRT_Api& t) {
       t.PJRT_Client_CreateUninitializedBuffer = [](auto* a) -> E {
         a->shape_num_dims = 0;
         return Real(a);
       };
     }},
    {"error_buffer_other_code",
     [](PJRT_Api& t) {
       t.PJRT_Client_CreateErrorBuffer = [](auto* a) -> E {
         a->error_code = PJRT_Error_Code_INTERNAL;
         return Real(a);
       };
     }},
    {"alias_ignores_null",
     [](PJRT_Api& t) {
       t.PJRT_Client_FulfillAliasBuffer = [](auto* a) -> E {
         E error = Real(a);
         if (error != nullptr) Drop(error);
         return nullptr;
       };
     }},
    {"alias_other_error",
     [](PJRT_Api& t) {
       t.PJRT_Client_FulfillAliasBuffer = [](auto* a) -> E {
         if (a->status_code != PJRT_Error_Code_OK) a->status_code = PJRT_Error_Code_INTERNAL;
         return Real(a);
       };
     }},
    {"view_never_released",
     [](PJRT_Api& t) {
       t.PJRT_Client_CreateViewOfDeviceBuffer = [](auto* a) -> E {
         a->on_delete_callback = nullptr;
         return Real(a);
       };
     }},
    {"view_elsewhere",
     [](PJRT_Api& t) {
       t.PJRT_Client_CreateViewOfDeviceBuffer = [](auto* a) -> E {
         alignas(64) static float other[16];
         a->device_buffer_ptr = other;
         return Real(a);
       };
     }},
    {"view_nowhere_ok",
     [](PJRT_Api& t) {
       t.PJRT_Client_CreateViewOfDeviceBuffer = [](auto* a) -> E {
         if (a->struct_size >= 112 && a->client != nullptr && a->device == nullptr && a->memory == nullptr)
           a->device = FirstDevice(a->client);
         return Real(a);
       };
     }},
    // --- asynchronous transfers and events
    {"transfer_garbled",
     [](PJRT_Api& t) {
       t.PJRT_AsyncHostToDeviceTransferManager_TransferData = [](auto* a) -> E {
         static const float other[4096] = {};
         a->data = other;
         return Real(a);
       };
     }},
    {"transfer_ready_early",
     [](PJRT_Api& t) {
       t.PJRT_AsyncHostToDeviceTransferManager_TransferData = [](auto* a) -> E {
         a->is_last_transfer = true;
         return Real(a);
       };
     }},
    {"retrieve_first",
     [](PJRT_Api& t) {
       t.PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer = [](auto* a) -> E {
         a->buffer_index = 0;
         return Real(a);
       };
     }},
    {"set_error_other_code",
     [](PJRT_Api& t) {
       t.PJRT_AsyncHostToDeviceTransferManager_SetBufferError = [](auto* a) -> E {
         a->error_code = PJRT_Error_Code_INTERNAL;
         return Real(a);
       };
     }},
    {"literal_row_major",
     [](PJRT_Api& t) {
       t.PJRT_AsyncHostToDeviceTransferManager_TransferLiteral = [](auto* a) -> E {
         a->shape_layout = nullptr;
         return Real(a);
       };
     }},
    {"metadata_fails",
     [](PJRT_Api& t) { t.PJRT_AsyncHostToDeviceTransferManager_AddMetadata = [](auto*) -> E { return Fail(); }; }},
    {"never_ready",
     [](PJRT_Api& t) {
       t.PJRT_Event_IsReady = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->is_ready = false;
         return error;
       };
     }},
    {"always_ready",
     [](PJRT_Api& t) {
       t.PJRT_Event_IsReady = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->is_ready = true;
         return error;
       };
     }},
    {"on_ready_never",
     [](PJRT_Api& t) {
       t.PJRT_Event_OnReady = [](auto* a) -> E {
         return a->struct_size < 40 || a->event == nullptr ? Real(a) : nullptr;
       };
     }},
    {"on_ready_twice",
     [](PJRT_Api& t) {
       t.PJRT_Event_OnReady = [](auto* a) -> E {
         E error = Real(a);
         return error != nullptr ? error : Real(a);
       };
     }},
    {"event_error_lies",
     [](PJRT_Api& t) {
       t.PJRT_Event_Error = [](auto* a) -> E {
         E error = Real(a);
         return error != nullptr ? error : Fail();
       };
     }},
    {"set_loses_error",
     [](PJRT_Api& t) {
       t.PJRT_Event_Set = [](auto* a) -> E {
         a->error_code = PJRT_Error_Code_OK;
         return Real(a);
       };
     }},
    {"set_twice_ok",
     [](PJRT_Api& t) {
       t.PJRT_Event_Set = [](auto* a) -> E {
         E error = Real(a);
         if (error != nullptr) Drop(error);
         return nullptr;
       };
     }},
    {"event_error_pending_ok",
     [](PJRT_Api& t) {
       t.PJRT_Event_Error = [](auto* a) -> E {
         auto ready = New<PJRT_Event_IsReady_Args>();
         ready.event = a->event;
         if (a->struct_size >= 24 && a->event != nullptr && Real(&ready) == nullptr && !ready.is_ready) return nullptr;
         return Real(a);
       };
     }},
    {"created_ready",
     [](PJRT_Api& t) {
       t.PJRT_Event_Create = [](auto* a) -> E {
         if (a->struct_size < 24) return Real(a);
         a->event = ReadyNow();
         return nullptr;
       };
     }},
    // --- compiling
    {"compile_any_format",
     [](PJRT_Api& t) {
       t.PJRT_Client_Compile = [](PJRT_Client_Compile_Args* a) -> E {
         static char code[] =
             "module @m { func.func public @main() -> tensor<f32> {\n %0 = stablehlo.constant dense<1.0> : "
             "tensor<f32>\n return %0 : tensor<f32>\n } }";
         if (a->client == nullptr || a->struct_size < 56) return Real(a);
         std::string_view format(a->program->format, a->program->format_size);
         if (format == "mlir") return Real(a);
         PJRT_Program program = *a->program;
         program.format = "mlir";
         program.format_size = 4;
         program.code = code;
         program.code_size = sizeof(code) - 1;
         auto copy = *a;
         copy.program = &program;
         E error = Real(&copy);
         a->executable = copy.executable;
         return error;
       };
     }},
    {"compile_ignores_options",
     [](PJRT_Api& t) {
       t.PJRT_Client_Compile = [](auto* a) -> E {
         a->compile_options = "\x1a\x04\x20\x01\x28\x01";
         a->compile_options_size = 6;
         return Real(a);
       };
     }},
    {"compile_accepts_garbage",
     [](PJRT_Api& t) {
       t.PJRT_Client_Compile = [](PJRT_Client_Compile_Args* a) -> E {
         static char code[] =
             "module @m { func.func public @main() -> tensor<f32> {\n %0 = stablehlo.constant dense<1.0> : "
             "tensor<f32>\n return %0 : tensor<f32>\n } }";
         E error = Real(a);
         if (error == nullptr || a->client == nullptr || a->struct_size < 56 || a->program->format_size != 4)
           return error;
         auto get = New<PJRT_Error_GetCode_Args>();
         get.error = error;
         g_real->PJRT_Error_GetCode(&get);
         if (get.code != PJRT_Error_Code_INVALID_ARGUMENT) return error;
         Drop(error);
         PJRT_Program program = *a->program;
         program.code = code;
         program.code_size = sizeof(code) - 1;
         auto copy = *a;
         copy.program = &program;
         error = Real(&copy);
         a->executable = copy.executable;
         return error;
       };
     }},
    {"name_empty",
     [](PJRT_Api& t) {
       t.PJRT_Executable_Name = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->executable_name_size = 0;
         return error;
       };
     }},
    {"output_types_s8",
     [](PJRT_Api& t) {
       t.PJRT_Executable_OutputElementTypes = [](auto* a) -> E {
         E error = Real(a);
         static PJRT_Buffer_Type types[] = {PJRT_Buffer_Type_S8, PJRT_Buffer_Type_S8, PJRT_Buffer_Type_S8};
         if (error == nullptr) a->output_types = types;
         return error;
       };
     }},
    {"output_dims_1",
     [](PJRT_Api& t) {
       t.PJRT_Executable_OutputDimensions = [](auto* a) -> E {
         E error = Real(a);
         static const int64_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
         if (error == nullptr) a->dims = ones;
         return error;
       };
     }},
    {"fingerprint_random",
     [](PJRT_Api& t) {
       t.PJRT_Executable_Fingerprint = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->executable_fingerprint_size = static_cast<size_t>(1 + g_count++ % 5);
         return error;
       };
     }},
    {"fingerprint_same",
     [](PJRT_Api& t) {
       t.PJRT_Executable_Fingerprint = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->executable_fingerprint = "same", a->executable_fingerprint_size = 4;
         return error;
       };
     }},
    {"cost_negative",
     [](PJRT_Api& t) {
       t.PJRT_Executable_GetCostAnalysis = [](auto* a) -> E {
         E error = Real(a);
         static PJRT_NamedValue value;
         if (error == nullptr && a->num_properties > 0) {
           value = a->properties[0];
           value.float_value = -7;
           a->properties = &value;
           a->num_properties = 1;
         }
         return error;
       };
     }},
    {"memory_stats_0",
     [](PJRT_Api& t) {
       t.PJRT_Executable_GetCompiledMemoryStats = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->argument_size_in_bytes = a->output_size_in_bytes = 0;
         return error;
       };
     }},
    {"memory_kinds_odd",
     [](PJRT_Api& t) {
       t.PJRT_Executable_OutputMemoryKinds = [](auto* a) -> E {
         E error = Real(a);
         static const char* const kinds[] = {"odd", "odd"};
         static const size_t sizes[] = {3, 3};
         if (error == nullptr) a->memory_kinds = kinds, a->memory_kind_sizes = sizes;
         return error;
       };
     }},
    {"program_size_0",
     [](PJRT_Api& t) {
       t.PJRT_Executable_OptimizedProgram = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr && a->program->code == nullptr) a->program->code_size = 0;
         return error;
       };
     }},
    {"program_small_ok",
     [](PJRT_Api& t) {
       t.PJRT_Executable_OptimizedProgram = [](auto* a) -> E {
         E error = Real(a);
         if (error != nullptr && a->struct_size >= 32 && a->executable != nullptr && a->program != nullptr &&
             a->program->code_size == 1) {
           Drop(error);
           error = nullptr;
         }
         return error;
       };
     }},
    {"options_lost",
     [](PJRT_Api& t) {
       t.PJRT_Executable_GetCompileOptions = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->serialized_bytes = "junk junk", a->serialized_bytes_size = 9;
         return error;
       };
     }},
    {"assignment_lost",
     [](PJRT_Api& t) {
       t.PJRT_LoadedExecutable_GetDeviceAssignment = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->serialized_bytes_size = 0;
         return error;
       };
     }},
    {"logical_ids_same",
     [](PJRT_Api& t) {
       t.PJRT_LoadedExecutable_AddressableDeviceLogicalIds = [](auto* a) -> E {
         E error = Real(a);
         static PJRT_LogicalDeviceIds ids[2] = {{1, 0}, {1, 0}};
         if (error == nullptr) a->addressable_device_logical_ids = ids;
         return error;
       };
     }},
    {"is_deleted_never",
     [](PJRT_Api& t) {
       t.PJRT_LoadedExecutable_IsDeleted = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->is_deleted = false;
         return error;
       };
     }},
    {"replicas_1",
     [](PJRT_Api& t) {
       t.PJRT_Executable_NumReplicas = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->num_replicas = 1;
         return error;
       };
     }},
    // --- executing
    {"output_garbled",
     [](PJRT_Api& t) {
       // Outputs as the host sees them: one bit off.
       t.PJRT_LoadedExecutable_Execute = [](PJRT_LoadedExecutable_Execute_Args* a) -> E {
         bool now = true;
         for (size_t d = 0; a->struct_size >= 72 && a->argument_lists != nullptr && d < a->num_devices; ++d) {
           for (size_t i = 0; a->argument_lists[d] != nullptr && i < a->num_args; ++i)
             now = now && (a->argument_lists[d][i] == nullptr || HasContents(a->argument_lists[d][i]));
         }
         E error = Real(a);
         if (error != nullptr || !now) return error;
         size_t outputs = NumOutputs(a->executable);
         for (size_t d = 0; d < a->num_devices; ++d) {
           for (size_t o = 0; o < outputs; ++o) {
             PJRT_Buffer* old = a->output_lists[d][o];
             auto dims = New<PJRT_Buffer_Dimensions_Args>();
             dims.buffer = old;
             Real(&dims);
             auto type = New<PJRT_Buffer_ElementType_Args>();
             type.buffer = old;
             Real(&type);
             auto size = New<PJRT_Buffer_ToHostBuffer_Args>();
             size.src = old;
             Real(&size);
             std::string bytes = ReadAll(old, size.dst_size);
             if (bytes.empty()) continue;
             bytes.back() ^= 1;
             if (type.type != PJRT_Buffer_Type_PRED) bytes.back() ^= 0x10;
             auto device = New<PJRT_Buffer_Device_Args>();
             device.buffer = old;
             Real(&device);
             auto upload = New<PJRT_Client_BufferFromHostBuffer_Args>();
             upload.client = g_client;
             upload.data = bytes.data();
             upload.type = type.type;
             upload.dims = dims.dims;
             upload.num_dims = dims.num_dims;
             upload.device = device.device;
             if (E late = Real(&upload)) {
               Drop(late);
               continue;
             }
             auto destroy = New<PJRT_Event_Destroy_Args>();
             destroy.event = upload.done_with_host_buffer;
             Real(&destroy);
             DestroyOutput(old);
             a->output_lists[d][o] = upload.buffer;
           }
         }
         return nullptr;
       };
       t.PJRT_Client_Create = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr && g_client == nullptr) g_client = a->client;
         return error;
       };
     }},
    {"outputs_swapped",
     [](PJRT_Api& t) {
       t.PJRT_LoadedExecutable_Execute = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr && NumOutputs(a->executable) == 2)
           std::swap(a->output_lists[0][0], a->output_lists[0][1]);
         return error;
       };
     }},
    {"arguments_swapped",
     [](PJRT_Api& t) {
       t.PJRT_LoadedExecutable_Execute = [](auto* a) -> E {
         if (a->num_args == 2 && a->num_devices == 1) {
           PJRT_Buffer* swapped[] = {a->argument_lists[0][1], a->argument_lists[0][0]};
           PJRT_Buffer* const* list = swapped;
           auto copy = *a;
           copy.argument_lists = &list;
           return Real(&copy);
         }
         return Real(a);
       };
     }},
    {"argument_deleted",
     [](PJRT_Api& t) {
       t.PJRT_LoadedExecutable_Execute = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr && a->num_args == 1) {
           auto del = New<PJRT_Buffer_Delete_Args>();
           del.buffer = a->argument_lists[0][0];
           if (E late = Real(&del)) Drop(late);
         }
         return error;
       };
     }},
    {"requires_events",
     [](PJRT_Api& t) {
       t.PJRT_LoadedExecutable_Execute = [](auto* a) -> E {
         return a->device_complete_events == nullptr ? Fail() : Real(a);
       };
     }},
    {"donates_anyway",
     [](PJRT_Api& t) {
       t.PJRT_LoadedExecutable_Execute = [](auto* a) -> E {
         if (a->options != nullptr) a->options->num_non_donatable_input_indices = 0;
         return Real(a);
       };
     }},
    {"donation_ignored",
     [](PJRT_Api& t) {
       t.PJRT_LoadedExecutable_Execute = [](auto* a) -> E {
         static const int64_t all[] = {0, 1};
         if (a->options != nullptr) {
           a->options->non_donatable_input_indices = all;
           a->options->num_non_donatable_input_indices = std::min<size_t>(2, a->num_args);
         }
         return Real(a);
       };
     }},
    {"any_argument",
     [](PJRT_Api& t) {
       // Whatever is wrong with the arguments: no outputs, no error.
       t.PJRT_LoadedExecutable_Execute = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr || a->struct_size < 80 || a->executable == nullptr || a->options == nullptr ||
             a->device_complete_events == nullptr)
           return error;
         Drop(error);
         for (size_t d = 0; d < a->num_devices; ++d) a->device_complete_events[d] = ReadyNow();
         return nullptr;
       };
     }},
    {"crash_execute", [](PJRT_Api& t) { t.PJRT_LoadedExecutable_Execute = [](auto*) -> E { std::abort(); }; }},
    {"hang_compile",
     [](PJRT_Api& t) {
       t.PJRT_Client_Compile = [](auto* a) -> E {
         if (a->program != nullptr && a->program->format_size == 7) pause();
         return Real(a);
       };
     }},
    // --- serialization, ahead of time
    {"deserialize_needs_options",
     [](PJRT_Api& t) {
       t.PJRT_Executable_DeserializeAndLoad = [](auto* a) -> E {
         return a->struct_size >= 64 && a->client != nullptr && a->overridden_serialized_compile_options_size == 0
                    ? Fail()
                    : Real(a);
       };
     }},
    {"deserialize_anything",
     [](PJRT_Api& t) {
       t.PJRT_Executable_DeserializeAndLoad = [](auto* a) -> E {
         E error = Real(a);
         if (error != nullptr && a->client != nullptr && a->struct_size >= 48) {
           Drop(error);
           error = nullptr;
         }
         return error;
       };
     }},
    {"topology_bytes_change",
     [](PJRT_Api& t) {
       t.PJRT_TopologyDescription_Serialize = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr && g_count++ % 2 == 1 && a->serialized_bytes_size > 0) --a->serialized_bytes_size;
         return error;
       };
     }},
    {"topology_no_devices",
     [](PJRT_Api& t) {
       t.PJRT_TopologyDescription_GetDeviceDescriptions = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->num_descriptions = 0;
         return error;
       };
     }},
    {"topology_garbage_ok",
     [](PJRT_Api& t) {
       t.PJRT_TopologyDescription_Deserialize = [](auto* a) -> E {
         E error = Real(a);
         if (error != nullptr && a->struct_size >= 40) {
           Drop(error);
           error = nullptr;
         }
         return error;
       };
     }},
    {"topology_any_name", [](PJRT_Api& t) { t.PJRT_TopologyDescription_Create = [](auto*) -> E { return nullptr; }; }},
    {"memory_kind_ids_none",
     [](PJRT_Api& t) {
       t.PJRT_TopologyDescription_GetMemorySpaceKindIds = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) a->num_memory_space_kind_ids = 0;
         return error;
       };
     }},
    {"aot_fails", [](PJRT_Api& t) { t.PJRT_Compile = [](auto*) -> E { return Fail(); }; }},
    {"load_fails", [](PJRT_Api& t) { t.PJRT_Client_Load = [](auto*) -> E { return Fail(); }; }},
    // --- promises and callbacks
    {"hang_alias",
     [](PJRT_Api& t) {
       t.PJRT_Client_FulfillAliasBuffer = [](auto* a) -> E {
         return a->struct_size >= 64 && a->client != nullptr && a->buffer != nullptr ? nullptr : Real(a);
       };
     }},
    {"alias_any",
     [](PJRT_Api& t) {
       t.PJRT_Client_FulfillAliasBuffer = [](auto* a) -> E {
         E error = Real(a);
         if (error != nullptr && a->buffer != nullptr && a->fulfill_alias_buffer_cb != nullptr) {
           Drop(error);
           error = nullptr;
         }
         return error;
       };
     }},
    {"alias_lost_with_source",
     [](PJRT_Api& t) {
       t.PJRT_Client_CreateAliasBuffer = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) g_alias = a->alias_buffer, g_source = nullptr, g_gone = false;
         return error;
       };
       t.PJRT_Client_FulfillAliasBuffer = [](auto* a) -> E {
         g_source = a->buffer;
         return Real(a);
       };
       t.PJRT_Buffer_Destroy = [](auto* a) -> E {
         if (a->struct_size >= 24 && a->buffer != nullptr) {
           if (a->buffer == g_source) g_gone = true;
           if (a->buffer == g_alias) g_alias = g_source = nullptr, g_gone = false;
         }
         return Real(a);
       };
       t.PJRT_Buffer_ToHostBuffer = [](auto* a) -> E {
         return g_gone && a->struct_size >= 24 && a->src == g_alias ? Fail() : Real(a);
       };
     }},
    {"error_buffer_without_error",
     [](PJRT_Api& t) {
       t.PJRT_Client_CreateErrorBuffer = [](auto* a) -> E {
         return a->struct_size >= 96 && a->client != nullptr && a->error_code == PJRT_Error_Code_OK ? nullptr : Real(a);
       };
     }},
    {"manager_counts_more",
     [](PJRT_Api& t) {
       t.PJRT_AsyncHostToDeviceTransferManager_BufferCount = [](auto* a) -> E {
         E error = Real(a);
         if (error == nullptr) ++a->buffer_count;
         return error;
       };
     }},
    {"store_without_key",
     [](PJRT_Api& t) {
       t.PJRT_Client_Create = [](auto* a) -> E {
         if (a->struct_size >= 88 && a->kv_try_get_callback != nullptr) {
           auto get = PJRT_KeyValueTryGetCallback_Args{};
           get.user_arg = a->kv_try_get_user_arg;
           a->kv_try_get_callback(&get);
         }
         return Real(a);
       };
     }},
    {"calls_send_callbacks",
     [](PJRT_Api& t) {
       t.PJRT_LoadedExecutable_Execute = [](PJRT_LoadedExecutable_Execute_Args* a) -> E {
         if (a->struct_size < 32 || a->options == nullptr || a->options->num_send_ops == 0) return Real(a);
         static char byte;
         PJRT_Chunk chunk{&byte, 1, nullptr, nullptr};
         const PJRT_SendCallbackInfo& info = a->options->send_callbacks[0][0];
         info.send_callback(&chunk, nullptr, 1, true, info.user_arg);
         a->options->num_send_ops = 0;
         return Real(a);
       };
     }},
    // --- extensions that few plugins have
    {"raw_size_0",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_RawBuffer_Extension::PJRT_RawBuffer_GetOnDeviceSizeInBytes>;
       S::Install(t, kRaw, [](auto* a) -> E {
         a->on_device_size_in_bytes = 0;
         return nullptr;
       });
     }},
    {"raw_no_memory",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_RawBuffer_Extension::PJRT_RawBuffer_GetMemorySpace>;
       S::Install(t, kRaw, [](auto* a) -> E {
         a->memory_space = nullptr;
         return nullptr;
       });
     }},
    {"raw_offset_0",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_RawBuffer_Extension::PJRT_RawBuffer_CopyRawDeviceToHost>;
       S::Install(t, kRaw, [](auto* a) -> E {
         a->offset = 0;
         return S::real(a);
       });
     }},
    {"raw_write_lost",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_RawBuffer_Extension::PJRT_RawBuffer_CopyRawHostToDevice>;
       S::Install(t, kRaw, [](auto* a) -> E {
         a->event = ReadyNow();
         return nullptr;
       });
     }},
    {"raw_pointer_elsewhere",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_RawBuffer_Extension::PJRT_RawBuffer_GetHostPointer>;
       S::Install(t, kRaw, [](auto* a) -> E {
         static float nothing[64];
         a->host_pointer = nothing;
         return nullptr;
       });
     }},
    {"raw_any_range",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_RawBuffer_Extension::PJRT_RawBuffer_CopyRawDeviceToHost>;
       S::Install(t, kRaw, [](auto* a) -> E {
         E error = S::real(a);
         if (error == nullptr) return nullptr;
         Drop(error);
         a->event = ReadyNow();
         return nullptr;
       });
     }},
    {"raw_lost_with_buffer",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_RawBuffer_Extension::PJRT_RawBuffer_CopyRawDeviceToHost>;
       using Create = SlotOf<&PJRT_RawBuffer_Extension::PJRT_RawBuffer_CreateRawAliasOfBuffer>;
       Create::Install(t, kRaw, [](auto* a) -> E {
         g_gone = false;
         return Create::real(a);
       });
       S::Install(t, kRaw, [](auto* a) -> E { return g_gone ? Fail() : S::real(a); });
       t.PJRT_Buffer_Destroy = [](auto* a) -> E {
         g_gone = true;
         return Real(a);
       };
     }},
    {"raw_of_deleted",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_RawBuffer_Extension::PJRT_RawBuffer_CreateRawAliasOfBuffer>;
       S::Install(t, kRaw, [](auto* a) -> E {
         if (E error = S::real(a)) Drop(error);
         return nullptr;
       });
     }},
    {"host_alignment_3",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_HostAllocator_Extension::get_preferred_alignment>;
       S::Install(t, kHostAllocator, [](auto* a) -> E {
         a->preferred_alignment = 3;
         return nullptr;
       });
     }},
    {"host_memory_shared",
     [](PJRT_Api& t) {
       alignas(4096) static char block[4096];
       using S = SlotOf<&PJRT_HostAllocator_Extension::allocate>;
       using Free = SlotOf<&PJRT_HostAllocator_Extension::free>;
       S::Install(t, kHostAllocator, [](auto* a) -> E {
         if (a->size > sizeof(block)) return S::real(a);
         a->ptr = block;
         return nullptr;
       });
       Free::Install(t, kHostAllocator, [](auto*) -> E { return nullptr; });
     }},
    {"host_memory_any",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_HostAllocator_Extension::allocate>;
       S::Install(t, kHostAllocator, [](auto* a) -> E {
         if (E error = S::real(a)) Drop(error);
         return nullptr;
       });
     }},
    {"host_block_shared",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_HostMemoryAllocator_Extension::allocate>;
       S::Install(t, kHostMemory, [](auto* a) -> E {
         static uint8_t block[4096];
         if (a->size > sizeof(block)) return S::real(a);
         a->ptr = block;
         a->deleter = [](void*, void*) {};
         return nullptr;
       });
     }},
    {"host_block_any",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_HostMemoryAllocator_Extension::allocate>;
       S::Install(t, kHostMemory, [](auto* a) -> E {
         if (E error = S::real(a)) Drop(error);
         return nullptr;
       });
     }},
    {"phase_names_change",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_PhaseCompile_Extension::phase_compile_get_phase_names>;
       S::Install(t, kPhases, [](auto* a) -> E {
         E error = S::real(a);
         if (g_count++ % 2 == 1) --a->num_phase_names;
         return error;
       });
     }},
    {"phase_compiler_shared",
     [](PJRT_Api& t) {
       using Get = SlotOf<&PJRT_PhaseCompile_Extension::phase_compile_get_compiler>;
       using Destroy = SlotOf<&PJRT_PhaseCompile_Extension::phase_compile_destroy_compiler>;
       using Names = SlotOf<&PJRT_PhaseCompile_Extension::phase_compile_get_phase_names>;
       Get::Install(t, kPhases, [](auto* a) -> E {
         g_gone = false;
         return Get::real(a);
       });
       Destroy::Install(t, kPhases, [](auto* a) {
         g_gone = true;
         Destroy::real(a);
       });
       Names::Install(t, kPhases, [](auto* a) -> E { return g_gone ? Fail() : Names::real(a); });
     }},
    {"phase_no_output",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_PhaseCompile_Extension::phase_compile_run_phases>;
       S::Install(t, kPhases, [](auto* a) -> E {
         E error = S::real(a);
         if (error == nullptr) a->num_output_programs = 0;
         return error;
       });
     }},
    {"phase_any",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_PhaseCompile_Extension::phase_compile_run_phases>;
       S::Install(t, kPhases, [](auto* a) -> E {
         if (E error = S::real(a)) Drop(error);
         return nullptr;
       });
     }},
    {"abi_unlike_itself",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_AbiVersion_Extension::runtime_abi_version_is_compatible_with_runtime>;
       S::Install(t, kAbi, [](auto*) -> E { return Fail(); });
     }},
    {"abi_runs_nothing",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_AbiVersion_Extension::runtime_abi_version_is_compatible_with_executable>;
       S::Install(t, kAbi, [](auto*) -> E { return Fail(); });
     }},
    {"abi_platform_changes",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_AbiVersion_Extension::executable_abi_version_platform_id>;
       S::Install(t, kAbi, [](auto* a) -> E {
         a->platform_id = uint64_t{1000} + static_cast<uint64_t>(g_count++);
         return nullptr;
       });
     }},
    {"abi_proto_changes",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_AbiVersion_Extension::executable_abi_version_to_proto>;
       S::Install(t, kAbi, [](auto* a) -> E {
         E error = S::real(a);
         if (g_count++ % 2 == 1) --a->serialized_proto_size;
         return error;
       });
     }},
    {"abi_reads_anything",
     [](PJRT_Api& t) {
       using S = SlotOf<&PJRT_AbiVersion_Extension::runtime_abi_version_from_proto>;
       S::Install(t, kAbi, [](auto* a) -> E {
         if (E error = S::real(a)) Drop(error);
         return nullptr;
       });
     }},
    // --- lifetimes
    {"buffer_lost_with_client",
     [](PJRT_Api& t) {
       static std::atomic<bool> gone{false};
       t.PJRT_Client_Destroy = [](auto* a) -> E {
         gone = true;
         return Real(a);
       };
       t.PJRT_Buffer_Dimensions = [](auto* a) -> E { return gone ? Fail() : Real(a); };
     }},
    {"leaks_executables",
     [](PJRT_Api& t) {
       t.PJRT_LoadedExecutable_Destroy = [](auto* a) -> E {
         return a->struct_size < 24 || a->executable == nullptr ? Real(a) : nullptr;
       };
     }},
    {"leaks_errors",
     [](PJRT_Api& t) {
       t.PJRT_Error_Destroy = [](auto*) {};
     }},
    {"client_leaks_files",
     [](PJRT_Api& t) {
       t.PJRT_Client_Create = [](auto* a) -> E {
         static_cast<void>(dup(0));
         return Real(a);
       };
     }},
    {"leaks_buffers",
     [](PJRT_Api& t) {
       t.PJRT_Buffer_Destroy = [](auto* a) -> E {
         return a->struct_size < 24 || a->buffer == nullptr ? Real(a) : nullptr;
       };
     }},
};

}  // namespace

bool InstallFault(std::string_view fault, const PJRT_Api& real, PJRT_Api& table) {
  g_real = &real;
  for (const Fault& known : kFaults) {
    if (fault != known.name) continue;
    known.install(table);
    return true;
  }
  return false;
}

}  // namespace tenon::conformance::mock
