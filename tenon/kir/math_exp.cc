// The exponential and its relatives. Coefficients: scripts/fit_math.py.

#include <vector>

#include "tenon/kir/internal/math_builder.h"
#include "tenon/kir/internal/math_functions.h"

namespace tenon::kir::internal {
namespace {

constexpr double kLog2e = 0x1.71547652b82fep+0;

// exp(r) = 1 + r q(r) on [0, ln 2], 2^-27 and 2^-57.
constexpr double kExp32[] = {1.0, 0x1.00004cp-1, 0x1.55431ap-3, 0x1.56e084p-5, 0x1.01d356p-7, 0x1.f561bcp-10};
constexpr double kExp64[] = {1.0,
                             0x1.ffffffffffe26p-2,
                             0x1.5555555560411p-3,
                             0x1.555555522ffb6p-5,
                             0x1.1111118c26edbp-7,
                             0x1.6c16aad6ee3f7p-10,
                             0x1.a01ca4e9dd45fp-13,
                             0x1.9fe69c9ec4babp-16,
                             0x1.7466b6509c178p-19,
                             0x1.140e7492f2f2cp-22,
                             0x1.2d420eb29bfc7p-25};
// The same on [-ln(2)/2, ln(2)/2], 2^-26 and 2^-56.
constexpr double kExpNear32[] = {1.0, 0x1.ffffacp-2, 0x1.5554b0p-3, 0x1.559ba2p-5, 0x1.122802p-7, 0x1.384d6ap-10};
constexpr double kExpNear64[] = {1.0,
                                 0x1.000000000000fp-1,
                                 0x1.5555555555588p-3,
                                 0x1.555555554ea65p-5,
                                 0x1.11111110ff137p-7,
                                 0x1.6c16c18a523cap-10,
                                 0x1.a01a021f79e7ap-13,
                                 0x1.a0198a277834bp-16,
                                 0x1.71dcd076d1d0bp-19,
                                 0x1.28bb8c792ca4ap-22,
                                 0x1.b1755b11664e9p-26};
// exp(r) - 1 = r + r^2 q(r) on [-ln(2)/2, ln(2)/2], 2^-25.8 and 2^-59.9.
constexpr double kExpm1_32[] = {0x1.fffffep-2, 0x1.5554b0p-3, 0x1.555674p-5, 0x1.1227cap-7, 0x1.6bebd6p-10};
constexpr double kExpm1_64[] = {0.5,
                                0x1.5555555555559p-3,
                                0x1.555555555553ep-5,
                                0x1.111111110f6c4p-7,
                                0x1.6c16c16c1f51cp-10,
                                0x1.a01a01afdd4d0p-13,
                                0x1.a01a017a75a0ap-16,
                                0x1.71ddf86526be2p-19,
                                0x1.27e538ba1f303p-22,
                                0x1.af5ea4bd70324p-26,
                                0x1.1ee4f75b9adbap-29};

// sinh(x) = x + x z q(z), z = x^2 <= 1, 2^-25.2 and 2^-56.8.
constexpr double kSinh32[] = {0x1.555598p-3, 0x1.10f77ap-7, 0x1.ab3ca6p-13};
constexpr double kSinh64[] = {0x1.5555555555555p-3,  0x1.1111111111111p-7,  0x1.a01a01a019fc1p-13,
                              0x1.71de3a5573f7bp-19, 0x1.ae6456741b7b0p-26, 0x1.61246afa38ccdp-33,
                              0x1.ae756e92e6643p-41, 0x1.9a794258d5664p-49};

struct Poly {
  const double* c;
  size_t n;
};

// What differs between the types.
struct ExpData {
  DType type;
  Poly exp, near, expm1, sinh;
  double ln2_high, ln2_low;  // ln 2 in two parts of the type's width
  double overflow;           // exp of more is infinite
  double underflow;        // exp of less is zero, and 2^n of the exponent of anything down to here can be spelt as bits
  double logistic_low;     // exp(-x) of less is beyond the range or so large that its reciprocal is subnormal
  double tanh_one;         // tanh is 1 from here on
  double expm1_minus_one;  // expm1 is -1 below
  double tiny;             // expm1(x) is x below
};
constexpr ExpData k32 = {DType::kF32,
                         {kExp32, std::size(kExp32)},
                         {kExpNear32, std::size(kExpNear32)},
                         {kExpm1_32, std::size(kExpm1_32)},
                         {kSinh32, std::size(kSinh32)},
                         0x1.62e430p-1,
                         -0x1.05c610p-29,
                         0x1.62e42ep+6,
                         -88,
                         -88.3,
                         9.5,
                         -18,
                         0x1p-26};
constexpr ExpData k64 = {DType::kF64,
                         {kExp64, std::size(kExp64)},
                         {kExpNear64, std::size(kExpNear64)},
                         {kExpm1_64, std::size(kExpm1_64)},
                         {kSinh64, std::size(kSinh64)},
                         0x1.62e42fefa39efp-1,
                         0x1.abc9e3b39803fp-56,
                         0x1.62e42fefa39efp+9,
                         -709,
                         -709.4,
                         20,
                         -40,
                         0x1p-55};

// q(-r), or -q(-r).
Val HornerOfNegative(MathBuilder& b, Val r, Poly q, bool negate) {
  std::vector<double> c(q.c, q.c + q.n);
  for (size_t i = 0; i < q.n; ++i) c[i] = (i % 2 == 0) == negate ? -c[i] : c[i];
  return b.Horner(r, c.data(), c.size());
}

// x = n ln 2 + r with n rounded down, so that 2^n is a normal number for every normal result.
Graph Exp(const ExpData& d) {
  MathBuilder b(d.type);
  const Val x = b.Argument(0);
  const double magic = b.Magic(b.bias());
  const Val t = b.Add(b.Fma(x, b.C(kLog2e), b.C(-0.5)), b.C(magic));
  const Val n = b.Sub(t, b.C(magic));
  Val r = b.ExactFma(n, b.C(-d.ln2_high), x);
  r = b.Fma(n, b.C(-d.ln2_low), r);
  const Val p = b.Fma(b.Horner(r, d.exp.c, d.exp.n), r, b.C(1));
  Val y = b.Mul(p, b.PowerOfTwo(t));
  y = b.Select(b.Less(x, d.underflow), b.C(0), y);
  y = b.Select(b.Greater(x, d.overflow), b.Inf(), y);
  return b.Finish({y});
}

// exp(x) - 1 = 2^n (e + 1) - 1 with e = exp(r) - 1. 2^n is kept at half its size, because 2^128 is no number. Tiny
// arguments are their own results, -0 among them.
Graph Expm1(const ExpData& d) {
  MathBuilder b(d.type);
  const Val x = b.Argument(0);
  const double magic = b.Magic(b.bias() - 1);
  const Val t = b.Fma(x, b.C(kLog2e), b.C(magic));
  const Val n = b.Sub(t, b.C(magic));
  Val r = b.ExactFma(n, b.C(-d.ln2_high), x);
  r = b.Fma(n, b.C(-d.ln2_low), r);
  const Val e = b.Fma(b.Horner(r, d.expm1.c, d.expm1.n), b.Mul(r, r), r);
  const Val scale = b.PowerOfTwo(t);
  const Val half = b.Fma(scale, e, b.Sub(scale, b.C(0.5)));
  Val y = b.Add(half, half);
  y = b.Select(b.Less(x, d.expm1_minus_one), b.C(-1), y);
  y = b.Select(b.Greater(x, d.overflow), b.Inf(), y);
  y = b.Select(b.Less(b.Abs(x), d.tiny), x, y);
  return b.Finish({y});
}

// 1 / (1 + exp(-x)) with r' = x + n ln 2 = -r and exp(r) = 1 + g: the sum is 2^n + (2^n g + 1), whose first rounding is
// a small one. From -underflow on 2^n is 0, as bits.
Graph Logistic(const ExpData& d) {
  MathBuilder b(d.type);
  Val x = b.Argument(0);
  x = b.Select(b.Greater(x, -d.underflow), b.C(-d.underflow), x);
  x = b.Select(b.Less(x, d.logistic_low), b.C(d.logistic_low), x);
  const double magic = b.Magic(b.bias());
  const Val t = b.Fma(x, b.C(-kLog2e), b.C(magic));
  const Val n = b.Sub(t, b.C(magic));
  Val r = b.ExactFma(n, b.C(d.ln2_high), x);
  r = b.Fma(n, b.C(d.ln2_low), r);
  const Val g = b.Mul(HornerOfNegative(b, r, d.near, true), r);
  const Val scale = b.PowerOfTwo(t);
  return b.Finish({b.Div(b.C(1), b.Add(scale, b.Fma(g, scale, b.C(1))))});
}

// E / (2 - E) with E = 1 - exp(-2 |x|), which keeps its precision near 0. r' = -r as above, so that 1 - exp(r) = r' -
// r'^2 q(-r'). In f32 the low part of ln 2 does not matter: its share of E shrinks as exp(-2 |x|).
Graph Tanh(const ExpData& d) {
  MathBuilder b(d.type);
  const Val x = b.Argument(0);
  const Val a = b.Abs(x);
  const Val c = b.Select(b.Greater(a, d.tanh_one), b.C(d.tanh_one), a);
  const Val twice = b.Add(c, c);
  const double magic = b.Magic(b.bias());
  const Val t = b.Fma(twice, b.C(-kLog2e), b.C(magic));
  const Val n = b.Sub(t, b.C(magic));
  Val r = b.ExactFma(n, b.C(d.ln2_high), twice);
  if (!b.is_f32()) r = b.Fma(n, b.C(d.ln2_low), r);
  const Val e = b.Fma(HornerOfNegative(b, r, d.expm1, true), b.Mul(r, r), r);
  const Val scale = b.PowerOfTwo(t);
  const Val one_minus_scale = b.Sub(b.C(1), scale);
  const Val big = b.Fma(scale, e, one_minus_scale);
  const Val one_plus_scale = b.Add(b.C(1), scale);
  const Val two_minus_big = b.Fma(scale, b.Neg(e), one_plus_scale);
  Val y = b.Div(big, two_minus_big);
  if (!b.is_f32()) {
    // What both lost to rounding, with a straight line for the reciprocal of the divisor.
    const Val big_lost = b.Fma(scale, e, b.Sub(one_minus_scale, big));
    const Val divisor_lost = b.Fma(scale, b.Neg(e), b.Sub(one_plus_scale, two_minus_big));
    y = b.Fma(b.Fma(b.Neg(y), divisor_lost, big_lost), b.Fma(two_minus_big, b.C(-0.4853), b.C(1.457)), y);
  }
  return b.Finish({b.WithSign(y, x)});
}

// (exp(a) +- exp(-a)) / 2 as 2 (h +- 1 / (16 h)) with h = exp(a) / 4, which is a number up to where the result is not.
Val SinhOrCosh(MathBuilder& b, const ExpData& d, Val a, bool cosh) {
  const double end = b.is_f32() ? 90 : 711;
  const Val c = b.Select(b.Greater(a, end), b.C(end), a);
  const double magic = b.Magic(b.bias() - 2);
  const Val t = b.Fma(c, b.C(kLog2e), b.C(magic));
  const Val n = b.Sub(t, b.C(magic));
  Val r = b.ExactFma(n, b.C(-d.ln2_high), c);
  r = b.Fma(n, b.C(-d.ln2_low), r);
  const Val h = b.Mul(b.Fma(b.Horner(r, d.near.c, d.near.n), r, b.C(1)), b.PowerOfTwo(t));
  const Val other = b.Div(b.C(0.0625), h);
  const Val half = cosh ? b.Add(h, other) : b.Sub(h, other);
  return b.Add(half, half);
}

Graph Cosh(const ExpData& d) {
  MathBuilder b(d.type);
  return b.Finish({SinhOrCosh(b, d, b.Abs(b.Argument(0)), true)});
}

Graph Sinh(const ExpData& d) {
  MathBuilder b(d.type);
  const Val x = b.Argument(0);
  const Val a = b.Abs(x);
  const Val z = b.Mul(x, x);
  const Val low = b.Fma(b.Mul(x, z), b.Horner(z, d.sinh.c, d.sinh.n), x);
  return b.Finish({b.Select(b.Greater(a, 1), b.WithSign(SinhOrCosh(b, d, a, false), x), low)});
}

}  // namespace

Graph SinhF32() { return Sinh(k32); }
Graph SinhF64() { return Sinh(k64); }
Graph CoshF32() { return Cosh(k32); }
Graph CoshF64() { return Cosh(k64); }
Graph ExpF32() { return Exp(k32); }
Graph ExpF64() { return Exp(k64); }
Graph Expm1F32() { return Expm1(k32); }
Graph Expm1F64() { return Expm1(k64); }
Graph LogisticF32() { return Logistic(k32); }
Graph LogisticF64() { return Logistic(k64); }
Graph TanhF32() { return Tanh(k32); }
Graph TanhF64() { return Tanh(k64); }

}  // namespace tenon::kir::internal
