/* Tenon's own extension: what a program takes. PJRT says what a program gives, and nothing of the shapes of its
 * parameters or of which of them it consumes; whoever stands between a caller and a plugin in another process must know
 * both before it has asked. */
#ifndef TENON_ABI_TENON_SIGNATURE_H_
#define TENON_ABI_TENON_SIGNATURE_H_

#include "tenon/abi/pjrt_base.h"
#include "tenon/abi/pjrt_executable.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The type of the extension: a number far from those that PJRT gives, and below 1000, where readers begin to doubt. */
#define TENON_EXTENSION_TYPE_SIGNATURE 901

typedef struct Tenon_Parameter {
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t rank;
  const int64_t* minor_to_major; /* rank of them; NULL: row-major */
  bool donated;                  /* the program consumes it unless the caller forbids that */
} Tenon_Parameter;

struct Tenon_Executable_Parameters_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  const Tenon_Parameter* parameters; /* out: lives as long as the executable */
  size_t num_parameters;             /* out */
};
PJRT_DEFINE_STRUCT_TRAITS(Tenon_Executable_Parameters_Args, num_parameters);

typedef PJRT_Error* Tenon_Executable_Parameters(Tenon_Executable_Parameters_Args* args);

struct Tenon_Signature_Extension {
  PJRT_Extension_Base base;
  Tenon_Executable_Parameters* Tenon_Executable_Parameters;
};
PJRT_DEFINE_STRUCT_TRAITS(Tenon_Signature_Extension, Tenon_Executable_Parameters);

#ifdef __cplusplus
}
#endif

#endif /* TENON_ABI_TENON_SIGNATURE_H_ */
