// The exponential and its relatives. Coefficients: scripts/fit_math.py.

#include "tenon/kir/internal/math_builder.h"
#include "tenon/kir/internal/math_functions.h"

namespace tenon::kir::internal {
namespace {

constexpr double kLog2e = 0x1.71547652b82fep+0;
// ln 2 in two parts of each type's width.
constexpr double kLn2High32 = 0x1.62e430p-1, kLn2Low32 = -0x1.05c610p-29;

// exp(r) = 1 + r q(r) on [0, ln 2], 2^-27.
constexpr double kExp32[] = {1.0, 0x1.00004cp-1, 0x1.55431ap-3, 0x1.56e084p-5, 0x1.01d356p-7, 0x1.f561bcp-10};
// The same on [-ln(2)/2, ln(2)/2], 2^-26.
constexpr double kExpNear32[] = {1.0, 0x1.ffffacp-2, 0x1.5554b0p-3, 0x1.559ba2p-5, 0x1.122802p-7, 0x1.384d6ap-10};
// exp(r) - 1 = r + r^2 q(r) on [-ln(2)/2, ln(2)/2], 2^-25.8.
constexpr double kExpm1_32[] = {0x1.fffffep-2, 0x1.5554b0p-3, 0x1.555674p-5, 0x1.1227cap-7, 0x1.6bebd6p-10};

// exp(x) for -88 <= x <= 88.9 or NaN: 0 from below -87.34 and infinity from 88.73 on. x = n ln 2 + r with n rounded down, so that 2^n is a normal number
// for every normal result. 13 operations.
Val ExpCore32(MathBuilder& b, Val x) {
  const double magic = b.Magic(b.bias());
  const Val t = b.Add(b.Fma(x, b.C(kLog2e), b.C(-0.5)), b.C(magic));
  const Val n = b.Sub(t, b.C(magic));
  Val r = b.Fma(n, b.C(-kLn2High32), x);
  r = b.Fma(n, b.C(-kLn2Low32), r);
  const Val p = b.Fma(b.Horner(r, kExp32, std::size(kExp32)), r, b.C(1));
  return b.Mul(p, b.PowerOfTwo(t));
}

}  // namespace

// 1.5 ulp.
Graph ExpF32() {
  MathBuilder b(DType::kF32);
  const Val x = b.Argument(0);
  Val y = ExpCore32(b, x);
  y = b.Select(b.Less(x, -88), b.C(0), y);
  y = b.Select(b.Greater(x, 0x1.62e42ep+6), b.Inf(), y);
  return b.Finish({y});
}

// exp(x) - 1 = 2^n (e + 1) - 1 with e = exp(r) - 1. 2^n is kept at half its size, because 2^128 is no number. Tiny arguments are their own results,
// -0 among them.
Graph Expm1F32() {
  MathBuilder b(DType::kF32);
  const Val x = b.Argument(0);
  const double magic = b.Magic(b.bias() - 1);
  const Val t = b.Fma(x, b.C(kLog2e), b.C(magic));
  const Val n = b.Sub(t, b.C(magic));
  Val r = b.Fma(n, b.C(-kLn2High32), x);
  r = b.Fma(n, b.C(-kLn2Low32), r);
  const Val e = b.Fma(b.Horner(r, kExpm1_32, std::size(kExpm1_32)), b.Mul(r, r), r);
  const Val scale = b.PowerOfTwo(t);
  const Val half = b.Fma(scale, e, b.Sub(scale, b.C(0.5)));
  Val y = b.Add(half, half);
  y = b.Select(b.Less(x, -18), b.C(-1), y);
  y = b.Select(b.Greater(x, 0x1.62e42ep+6), b.Inf(), y);
  y = b.Select(b.Less(b.Abs(x), 0x1p-26), x, y);
  return b.Finish({y});
}

// 1 / (1 + exp(-x)) with r' = x + n ln 2 = -r and exp(r) = 1 + g: the sum is 2^n + (2^n g + 1), whose
// first rounding is a small one. From 88 on 2^n is 0, as bits.
Graph LogisticF32() {
  MathBuilder b(DType::kF32);
  Val x = b.Argument(0);
  x = b.Select(b.Greater(x, 88), b.C(88), x);
  x = b.Select(b.Less(x, -88.3), b.C(-88.3), x);
  const double magic = b.Magic(b.bias());
  const Val t = b.Fma(x, b.C(-kLog2e), b.C(magic));
  const Val n = b.Sub(t, b.C(magic));
  Val r = b.Fma(n, b.C(kLn2High32), x);
  r = b.Fma(n, b.C(kLn2Low32), r);
  double q[std::size(kExpNear32)];
  for (size_t i = 0; i < std::size(q); ++i) q[i] = i % 2 == 0 ? -kExpNear32[i] : kExpNear32[i];
  const Val g = b.Mul(b.Horner(r, q, std::size(q)), r);
  const Val scale = b.PowerOfTwo(t);
  return b.Finish({b.Div(b.C(1), b.Add(scale, b.Fma(g, scale, b.C(1))))});
}

// E / (2 - E) with E = 1 - exp(-2 |x|), which keeps its precision near 0 and is 1 from 9.1 on. The low part of ln 2 does not matter: its share of E
// shrinks as exp(-2 |x|). r' = -r as above, so that 1 - exp(r) = r' - r'^2 q(-r').
Graph TanhF32() {
  MathBuilder b(DType::kF32);
  const Val x = b.Argument(0);
  const Val a = b.Abs(x);
  const Val c = b.Select(b.Greater(a, 9.5), b.C(9.5), a);
  const Val d = b.Add(c, c);
  const double magic = b.Magic(b.bias());
  const Val t = b.Fma(d, b.C(-kLog2e), b.C(magic));
  const Val n = b.Sub(t, b.C(magic));
  const Val r = b.Fma(n, b.C(kLn2High32), d);
  double q[std::size(kExpm1_32)];
  for (size_t i = 0; i < std::size(q); ++i) q[i] = i % 2 == 0 ? -kExpm1_32[i] : kExpm1_32[i];
  const Val e = b.Fma(b.Horner(r, q, std::size(q)), b.Mul(r, r), r);
  const Val scale = b.PowerOfTwo(t);
  const Val big = b.Fma(scale, e, b.Sub(b.C(1), scale));
  const Val two_minus_big = b.Fma(scale, b.Neg(e), b.Add(b.C(1), scale));
  return b.Finish({b.WithSign(b.Div(big, two_minus_big), x)});
}

}  // namespace tenon::kir::internal
