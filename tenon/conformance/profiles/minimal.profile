name minimal
match file pjrt_plugin_minimal.so*
