#pragma once

/// What math functions should give, from the C library in a wider type, and how far off a result is.

#include <cstdint>
#include <string_view>

#include "tenon/kir/kir.h"

namespace tenon::kir::testing {

/// The true value of the function with that short name ("exp") at the arguments, good to far below an ulp of `type`:
/// f32 functions are computed in double, f64 ones in long double. NaN for unknown names; see Knows().
long double TrueValue(std::string_view function, DType type, long double x, long double y = 0);
/// The same for f32 functions of one argument, as a pointer; null for unknown names.
double (*TrueDouble(std::string_view function))(double);
bool Knows(std::string_view function);
int NumArguments(std::string_view function);

/// The value of a bit pattern of f32 or f64; subnormals are zero.
long double ValueOf(DType type, uint64_t bits);

/// |got - wanted| in units of the last place of `type` at `wanted`. 0 when both are NaN, or the same infinity or signed
/// zero. A wanted value below the normal range may be zero of its sign or near the smallest normal number; one beyond
/// the largest number may be that number or infinity. Everything else that is not a number is off by infinity.
double UlpsOff(DType type, uint64_t got, long double wanted);

}  // namespace tenon::kir::testing
