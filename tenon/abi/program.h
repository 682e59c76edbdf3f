#ifndef TENON_ABI_PROGRAM_H_
#define TENON_ABI_PROGRAM_H_

#include <string.h>

#include "tenon/abi/pjrt_client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A program as PJRT takes it; `code` and `format` need no end and must outlive it. */
static inline PJRT_Program TenonMakeProgram(const char* code, size_t code_size, const char* format,
                                            size_t format_size) {
  PJRT_Program program;
  memset((void*)&program, 0, sizeof(program));
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  program.code = (char*)code;
  program.code_size = code_size;
  program.format = format;
  program.format_size = format_size;
  return program;
}

#ifdef __cplusplus
}
#endif

#endif /* TENON_ABI_PROGRAM_H_ */
