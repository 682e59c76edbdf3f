# NVIDIA's plugin (jax-cuda13-pjrt) on a machine without a GPU.
name cuda13
match file xla_cuda_plugin.so
device none
