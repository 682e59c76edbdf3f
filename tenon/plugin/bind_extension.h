#pragma once

#include "tenon/plugin/bind.h"

namespace tenon::plugin::bind {

/// TENON_BIND for a function of an extension, whose args struct has had one size only.
#define TENON_BIND_EXTENSION(function)                                                                \
  static Status Body_##function(function##_Args& args, std::string_view fn);                          \
  static PJRT_Error* Bind_##function(function##_Args* args) {                                         \
    return Guard<Body_##function>(#function, static_cast<size_t>(function##_Args_STRUCT_SIZE), args); \
  }                                                                                                   \
  static Status Body_##function([[maybe_unused]] function##_Args& args, [[maybe_unused]] std::string_view fn)

// Each returns its static struct, chained to `next`; `next` where the plugin has nothing to offer by it.
PJRT_Extension_Base* LayoutsExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* FfiExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* ShardingsExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* MemoryDescriptionsExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* ProfilerExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* SignatureExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* RawBufferExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* HostAllocatorExtensions(PJRT_Extension_Base* next);
PJRT_Extension_Base* PhaseCompileExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* AbiVersionExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* CallbackExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* ExecutableMetadataExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* CrossHostTransfersExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* CustomPartitionerExtension(PJRT_Extension_Base* next);

}  // namespace tenon::plugin::bind
