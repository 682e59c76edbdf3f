#ifndef TENON_ABI_PJRT_CROSS_HOST_TRANSFERS_H_
#define TENON_ABI_PJRT_CROSS_HOST_TRANSFERS_H_

// PJRT extension: arrays between the processes of a job.
//
// Two interfaces. Sends and receives meet by a key that both processes know. The older one has the receiver make
// descriptors, which the caller brings to the sender.
#include "tenon/abi/pjrt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_CROSS_HOST_TRANSFERS_EXTENSION_VERSION 8

struct PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  size_t num_buffers;
  PJRT_Buffer** buffers;
  const int32_t* dst_global_device_ids;  // per buffer; of 64 bits before 0.106
  const int64_t* transfer_keys;          // per buffer
  PJRT_Event** send_events;              // out: per buffer
  size_t num_tasks;                      // 0: nothing is known of the tasks
  const int* task_ids;
  const int64_t* incarnation_ids;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args, incarnation_ids);

// Sends arrays to devices of other processes.
typedef PJRT_Error* PJRT_Transfers_PJRT_Client_CrossHostSendBuffers(
    PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args* args);

struct PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  size_t num_shapes;
  size_t* shape_num_dims;    // ranks
  const int64_t** num_dims;  // the dims of each
  PJRT_Buffer_Type* element_types;
  PJRT_Buffer_MemoryLayout** layouts;  // NULL, or per shape; NULL is the default
  PJRT_Device* device;
  const int32_t* src_global_device_ids;  // per shape; of 64 bits before 0.106
  const int64_t* transfer_keys;          // per shape
  PJRT_Buffer** buffers;                 // out: per shape
  size_t num_tasks;
  const int* task_ids;
  const int64_t* incarnation_ids;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args, incarnation_ids);

// Receives arrays that devices of other processes send.
typedef PJRT_Error* PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers(
    PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args* args);

typedef void (*PJRT_Transfers_CrossHostOnCanceledCallback)(PJRT_Error* error, void* user_arg);

// Tells the receiver that one of its descriptors is of no use any more.
typedef void (*PJRT_Transfers_CrossHostSendCancelNotifier)(const char* serialized_descriptor,
                                                           size_t serialized_descriptor_size, PJRT_Error_Code reason,
                                                           const char* error_message, size_t error_message_size,
                                                           PJRT_Transfers_CrossHostOnCanceledCallback on_canceled,
                                                           void* on_canceled_user_arg, void* user_arg);

typedef void (*PJRT_Transfers_CrossHostRecvNotifier)(PJRT_Error* error, const char** serialized_descriptors,
                                                     size_t* descriptors_sizes, size_t num_descriptors, void* user_arg,
                                                     PJRT_Transfers_CrossHostSendCancelNotifier cancel_notifier,
                                                     void* cancel_notifier_user_arg);

struct PJRT_Transfers_CrossHostRecvNotifierInfo {
  void* user_arg;
  PJRT_Transfers_CrossHostRecvNotifier notifier;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Transfers_CrossHostRecvNotifierInfo, notifier);

struct PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  size_t num_shapes;
  size_t* shape_num_dims;
  const int64_t** num_dims;
  PJRT_Buffer_Type* element_types;
  PJRT_Buffer_MemoryLayout** layouts;
  PJRT_Device* device;
  PJRT_Transfers_CrossHostRecvNotifierInfo notifier;
  PJRT_Buffer** buffers;  // out
  size_t num_buffers;     // out
  bool allow_cancel_notifier;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args, allow_cancel_notifier);

typedef PJRT_Error* PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers(
    PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args* args);

// The error is the callee's.
typedef void (*PJRT_Transfers_CrossHostRemoteSendCallback)(PJRT_Error* error, bool sends_were_enqueued, void* user_arg);

struct PJRT_Transfers_CrossHostRemoteSendCallbackInfo {
  void* user_arg;
  PJRT_Transfers_CrossHostRemoteSendCallback on_done;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Transfers_CrossHostRemoteSendCallbackInfo, on_done);

typedef void (*PJRT_Transfers_DescriptorDestructor)(char** descriptor_data, size_t* descriptor_size);

struct PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  PJRT_Event* event;  // says when the descriptor is there; the plugin's
  char** serialized_descriptor;
  size_t* serialized_descriptor_size;
  PJRT_Transfers_CrossHostRemoteSendCallbackInfo on_done;
  PJRT_Transfers_DescriptorDestructor descriptor_destructor;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args, descriptor_destructor);

typedef void PJRT_Buffer_CopyToRemoteDevice(PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args* args);

struct PJRT_CrossHostTransfers_Extension {
  PJRT_Extension_Base base;
  PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers* PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers;
  PJRT_Buffer_CopyToRemoteDevice* PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice;
  PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers* PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers;
  PJRT_Transfers_PJRT_Client_CrossHostSendBuffers* PJRT_Transfers_PJRT_Client_CrossHostSendBuffers;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_CrossHostTransfers_Extension, PJRT_Transfers_PJRT_Client_CrossHostSendBuffers);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_ABI_PJRT_CROSS_HOST_TRANSFERS_H_
