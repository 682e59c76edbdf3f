#pragma once

#include "tenon/base/dtype.h"
#include "tenon/base/shape.h"

namespace tenon {

/// How an array lies in memory: element (i...) at sum i * strides, in elements, from the first one.
struct StridedArray {
  DType type = DType::kInvalid;
  Dims dims;
  Dims strides;
};

/// Whether arrays of these dims and strides, in units of `unit` per element, leave nothing out between their elements,
/// whatever the order of the dims.
bool HasNoGaps(const Dims& dims, const Dims& strides, int64_t unit = 1);

}  // namespace tenon
