/* The C interface of Tenon's client: drives any PJRT plugin from C and from every language that calls C (C99).

   Handles are opaque. A function that can fail returns a tenon_status*, NULL for success; the caller frees it. Results
   come through the last parameters and are set to NULL or 0 when the call fails. Who is given a handle frees it, in any
   order: handles keep alive what they need; freeing NULL does nothing. All functions may be called from several threads
   at once, except that a handle must not be freed while another call uses it. No function throws, prints or ends the
   process. Strings are UTF-8 and end with a zero byte; those that a handle lends live as long as the handle.

   Functions are only ever added, and structs grow at their end, as long as the number in the library's name
   (libtenon.so.0) is the same: tenon_abi_version() says what the loaded library has, TENON_ABI_VERSION what this header
   describes. */
#ifndef TENON_H_
#define TENON_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_ABI_MAJOR 0
#define TENON_ABI_MINOR 1
#define TENON_ABI_VERSION (TENON_ABI_MAJOR * 1000 + TENON_ABI_MINOR)

#if defined(__GNUC__)
#define TENON_API __attribute__((visibility("default")))
#else
#define TENON_API
#endif

/* Callers may pass other numbers than those that have names: in C++, as in C, an enum holds every int. */
#ifdef __cplusplus
#define TENON_HOLDS_INT : int
#else
#define TENON_HOLDS_INT
#endif

typedef struct tenon_status tenon_status;
typedef struct tenon_bytes tenon_bytes;
typedef struct tenon_plugin tenon_plugin;
typedef struct tenon_client tenon_client;
typedef struct tenon_device tenon_device;
typedef struct tenon_compile_options tenon_compile_options;
typedef struct tenon_executable tenon_executable;
typedef struct tenon_buffer tenon_buffer;
typedef struct tenon_hold tenon_hold;
typedef struct tenon_event tenon_event;

/* ---- Versions ---- */

/* TENON_ABI_VERSION of the library. */
TENON_API int tenon_abi_version(void);
/* "0.1.0" */
TENON_API const char* tenon_version(void);

/* ---- Status ---- */

/* The numbers equal those of PJRT and gRPC. */
typedef enum tenon_code TENON_HOLDS_INT {
  TENON_OK = 0,
  TENON_CANCELLED = 1,
  TENON_UNKNOWN = 2,
  TENON_INVALID_ARGUMENT = 3,
  TENON_DEADLINE_EXCEEDED = 4,
  TENON_NOT_FOUND = 5,
  TENON_ALREADY_EXISTS = 6,
  TENON_PERMISSION_DENIED = 7,
  TENON_RESOURCE_EXHAUSTED = 8,
  TENON_FAILED_PRECONDITION = 9,
  TENON_ABORTED = 10,
  TENON_OUT_OF_RANGE = 11,
  TENON_UNIMPLEMENTED = 12,
  TENON_INTERNAL = 13,
  TENON_UNAVAILABLE = 14,
  TENON_DATA_LOSS = 15,
  TENON_UNAUTHENTICATED = 16
} tenon_code;

/* TENON_OK for NULL. */
TENON_API tenon_code tenon_status_code(const tenon_status* status);
/* What was got and what was wanted; "" for NULL. */
TENON_API const char* tenon_status_message(const tenon_status* status);
TENON_API void tenon_status_free(tenon_status* status);
/* "INVALID_ARGUMENT"; "UNKNOWN_CODE" for other numbers. */
TENON_API const char* tenon_code_name(tenon_code code);

/* ---- Bytes: texts and files that the library makes ---- */

/* A zero byte follows the last one. NULL and 0 for NULL. */
TENON_API const char* tenon_bytes_data(const tenon_bytes* bytes);
TENON_API size_t tenon_bytes_size(const tenon_bytes* bytes);
TENON_API void tenon_bytes_free(tenon_bytes* bytes);

/* ---- Element types ---- */

/* The numbers equal PJRT_Buffer_Type. Host arrays hold types narrower than a byte one per byte. */
typedef enum tenon_dtype TENON_HOLDS_INT {
  TENON_INVALID = 0,
  TENON_PRED = 1,
  TENON_S8 = 2,
  TENON_S16 = 3,
  TENON_S32 = 4,
  TENON_S64 = 5,
  TENON_U8 = 6,
  TENON_U16 = 7,
  TENON_U32 = 8,
  TENON_U64 = 9,
  TENON_F16 = 10,
  TENON_F32 = 11,
  TENON_F64 = 12,
  TENON_BF16 = 13,
  TENON_C64 = 14,
  TENON_C128 = 15,
  TENON_F8E5M2 = 16,
  TENON_F8E4M3FN = 17,
  TENON_F8E4M3B11FNUZ = 18,
  TENON_F8E5M2FNUZ = 19,
  TENON_F8E4M3FNUZ = 20,
  TENON_S4 = 21,
  TENON_U4 = 22,
  TENON_TOKEN = 23,
  TENON_S2 = 24,
  TENON_U2 = 25,
  TENON_F8E4M3 = 26,
  TENON_F8E3M4 = 27,
  TENON_F8E8M0FNU = 28,
  TENON_F4E2M1FN = 29,
  TENON_S1 = 30,
  TENON_U1 = 31,
  TENON_F6E2M3FN = 32,
  TENON_F6E3M2FN = 33
} tenon_dtype;

/* "f32"; "invalid" for other numbers. */
TENON_API const char* tenon_dtype_name(tenon_dtype dtype);
/* Bytes of one element in host arrays; 0 for what has none. */
TENON_API size_t tenon_dtype_size(tenon_dtype dtype);

/* ---- Plugins ---- */

/* By name ("cpu", "xla_cpu", "cuda"), or by path when there is a slash in it; NULL or "": what TENON_PLUGIN says, else
   Tenon's own. NOT_FOUND says where was looked. A plugin stays loaded until the process ends. */
TENON_API tenon_status* tenon_plugin_load(const char* name_or_path, tenon_plugin** plugin);
TENON_API void tenon_plugin_free(tenon_plugin* plugin);
TENON_API const char* tenon_plugin_name(const tenon_plugin* plugin);
TENON_API const char* tenon_plugin_path(const tenon_plugin* plugin);
/* Version of the PJRT interface that it implements: "0.117". */
TENON_API const char* tenon_plugin_version(const tenon_plugin* plugin);
/* The plugins that can be found by name, one per line, without loading them: name, tab, path, tab, where it was found.
 */
TENON_API tenon_status* tenon_find_plugins(tenon_bytes** lines);

/* ---- Clients and devices ---- */

/* Opens the devices. `options` are the plugin's own, "num_devices=2,name=x", and may be NULL. */
TENON_API tenon_status* tenon_client_create(const tenon_plugin* plugin, const char* options, tenon_client** client);
TENON_API void tenon_client_free(tenon_client* client);
TENON_API tenon_status* tenon_client_platform_name(const tenon_client* client, tenon_bytes** text);
TENON_API tenon_status* tenon_client_platform_version(const tenon_client* client, tenon_bytes** text);
/* Devices that this process can use; they are numbered from 0. */
TENON_API tenon_status* tenon_client_num_devices(const tenon_client* client, size_t* count);
/* OUT_OF_RANGE when there is no such number. */
TENON_API tenon_status* tenon_client_device(const tenon_client* client, size_t index, tenon_device** device);
TENON_API void tenon_device_free(tenon_device* device);
/* Unique over all processes of a job. */
TENON_API tenon_status* tenon_device_id(const tenon_device* device, int* id);
/* The vendor's name of the model. */
TENON_API tenon_status* tenon_device_kind(const tenon_device* device, tenon_bytes** text);
TENON_API tenon_status* tenon_device_to_string(const tenon_device* device, tenon_bytes** text);

/* ---- Compiling ---- */

/* One replica, one partition. NULL stands for the same wherever options are taken. */
TENON_API tenon_status* tenon_compile_options_create(tenon_compile_options** options);
TENON_API void tenon_compile_options_free(tenon_compile_options* options);
TENON_API tenon_status* tenon_compile_options_set_replicas(tenon_compile_options* options, int replicas);
/* Several partitions that one program describes by its shardings. */
TENON_API tenon_status* tenon_compile_options_set_partitions(tenon_compile_options* options, int partitions);
/* The one device, by its id. */
TENON_API tenon_status* tenon_compile_options_set_device(tenon_compile_options* options, int device_id);
/* An option of the plugin by name. */
TENON_API tenon_status* tenon_compile_options_set_string(tenon_compile_options* options, const char* name,
                                                         const char* value);
TENON_API tenon_status* tenon_compile_options_set_int(tenon_compile_options* options, const char* name, int64_t value);
TENON_API tenon_status* tenon_compile_options_set_bool(tenon_compile_options* options, const char* name, int value);
TENON_API tenon_status* tenon_compile_options_set_double(tenon_compile_options* options, const char* name,
                                                         double value);

/* `program` is StableHLO as text, bytecode or portable artifact ("mlir", also for a NULL format), or a serialized
   xla.HloModuleProto ("hlo"). It is read during the call. */
TENON_API tenon_status* tenon_compile(const tenon_client* client, const char* program, size_t program_size,
                                      const char* format, const tenon_compile_options* options,
                                      tenon_executable** executable);
TENON_API void tenon_executable_free(tenon_executable* executable);
TENON_API tenon_status* tenon_executable_name(const tenon_executable* executable, tenon_bytes** text);
TENON_API tenon_status* tenon_executable_num_outputs(const tenon_executable* executable, size_t* count);
TENON_API tenon_status* tenon_executable_num_devices(const tenon_executable* executable, size_t* count);
/* Element type and rank of an output, and up to `max_rank` of its extents to `dims`, which may be NULL. */
TENON_API tenon_status* tenon_executable_output(const tenon_executable* executable, size_t index, tenon_dtype* dtype,
                                                int64_t* dims, size_t max_rank, size_t* rank);
/* For tenon_executable_load of the same build of the same plugin. */
TENON_API tenon_status* tenon_executable_serialize(const tenon_executable* executable, tenon_bytes** bytes);
TENON_API tenon_status* tenon_executable_load(const tenon_client* client, const char* bytes, size_t size,
                                              tenon_executable** executable);

/* ---- Buffers ---- */

/* An array in host memory. */
typedef struct tenon_array {
  const void* data; /* of the element [0, 0, ...]; may be NULL when there are no elements */
  tenon_dtype dtype;
  size_t rank;
  const int64_t* dims;
  const int64_t* byte_strides; /* NULL: dense, row-major */
} tenon_array;

/* Copies. The array may change when the call returns. `device` NULL: the client's first. */
TENON_API tenon_status* tenon_buffer_from_host(const tenon_client* client, const tenon_device* device,
                                               const tenon_array* array, tenon_buffer** buffer);
/* Uses the array where it lies, if alignment and platform allow it, else copies. If the call succeeds, nobody may write
   to the data until `release(context)` was called, once, on any thread, perhaps only after the buffer was freed. */
TENON_API tenon_status* tenon_buffer_from_host_view(const tenon_client* client, const tenon_device* device,
                                                    const tenon_array* array, void (*release)(void* context),
                                                    void* context, tenon_buffer** buffer);
/* Takes a DLManagedTensor* of the host as tenon_buffer_from_host_view does, and calls its deleter when it is no longer
   needed. If the call fails, it still belongs to the caller. */
TENON_API tenon_status* tenon_buffer_from_dlpack(const tenon_client* client, const tenon_device* device,
                                                 void* managed_tensor, tenon_buffer** buffer);
/* Gives up the memory as soon as no execution uses it. */
TENON_API void tenon_buffer_free(tenon_buffer* buffer);

TENON_API tenon_status* tenon_buffer_dtype(const tenon_buffer* buffer, tenon_dtype* dtype);
/* The rank, and up to `max_rank` extents to `dims`, which may be NULL. */
TENON_API tenon_status* tenon_buffer_dims(const tenon_buffer* buffer, int64_t* dims, size_t max_rank, size_t* rank);
/* Bytes of the dense row-major array. */
TENON_API tenon_status* tenon_buffer_size(const tenon_buffer* buffer, size_t* bytes);
TENON_API tenon_status* tenon_buffer_device(const tenon_buffer* buffer, tenon_device** device);
/* Waits until the contents are there; the error of the execution that should have made them. */
TENON_API tenon_status* tenon_buffer_await(const tenon_buffer* buffer);
TENON_API tenon_status* tenon_buffer_ready_event(const tenon_buffer* buffer, tenon_event** event);
/* 1 after an execution took it (donation). */
TENON_API tenon_status* tenon_buffer_is_deleted(const tenon_buffer* buffer, int* deleted);
/* Waits, and writes the dense row-major array; `size` must be tenon_buffer_size. */
TENON_API tenon_status* tenon_buffer_to_host(const tenon_buffer* buffer, void* data, size_t size);
/* The same while the caller goes on: `data` must live until the event fires. */
TENON_API tenon_status* tenon_buffer_to_host_async(const tenon_buffer* buffer, void* data, size_t size,
                                                   tenon_event** done);
/* Waits, and gives the address of the contents, dense and row-major, to be read until the hold is freed. UNIMPLEMENTED
   where the host cannot read the device's memory, or it lies otherwise: use tenon_buffer_to_host. */
TENON_API tenon_status* tenon_buffer_hold(const tenon_buffer* buffer, const void** data, tenon_hold** hold);
TENON_API void tenon_hold_free(tenon_hold* hold);
/* The same as a DLManagedTensor*, whose deleter ends the hold. */
TENON_API tenon_status* tenon_buffer_to_dlpack(const tenon_buffer* buffer, void** managed_tensor);
/* A new buffer on another device, also of another client. */
TENON_API tenon_status* tenon_buffer_copy_to(const tenon_buffer* buffer, const tenon_device* device,
                                             tenon_buffer** copy);

/* ---- Executing ---- */

typedef struct tenon_execute_options {
  size_t struct_size;    /* sizeof(tenon_execute_options) */
  const int64_t* donate; /* numbers of arguments that the program may consume, if it marks them; else all survive */
  size_t num_donate;
  int launch_id; /* number of the step, in programs over several devices or hosts */
} tenon_execute_options;

/* Runs on the one device that the program was compiled for. Returns when the work is under way; outputs become ready
   later. `outputs` gets num_outputs buffers, which must be what the program gives. `options` and `done` may be NULL;
   `done` gets the event of completion. */
TENON_API tenon_status* tenon_execute(const tenon_executable* executable, const tenon_buffer* const* arguments,
                                      size_t num_arguments, const tenon_execute_options* options,
                                      tenon_buffer** outputs, size_t num_outputs, tenon_event** done);
/* The same for programs over several devices: arguments and outputs of the first device, then of the second ... */
TENON_API tenon_status* tenon_execute_on_devices(const tenon_executable* executable,
                                                 const tenon_buffer* const* arguments, size_t num_devices,
                                                 size_t num_arguments, const tenon_execute_options* options,
                                                 tenon_buffer** outputs, size_t num_outputs);

/* ---- Events ---- */

TENON_API tenon_status* tenon_event_is_ready(const tenon_event* event, int* ready);
/* Waits; the error of the work. */
TENON_API tenon_status* tenon_event_await(const tenon_event* event);
/* Calls `done(status, context)` once: at once, or on a thread of the plugin, which it must not block. It owns the
   status. If the call fails, it is never called. The event may be freed meanwhile. */
TENON_API tenon_status* tenon_event_on_ready(const tenon_event* event,
                                             void (*done)(tenon_status* status, void* context), void* context);
TENON_API void tenon_event_free(tenon_event* event);

#ifdef __cplusplus
}
#endif

#endif /* TENON_H_ */
