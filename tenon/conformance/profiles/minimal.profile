# examples/minimal_plugin: one device, one memory, programs run by the evaluator on the caller's thread.
name minimal
match file pjrt_plugin_minimal.so*
match version Tenon's minimal example
permanent multi_device.* : it has one device
permanent *.Buffer_CopyToDevice* : it has one device
permanent *.Buffer_CopyToMemory* : it has one device with one memory
permanent client.assignment_two : it has one device
permanent devices.descriptions_differ : it has one device
permanent devices.strings_differ : it has one device
permanent buffers.copy_to_device : it has one device
permanent buffers.copy_independent : it has one device
permanent buffers.copy_to_memory_of_device : it has one device
permanent bad_input.execute_wrong_device : it has one device
permanent memories.copy_between : its device has one memory
permanent structs.caller.Device_MemoryStats.* : it keeps no memory statistics
permanent structs.newer.Device_MemoryStats : it keeps no memory statistics
permanent structs.caller.Device_ClearMemoryStats.* : it keeps no memory statistics
permanent structs.newer.Device_ClearMemoryStats : it keeps no memory statistics
permanent devices.memory_stats* : it keeps no memory statistics
permanent structs.caller.Device_PoisonExecution.* : it cannot poison executions
permanent structs.newer.Device_PoisonExecution : it cannot poison executions
permanent devices.poison_nothing : it cannot poison executions
permanent structs.caller.Executable_Fingerprint.* : its executables have no fingerprint
permanent structs.newer.Executable_Fingerprint : its executables have no fingerprint
permanent compile.fingerprint_* : its executables have no fingerprint
permanent structs.caller.Executable_GetCompiledMemoryStats.* : its executables keep no figures
permanent structs.newer.Executable_GetCompiledMemoryStats : its executables keep no figures
permanent compile.memory_stats : its executables keep no figures
permanent structs.caller.Executable_OptimizedProgram.* : its executables do not keep their program
permanent structs.newer.Executable_OptimizedProgram : its executables do not keep their program
permanent compile.optimized_program* : its executables do not keep their program
permanent structs.caller.Executable_Serialize.* : its executables cannot be serialized
permanent structs.newer.Executable_Serialize : its executables cannot be serialized
permanent *.Executable_DeserializeAndLoad* : its executables cannot be serialized
permanent serialize.round_trip : its executables cannot be serialized
permanent serialize.other_client : its executables cannot be serialized
permanent serialize.override_options : its executables cannot be serialized
permanent serialize.fingerprint_kept : its executables cannot be serialized
permanent serialize.garbage : its executables cannot be serialized
permanent serialize.truncated : its executables cannot be serialized
permanent serialize.deterministic_size : its executables cannot be serialized
permanent aot.compile* : it does not compile for topologies
permanent donation.consumes : it does not read the attributes that donate arguments, and leaves arguments alone
permanent donation.use_after : it does not read the attributes that donate arguments, and leaves arguments alone
permanent donation.read_after : it does not read the attributes that donate arguments, and leaves arguments alone
permanent async.execute_before_data : Execute runs the program on the caller's thread and so waits for its arguments
permanent execute.send* : programs do not talk to the host while they run
permanent execute.recv : programs do not talk to the host while they run
permanent extensions.raw_* : no such extension
permanent extensions.host_allocator_* : no such extension
permanent extensions.phase_* : no such extension
permanent extensions.abi_* : no such extension
