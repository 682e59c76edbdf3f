#pragma once

/// Floating point in integers: every format of DType, exact until one rounding. The evaluator and the text form use it,
/// emitters do not.

#include <cstdint>

#include "tenon/base/dtype.h"

namespace tenon::kir::internal {

__extension__ typedef unsigned __int128 Wide;

/// (-1)^negative * mantissa * 2^exponent. Inexact results carry a one in their lowest mantissa bit, far below any
/// format's precision.
struct Real {
  enum Kind : uint8_t { kFinite, kInfinite, kNan } kind = kFinite;
  bool negative = false;
  int exponent = 0;
  Wide mantissa = 0;

  bool is_zero() const { return kind == kFinite && mantissa == 0; }
  bool is_nan() const { return kind == kNan; }
};

/// Stored mantissa bits of a float type.
int MantissaBits(DType type);

/// The value of `bits`. `flush`: subnormals of f32 and f64 are zero.
Real Decode(DType type, uint64_t bits, bool flush = false);
/// Rounds to nearest even. `flush`: results of f32 and f64 that are below the normal range after rounding with
/// unbounded exponent are zero. Out of range: infinity, NaN or the largest value, whichever the format has in this
/// order of what it can hold.
uint64_t Encode(DType type, const Real& value, bool flush = false);

/// `bits`, or zero of the same sign where they are a subnormal of f32 or f64.
uint64_t FlushBits(DType type, uint64_t bits);

Real FromInt(int64_t value);
Real FromUint(uint64_t value);
/// Truncated toward zero and saturated to [lo, hi] (two's complement of the given width and signedness); NaN is 0.
uint64_t ToInt(const Real& value, int bits, bool is_signed);

Real Add(const Real& a, const Real& b);
Real Mul(const Real& a, const Real& b);
Real Div(const Real& a, const Real& b);
/// C's fmod: exact, sign of `a`.
Real Rem(const Real& a, const Real& b);
Real Sqrt(const Real& a);
Real Neg(Real a);

/// -1, 0, 1; 2 when unordered. Zeros are equal.
int Order(const Real& a, const Real& b);

enum class RoundTo : uint8_t { kFloor, kCeil, kEven, kAway, kTrunc };
/// To an integral value; the sign of zero results is that of `a`.
Real RoundToIntegral(const Real& a, RoundTo how);

}  // namespace tenon::kir::internal
