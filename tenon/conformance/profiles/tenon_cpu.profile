# Tenon's CPU plugin.
name tenon_cpu
match file pjrt_plugin_tenon.so*
match version tenon *
option num_devices int 2
# It tells ABI versions to those who ask for them: JAX saves no executable of a plugin that does.
env TENON_ABI_VERSIONS=1
