# XLA's own CPU plugin as PyPI has it (xla-cpu-pjrt, PJRT 0.81).
name xla_cpu
match file xla_cpu_pjrt.so
option cpu_device_count int 4
# Entries younger than 0.81.
known *.Event_Create* : newer than 0.81
known events.on_ready_many : uses PJRT_Event_Create, newer than 0.81
known events.create_set : PJRT_Event_Create is newer than 0.81
known events.set_* : PJRT_Event_Create is newer than 0.81
known events.error_not_ready : PJRT_Event_Create is newer than 0.81
known events.await_on_another_thread : PJRT_Event_Create is newer than 0.81
known events.destroy_unset : PJRT_Event_Create is newer than 0.81
known *.Client_CreateErrorBuffer* : newer than 0.81
known buffers.error_buffer* : PJRT_Client_CreateErrorBuffer is newer than 0.81
known *.Device_PoisonExecution* : newer than 0.81
known devices.poison_nothing : PJRT_Device_PoisonExecution is newer than 0.81
known *.LoadedExecutable_AddressableDeviceLogicalIds* : newer than 0.81
known *.logical_ids : AddressableDeviceLogicalIds is newer than 0.81
known *.Buffer_Bitcast* : newer than 0.81
known buffers.bitcast* : PJRT_Buffer_Bitcast is newer than 0.81
known *.Device_GetAttributes* : newer than 0.81
known devices.live_attributes : PJRT_Device_GetAttributes is newer than 0.81
known *.Executable_GetCompileOptions* : newer than 0.81
known compile.options_kept : PJRT_Executable_GetCompileOptions is newer than 0.81
known *.TopologyDescription_GetMemorySpaceKindIds* : newer than 0.81
known aot.memory_kinds : GetMemorySpaceKindIds is newer than 0.81
known *.Device_ClearMemoryStats* : newer than 0.81
known *.Device_CreateAsyncTrackingEvent* : newer than 0.81
known *.Executable_ParameterMemoryKinds* : newer than 0.81
known *.TopologyDescription_Fingerprint* : newer than 0.81
known types.s1 : the type is newer than 0.81
known types.u1 : the type is newer than 0.81
known types.f6e* : the type is newer than 0.81
known errors.vtable* : errors have tables of functions from 0.110 on
known errors.payload_* : PJRT_Error_ForEachPayload is newer than 0.81
known memories.vtable : memories have tables of functions from 0.105 on
known memories.user_data : memories have tables of functions from 0.105 on
known buffers.copy_raw_future* : CopyRawToHostFuture is newer than 0.81
known async.literal* : TransferLiteral is newer than 0.81
known donation.control_dependency* : DonateWithControlDependency is newer than 0.81
known extensions.layouts_executable : GetParameterLayouts is newer than 0.81
known extensions.ffi_user_data : the FFI extension of 0.81 has another shape of type information than that of 0.117
known aot.compile_load : PJRT_Client_Load is newer than 0.81, and no compiler is registered
# What the plugin does not offer.
known structs.caller.Device_MemoryStats.* : no memory statistics on CPU
known structs.newer.Device_MemoryStats : no memory statistics on CPU
known devices.memory_stats* : no memory statistics on CPU
known structs.caller.Executable_OutputMemoryKinds.* : no memory kinds of outputs on CPU
known structs.newer.Executable_OutputMemoryKinds : no memory kinds of outputs on CPU
known compile.output_memory_kinds : no memory kinds of outputs on CPU
known client.dma_map : no DmaMap on CPU
known aot.compile : no compiler is registered for topologies
known aot.compile_serialize : no compiler is registered for topologies
known aot.compile_deserialize : no compiler is registered for topologies
known aot.compile_with_client : no compiler is registered for topologies
known aot.topology_round_trip : topologies are not read back: no compiler is registered
known structs.caller.TopologyDescription_Deserialize.* : topologies are not read back: no compiler is registered
known structs.newer.TopologyDescription_Deserialize : topologies are not read back: no compiler is registered
known extensions.memory_descriptions : descriptions of topologies name no memories
known extensions.shardings : no such extension
known extensions.profiler : no such extension
# Sizes of older callers.
known structs.caller.Plugin_Attributes.24 : refuses the size that callers before 0.74 send
known structs.caller.Client_Create.72 : refuses callers before 0.61
known structs.caller.ExecuteOptions.72 : refuses callers before 0.78
known structs.caller.ExecuteOptions.80 : refuses callers before 0.78 (gopjrt sends this size)
known structs.caller.ExecuteOptions.88 : refuses callers before 0.78
known structs.caller.Executable_DeserializeAndLoad.48 : refuses callers before 0.71
known structs.caller.Executable_GetCompiledMemoryStats.104 : accepts callers before 0.72 and writes behind their struct
known *.Client_CreateViewOfDeviceBuffer* : an on_delete_callback of NULL ends the process, and the struct's size is not checked
# Bad input: pointers and values are used as they come.
known bad_input.null.* : objects that are NULL are used
known bad_input.upload_no_target : a device that is NULL is used
known bad_input.upload_null_data : data that is NULL is read
known bad_input.upload_null_dims : extents that are NULL are read
known bad_input.upload_type_* : a type that no array has ends the process (a CHECK)
known bad_input.uninitialized_type : a type that no array has ends the process
known bad_input.upload_semantics : unknown semantics are accepted
known bad_input.upload_strides_count : another number of strides than extents ends the process (a CHECK)
known bad_input.foreign_device : another client's device is accepted
known bad_input.execute_type : only the number of bytes of an argument is checked
known bad_input.execute_same_size : only the number of bytes of an argument is checked
known bad_input.execute_null_argument : arguments that are NULL are used
known bad_input.execute_null_options : options that are NULL are used
known layouts.bad_* : layouts of uploads are not checked, only used or dropped
known client.assignment_zero : zero replicas end the process (a CHECK)
known client.assignment_negative : negative counts are checked after the size of the array, with another code
known compile.empty_options : empty options end the process (a CHECK on the number of replicas)
known async.bad_index : indexes are not checked
known async.retrieve_twice : a buffer is handed out again
known async.transfer_out_of_range : ranges are not checked; the process hangs
# Behaviour.
known layouts.host_column_major : host layouts are ignored
known layouts.host_permuted_3d : host layouts are ignored
known types.s4_sign : s4 comes back without its sign's upper bits
known compile.delete : IsDeleted of an executable stays false
known compile.get_executable_fresh : an executable's handle is used after the loaded one went, and crashes
known extensions.raw_* : no such extension
known extensions.host_allocator_* : no such extension
known extensions.host_memory_* : no such extension
known extensions.phase_* : the extension is there, its slots are NULL
known extensions.abi_* : no such extension
known execute.send* : send is not supported by its thunk emitter
known execute.recv : recv is not supported by its thunk emitter
known execute.poison_running : recv is not supported by its thunk emitter
known buffers.alias_self : a promise kept with itself is accepted, and waits for ever
known buffers.alias_of_copy : a promise kept with what waits for it waits for ever
known buffers.alias_of_output : a promise kept with what waits for it waits for ever
known buffers.alias_ring : a promise kept with what waits for it waits for ever
known buffers.alias_deleted_source : keeping a promise with a deleted buffer ends the process (a CHECK)
known buffers.alias_failed : FulfillAliasBuffer with an error returns that error
known op.maximum_nan.* : the maximum of a number and NaN is the number
known op.minimum_nan.* : the minimum of a number and NaN is the number
