# XLA's own CPU plugin as PyPI has it (xla-cpu-pjrt, PJRT 0.81).
name xla_cpu
match file xla_cpu_pjrt.so
option cpu_device_count int 4
# Entries younger than 0.81.
permanent *.Event_Create* : newer than 0.81
permanent events.on_ready_many : uses PJRT_Event_Create, newer than 0.81
permanent events.create_set : PJRT_Event_Create is newer than 0.81
permanent events.set_* : PJRT_Event_Create is newer than 0.81
permanent events.error_not_ready : PJRT_Event_Create is newer than 0.81
permanent events.await_on_another_thread : PJRT_Event_Create is newer than 0.81
permanent events.destroy_unset : PJRT_Event_Create is newer than 0.81
permanent *.Client_CreateErrorBuffer* : newer than 0.81
permanent buffers.error_buffer* : PJRT_Client_CreateErrorBuffer is newer than 0.81
permanent *.Device_PoisonExecution* : newer than 0.81
permanent devices.poison_nothing : PJRT_Device_PoisonExecution is newer than 0.81
permanent *.LoadedExecutable_AddressableDeviceLogicalIds* : newer than 0.81
permanent *.logical_ids : AddressableDeviceLogicalIds is newer than 0.81
permanent *.Buffer_Bitcast* : newer than 0.81
permanent buffers.bitcast* : PJRT_Buffer_Bitcast is newer than 0.81
permanent *.Device_GetAttributes* : newer than 0.81
permanent devices.live_attributes : PJRT_Device_GetAttributes is newer than 0.81
permanent *.Executable_GetCompileOptions* : newer than 0.81
permanent compile.options_kept : PJRT_Executable_GetCompileOptions is newer than 0.81
permanent *.TopologyDescription_GetMemorySpaceKindIds* : newer than 0.81
permanent aot.memory_kinds : GetMemorySpaceKindIds is newer than 0.81
permanent *.Device_ClearMemoryStats* : newer than 0.81
permanent *.Device_CreateAsyncTrackingEvent* : newer than 0.81
permanent *.Executable_ParameterMemoryKinds* : newer than 0.81
permanent *.TopologyDescription_Fingerprint* : newer than 0.81
permanent types.s1 : the type is newer than 0.81
permanent types.u1 : the type is newer than 0.81
permanent types.f6e* : the type is newer than 0.81
permanent errors.vtable* : errors have tables of functions from 0.110 on
permanent errors.payload_* : PJRT_Error_ForEachPayload is newer than 0.81
permanent memories.vtable : memories have tables of functions from 0.105 on
permanent memories.user_data : memories have tables of functions from 0.105 on
permanent buffers.copy_raw_future* : CopyRawToHostFuture is newer than 0.81
permanent async.literal* : TransferLiteral is newer than 0.81
permanent donation.control_dependency* : DonateWithControlDependency is newer than 0.81
permanent extensions.layouts_executable : GetParameterLayouts is newer than 0.81
permanent extensions.ffi_user_data : the FFI extension of 0.81 has another shape of type information than that of 0.117
permanent aot.compile_load : PJRT_Client_Load is newer than 0.81, and no compiler is registered
# What the plugin does not offer.
permanent structs.caller.Device_MemoryStats.* : no memory statistics on CPU
permanent structs.newer.Device_MemoryStats : no memory statistics on CPU
permanent devices.memory_stats* : no memory statistics on CPU
permanent structs.caller.Executable_OutputMemoryKinds.* : no memory kinds of outputs on CPU
permanent structs.newer.Executable_OutputMemoryKinds : no memory kinds of outputs on CPU
permanent compile.output_memory_kinds : no memory kinds of outputs on CPU
permanent client.dma_map : no DmaMap on CPU
permanent aot.compile : no compiler is registered for topologies
permanent aot.compile_serialize : no compiler is registered for topologies
permanent aot.compile_deserialize : no compiler is registered for topologies
permanent aot.compile_with_client : no compiler is registered for topologies
permanent aot.topology_round_trip : topologies are not read back: no compiler is registered
permanent structs.caller.TopologyDescription_Deserialize.* : topologies are not read back: no compiler is registered
permanent structs.newer.TopologyDescription_Deserialize : topologies are not read back: no compiler is registered
permanent extensions.memory_descriptions : descriptions of topologies name no memories
permanent extensions.shardings : no such extension
permanent extensions.profiler : no such extension
# Sizes of older callers.
permanent structs.caller.Plugin_Attributes.24 : refuses the size that callers before 0.74 send
permanent structs.caller.Client_Create.72 : refuses callers before 0.61
permanent structs.caller.ExecuteOptions.72 : refuses callers before 0.78
permanent structs.caller.ExecuteOptions.80 : refuses callers before 0.78 (gopjrt sends this size)
permanent structs.caller.ExecuteOptions.88 : refuses callers before 0.78
permanent structs.caller.Executable_DeserializeAndLoad.48 : refuses callers before 0.71
permanent structs.caller.Executable_GetCompiledMemoryStats.104 : accepts callers before 0.72 and writes behind their struct
permanent *.Client_CreateViewOfDeviceBuffer* : an on_delete_callback of NULL ends the process, and the struct's size is not checked
# Bad input: pointers and values are used as they come.
permanent bad_input.null.* : objects that are NULL are used
permanent bad_input.upload_no_target : a device that is NULL is used
permanent bad_input.upload_null_data : data that is NULL is read
permanent bad_input.upload_null_dims : extents that are NULL are read
permanent bad_input.upload_type_* : a type that no array has ends the process (a CHECK)
permanent bad_input.uninitialized_type : a type that no array has ends the process
permanent bad_input.upload_semantics : unknown semantics are accepted
permanent bad_input.upload_strides_count : another number of strides than extents ends the process (a CHECK)
permanent bad_input.foreign_device : another client's device is accepted
permanent bad_input.execute_type : only the number of bytes of an argument is checked
permanent bad_input.execute_same_size : only the number of bytes of an argument is checked
permanent bad_input.execute_null_argument : arguments that are NULL are used
permanent bad_input.execute_null_options : options that are NULL are used
permanent layouts.bad_* : layouts of uploads are not checked, only used or dropped
permanent client.assignment_zero : zero replicas end the process (a CHECK)
permanent client.assignment_negative : negative counts are checked after the size of the array, with another code
permanent compile.empty_options : empty options end the process (a CHECK on the number of replicas)
permanent async.bad_index : indexes are not checked
permanent async.retrieve_twice : a buffer is handed out again
permanent async.transfer_out_of_range : ranges are not checked; the process hangs
# Behaviour.
permanent layouts.host_column_major : host layouts are ignored
permanent layouts.host_permuted_3d : host layouts are ignored
permanent types.s4_sign : s4 comes back without its sign's upper bits
permanent compile.delete : IsDeleted of an executable stays false
permanent compile.get_executable_fresh : an executable's handle is used after the loaded one went, and crashes
permanent extensions.raw_* : no such extension
permanent extensions.host_allocator_* : no such extension
permanent extensions.phase_* : the extension is there, its slots are NULL
permanent extensions.abi_* : no such extension
permanent execute.send* : send is not supported by its thunk emitter
permanent execute.recv : recv is not supported by its thunk emitter
permanent buffers.alias_self : a promise kept with itself is accepted, and waits for ever
permanent buffers.alias_of_copy : a promise kept with what waits for it waits for ever
permanent buffers.alias_of_output : a promise kept with what waits for it waits for ever
permanent buffers.alias_ring : a promise kept with what waits for it waits for ever
permanent buffers.alias_deleted_source : keeping a promise with a deleted buffer ends the process (a CHECK)
permanent buffers.alias_failed : FulfillAliasBuffer with an error returns that error
permanent op.maximum_nan.* : the maximum of a number and NaN is the number
permanent op.minimum_nan.* : the minimum of a number and NaN is the number
