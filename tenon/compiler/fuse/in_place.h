#pragma once

/// Kernels whose results may lie in the memory of what they read.

#include "tenon/kir/kir.h"

namespace tenon::compiler {

/// Whether `out` may have the memory of `in`: every element is read before, and only where, it is written. Sizes are
/// baked.
bool MayTakeOver(const kir::Kernel& kernel, kir::Buf out, kir::Buf in);

/// The kernel as it is where each output has the memory of the first operand that it may have: without what stays as it
/// is there. Sizes are baked.
kir::Kernel WhereInPlace(kir::Kernel kernel);

/// Takes out the stores of what their place holds already, in the buffer itself or the one in whose place it is, and
/// says whether there were any. Leaves dead nodes behind.
bool DropKept(kir::Kernel& kernel);

}  // namespace tenon::compiler
