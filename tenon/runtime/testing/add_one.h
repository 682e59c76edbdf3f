#pragma once

/// The smallest kernel that tests of programs run: out[i] = in[i] + 1 over f32[n], n being params[0].

#include <cstdint>

#include "tenon/kir/kir.h"

namespace tenon::runtime::testing {

kir::Kernel AddOneKernel(int64_t grain);
/// Its code (kir::KernelFn).
void AddOne(void* const* buffers, const int64_t* params, int64_t begin, int64_t end, void* scratch);

}  // namespace tenon::runtime::testing
