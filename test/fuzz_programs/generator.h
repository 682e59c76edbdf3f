#pragma once

/// StableHLO programs whose structure is hard on a compiler, from numbers. See README.md for what they consist of.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/shape.h"
#include "tenon/base/status.h"

namespace tenon::fuzz {

/// How far two right implementations of one output may be apart.
struct Tolerance {
  double absolute = 0;    ///< 0: not at all, but for NaNs, which are all alike, and `any_zero`.
  bool any_zero = false;  ///< The sign of a zero is open: it depends on the order of a sum.
  friend bool operator==(const Tolerance&, const Tolerance&) = default;
};

/// What a program does not say itself: the data to run it on and how its outputs are compared. Stands in the first line
/// of the text as a comment, so that a file is all there is to a finding.
struct Conditions {
  uint64_t data_seed = 0;
  bool specials = false;                ///< NaN, infinities, negative zeros and extremes among the floats.
  std::vector<Tolerance> outputs = {};  ///< One per output; outputs beyond are compared by `Tolerance{}`.
};

/// The same seed gives the same text on every machine: a first line of Conditions and a module of one or more
/// functions, of which @main takes and gives arrays.
std::string GenerateProgram(uint64_t seed);

/// "// fuzz: data=17 specials=0 tolerance=0,z,1e-4z" and back. A text without such a line has default Conditions.
std::string Print(const Conditions& conditions);
Conditions ParseConditions(std::string_view program);

/// Row-major bytes of argument `index`: small integers for floats, so that what is made of them is exact.
std::string ArgumentBytes(const Conditions& conditions, size_t index, const Shape& shape);

}  // namespace tenon::fuzz
