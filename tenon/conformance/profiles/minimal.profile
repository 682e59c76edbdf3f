# examples/minimal_plugin: one device, one memory, programs run by the evaluator on the caller's thread.
name minimal
match file pjrt_plugin_minimal.so*
match version Tenon's minimal example
known multi_device.* : it has one device
known *.Buffer_CopyToDevice* : it has one device
known *.Buffer_CopyToMemory* : it has one device with one memory
known client.assignment_two : it has one device
known devices.descriptions_differ : it has one device
known devices.strings_differ : it has one device
known buffers.copy_to_device : it has one device
known buffers.copy_independent : it has one device
known buffers.copy_to_memory_of_device : it has one device
known bad_input.execute_wrong_device : it has one device
known memories.copy_between : its device has one memory
known structs.caller.Device_MemoryStats.* : it keeps no memory statistics
known structs.newer.Device_MemoryStats : it keeps no memory statistics
known structs.caller.Device_ClearMemoryStats.* : it keeps no memory statistics
known structs.newer.Device_ClearMemoryStats : it keeps no memory statistics
known devices.memory_stats* : it keeps no memory statistics
known structs.caller.Device_PoisonExecution.* : it cannot poison executions
known structs.newer.Device_PoisonExecution : it cannot poison executions
known devices.poison_nothing : it cannot poison executions
known structs.caller.Executable_Fingerprint.* : its executables have no fingerprint
known structs.newer.Executable_Fingerprint : its executables have no fingerprint
known compile.fingerprint_* : its executables have no fingerprint
known structs.caller.Executable_GetCompiledMemoryStats.* : its executables keep no figures
known structs.newer.Executable_GetCompiledMemoryStats : its executables keep no figures
known compile.memory_stats : its executables keep no figures
known structs.caller.Executable_OptimizedProgram.* : its executables do not keep their program
known structs.newer.Executable_OptimizedProgram : its executables do not keep their program
known compile.optimized_program* : its executables do not keep their program
known structs.caller.Executable_Serialize.* : its executables cannot be serialized
known structs.newer.Executable_Serialize : its executables cannot be serialized
known *.Executable_DeserializeAndLoad* : its executables cannot be serialized
known serialize.round_trip : its executables cannot be serialized
known serialize.other_client : its executables cannot be serialized
known serialize.override_options : its executables cannot be serialized
known serialize.fingerprint_kept : its executables cannot be serialized
known serialize.garbage : its executables cannot be serialized
known serialize.truncated : its executables cannot be serialized
known serialize.deterministic_size : its executables cannot be serialized
known aot.compile* : it does not compile for topologies
known extensions.phase_run : it does not compile for topologies
known extensions.abi_* : it tells no ABI versions
known donation.consumes : it does not read the attributes that donate arguments, and leaves arguments alone
known donation.use_after : it does not read the attributes that donate arguments, and leaves arguments alone
known donation.read_after : it does not read the attributes that donate arguments, and leaves arguments alone
known async.execute_before_data : Execute runs the program on the caller's thread and so waits for its arguments
known execute.send* : programs do not talk to the host while they run
known execute.recv : programs do not talk to the host while they run
known execute.poison_running : programs do not talk to the host while they run
