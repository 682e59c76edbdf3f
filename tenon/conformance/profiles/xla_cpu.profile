name xla_cpu
match file xla_cpu_pjrt.so
option cpu_device_count int 4
