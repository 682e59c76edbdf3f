# Tenon's CPU plugin in a process of its own.
name tenon_isolated
match file pjrt_plugin_tenon_isolated.so*
option num_devices int 2
known execute.send* : programs do not talk to the host while they run
known execute.recv : programs do not talk to the host while they run
known execute.poison_running : programs do not talk to the host while they run
