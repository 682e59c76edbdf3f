#ifndef TENON_ABI_PJRT_EXECUTABLE_METADATA_H_
#define TENON_ABI_PJRT_EXECUTABLE_METADATA_H_

// PJRT extension: what a plugin says of an executable in a message of its own. No struct has a struct_size.
#include "tenon/abi/pjrt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_EXECUTABLE_METADATA_EXTENSION_VERSION 1

struct PJRT_ExecutableMetadata {
  const char* serialized_metadata;
  size_t serialized_metadata_size;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_ExecutableMetadata, serialized_metadata_size);

struct PJRT_ExecutableMetadata_GetExecutableMetadata_Args {
  PJRT_Executable* executable;
  PJRT_ExecutableMetadata* metadata;  // out
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_ExecutableMetadata_GetExecutableMetadata_Args, metadata);

// The metadata, which the caller gives back.
typedef PJRT_Error* (*PJRT_ExecutableMetadata_GetExecutableMetadata)(
    PJRT_ExecutableMetadata_GetExecutableMetadata_Args* args);

struct PJRT_ExecutableMetadata_DestroySerializedMetadata_Args {
  PJRT_ExecutableMetadata* metadata;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_ExecutableMetadata_DestroySerializedMetadata_Args, metadata);

typedef void (*PJRT_ExecutableMetadata_DestroySerializedMetadata)(
    PJRT_ExecutableMetadata_DestroySerializedMetadata_Args* args);

struct PJRT_ExecutableMetadata_Extension {
  PJRT_Extension_Base base;
  PJRT_ExecutableMetadata_GetExecutableMetadata get_executable_metadata;
  PJRT_ExecutableMetadata_DestroySerializedMetadata destroy_serialized_metadata;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_ExecutableMetadata_Extension, destroy_serialized_metadata);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_ABI_PJRT_EXECUTABLE_METADATA_H_
