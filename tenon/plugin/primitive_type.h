#pragma once

#include <cstdint>

#include "tenon/base/dtype.h"

namespace tenon::plugin {

/// The element type of a number of xla.PrimitiveType, which counts differently from PJRT; kInvalid when it is no array
/// type.
DType DTypeFromPrimitiveType(int64_t primitive_type);
/// The opposite; 0 for kInvalid.
int PrimitiveTypeFromDType(DType type);

}  // namespace tenon::plugin
