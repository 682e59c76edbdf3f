#pragma once

// How the checks of self-checking programs judge values.

#include <optional>
#include <string>

#include "tenon/reference/value.h"

namespace tenon::check_tool {

enum class Rule {
  kEqual,   ///< Every element equal by value: NaN never, -0 and +0 always.
  kUlp,     ///< Floats and complex numbers: at most `max` units in the last place apart, and at least `min`.
  kScaled,  ///< Floats and complex numbers: absolute difference at most `tolerance` times the largest finite expected
            ///< magnitude (at least 1). Others: equal.
  kAlmost,  ///< Floats and complex numbers: absolute difference at most `tolerance`, or equal, or both NaN. Others:
            ///< equal.
};

struct Criterion {
  Rule rule = Rule::kEqual;
  uint64_t max_ulp = 3, min_ulp = 0;
  double tolerance = 1e-3;
};

/// kScaled with the tolerance that independent implementations of a program in `type` should keep.
Criterion AgreementIn(DType type);

/// What is wrong with `actual`: the first element that differs and how many do; nullopt when it passes.
std::optional<std::string> Compare(const reference::Value& actual, const reference::Value& expected,
                                   const Criterion& criterion);

}  // namespace tenon::check_tool
