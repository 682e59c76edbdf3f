# NVIDIA's plugin (jax-cuda13-pjrt) on a machine without a GPU.
name cuda13
match file xla_cuda_plugin.so
device none
permanent structs.caller.Plugin_Attributes.24 : refuses the size that callers before 0.74 send
permanent events.set_twice : a second Set ends the process (a CHECK)
permanent events.error_not_ready : asking an event that is not ready for its error ends the process (a CHECK)
permanent extensions.phase_* : no such extension
