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

}  // namespace tenon
