#pragma once

/// Integers of which a kernel shows in which range they lie: places that are counted, wrapped around or clamped.

#include "tenon/kir/kir.h"

namespace tenon::compiler {

/// Replaces what ranges decide: comparisons and choices, remainders of what is not negative or by powers of two,
/// guards that always hold. Places that are computed from indices alone become terms of their axes. The results keep
/// their bits. Sizes must be baked. Leaves nodes behind that nothing uses.
void SimplifyIntegers(kir::Kernel& kernel);

}  // namespace tenon::compiler
