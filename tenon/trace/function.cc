#include "tenon/trace/function.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/abi/pjrt_abi_version.h"
#include "tenon/abi/pjrt_callback.h"
#include "tenon/abi/pjrt_cross_host_transfers.h"
#include "tenon/abi/pjrt_executable_metadata.h"
#include "tenon/abi/pjrt_ffi.h"
#include "tenon/abi/pjrt_host_allocator.h"
#include "tenon/abi/pjrt_host_memory_allocator.h"
#include "tenon/abi/pjrt_layouts.h"
#include "tenon/abi/pjrt_memory_descriptions.h"
#include "tenon/abi/pjrt_phase_compile.h"
#include "tenon/abi/pjrt_raw_buffer.h"
#include "tenon/abi/pjrt_shardings.h"
#include "tenon/abi/pjrt_stream.h"
#include "tenon/trace/call.h"

namespace tenon::trace {
namespace {

template <class T>
constexpr HandleKind KindOfPointer() {
  using P = std::remove_const_t<std::remove_pointer_t<T>>;
  if constexpr (std::is_same_v<P, PJRT_Error>) return HandleKind::kError;
  if constexpr (std::is_same_v<P, PJRT_Event>) return HandleKind::kEvent;
  if constexpr (std::is_same_v<P, PJRT_Client>) return HandleKind::kClient;
  if constexpr (std::is_same_v<P, PJRT_TopologyDescription>) return HandleKind::kTopology;
  if constexpr (std::is_same_v<P, PJRT_Executable>) return HandleKind::kExecutable;
  if constexpr (std::is_same_v<P, PJRT_LoadedExecutable>) return HandleKind::kLoadedExecutable;
  if constexpr (std::is_same_v<P, PJRT_Buffer>) return HandleKind::kBuffer;
  if constexpr (std::is_same_v<P, PJRT_ExecuteContext>) return HandleKind::kExecuteContext;
  if constexpr (std::is_same_v<P, PJRT_AsyncHostToDeviceTransferManager>) return HandleKind::kTransferManager;
  if constexpr (std::is_same_v<P, PJRT_CopyToDeviceStream>) return HandleKind::kStream;
  if constexpr (std::is_same_v<P, PJRT_AsyncTrackingEvent>) return HandleKind::kTrackingEvent;
  if constexpr (std::is_same_v<P, PJRT_FulfillAliasBufferCallback>) return HandleKind::kAliasPromise;
  if constexpr (std::is_same_v<P, PJRT_Layouts_MemoryLayout>) return HandleKind::kLayout;
  if constexpr (std::is_same_v<P, PJRT_RawBuffer>) return HandleKind::kRawBuffer;
  if constexpr (std::is_same_v<P, PJRT_Device>) return HandleKind::kDevice;
  if constexpr (std::is_same_v<P, PJRT_DeviceDescription>) return HandleKind::kDescription;
  if constexpr (std::is_same_v<P, PJRT_Memory>) return HandleKind::kMemory;
  return HandleKind::kNone;
}

template <class T>
constexpr FieldType TypeOf(bool counted) {
  if constexpr (std::is_same_v<T, bool>) {
    return FieldType::kBool;
  } else if constexpr (std::is_same_v<T, PJRT_Buffer_Type>) {
    return FieldType::kElementType;
  } else if constexpr (std::is_same_v<T, PJRT_Error_Code>) {
    return FieldType::kErrorCode;
  } else if constexpr (std::is_same_v<T, PJRT_HostBufferSemantics>) {
    return FieldType::kSemantics;
  } else if constexpr (std::is_enum_v<T> || std::is_unsigned_v<T>) {
    return FieldType::kUnsigned;
  } else if constexpr (std::is_integral_v<T>) {
    return FieldType::kSigned;
  } else if constexpr (!std::is_pointer_v<T>) {
    return FieldType::kOpaque;
  } else if constexpr (KindOfPointer<T>() != HandleKind::kNone) {
    return FieldType::kHandle;
  } else {
    using P = std::remove_const_t<std::remove_pointer_t<T>>;
    if (std::is_same_v<P, PJRT_Program>) return FieldType::kProgram;
    if (!counted) return FieldType::kPointer;
    if (std::is_same_v<P, char>) return FieldType::kText;
    if (std::is_same_v<P, int64_t>) return FieldType::kInts;
    if (std::is_same_v<P, PJRT_NamedValue>) return FieldType::kNamedValues;
    return FieldType::kArray;
  }
}

template <class T>
constexpr Field MakeField(const char* name, size_t offset, Direction direction, size_t count_offset, bool required) {
  HandleKind kind = HandleKind::kNone;
  if constexpr (std::is_pointer_v<T>) kind = KindOfPointer<T>();
  return {name,
          static_cast<uint16_t>(offset),
          static_cast<uint16_t>(sizeof(T)),
          static_cast<uint16_t>(count_offset),
          TypeOf<T>(count_offset != 0),
          kind,
          direction,
          required};
}

// Inputs that may be NULL although they are handles, a program or options.
constexpr bool IsOptional(std::string_view args, std::string_view field) {
  constexpr std::pair<std::string_view, std::string_view> kOptional[] = {
      {"PJRT_Compile_Args", "client"},
      {"PJRT_LoadedExecutable_Execute_Args", "execute_device"},
      {"PJRT_Client_BufferFromHostBuffer_Args", "device"},
      {"PJRT_Client_BufferFromHostBuffer_Args", "memory"},
      {"PJRT_Client_CreateUninitializedBuffer_Args", "device"},
      {"PJRT_Client_CreateUninitializedBuffer_Args", "memory"},
      {"PJRT_Client_CreateViewOfDeviceBuffer_Args", "device"},
      {"PJRT_Client_CreateViewOfDeviceBuffer_Args", "memory"},
      {"PJRT_Client_FulfillAliasBuffer_Args", "buffer"},
      {"PJRT_PhaseCompile_Run_Phase_Args", "topology"},
  };
  for (const auto& [struct_name, name] : kOptional) {
    if (args == struct_name && field == name) return true;
  }
  // Destroying nothing is allowed.
  return args.ends_with("_Destroy_Args");
}

template <class T>
constexpr bool IsRequired(std::string_view args, std::string_view field, Direction direction) {
  if (direction == Direction::kOut || !std::is_pointer_v<T>) return false;
  if (TypeOf<T>(false) != FieldType::kHandle && TypeOf<T>(false) != FieldType::kProgram && field != "options" &&
      field != "callback" && field != "chunk") {
    return false;
  }
  return !IsOptional(args, field);
}

template <class Args>
struct FieldsOf;

#define TRACE_ARGS(args)                   \
  template <>                              \
  struct FieldsOf<args> {                  \
    using Args = args;                     \
    static constexpr char kName[] = #args; \
    static constexpr Field kFields[] = {
#define TRACE_FIELD(args, field, direction)                                                \
  MakeField<decltype(args::field)>(#field, offsetof(args, field), Direction::direction, 0, \
                                   IsRequired<decltype(args::field)>(#args, #field, Direction::direction)),
#define TRACE_ARRAY(args, field, direction, count) \
  MakeField<decltype(args::field)>(#field, offsetof(args, field), Direction::direction, offsetof(args, count), false),
#define TRACE_END(args)                                                                       \
  Field {}                                                                                    \
  }                                                                                           \
  ;                                                                                           \
  static constexpr std::span<const Field> Get() { return {kFields, std::size(kFields) - 1}; } \
  }                                                                                           \
  ;
#include "tenon/trace/fields.def"

template <class F>
struct Signature;
template <class R, class A>
struct Signature<R(A*)> {
  using Result = R;
  using Args = A;
  static PJRT_Error* Invoke(void* function, void* args) {
    auto* typed = reinterpret_cast<R (*)(A*)>(function);
    if constexpr (std::is_void_v<R>) {
      typed(static_cast<A*>(args));
      return nullptr;
    } else {
      return typed(static_cast<A*>(args));
    }
  }
};

// What the table of a caller holds: it says which function of which plugin was called.
template <int kTable, int kId, class F>
struct Forwarder {
  using Args = typename Signature<F>::Args;
  static typename Signature<F>::Result Forward(Args* args) {
    if constexpr (std::is_void_v<typename Signature<F>::Result>) {
      Call(kTable, kId, args);
    } else {
      return Call(kTable, kId, args);
    }
  }
};

enum SlotNumber : int {
  kBeforeSlots = kNumTableFunctions - 1,
#define TRACE_SLOT(extension, slot, args) kSlot_##extension##_##slot,
#include "tenon/trace/fields.def"
  kEndOfSlots
};

template <class T>
using FunctionType = std::remove_pointer_t<T>;

// Offset 0 marks where an extension begins.
constexpr Slot kMarkedSlots[] = {
#define TRACE_EXTENSION(extension, type) {type, 0},
#define TRACE_SLOT(extension, slot, args) {PJRT_Extension_Type_Unknown, offsetof(extension, slot)},
#include "tenon/trace/fields.def"
};

// The list above without its marks, each slot with the type of its extension.
constexpr auto kExtensionSlots = [] {
  std::array<Slot, static_cast<int>(kEndOfSlots) - kNumTableFunctions> slots{};
  PJRT_Extension_Type type = PJRT_Extension_Type_Unknown;
  size_t n = 0;
  for (const Slot& slot : kMarkedSlots) {
    if (slot.offset == 0) {
      type = slot.extension;
    } else {
      slots[n++] = {type, slot.offset};
    }
  }
  return slots;
}();

constexpr int kFirstUnknown = kEndOfSlots;
constexpr int kNumFunctions = kFirstUnknown + kMaxUnknown;
// Nothing but struct_size is known of the arguments of an unknown entry.
using UnknownFunction = PJRT_Error*(void*);

template <>
struct Signature<UnknownFunction> {
  using Result = PJRT_Error*;
  using Args = void;
  static PJRT_Error* Invoke(void* function, void* args) { return reinterpret_cast<UnknownFunction*>(function)(args); }
};

constexpr std::string_view kReadsData[] = {"PJRT_Buffer_CopyToDevice",
                                           "PJRT_Buffer_ToHostBuffer",
                                           "PJRT_Buffer_CopyToMemory",
                                           "PJRT_Buffer_CopyRawToHost",
                                           "PJRT_Buffer_CopyRawToHostFuture",
                                           "PJRT_Buffer_UnsafePointer",
                                           "PJRT_Buffer_OpaqueDeviceMemoryDataPointer",
                                           "PJRT_Buffer_DonateWithControlDependency",
                                           "PJRT_Buffer_Bitcast",
                                           "PJRT_LoadedExecutable_Execute"};

struct Tables {
  std::vector<Function> functions;
  std::vector<std::vector<uint16_t>> sizes;
  std::vector<std::string> names;

  template <class F>
  void Add(const char* name) {
    using Args = typename Signature<F>::Args;
    const std::string_view view = name;
    Function function{name, FieldsOf<Args>::kName, FieldsOf<Args>::Get(), 0, &Signature<F>::Invoke};
    if (view.ends_with("_Destroy")) function.effect = Effect::kDestroys;
    if (view == "PJRT_Buffer_Delete" || view == "PJRT_LoadedExecutable_Delete") function.effect = Effect::kDeletes;
    if (view == "PJRT_Buffer_DonateWithControlDependency") function.effect = Effect::kConsumes;
    function.returns_error = !std::is_void_v<typename Signature<F>::Result>;
    function.reads_data = std::ranges::find(kReadsData, view) != std::end(kReadsData);
    function.borrowed_output = view == "PJRT_Client_TopologyDescription";
    // Up to the last field, as every struct_size is.
    function.struct_size = function.fields.empty() ? 16 : 0;
    for (const Field& field : function.fields) {
      function.struct_size = std::max<uint16_t>(function.struct_size, field.offset + field.size);
    }
    functions.push_back(function);
  }

  Tables() {
#define PJRT_FN(function, args, since, owner) Add<function>(#function);
#include "tenon/abi/api.def"
#undef PJRT_FN
#define TRACE_SLOT(extension, slot, args) Add<FunctionType<decltype(extension::slot)>>(#args);
#include "tenon/trace/fields.def"
    names.reserve(functions.size() + kMaxUnknown);
    for (int i = kNumTableFunctions; i < kEndOfSlots; ++i) {
      // Extension functions are called as their arguments are, without the suffix.
      Function& function = functions[i];
      names.emplace_back(function.args_name, std::string_view(function.args_name).size() - 5);
      function.name = names.back().c_str();
      if (names.back().ends_with("_Destroy")) function.effect = Effect::kDestroys;
    }
    for (int i = 0; i < kMaxUnknown; ++i) {
      names.push_back("table entry " + std::to_string(kNumTableFunctions + i));
      functions.push_back({names.back().c_str(), "unknown", {}, 0, &Signature<UnknownFunction>::Invoke});
    }
    sizes.resize(functions.size());
    constexpr std::pair<std::string_view, uint16_t> kSizes[] = {
#define PJRT_SIZE(args, since, size) {#args, size},
#include "tenon/abi/struct_sizes.def"
#undef PJRT_SIZE
    };
    for (size_t i = 0; i < functions.size(); ++i) {
      for (const auto& [args, size] : kSizes) {
        if (args == functions[i].args_name) sizes[i].push_back(size);
      }
      if (functions[i].struct_size != 0) sizes[i].push_back(functions[i].struct_size);
      functions[i].sizes = sizes[i];
    }
  }
};

const Tables& GetTables() {
  // Never freed: calls may come until the process has gone.
  static const Tables& tables = *new Tables;
  return tables;
}

template <int kTable, size_t... kUnknown>
std::array<void*, kNumFunctions> MakeForwarders(std::index_sequence<kUnknown...>) {
  return {
#define PJRT_FN(function, args, since, owner) \
  reinterpret_cast<void*>(&Forwarder<kTable, k_##function, function>::Forward),
#include "tenon/abi/api.def"
#undef PJRT_FN
#define TRACE_SLOT(extension, slot, args) \
  reinterpret_cast<void*>(                \
      &Forwarder<kTable, kSlot_##extension##_##slot, FunctionType<decltype(extension::slot)>>::Forward),
#include "tenon/trace/fields.def"
      reinterpret_cast<void*>(&Forwarder<kTable, kFirstUnknown + kUnknown, UnknownFunction>::Forward)...};
}

template <size_t... kTables>
auto MakeAllForwarders(std::index_sequence<kTables...>) {
  return std::array<std::array<void*, kNumFunctions>, kMaxTables>{
      MakeForwarders<kTables>(std::make_index_sequence<kMaxUnknown>())...};
}

}  // namespace

const char* KindName(HandleKind kind) {
  static constexpr const char* kNames[kNumHandleKinds] = {"handle",
                                                          "error",
                                                          "event",
                                                          "client",
                                                          "topology",
                                                          "executable",
                                                          "loaded",
                                                          "buffer",
                                                          "context",
                                                          "transfer_manager",
                                                          "stream",
                                                          "tracking_event",
                                                          "promise",
                                                          "layout",
                                                          "raw_buffer",
                                                          "device",
                                                          "device_description",
                                                          "memory"};
  return kNames[static_cast<int>(kind)];
}

int NumFunctions() { return kNumFunctions; }
int FirstUnknown() { return kFirstUnknown; }
const Function& FunctionOf(int id) { return GetTables().functions[id]; }
std::span<const Slot> ExtensionSlots() { return kExtensionSlots; }

std::span<void* const> Forwarders(int table) {
  static const auto& forwarders = *new auto(MakeAllForwarders(std::make_index_sequence<kMaxTables>()));
  return forwarders[table];
}

}  // namespace tenon::trace
