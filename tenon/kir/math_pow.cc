// Power. Coefficients: scripts/fit_math.py.

#include "tenon/kir/internal/math_builder.h"
#include "tenon/kir/internal/math_functions.h"

namespace tenon::kir::internal {
namespace {

// log2(1 + f) = f q(f) on [sqrt 1/2 - 1, sqrt 2 - 1] in f64, 2^-35.8.
constexpr double kLog2[] = {0x1.71547652a1eccp+0,  -0x1.715476565ff24p-1, 0x1.ec709ebb6e781p-2,  -0x1.71547095bfbb1p-2, 0x1.27765204cb0b2p-2,
                            -0x1.ec72b6a0a7f63p-3, 0x1.a63f43c80ad75p-3,  -0x1.7141558d5fbc8p-3, 0x1.452905324d2c9p-3,  -0x1.253058af44ce7p-3,
                            0x1.28736d23b3b5ep-3,  -0x1.2484dd7fa52cdp-3, 0x1.3cda9a6dbbb41p-4};
// 2^r = 1 + r q(r) on [0, 1], 2^-26.4.
constexpr double kExp2_32[] = {0x1.62e42cp-1, 0x1.ebfd58p-3, 0x1.c6890cp-5, 0x1.3d0bb8p-7, 0x1.46d522p-10, 0x1.c54508p-13};

// What is left to do with `r` = |x|^y: the sign of odd powers of negative numbers, NaN for fractional ones, and the powers that are 1 whatever the rest is.
// r must be right for x = 0 and infinite x, and NaN for NaNs.
Val PowSpecials(MathBuilder& b, Val x, Val y, Val a, Val r) {
  const Val one = b.C(1);
  const Val half = b.Mul(y, b.C(0.5));
  const Val whole = b.Compare(kEq, b.Trunc(y), y);
  const Val odd = b.And(whole, b.Compare(kNe, b.Trunc(half), half));
  const Val negative = b.Compare(kLt, b.Bits(x), b.I(0));
  r = b.Select(b.And(negative, odd), b.Neg(r), r);
  const Val below = b.And(b.Less(x, 0), b.Greater(x, -std::numeric_limits<double>::infinity()));
  r = b.Select(b.And(below, b.Not(whole)), b.NaN(), r);
  const Val unit = b.And(b.Compare(kEq, a, one), b.Compare(kEq, b.Abs(y), b.Inf()));
  const Val is_one = b.Or(b.Or(b.Compare(kEq, y, b.C(0)), b.Compare(kEq, x, one)), unit);
  return b.Select(is_one, one, r);
}

}  // namespace

// 2^(y log2 |x|) with the logarithm and the product in f64, where they are exact enough, and the power of two in f32.
Graph PowF32() {
  MathBuilder b(DType::kF32, 2);
  const DType f64 = DType::kF64;
  const Val x = b.Argument(0), y = b.Argument(1);
  const Val a = b.Abs(x);
  const Val bits = b.Bits(a);
  const Val e = b.ShrArith(b.Sub(bits, b.I(0x3f3504f3)), b.I(23));
  const Val m = b.FromBits(b.Sub(bits, b.Shl(e, b.I(23))));
  const Val f = b.Sub(b.Convert(f64, m), b.ConstF64(1));
  Val p = b.ConstF64(kLog2[std::size(kLog2) - 1]);
  for (size_t i = std::size(kLog2) - 1; i-- > 0;) p = b.Fma(p, f, b.ConstF64(kLog2[i]));
  Val log2 = b.Fma(p, f, b.Convert(f64, e));
  log2 = b.Select(b.Less(a, std::numeric_limits<double>::infinity()), log2, b.Convert(f64, a));
  log2 = b.Select(b.Compare(kEq, a, b.C(0)), b.ConstF64(-std::numeric_limits<double>::infinity()), log2);
  Val t = b.Mul(b.Convert(f64, y), log2);
  // Beyond these ends 2^t is infinite or zero, and 2^n as bits still says so.
  t = b.Select(b.Compare(kGt, t, b.ConstF64(128.5)), b.ConstF64(128.5), t);
  t = b.Select(b.Compare(kLt, t, b.ConstF64(-127)), b.ConstF64(-127), t);
  const Val n = b.Floor(t);
  const Val r = b.Convert(DType::kF32, b.Sub(t, n));
  const Val scale = b.PowerOfTwo(b.Add(b.Convert(DType::kF32, n), b.C(b.Magic(b.bias()))));
  const Val power = b.Mul(b.Fma(b.Horner(r, kExp2_32, std::size(kExp2_32)), r, b.C(1)), scale);
  return b.Finish({PowSpecials(b, x, y, a, power)});
}

}  // namespace tenon::kir::internal
