#ifndef TENON_ABI_PJRT_CALLBACK_H_
#define TENON_ABI_PJRT_CALLBACK_H_

// PJRT extension: functions of the caller that are told of a client's troubles.
#include "tenon/abi/pjrt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_CALLBACK_EXTENSION_VERSION 1

// What a function is told of.
typedef enum {
  PJRT_Callback_Type_Unknown = 0,
  PJRT_Callback_Type_Tpu_SliceBuilder = 1,  // PJRT_Callback_Tpu_SliceBuilderArgs
  PJRT_Callback_Type_Prefatal = 2,          // PJRT_Callback_PrefatalArgs
} PJRT_Callback_Type;

#ifdef __cplusplus
enum class PJRT_Callback_Tpu_SliceFailureType : int {
#else
typedef enum {
#endif
  SLICE_FAILURE_UNKNOWN = 0,
  SLICE_FAILURE_INIT_ERROR = 1,
  SLICE_FAILURE_WORKER_UNAVAILABLE = 2,
  SLICE_FAILURE_FLAPPING_TASK_ERROR = 3,
  SLICE_FAILURE_SW_INJECT_ERROR = 4,
  SLICE_FAILURE_CHIP_DRIVER_ERROR = 5,
#ifdef __cplusplus
};
#else
} PJRT_Callback_Tpu_SliceFailureType;
#endif

struct PJRT_Callback_Tpu_SliceBuilderArgs {
  size_t struct_size;
  PJRT_Callback_Tpu_SliceFailureType failure_type;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Callback_Tpu_SliceBuilderArgs, failure_type);

// The process is about to end, for this reason. The text lives for the call.
struct PJRT_Callback_PrefatalArgs {
  size_t struct_size;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Callback_PrefatalArgs, error_message_size);

// `args` is of the type that belongs to the callback's.
typedef void PJRT_Callback_Function(void* args, void* user_arg);

struct PJRT_Callback_RegisterCallback_Args {
  size_t struct_size;
  PJRT_Client* client;
  PJRT_Callback_Type type;
  PJRT_Callback_Function* callback;
  void* user_arg;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Callback_RegisterCallback_Args, user_arg);

// Adds a function for as long as the client lives.
typedef PJRT_Error* PJRT_Register_Callback(PJRT_Callback_RegisterCallback_Args* args);

struct PJRT_Callback_InvokeCallback_Args {
  size_t struct_size;
  PJRT_Client* client;
  PJRT_Callback_Type type;
  void* args;  // for the functions
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Callback_InvokeCallback_Args, args);

// Calls all functions of a type, on the caller's thread.
typedef PJRT_Error* PJRT_Callback_InvokeCallback(PJRT_Callback_InvokeCallback_Args* args);

struct PJRT_Callback_Extension {
  PJRT_Extension_Base base;
  PJRT_Register_Callback* register_callback;
  PJRT_Callback_InvokeCallback* invoke_callback;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Callback_Extension, invoke_callback);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_ABI_PJRT_CALLBACK_H_
