#ifndef TENON_ABI_PJRT_H_
#define TENON_ABI_PJRT_H_

// The PJRT C interface, version 0.117, and the table through which a plugin offers it.
#include "tenon/abi/pjrt_base.h"
#include "tenon/abi/pjrt_buffer.h"
#include "tenon/abi/pjrt_client.h"
#include "tenon/abi/pjrt_device.h"
#include "tenon/abi/pjrt_executable.h"
#include "tenon/abi/pjrt_topology.h"

#ifdef __cplusplus
extern "C" {
#endif

// The table that a plugin exports. Static: it lives as long as the process. struct_size tells how many entries exist;
// entries are only ever appended, in the order of api.def.
typedef struct PJRT_Api {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Api_Version pjrt_api_version;
#define PJRT_FN(function, args, since_minor, owner) function* function;
#include "tenon/abi/api.def"
#undef PJRT_FN
} PJRT_Api;

enum { PJRT_Api_STRUCT_SIZE = PJRT_STRUCT_SIZE(PJRT_Api, PJRT_TopologyDescription_GetMemorySpaceKindIds) };

// The one symbol of a plugin: the same pointer each time, without touching the hardware.
typedef const PJRT_Api* (*PJRT_GetPjrtApi_Function)(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_ABI_PJRT_H_
