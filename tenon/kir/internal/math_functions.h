#pragma once

/// The builders that math.def names.

#include "tenon/kir/builder.h"

namespace tenon::kir::internal {

#define TENON_KIR_MATH(short_name, long_name, type, version, builder) Graph builder();
#include "tenon/kir/math.def"
#undef TENON_KIR_MATH

}  // namespace tenon::kir::internal
