# Tenon's CPU plugin at a server (tenon-device-server --listen): its memory is not this machine's.
name tenon_remote
option num_devices int 2
known structs.caller.Client_CreateViewOfDeviceBuffer.* : arrays live in the server's own blocks
known structs.newer.Client_CreateViewOfDeviceBuffer : arrays live in the server's own blocks
known buffers.view : arrays live in the server's own blocks
known buffers.view_is_no_copy : arrays live in the server's own blocks
known buffers.view_execute : arrays live in the server's own blocks
known teardown.view_released : arrays live in the server's own blocks
known buffers.references_outlive_delete : this machine does not address the server's memory
known buffers.pointer_readable : this machine does not address the server's memory
known donation.held : this machine does not address the server's memory
known extensions.abi_* : it tells no ABI versions, since JAX saves no executable of a plugin that does
