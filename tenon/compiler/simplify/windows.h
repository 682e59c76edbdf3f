#pragma once

/// What the rules about windows share.

#include <cstdint>

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// A float narrower than those that sums are reckoned in.
inline bool IsNarrowFloat(DType type) { return IsFloat(type) && DTypeBits(type) < 32; }

/// Elements that a dilated operand has between two of its own, by dim.
Dims HolesOf(const Dims& base_dilation);
/// Where the window's element of this number, counted row by row, lies behind the window's first.
Dims PlaceInWindow(const Dims& window, const Dims& dilation, int64_t element);

}  // namespace tenon::compiler
