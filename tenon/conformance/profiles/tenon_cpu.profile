# Tenon's CPU plugin.
name tenon_cpu
match file pjrt_plugin_tenon.so*
match version tenon *
option num_devices int 2
