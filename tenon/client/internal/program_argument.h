#pragma once

#include "tenon/abi/program.h"
#include "tenon/client/program.h"

namespace tenon::client::internal {

/// The program as the C API takes it; valid while `program` is.
inline PJRT_Program ProgramArgument(const Program& program) {
  return TenonMakeProgram(program.code.data(), program.code.size(), program.format.data(), program.format.size());
}

}  // namespace tenon::client::internal
