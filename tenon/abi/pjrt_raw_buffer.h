#ifndef TENON_ABI_PJRT_RAW_BUFFER_H_
#define TENON_ABI_PJRT_RAW_BUFFER_H_

// PJRT extension: direct access to the bytes of a buffer. Experimental.
#include "tenon/abi/pjrt_device_event.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_RAW_BUFFER_EXTENSION_VERSION 2

typedef struct PJRT_RawBuffer_FunctionTable PJRT_RawBuffer_FunctionTable;
typedef struct PJRT_RawBuffer PJRT_RawBuffer;

// Experimental: parameters of the two copy entries have changed without a new version.
struct PJRT_RawBuffer_FunctionTable {
  size_t struct_size;
  size_t instance_size;
  PJRT_Extension_Base* extension_start;
  void (*inc_ref)(PJRT_RawBuffer*);
  void (*dec_ref)(PJRT_RawBuffer*);
  size_t (*get_on_device_size_in_bytes)(const PJRT_RawBuffer*);
  PJRT_Memory* (*get_memory_space)(const PJRT_RawBuffer*);
  void* (*get_host_pointer)(const PJRT_RawBuffer*);
  PJRT_Error* (*copy_raw_host_to_device_and_return_event)(PJRT_RawBuffer*, const void*, int64_t, int64_t,
                                                          PJRT_DeviceEventVector*, PJRT_DeviceEvent*);
  PJRT_Error* (*copy_raw_device_to_host_and_return_event)(PJRT_RawBuffer*, void*, int64_t, int64_t,
                                                          PJRT_DeviceEventVector*, PJRT_DeviceEvent*);
  void* (*opaque_device_memory_data_pointer)(const PJRT_RawBuffer*);
  PJRT_Error* (*make_allocation_ready_event)(PJRT_RawBuffer*, PJRT_DeviceEvent*);
  PJRT_Error* (*get_raw_buffer_async_value)(PJRT_RawBuffer*, PJRT_DeviceEvent*);
  bool (*is_mutable)(const PJRT_RawBuffer*);
  PJRT_Error* (*slice)(PJRT_RawBuffer*, int64_t, int64_t, PJRT_RawBuffer**);
  void (*schedule_copy_to)(PJRT_RawBuffer*, PJRT_DeviceEventVector*, PJRT_RawBuffer*, PJRT_DeviceEventPromise*,
                           PJRT_DeviceEventPromise*, void (*)(PJRT_Error*, void*), void*);
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_RawBuffer_FunctionTable, schedule_copy_to);

// Implementations append their own state behind the table pointer.
struct PJRT_RawBuffer {
  const PJRT_RawBuffer_FunctionTable* vtable;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_RawBuffer, vtable);

struct PJRT_RawBuffer_CreateRawAliasOfBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  PJRT_RawBuffer* raw_buffer;  // out
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_RawBuffer_CreateRawAliasOfBuffer_Args, raw_buffer);

// A second handle on the bytes of a buffer.
typedef PJRT_Error* PJRT_RawBuffer_CreateRawAliasOfBuffer(PJRT_RawBuffer_CreateRawAliasOfBuffer_Args* args);

struct PJRT_RawBuffer_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_RawBuffer* buffer;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_RawBuffer_Destroy_Args, buffer);

// Frees the handle.
typedef PJRT_Error* PJRT_RawBuffer_Destroy(PJRT_RawBuffer_Destroy_Args* args);

struct PJRT_RawBuffer_GetHostPointer_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_RawBuffer* buffer;
  void* host_pointer;  // out
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_RawBuffer_GetHostPointer_Args, host_pointer);

// Address on the host, NULL when the host cannot read the memory.
typedef PJRT_Error* PJRT_RawBuffer_GetHostPointer(PJRT_RawBuffer_GetHostPointer_Args* args);

struct PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_RawBuffer* buffer;
  size_t on_device_size_in_bytes;  // out
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args, on_device_size_in_bytes);

// Bytes on the device.
typedef PJRT_Error* PJRT_RawBuffer_GetOnDeviceSizeInBytes(PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args* args);

struct PJRT_RawBuffer_GetMemorySpace_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_RawBuffer* buffer;
  PJRT_Memory* memory_space;  // out
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_RawBuffer_GetMemorySpace_Args, memory_space);

// The memory that holds the bytes.
typedef PJRT_Error* PJRT_RawBuffer_GetMemorySpace(PJRT_RawBuffer_GetMemorySpace_Args* args);

struct PJRT_RawBuffer_CopyRawDeviceToHost_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_RawBuffer* buffer;
  void* dst;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event* event;  // out
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_RawBuffer_CopyRawDeviceToHost_Args, event);

// Copies bytes to the host.
typedef PJRT_Error* PJRT_RawBuffer_CopyRawDeviceToHost(PJRT_RawBuffer_CopyRawDeviceToHost_Args* args);

struct PJRT_RawBuffer_CopyRawHostToDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_RawBuffer* buffer;
  const void* src;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event* event;  // out
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_RawBuffer_CopyRawHostToDevice_Args, event);

// Copies bytes from the host.
typedef PJRT_Error* PJRT_RawBuffer_CopyRawHostToDevice(PJRT_RawBuffer_CopyRawHostToDevice_Args* args);

struct PJRT_RawBuffer_Extension {
  PJRT_Extension_Base base;
  PJRT_RawBuffer_CreateRawAliasOfBuffer* PJRT_RawBuffer_CreateRawAliasOfBuffer;
  PJRT_RawBuffer_Destroy* PJRT_RawBuffer_Destroy;
  PJRT_RawBuffer_GetOnDeviceSizeInBytes* PJRT_RawBuffer_GetOnDeviceSizeInBytes;
  PJRT_RawBuffer_GetMemorySpace* PJRT_RawBuffer_GetMemorySpace;
  PJRT_RawBuffer_CopyRawHostToDevice* PJRT_RawBuffer_CopyRawHostToDevice;
  PJRT_RawBuffer_CopyRawDeviceToHost* PJRT_RawBuffer_CopyRawDeviceToHost;
  PJRT_RawBuffer_GetHostPointer* PJRT_RawBuffer_GetHostPointer;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_RawBuffer_Extension, PJRT_RawBuffer_GetHostPointer);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_ABI_PJRT_RAW_BUFFER_H_
