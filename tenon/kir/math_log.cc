// Logarithms and what is made of them. Coefficients: scripts/fit_math.py.

#include "tenon/kir/internal/math_builder.h"
#include "tenon/kir/internal/math_functions.h"

namespace tenon::kir::internal {
namespace {

// log(1 + f) = f - f^2/2 + f^3 q(f), 1 + f in [sqrt 1/2, sqrt 2], 2^-26.8.
constexpr double kLog32[] = {-0.5, 0x1.555554p-2, -0x1.000228p-2, 0x1.99a00cp-3, -0x1.547234p-3,
                             0x1.22d984p-3, -0x1.0d8596p-3, 0x1.055f78p-3, -0x1.38bd28p-4};

// x = 2^e m with m in [sqrt 1/2, sqrt 2), for normal positive x.
struct Split32 {
  Val e_bits;  // e << 23
  Val e;       // as f32
  Val m;
};
Split32 SplitF32(MathBuilder& b, Val x) {
  const Val bits = b.Bits(x);
  const Val e = b.ShrArith(b.Sub(bits, b.I(0x3f3504f3)), b.I(23));
  const Val e_bits = b.Shl(e, b.I(23));
  return {e_bits, b.Convert(DType::kF32, e), b.FromBits(b.Sub(bits, e_bits))};
}

// e ln 2 + log(1 + f). One constant for ln 2 is enough: its error is 2^-28 of the result.
Val LogCore32(MathBuilder& b, Val e, Val f) {
  const Val w = b.Horner(f, kLog32, std::size(kLog32));
  return b.Fma(e, b.C(0x1.62e430p-1), b.Fma(b.Mul(f, f), w, f));
}

// What a logarithm of `u` is where it is not a positive finite number.
Val LogSpecials(MathBuilder& b, Val u, Val y) {
  const Val zero = b.C(0);
  y = b.Select(b.Compare(kGt, u, zero), y, b.Select(b.Compare(kEq, u, zero), b.Neg(b.Inf()), b.NaN()));
  return b.Select(b.Compare(kEq, u, b.Inf()), u, y);
}

}  // namespace

// 24 operations.
Graph LogF32() {
  MathBuilder b(DType::kF32);
  const Val x = b.Argument(0);
  const Split32 s = SplitF32(b, x);
  return b.Finish({LogSpecials(b, x, LogCore32(b, s.e, b.Sub(s.m, b.C(1))))});
}

// log of u = 1 + x, with what the rounding of u lost put back: f = (m - 1) + 2^-e (x - (u - 1)).
Graph Log1pF32() {
  MathBuilder b(DType::kF32);
  const Val x = b.Argument(0);
  const Val one = b.C(1);
  const Val u = b.Add(x, one);
  const Split32 s = SplitF32(b, u);
  const Val lost = b.Sub(x, b.Sub(u, one));
  const Val scale = b.FromBits(b.Sub(b.I(0x40800000), s.e_bits));  // 4 * 2^-e: e may be 128
  const Val f = b.Fma(b.Mul(lost, b.C(0.25)), scale, b.Sub(s.m, one));
  Val y = LogSpecials(b, u, LogCore32(b, s.e, f));
  y = b.Select(b.Less(b.Abs(x), 0x1p-26), x, y);
  return b.Finish({y});
}

}  // namespace tenon::kir::internal
