#pragma once

// What the bind_*.cc files share: one trampoline per function of api.def, which checks its arguments, calls the C++
// object, and turns the outcome into a PJRT_Error. Nothing that is thrown leaves a trampoline.

#include <cstddef>
#include <new>
#include <string_view>
#include <type_traits>

#include "tenon/abi/pjrt.h"
#include "tenon/abi/pjrt_ffi.h"
#include "tenon/abi/pjrt_layouts.h"
#include "tenon/abi/pjrt_memory_descriptions.h"
#include "tenon/abi/pjrt_profiler.h"
#include "tenon/abi/pjrt_shardings.h"
#include "tenon/base/contain.h"
#include "tenon/base/status.h"
#include "tenon/plugin/caller_value.h"
#include "tenon/plugin/error.h"
#include "tenon/plugin/plugin.h"

namespace tenon::plugin::bind {

#define PJRT_FN(function, args, since, owner) function Bind_##function;
#include "tenon/abi/api.def"
#undef PJRT_FN

/// The plugin behind the table.
Plugin& ThePlugin();
void SetThePlugin(Plugin& plugin);

/// The first of the static extension structs; they are chained.
PJRT_Extension_Base* Extensions();

/// The size of an args struct in the oldest version that had it: what every caller's struct has at least.
consteval size_t OldestSize(std::string_view name) {
  struct Row {
    std::string_view name;
    size_t size;
  };
  constexpr Row kRows[] = {
#define PJRT_SIZE(type, since, size) {#type, size},
#include "tenon/abi/struct_sizes.def"
#undef PJRT_SIZE
  };
  for (const Row& row : kRows) {
    if (row.name == name) return row.size;
  }
  return sizeof(size_t);
}

Status TooSmall(std::string_view function, size_t got, size_t wanted);
Status NullArgument(std::string_view function, std::string_view field);

template <auto kBody, class Args>
PJRT_Error* Guard(std::string_view function, size_t oldest_size, Args* args) noexcept {
  try {
    if (args == nullptr) return ToCError(NullArgument(function, "args"));
    if (args->struct_size < oldest_size) [[unlikely]]
      return ToCError(TooSmall(function, args->struct_size, oldest_size));
    Status status = kBody(*args, function);
    if (status.ok()) [[likely]]
      return nullptr;
    return ToCError(status);
  } catch (...) {
    return ToCError(CurrentException(function));
  }
}

/// Defines the trampoline of a function whose body follows: TENON_BIND(PJRT_Buffer_Delete) { ... return OkStatus(); }
/// The body sees `args`, a reference, and `fn`, the function's name.
#define TENON_BIND(function)                                                       \
  static Status Body_##function(function##_Args& args, std::string_view fn);       \
  PJRT_Error* Bind_##function(function##_Args* args) {                             \
    return Guard<Body_##function>(#function, OldestSize(#function "_Args"), args); \
  }                                                                                \
  static Status Body_##function([[maybe_unused]] function##_Args& args, [[maybe_unused]] std::string_view fn)

/// Whether the caller's struct has a field.
#define TENON_HAS(args, field) \
  ((args).struct_size >= offsetof(std::remove_cvref_t<decltype(args)>, field) + sizeof((args).field))

/// Returns INVALID_ARGUMENT when a pointer field is NULL.
#define TENON_REQUIRE(field)              \
  if (args.field == nullptr) [[unlikely]] \
  return NullArgument(fn, #field)

/// Returns INVALID_ARGUMENT when an array is NULL but has a count.
#define TENON_REQUIRE_ARRAY(field, count)                    \
  if (args.count != 0 && args.field == nullptr) [[unlikely]] \
  return NullArgument(fn, #field)

// Handles are the C++ objects themselves; a handle that a caller owns is one reference.
inline Client* FromC(PJRT_Client* c) { return reinterpret_cast<Client*>(c); }
inline Device* FromC(PJRT_Device* d) { return reinterpret_cast<Device*>(d); }
inline const DeviceDescription* FromC(PJRT_DeviceDescription* d) {
  return reinterpret_cast<const DeviceDescription*>(d);
}
inline Memory* FromC(PJRT_Memory* m) { return Memory::FromC(m); }
inline Buffer* FromC(PJRT_Buffer* b) { return reinterpret_cast<Buffer*>(b); }
inline const Executable* FromC(const PJRT_Executable* e) { return reinterpret_cast<const Executable*>(e); }
inline Executable* FromC(PJRT_Executable* e) { return reinterpret_cast<Executable*>(e); }
inline LoadedExecutable* FromC(PJRT_LoadedExecutable* e) { return reinterpret_cast<LoadedExecutable*>(e); }
inline ExecuteContext* FromC(PJRT_ExecuteContext* c) { return reinterpret_cast<ExecuteContext*>(c); }
inline Topology* FromC(PJRT_TopologyDescription* t) { return reinterpret_cast<Topology*>(t); }
inline Topology* FromC(const PJRT_TopologyDescription* t) {
  return const_cast<Topology*>(reinterpret_cast<const Topology*>(t));
}

inline PJRT_Client* ToC(Ref<Client> c) { return reinterpret_cast<PJRT_Client*>(c.release()); }
inline PJRT_Device* ToC(Device* d) { return reinterpret_cast<PJRT_Device*>(d); }
inline PJRT_Device* const* ToC(std::span<Device* const> d) { return reinterpret_cast<PJRT_Device* const*>(d.data()); }
inline PJRT_DeviceDescription* ToC(const DeviceDescription* d) {
  return reinterpret_cast<PJRT_DeviceDescription*>(const_cast<DeviceDescription*>(d));
}
inline PJRT_Memory* ToC(Memory* m) { return m->c_memory(); }
inline PJRT_Buffer* ToC(Ref<Buffer> b) { return reinterpret_cast<PJRT_Buffer*>(b.release()); }
inline PJRT_Executable* ToC(Ref<Executable> e) { return reinterpret_cast<PJRT_Executable*>(e.release()); }
inline PJRT_LoadedExecutable* ToC(Ref<LoadedExecutable> e) {
  return reinterpret_cast<PJRT_LoadedExecutable*>(e.release());
}
inline PJRT_TopologyDescription* ToC(Ref<Topology> t) {
  return reinterpret_cast<PJRT_TopologyDescription*>(t.release());
}

/// Events that are ready with OK need no object: one static address stands for all of them.
extern char ready_event;
inline PJRT_Event* ToC(EventRef e) {
  Ref<Event> event = std::move(e).TakeRef();
  return event == nullptr ? reinterpret_cast<PJRT_Event*>(&ready_event)
                          : reinterpret_cast<PJRT_Event*>(event.release());
}
/// Null for the event that is always ready.
inline Event* FromC(PJRT_Event* e) {
  return reinterpret_cast<char*>(e) == &ready_event ? nullptr : reinterpret_cast<Event*>(e);
}

/// Where a buffer goes: what the caller named, checked. INVALID_ARGUMENT when neither is given or they do not fit.
struct Placement {
  Device* device;
  Memory* memory;
};
Result<Placement> ResolvePlacement(std::string_view function, Client& client, PJRT_Device* device, PJRT_Memory* memory);

/// The minor_to_major of a C layout for an array of `rank`; empty for null. Tiles and other strides than dense ones are
/// refused.
Result<Dims> DecodeLayout(const PJRT_Buffer_MemoryLayout* layout, const Shape& shape);

/// What an array is, as a call describes it: the number of a PJRT_Buffer_Type, extents, layout (null: row-major).
Result<ArraySpec> MakeSpec(std::string_view fn, int type, const int64_t* dims, size_t num_dims,
                           const PJRT_Buffer_MemoryLayout* layout);

/// The CompileOptionsProto of a call, decoded and checked against the options that the plugin takes.
Result<CompileOptions> DecodeCallersCompileOptions(std::string_view fn, const char* data, size_t size);

/// The error that a caller fails something with, with its payloads where the call has such. INVALID_ARGUMENT if it is
/// OK.
template <class Args>
Status TakeFailure(std::string_view fn, const Args& args, Status& error) {
  error = StatusFromC(CallerValue(args.error_code), args.error_message, args.error_message_size);
  if (error.ok()) return InvalidArgument(std::string(fn) + ": error_code is OK");
  if constexpr (requires { args.num_payload; }) {
    if (TENON_HAS(args, num_payload)) return AddPayloads(args.payload, args.num_payload, error);
  }
  return OkStatus();
}

/// The bytes of a serialized object behind a holder pointer.
struct Bytes {
  std::string data;
};
template <class Holder>
Holder* NewHolder(std::string bytes, const char** data, size_t* size) {
  auto* holder = new Bytes{std::move(bytes)};
  *data = holder->data.data();
  *size = holder->data.size();
  return reinterpret_cast<Holder*>(holder);
}
template <class Holder>
void DeleteHolder(Holder* holder) {
  delete reinterpret_cast<Bytes*>(holder);
}

}  // namespace tenon::plugin::bind
