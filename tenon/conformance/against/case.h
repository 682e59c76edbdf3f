#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/base/shape.h"
#include "tenon/base/status.h"

namespace tenon::conformance {

/// A random program, its arguments, and how far apart two right answers may be.
struct Case {
  struct Argument {
    Shape shape;
    std::vector<char> bytes;  ///< Dense, row-major.
  };
  struct Output {
    Shape shape;
    /// Two right answers differ by at most this, element by element; 0: they are equal.
    double tolerance = 0;
  };

  std::string program;  ///< StableHLO as text.
  std::vector<Argument> arguments;
  std::vector<Output> outputs;
  std::string ops;  ///< What it is made of, in order: "dot reduce tanh".
};

/// The program of a seed: the same on every machine. Floating-point arguments are small multiples of a power of two,
/// and as long as only sums, products and choices of such numbers fit the type, every order of computing gives the same
/// bits: then the tolerance is 0. What rounds makes it the error that follows from the operations' own.
Result<Case> MakeCase(uint64_t seed);

}  // namespace tenon::conformance
