#ifndef TENON_ABI_PLUGIN_PROFILER_H_
#define TENON_ABI_PLUGIN_PROFILER_H_

// The interface of a device profiler, reached through the profiler extension. It has errors of its own.
#include "tenon/abi/pjrt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLUGIN_PROFILER_VERSION 1

typedef struct PLUGIN_Profiler PLUGIN_Profiler;
typedef struct PLUGIN_Profiler_Error PLUGIN_Profiler_Error;
typedef struct PLUGIN_Profiler_ConsumeResult PLUGIN_Profiler_ConsumeResult;

struct PLUGIN_Profiler_Error_Destroy_Args {
  size_t struct_size;
  void* priv;
  PLUGIN_Profiler_Error* error;
};
PJRT_DEFINE_STRUCT_TRAITS(PLUGIN_Profiler_Error_Destroy_Args, error);

// Frees an error of this API.
typedef void PLUGIN_Profiler_Error_Destroy(PLUGIN_Profiler_Error_Destroy_Args* args);

struct PLUGIN_Profiler_Error_Message_Args {
  size_t struct_size;
  void* priv;
  const PLUGIN_Profiler_Error* error;
  const char* message;  // out
  size_t message_size;  // out
};
PJRT_DEFINE_STRUCT_TRAITS(PLUGIN_Profiler_Error_Message_Args, message_size);

// Text of an error; lives as long as it.
typedef void PLUGIN_Profiler_Error_Message(PLUGIN_Profiler_Error_Message_Args* args);

struct PLUGIN_Profiler_Error_GetCode_Args {
  size_t struct_size;
  void* priv;
  const PLUGIN_Profiler_Error* error;
  int code;  // out
};
PJRT_DEFINE_STRUCT_TRAITS(PLUGIN_Profiler_Error_GetCode_Args, code);

// Code of an error.
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_Error_GetCode(PLUGIN_Profiler_Error_GetCode_Args* args);

struct PLUGIN_Profiler_Create_Args {
  size_t struct_size;
  const char* options;
  size_t options_size;
  PLUGIN_Profiler* profiler;  // out
};
PJRT_DEFINE_STRUCT_TRAITS(PLUGIN_Profiler_Create_Args, profiler);

// A profiler for serialized ProfileOptions.
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_Create(PLUGIN_Profiler_Create_Args* args);

struct PLUGIN_Profiler_Destroy_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
};
PJRT_DEFINE_STRUCT_TRAITS(PLUGIN_Profiler_Destroy_Args, profiler);

// Frees the profiler.
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_Destroy(PLUGIN_Profiler_Destroy_Args* args);

struct PLUGIN_Profiler_Start_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
};
PJRT_DEFINE_STRUCT_TRAITS(PLUGIN_Profiler_Start_Args, profiler);

// Starts recording.
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_Start(PLUGIN_Profiler_Start_Args* args);

struct PLUGIN_Profiler_Stop_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
};
PJRT_DEFINE_STRUCT_TRAITS(PLUGIN_Profiler_Stop_Args, profiler);

// Stops recording.
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_Stop(PLUGIN_Profiler_Stop_Args* args);

struct PLUGIN_Profiler_CollectData_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
  uint8_t* buffer;
  size_t buffer_size_in_bytes;  // out
};
PJRT_DEFINE_STRUCT_TRAITS(PLUGIN_Profiler_CollectData_Args, buffer_size_in_bytes);

// Without `buffer`: the size of the serialized XSpace. With it: the bytes.
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_CollectData(PLUGIN_Profiler_CollectData_Args* args);

struct PLUGIN_Profiler_Consume_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
  PLUGIN_Profiler_ConsumeResult* result;  // out
};
PJRT_DEFINE_STRUCT_TRAITS(PLUGIN_Profiler_Consume_Args, result);

// Takes what was recorded out of the profiler.
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_Consume(PLUGIN_Profiler_Consume_Args* args);

struct PLUGIN_Profiler_ConsumeResult_Destroy_Args {
  size_t struct_size;
  PLUGIN_Profiler_ConsumeResult* consume_result;
};
PJRT_DEFINE_STRUCT_TRAITS(PLUGIN_Profiler_ConsumeResult_Destroy_Args, consume_result);

// Frees what Consume returned.
typedef void PLUGIN_Profiler_ConsumeResult_Destroy(PLUGIN_Profiler_ConsumeResult_Destroy_Args* args);

struct PLUGIN_Profiler_Serialize_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
  PLUGIN_Profiler_ConsumeResult* consume_result;
  const uint8_t* serialized_bytes;  // out
  size_t serialized_size;           // out
};
PJRT_DEFINE_STRUCT_TRAITS(PLUGIN_Profiler_Serialize_Args, serialized_size);

// What Consume returned as a serialized XSpace.
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_Serialize(PLUGIN_Profiler_Serialize_Args* args);

struct PLUGIN_Profiler_Api {
  size_t struct_size;
  void* priv;
  PLUGIN_Profiler_Error_Destroy* error_destroy;
  PLUGIN_Profiler_Error_Message* error_message;
  PLUGIN_Profiler_Error_GetCode* error_get_code;
  PLUGIN_Profiler_Create* create;
  PLUGIN_Profiler_Destroy* destroy;
  PLUGIN_Profiler_Start* start;
  PLUGIN_Profiler_Stop* stop;
  PLUGIN_Profiler_CollectData* collect_data;
  PLUGIN_Profiler_Consume* consume;
  PLUGIN_Profiler_ConsumeResult_Destroy* consume_result_destroy;
  PLUGIN_Profiler_Serialize* serialize;
};
PJRT_DEFINE_STRUCT_TRAITS(PLUGIN_Profiler_Api, serialize);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_ABI_PLUGIN_PROFILER_H_
