#pragma once

#include <string_view>

#include "tenon/base/dtype.h"

namespace tenon {

/// StableHLO's name of an element type: "i1" for pred, "i32", "ui8", "f8E4M3FN", "complex<f32>" ...
std::string_view ElementName(DType type);

}  // namespace tenon
