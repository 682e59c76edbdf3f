#ifndef TENON_ABI_PJRT_CUSTOM_PARTITIONER_H_
#define TENON_ABI_PJRT_CUSTOM_PARTITIONER_H_

// PJRT extension: custom calls that say themselves how they are cut over devices.
//
// Shapes are serialized xla.ShapeProto, shardings serialized xla.OpSharding.
#include "tenon/abi/pjrt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_CUSTOM_PARTITIONER_EXTENSION_VERSION 1

struct JAX_CustomCallPartitioner_string {
  const char* data;
  size_t size;
};
typedef struct JAX_CustomCallPartitioner_string JAX_CustomCallPartitioner_string;

// An array, and how it is cut where that is known.
struct JAX_CustomCallPartitioner_aval {
  JAX_CustomCallPartitioner_string shape;
  bool has_sharding;
  JAX_CustomCallPartitioner_string sharding;
};
typedef struct JAX_CustomCallPartitioner_aval JAX_CustomCallPartitioner_aval;

// What every callback's arguments begin with. The plugin fills api_version; the callback the rest. What comes back
// lives until the plugin calls cleanup_fn(data), where that is not NULL.
struct JAX_CustomCallPartitioner_version_and_error {
  int64_t api_version;
  void* data;                                  // out
  void (*cleanup_fn)(void* data);              // out
  bool has_error;                              // out
  PJRT_Error_Code code;                        // out
  JAX_CustomCallPartitioner_string error_msg;  // out
};
typedef struct JAX_CustomCallPartitioner_version_and_error JAX_CustomCallPartitioner_version_and_error;

struct JAX_CustomCallPartitioner_Partition_Args {
  JAX_CustomCallPartitioner_version_and_error header;
  size_t num_args;
  JAX_CustomCallPartitioner_aval* op_args;
  JAX_CustomCallPartitioner_aval op_result;
  JAX_CustomCallPartitioner_string backend_config;
  JAX_CustomCallPartitioner_string mlir_module;      // out: what one device computes
  JAX_CustomCallPartitioner_string* args_sharding;   // out: one per argument
  JAX_CustomCallPartitioner_string result_sharding;  // out
};
typedef struct JAX_CustomCallPartitioner_Partition_Args JAX_CustomCallPartitioner_Partition_Args;

struct JAX_CustomCallPartitioner_InferShardingFromOperands_Args {
  JAX_CustomCallPartitioner_version_and_error header;
  size_t num_args;
  JAX_CustomCallPartitioner_aval* op_args;
  JAX_CustomCallPartitioner_string result_shape;
  JAX_CustomCallPartitioner_string backend_config;
  bool has_result_sharding;                          // out
  JAX_CustomCallPartitioner_string result_sharding;  // out
};
typedef struct JAX_CustomCallPartitioner_InferShardingFromOperands_Args
    JAX_CustomCallPartitioner_InferShardingFromOperands_Args;

struct JAX_CustomCallPartitioner_PropagateUserSharding_Args {
  JAX_CustomCallPartitioner_version_and_error header;
  JAX_CustomCallPartitioner_string backend_config;
  JAX_CustomCallPartitioner_string result_shape;
  JAX_CustomCallPartitioner_string result_sharding;  // in and out
};
typedef struct JAX_CustomCallPartitioner_PropagateUserSharding_Args
    JAX_CustomCallPartitioner_PropagateUserSharding_Args;

// Lives until the plugin calls dtor.
struct JAX_CustomCallPartitioner_Callbacks {
  int64_t version;
  void* private_data;
  void (*dtor)(struct JAX_CustomCallPartitioner_Callbacks* data);
  void (*partition)(struct JAX_CustomCallPartitioner_Callbacks* data, JAX_CustomCallPartitioner_Partition_Args* args);
  void (*infer_sharding)(struct JAX_CustomCallPartitioner_Callbacks* data,
                         JAX_CustomCallPartitioner_InferShardingFromOperands_Args* args);
  void (*propagate_user_sharding)(struct JAX_CustomCallPartitioner_Callbacks* data,
                                  JAX_CustomCallPartitioner_PropagateUserSharding_Args* args);
  bool can_side_effecting_have_replicated_sharding;
};
typedef struct JAX_CustomCallPartitioner_Callbacks JAX_CustomCallPartitioner_Callbacks;

struct PJRT_Register_Custom_Partitioner_Args {
  size_t struct_size;
  const char* name;
  size_t name_size;
  JAX_CustomCallPartitioner_Callbacks* callbacks;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Register_Custom_Partitioner_Args, callbacks);

// Registers the partitioner of custom calls of that name, for all clients.
typedef PJRT_Error* PJRT_Register_Custom_Partitioner(PJRT_Register_Custom_Partitioner_Args* args);

struct PJRT_Register_Batch_Partitionable_Args {
  size_t struct_size;
  const char* name;
  size_t name_size;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Register_Batch_Partitionable_Args, name_size);

// Says of custom calls of that name that they compute every entry of their leading dims for itself.
typedef PJRT_Error* PJRT_Register_Batch_Partitionable(PJRT_Register_Batch_Partitionable_Args* args);

struct PJRT_Custom_Partitioner_Extension {
  PJRT_Extension_Base base;
  PJRT_Register_Custom_Partitioner* register_custom_partitioner;
  PJRT_Register_Batch_Partitionable* register_batch_partitionable;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Custom_Partitioner_Extension, register_batch_partitionable);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_ABI_PJRT_CUSTOM_PARTITIONER_H_
