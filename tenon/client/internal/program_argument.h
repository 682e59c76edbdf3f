#pragma once

#include "tenon/abi/pjrt.h"
#include "tenon/client/program.h"

namespace tenon::client::internal {

/// The program as the C API takes it; valid while `program` is.
inline PJRT_Program ProgramArgument(const Program& program) {
  PJRT_Program c{};
  c.struct_size = PJRT_Program_STRUCT_SIZE;
  c.code = const_cast<char*>(program.code.data());
  c.code_size = program.code.size();
  c.format = program.format.data();
  c.format_size = program.format.size();
  return c;
}

}  // namespace tenon::client::internal
