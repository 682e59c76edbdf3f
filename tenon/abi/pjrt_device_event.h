#ifndef TENON_ABI_PJRT_DEVICE_EVENT_H_
#define TENON_ABI_PJRT_DEVICE_EVENT_H_

// Support types of the raw buffer extension: events and promises shared by both sides.
#include "tenon/abi/pjrt.h"

#ifdef __cplusplus
extern "C" {
#endif

// How far a device event is.
typedef enum {
  PJRT_DeviceEvent_State_Unavailable = 0,
  PJRT_DeviceEvent_State_Ready = 1,
  PJRT_DeviceEvent_State_Error = 2,
} PJRT_DeviceEvent_State;

typedef struct PJRT_DeviceEvent_FunctionTable PJRT_DeviceEvent_FunctionTable;
typedef struct PJRT_DeviceEvent PJRT_DeviceEvent;
typedef struct PJRT_DeviceEventPromise PJRT_DeviceEventPromise;

// Called when a device event completes.
typedef void (*PJRT_DeviceEvent_AndThen)(void* user_arg);

// Operations on a device event; `parent` supplies what this table leaves out.
struct PJRT_DeviceEvent_FunctionTable {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  void (*inc_ref)(void*);
  void (*dec_ref)(void*);
  void (*and_then)(void*, PJRT_DeviceEvent_AndThen, void*);
  int (*get_error_if_present)(void*, PJRT_Error_Code*, const char**, size_t*);
  const PJRT_DeviceEvent_FunctionTable* parent;
  PJRT_DeviceEvent_State (*get_state)(void*);
  intptr_t (*get_definition_stream)(void*, uint64_t*);
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_DeviceEvent_FunctionTable, get_definition_stream);

// A counted reference to something that completes, passed by value.
struct PJRT_DeviceEvent {
  const PJRT_DeviceEvent_FunctionTable* vtable;
  void* device_event;
};

// A list that its owner frees through `destroy`.
struct PJRT_DeviceEventVector {
  PJRT_DeviceEvent* data;
  size_t size;
  size_t capacity;
  void (*destroy)(PJRT_DeviceEvent*);
};
typedef struct PJRT_DeviceEventVector PJRT_DeviceEventVector;

// Operations on a promise: set takes a reference, set_error takes the error.
struct PJRT_DeviceEventPromise_FunctionTable {
  size_t struct_size;
  size_t instance_size;
  PJRT_Extension_Base* extension_start;
  void (*inc_ref)(PJRT_DeviceEventPromise*);
  void (*dec_ref)(PJRT_DeviceEventPromise*);
  PJRT_DeviceEvent (*event)(PJRT_DeviceEventPromise*);
  void (*set)(PJRT_DeviceEventPromise*, PJRT_DeviceEvent);
  void (*set_error)(PJRT_DeviceEventPromise*, PJRT_Error*);
  void (*set_ready)(PJRT_DeviceEventPromise*);
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_DeviceEventPromise_FunctionTable, set_ready);

// The side that completes a device event.
struct PJRT_DeviceEventPromise {
  const PJRT_DeviceEventPromise_FunctionTable* vtable;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_DeviceEventPromise, vtable);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_ABI_PJRT_DEVICE_EVENT_H_
