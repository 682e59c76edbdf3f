# Tenon's CPU plugin.
name tenon_cpu
match file pjrt_plugin_tenon.so*
match version tenon *
option num_devices int 2
permanent structs.caller.Device_PoisonExecution.* : executions are not poisoned: a failed launch is reported by its own events
permanent structs.newer.Device_PoisonExecution : executions are not poisoned: a failed launch is reported by its own events
permanent devices.poison_nothing : executions are not poisoned: a failed launch is reported by its own events
permanent execute.send* : programs do not talk to the host while they run
permanent execute.recv : programs do not talk to the host while they run
permanent extensions.raw_* : no such extension
permanent extensions.host_allocator_* : no such extension
permanent extensions.phase_* : no such extension
permanent extensions.abi_* : no such extension
