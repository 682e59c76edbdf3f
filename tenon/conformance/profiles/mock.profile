# mock/: the plugin that misbehaves on purpose, when no fault is asked for. It knows a handful of ops.
name mock
match file tenon_conformance_mock.so
match version Tenon's mock for the conformance suite
known execute.argument_destroyed_at_once : its programs have no regions
known execute.output_destroyed_at_once : its programs have no regions
known execute.executable_destroyed_at_once : its programs have no regions
known execute.loop : its programs have no regions
known multi_device.all_reduce : its programs have no regions
known compile.generic_text : it does not read the generic form of functions
known structs.caller.Device_ClearMemoryStats.* : it keeps no peaks
known structs.newer.Device_ClearMemoryStats : it keeps no peaks
known execute.send* : its programs have no channels
known execute.recv : its programs have no channels
known execute.poison_running : its programs have no channels
