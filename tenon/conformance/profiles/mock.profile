# mock/: the plugin that misbehaves on purpose, when no fault is asked for. It knows a handful of ops.
name mock
match file tenon_conformance_mock.so
match version Tenon's mock for the conformance suite
permanent execute.argument_destroyed_at_once : its programs have no regions
permanent execute.output_destroyed_at_once : its programs have no regions
permanent execute.executable_destroyed_at_once : its programs have no regions
permanent execute.loop : its programs have no regions
permanent multi_device.all_reduce : its programs have no regions
permanent compile.generic_text : it does not read the generic form of functions
permanent structs.caller.Device_ClearMemoryStats.* : it keeps no peaks
permanent structs.newer.Device_ClearMemoryStats : it keeps no peaks
permanent execute.send* : its programs have no channels
permanent execute.recv : its programs have no channels
