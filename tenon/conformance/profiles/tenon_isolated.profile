# Tenon's CPU plugin in a process of its own.
name tenon_isolated
match file pjrt_plugin_tenon_isolated.so*
option num_devices int 2
known extensions.abi_* : it tells no ABI versions, since JAX saves no executable of a plugin that does
