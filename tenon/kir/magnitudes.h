#pragma once

/// How near to zero the floats of a kernel come.

#include <vector>

#include "tenon/kir/kir.h"

namespace tenon::kir {

/// What holds for a value wherever it is finite and not zero.
struct Magnitude {
  int least = 0;  ///< |x| >= 2^least
  int unit = 0;   ///< x is a multiple of 2^unit
  friend bool operator==(const Magnitude&, const Magnitude&) = default;
};

/// What holds for every value of the type.
Magnitude MagnitudeOf(DType type);
/// Of each node: from types, constants and operations, whatever is read. Of nodes of one bit and of integers: what
/// holds for them as floats.
std::vector<Magnitude> Magnitudes(const Kernel& kernel);

}  // namespace tenon::kir
