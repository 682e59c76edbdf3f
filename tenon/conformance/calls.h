#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/abi/pjrt.h"

namespace tenon::conformance {

/// The function of the table that takes `Args`: every function has its own struct.
template <class Args>
struct Fn;
#define PJRT_FN(function, args, since, owner)                       \
  template <>                                                       \
  struct Fn<args> {                                                 \
    static constexpr const char* kName = #function;                 \
    static constexpr int kSince = since;                            \
    static constexpr size_t kSize = args##_STRUCT_SIZE;             \
    static constexpr size_t kOffset = offsetof(PJRT_Api, function); \
    static auto Slot(const PJRT_Api* api) { return api->function; } \
  };
#include "tenon/abi/api.def"
#undef PJRT_FN

/// Zeroed arguments with struct_size as of this header.
template <class Args>
Args New() {
  Args args;
  std::memset(static_cast<void*>(&args), 0, sizeof(args));
  args.struct_size = Fn<Args>::kSize;
  return args;
}

/// The type of an extension as a number: a later one is no value of the enum.
inline uint32_t TypeOf(const PJRT_Extension_Base& extension) {
  uint32_t type;
  std::memcpy(&type, &extension.type, sizeof(type));
  return type;
}

/// Whether a caller may use the function at `offset`, which came with minor version `since`: the table reaches that far
/// and the slot is filled.
inline bool Has(const PJRT_Api* api, size_t offset, int since) {
  if (api->struct_size < offset + sizeof(void*) || api->pjrt_api_version.minor_version < since) return false;
  void* function;
  std::memcpy(&function, reinterpret_cast<const char*>(api) + offset, sizeof(function));
  return function != nullptr;
}
template <class Args>
bool Has(const PJRT_Api* api) {
  return Has(api, Fn<Args>::kOffset, Fn<Args>::kSince);
}

struct FunctionInfo {
  const char* name;
  int since;
  size_t offset;
};
inline constexpr FunctionInfo kFunctions[] = {
#define PJRT_FN(function, args, since, owner) {#function, since, offsetof(PJRT_Api, function)},
#include "tenon/abi/api.def"
#undef PJRT_FN
};

}  // namespace tenon::conformance
