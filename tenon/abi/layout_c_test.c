// The headers as C11 reads them: the same asserts, and one function that the C++ test calls.

#include <assert.h>

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
#include "tenon/abi/program.h"
#include "tenon/abi/xla_ffi.h"

enum TableIndex {
#define PJRT_FN(function, args, since, owner) k_##function,
#include "tenon/abi/api.def"
#undef PJRT_FN
  kTableLength
};

#define PJRT_FN(function, args, since, owner) \
  static_assert(offsetof(PJRT_Api, function) == 40 + 8 * k_##function, #function " has moved");
#include "tenon/abi/api.def"
#undef PJRT_FN

#define XLA_FFI_SIZE(type, size, struct_size) \
  static_assert(sizeof(type) == size && type##_STRUCT_SIZE == struct_size, #type);
#include "tenon/abi/xla_ffi_sizes.def"
#undef XLA_FFI_SIZE

int tenon_abi_c_checks(void);
int tenon_abi_c_checks(void) { return PJRT_Api_STRUCT_SIZE; }
