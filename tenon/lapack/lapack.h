#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/abi/xla_ffi.h"

namespace tenon::lapack {

/// The routine of LAPACK that JAX's programs for CPUs call `name` ("lapack_sgeqrf_ffi"), as a typed handler with that
/// call's operands, results and attributes; null when there is none. It computes in the caller's thread, calls nobody
/// back and may run in several threads at once.
XLA_FFI_Handler* FindHandler(std::string_view name);
/// The rows and columns up to which libraries of several threads are no faster; 0 where results are up to the routine.
int64_t LongestFast(std::string_view name);

}  // namespace tenon::lapack
