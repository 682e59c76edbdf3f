#pragma once

#include <cstdint>

#include "tenon/base/dtype.h"

namespace tenon {

/// The bits of a number as an element of a float type, rounded to nearest even; 0 for types that are no floats.
uint64_t FloatBits(DType type, double value);
/// The number that these bits are.
double FloatFromBits(DType type, uint64_t bits);

}  // namespace tenon
