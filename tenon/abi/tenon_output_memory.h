/* Tenon's own extension of the arguments of PJRT_LoadedExecutable_Execute: where the caller wants outputs to lie.
 * Whoever passes results on to another process has the memory in which they are to be in the end; a plugin that writes
 * them there saves a copy. It is a wish: a plugin that does not know it, or cannot, puts outputs where it likes, and
 * PJRT_Buffer_UnsafePointer tells. */
#ifndef TENON_ABI_TENON_OUTPUT_MEMORY_H_
#define TENON_ABI_TENON_OUTPUT_MEMORY_H_

#include "tenon/abi/pjrt_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* See TENON_EXTENSION_TYPE_SIGNATURE. */
#define TENON_EXTENSION_TYPE_OUTPUT_MEMORY 902

struct Tenon_Output_Memory_Extension {
  PJRT_Extension_Base base;
  /* [device][output]: host memory of the output's size in bytes, aligned to 64 bytes; NULL where the plugin is to
   * choose. The caller's, which leaves it alone until the output is gone and whatever reads it has ended. Read during
   * the call. */
  void* const* places;
  size_t num_places; /* devices times outputs */
};
PJRT_DEFINE_STRUCT_TRAITS(Tenon_Output_Memory_Extension, num_places);

#ifdef __cplusplus
}
#endif

#endif /* TENON_ABI_TENON_OUTPUT_MEMORY_H_ */
