#ifndef TENON_ABI_PJRT_HOST_MEMORY_ALLOCATOR_H_
#define TENON_ABI_PJRT_HOST_MEMORY_ALLOCATOR_H_

// PJRT extension: host memory that suits transfers, each block with its own deleter.
#include "tenon/abi/pjrt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_HOST_MEMORY_ALLOCATOR_EXTENSION_VERSION 0

struct PJRT_HostMemoryAllocator_Allocate_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  size_t size;
  int numa_node;                          // negative: any
  uint8_t* ptr;                           // out
  void (*deleter)(void* ptr, void* arg);  // out
  void* deleter_arg;                      // out
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_HostMemoryAllocator_Allocate_Args, deleter_arg);

// Allocates host memory that transfers like; the caller calls the deleter once, with the pointer and deleter_arg.
typedef PJRT_Error* (*PJRT_HostMemoryAllocator_Allocate)(PJRT_HostMemoryAllocator_Allocate_Args* args);

struct PJRT_HostMemoryAllocator_Extension {
  PJRT_Extension_Base base;
  PJRT_HostMemoryAllocator_Allocate allocate;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_HostMemoryAllocator_Extension, allocate);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_ABI_PJRT_HOST_MEMORY_ALLOCATOR_H_
