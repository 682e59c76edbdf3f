#pragma once

/// Windows over arrays, as reductions, choices and convolutions have them.

#include <cstdint>
#include <string>

#include "test/fuzz_programs/value.h"

namespace tenon::fuzz {

/// Along one dim; `base`: the dilation of the array.
struct WindowDim {
  int64_t size = 1, stride = 1, base = 1, dilation = 1, low = 0, high = 0;
};

/// How many windows lie along a dim of `n` elements; -1 where padding takes away more than there is.
int64_t NumWindows(int64_t n, const WindowDim& w);

/// Those of an op.
struct Windows {
  Dims size, stride, base, dilation, out;
  std::string padding;  ///< "[1, 0], [0, 0]"
  int64_t points = 1;   ///< Elements of a window.

  /// False where NumWindows has no answer.
  bool Add(int64_t n, const WindowDim& w);
  /// "window_dimensions = ..., padding = ...", with the dilations or without.
  std::string Attributes(bool dilated) const;
};

}  // namespace tenon::fuzz
