#pragma once

#include "tenon/kernels/fft/internal/lines.h"

namespace tenon::kernels::internal {

/// Tables for transforms of length n >= 1. `real`: one end of each line is real. `side_by_side`: at least kLanes lines
/// lie element beside element, so that a long line need not be cut for the sake of the caches.
template <class T>
LineTables<T> MakeLineTables(int64_t n, bool inverse, bool real, bool side_by_side);

}  // namespace tenon::kernels::internal
