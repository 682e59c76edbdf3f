#pragma once

/// Integers of which a kernel shows in which range they lie: places that are counted, wrapped around or clamped.

#include "tenon/kir/kir.h"

namespace tenon::compiler {

/// Replaces what ranges decide: comparisons and choices, remainders of what is not negative or by powers of two,
/// guards that always hold. Places that are computed from indices alone become terms of their axes, and those
/// that are compared become numbers of 32 bits where these hold all of it. The results keep their bits. Sizes must be
/// baked. Leaves nodes behind that nothing uses.
void SimplifyIntegers(kir::Kernel& kernel);

/// Places that data decide become the numbers that they were read or computed as, where conversions and clamps on the
/// way leave these as they are: lanes of narrow numbers are more. What bounds them must be their types and masks, which
/// whoever checks where kernels from outside reach sees. The last of the passes that ask about places.
void ShortenPlaces(kir::Kernel& kernel);

/// Numbers of more than 16 bits become such of 16 where their ranges show that these hold them, if nothing in the
/// kernel is longer then: arithmetic on bytes. The results keep their bits. Leaves nodes behind that nothing uses.
void ShortenNumbers(kir::Kernel& kernel);

}  // namespace tenon::compiler
