#pragma once

#include "tenon/kernels/fft/internal/lines.h"

namespace tenon::kernels::internal {

/// Tables for transforms of length n >= 1.
template <class T>
LineTables<T> MakeLineTables(int64_t n, bool inverse);

}  // namespace tenon::kernels::internal
