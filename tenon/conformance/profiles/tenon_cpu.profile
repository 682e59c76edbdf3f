name tenon_cpu
match file pjrt_plugin_tenon.so*
