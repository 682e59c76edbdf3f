# Tenon's CPU plugin.
name tenon_cpu
match file pjrt_plugin_tenon.so*
match version tenon *
option num_devices int 2
known execute.send* : programs do not talk to the host while they run
known execute.recv : programs do not talk to the host while they run
known execute.poison_running : programs do not talk to the host while they run
