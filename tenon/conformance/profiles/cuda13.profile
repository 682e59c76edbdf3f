# NVIDIA's plugin (jax-cuda13-pjrt) on a machine without a GPU.
name cuda13
match file xla_cuda_plugin.so
device none
known structs.caller.Plugin_Attributes.24 : refuses the size that callers before 0.74 send
known events.set_twice : a second Set ends the process (a CHECK)
known events.error_not_ready : asking an event that is not ready for its error ends the process (a CHECK)
known extensions.phase_* : no such extension
