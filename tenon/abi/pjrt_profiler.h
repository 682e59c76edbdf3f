#ifndef TENON_ABI_PJRT_PROFILER_H_
#define TENON_ABI_PJRT_PROFILER_H_

// PJRT extension: a device profiler.
#include "tenon/abi/plugin_profiler.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_PROFILER_EXTENSION_VERSION 1

struct PJRT_Profiler_Extension {
  PJRT_Extension_Base base;
  PLUGIN_Profiler_Api* profiler_api;  // NULL when chained to the arguments of a call
  int64_t traceme_context_id;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Profiler_Extension, traceme_context_id);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_ABI_PJRT_PROFILER_H_
