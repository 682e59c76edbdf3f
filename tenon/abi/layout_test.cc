// The layout asserts: the table and every struct_size, from the two lists api.def and struct_sizes.def.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>

#include "tenon/abi/pjrt.h"
#include "tenon/abi/pjrt_abi_version.h"
#include "tenon/abi/pjrt_callback.h"
#include "tenon/abi/pjrt_cross_host_transfers.h"
#include "tenon/abi/pjrt_custom_partitioner.h"
#include "tenon/abi/pjrt_executable_metadata.h"
#include "tenon/abi/pjrt_ffi.h"
#include "tenon/abi/pjrt_host_allocator.h"
#include "tenon/abi/pjrt_host_memory_allocator.h"
#include "tenon/abi/pjrt_layouts.h"
#include "tenon/abi/pjrt_memory_descriptions.h"
#include "tenon/abi/pjrt_phase_compile.h"
#include "tenon/abi/pjrt_profiler.h"
#include "tenon/abi/pjrt_raw_buffer.h"
#include "tenon/abi/pjrt_shardings.h"
#include "tenon/abi/pjrt_stream.h"
#include "tenon/abi/xla_ffi.h"

extern "C" int tenon_abi_c_checks(void);

namespace {

// Index of each function in the table.
enum TableIndex {
#define PJRT_FN(function, args, since, owner) k_##function,
#include "tenon/abi/api.def"
#undef PJRT_FN
  kTableLength
};

#define PJRT_FN(function, args, since, owner)                                                   \
  static_assert(offsetof(PJRT_Api, function) == 40 + 8 * k_##function, #function " has moved"); \
  static_assert(std::is_invocable_v<function*, args*>, #function " does not take " #args);      \
  static_assert(offsetof(args, struct_size) == 0, #args " does not begin with struct_size");    \
  static_assert(offsetof(args, extension_start) == 8, #args " lacks extension_start");
#include "tenon/abi/api.def"
#undef PJRT_FN

static_assert(kTableLength == 138);
static_assert(PJRT_Api_STRUCT_SIZE == 1144 && sizeof(PJRT_Api) == 1144);
static_assert(PJRT_API_MAJOR == 0 && PJRT_API_MINOR == 117);
static_assert(PJRT_Extension_Base_STRUCT_SIZE == 24);
static_assert(PJRT_Layouts_Extension_STRUCT_SIZE == 80);
static_assert(PJRT_FFI_Extension_STRUCT_SIZE == 48);
static_assert(PJRT_Shardings_Extension_STRUCT_SIZE == 40);
static_assert(PJRT_MemoryDescriptions_Extension_STRUCT_SIZE == 40);
static_assert(PJRT_Profiler_Extension_STRUCT_SIZE == 40);
static_assert(PJRT_Stream_Extension_STRUCT_SIZE == 40);
static_assert(PJRT_AbiVersion_Extension_STRUCT_SIZE == 120);
static_assert(PJRT_PhaseCompile_Extension_STRUCT_SIZE == 64);
static_assert(PJRT_RawBuffer_Extension_STRUCT_SIZE == 80);
static_assert(PJRT_HostAllocator_Extension_STRUCT_SIZE == 48);
static_assert(PJRT_HostMemoryAllocator_Extension_STRUCT_SIZE == 32);
static_assert(PJRT_Callback_Extension_STRUCT_SIZE == 40);
static_assert(PJRT_ExecutableMetadata_Extension_STRUCT_SIZE == 40);
static_assert(PJRT_Custom_Partitioner_Extension_STRUCT_SIZE == 40);
static_assert(sizeof(PJRT_NamedValue) == 56 && sizeof(PJRT_ShapeSpec) == 40, "arrays of these have a fixed stride");
static_assert(sizeof(PJRT_Chunk) == 32 && sizeof(PJRT_SendCallbackInfo) == 24 && sizeof(PJRT_LogicalDeviceIds) == 8);

#define XLA_FFI_SIZE(type, size, struct_size) \
  static_assert(sizeof(type) == size && type##_STRUCT_SIZE == struct_size, #type);
#include "tenon/abi/xla_ffi_sizes.def"
#undef XLA_FFI_SIZE
static_assert(offsetof(XLA_FFI_CallFrame, future) == 168);
static_assert(offsetof(XLA_FFI_Api, XLA_FFI_CustomOptions_Get) == 200);

struct Sizes {
  size_t now;
  size_t latest = 0;
  int minor = 0;
};

TEST(Layout, StructSizesEndWithTodays) {
  std::map<std::string, Sizes> sizes;
#define PJRT_SIZE(type, since, size)                                                  \
  {                                                                                   \
    Sizes& s = sizes.try_emplace(#type, Sizes{type##_STRUCT_SIZE}).first->second;     \
    EXPECT_GT(static_cast<size_t>(size), s.latest) << #type " shrank in 0." << since; \
    EXPECT_GT(since, s.minor) << #type " has two rows for one version";               \
    s.latest = size;                                                                  \
    s.minor = since;                                                                  \
  }
#include "tenon/abi/struct_sizes.def"
#undef PJRT_SIZE
  for (const auto& [name, s] : sizes) EXPECT_EQ(s.now, s.latest) << name;
  // Every args struct of the table is in the list.
#define PJRT_FN(function, args, since, owner) EXPECT_TRUE(sizes.contains(#args)) << #args;
#include "tenon/abi/api.def"
#undef PJRT_FN
}

TEST(Layout, VersionsInTheTableRise) {
  int last = 0;
#define PJRT_FN(function, args, since, owner) \
  EXPECT_GE(since, last) << #function;        \
  last = since;
#include "tenon/abi/api.def"
#undef PJRT_FN
  EXPECT_LE(last, PJRT_API_MINOR);
}

TEST(Layout, SameInC) { EXPECT_EQ(tenon_abi_c_checks(), 1144); }

}  // namespace
