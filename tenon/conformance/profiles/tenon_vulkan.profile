# Tenon's plugin for Vulkan devices: their memory is not the host's, whatever the driver does.
name tenon_vulkan
match file pjrt_plugin_tenon_vulkan.so*
option num_devices int 2
known structs.caller.Client_CreateViewOfDeviceBuffer.* : arrays live in the plugin's own blocks of device memory
known structs.newer.Client_CreateViewOfDeviceBuffer : arrays live in the plugin's own blocks of device memory
known buffers.view : arrays live in the plugin's own blocks of device memory
known buffers.view_is_no_copy : arrays live in the plugin's own blocks of device memory
known buffers.view_execute : arrays live in the plugin's own blocks of device memory
known teardown.view_released : arrays live in the plugin's own blocks of device memory
known buffers.references_outlive_delete : the host does not address device memory
known buffers.pointer_readable : the host does not address device memory
known donation.held : the host does not address device memory
known extensions.abi_* : it tells no ABI versions, since JAX saves no executable of a plugin that does
