#ifndef TENON_ABI_PJRT_FFI_H_
#define TENON_ABI_PJRT_FFI_H_

// PJRT extension: user data and handlers for typed custom calls (see xla_ffi.h).
#include "tenon/abi/pjrt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_FFI_EXTENSION_VERSION 3

// Properties of a handler, or-ed together.
typedef enum {
  PJRT_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE = 1,
} PJRT_FFI_Handler_TraitsBits;

// How objects of a type are freed; the other two are reserved.
struct PJRT_FFI_Type_Info {
  void (*deleter)(void* object);
  void (*serialize)();
  void (*deserialize)();
};
typedef struct PJRT_FFI_Type_Info PJRT_FFI_Type_Info;

struct PJRT_FFI_Type_Register_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const char* type_name;
  size_t type_name_size;
  int64_t type_id;  // in, and out when it was 0
  PJRT_FFI_Type_Info* type_info;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_FFI_Type_Register_Args, type_info);

// Gives a type an id: 0 asks for one, any other number must be the type's own.
typedef PJRT_Error* PJRT_FFI_Type_Register(PJRT_FFI_Type_Register_Args* args);

// A pointer and the id of its type.
struct PJRT_FFI_UserData {
  int64_t type_id;
  void* data;
};
typedef struct PJRT_FFI_UserData PJRT_FFI_UserData;

struct PJRT_FFI_UserData_Add_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_ExecuteContext* context;
  PJRT_FFI_UserData user_data;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_FFI_UserData_Add_Args, user_data);

// Puts a pointer into an execute context; the deleter of its type frees it with the context.
typedef PJRT_Error* PJRT_FFI_UserData_Add(PJRT_FFI_UserData_Add_Args* args);

struct PJRT_FFI_Register_Handler_Args {
  size_t struct_size;
  const char* target_name;
  size_t target_name_size;
  void* handler;  // XLA_FFI_Handler*, or a bundle of them
  const char* platform_name;
  size_t platform_name_size;
  PJRT_FFI_Handler_TraitsBits traits;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_FFI_Register_Handler_Args, traits);

// Makes an XLA FFI handler known under a custom-call target name.
typedef PJRT_Error* PJRT_FFI_Register_Handler(PJRT_FFI_Register_Handler_Args* args);

struct PJRT_FFI_Extension {
  PJRT_Extension_Base base;
  PJRT_FFI_Type_Register* type_register;
  PJRT_FFI_UserData_Add* user_data_add;
  PJRT_FFI_Register_Handler* register_handler;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_FFI_Extension, register_handler);

typedef struct PJRT_FFI_Extension PJRT_FFI;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_ABI_PJRT_FFI_H_
