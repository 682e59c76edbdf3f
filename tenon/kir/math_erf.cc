// The error function. Coefficients: scripts/fit_math.py.

#include "tenon/kir/internal/math_builder.h"
#include "tenon/kir/internal/math_functions.h"

namespace tenon::kir::internal {
namespace {

// erf(x) = x + x q(x^2) on [0, 1], 2^-28.5 and 2^-55.2.
constexpr double kLow32[] = {0x1.06eba8p-3, -0x1.81273ep-2,  0x1.ce2cf8p-4, -0x1.b7f90ep-6,
                             0x1.5405b2p-8, -0x1.a3f6f0p-11, 0x1.4969eap-14};
constexpr double kLow64[] = {0x1.06eba8214db68p-3,   -0x1.812746b0379bdp-2,  0x1.ce2f21a040d17p-4,
                             -0x1.b82ce311fa8c9p-6,  0x1.565bccf929e3dp-8,   -0x1.c02db03da4111p-11,
                             0x1.f9a2baa473b32p-14,  -0x1.f4ca4d2e59733p-17, 0x1.b97fd18aa7f92p-20,
                             -0x1.5c0719e6e696cp-23, 0x1.d71abbc54b25ep-27,  -0x1.abad628a2c5bep-31};
// erf(x) = 1 - exp(-q(x)) on [1, 4] and [1, 6], 2^-28.9 and 2^-57.
constexpr double kHigh32[] = {0x1.3b36dap-12, 0x1.209382p+0, 0x1.4698c4p-1,  0x1.a7395ep-4,
                              -0x1.67763ep-6, 0x1.8594dep-9, -0x1.8bf3a6p-13};
constexpr double kHigh64[] = {
    0x1.612e224cf2663p-23,  0x1.20dd58a9bd36bp+0,   0x1.45f414c95d66ap-1,   0x1.a4dc49674f274p-4,
    -0x1.38a314a56019bp-6,  -0x1.208a8dd606917p-12, 0x1.ce34159572bacp-10,  -0x1.4d89e4d0bdee4p-11,
    0x1.5b96ac2473fe7p-15,  0x1.2ececa02acd36p-14,  -0x1.8069d78a9b017p-15, 0x1.1999b8280c702p-16,
    -0x1.27516d986797cp-18, 0x1.d1036ebe8d356p-21,  -0x1.135b7cc8b1ed3p-23, 0x1.de8155f16b333p-27,
    -0x1.20bc536b3ce41p-30, 0x1.b0f4a23cba4cap-35,  -0x1.2fdfdbe23bbe0p-40};
// exp(r) = 1 + r q(r) on [-ln(2)/2, ln(2)/2], as in math_exp.cc.
constexpr double kExp32[] = {1.0, 0x1.ffffacp-2, 0x1.5554b0p-3, 0x1.559ba2p-5, 0x1.122802p-7, 0x1.384d6ap-10};
constexpr double kExp64[] = {1.0,
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

// Both ranges are computed; erf is 1 from 3.92 (5.93) on.
template <size_t kL, size_t kH, size_t kE>
Graph Erf(DType type, const double (&low_q)[kL], const double (&high_q)[kH], const double (&exp_q)[kE], double end) {
  MathBuilder b(type);
  const Val x = b.Argument(0);
  const Val a = b.Abs(x);
  const Val low = b.Fma(b.Horner(b.Mul(x, x), low_q, kL), x, x);
  const Val c = b.Select(b.Greater(a, end), b.C(end), a);
  const Val q = b.Horner(c, high_q, kH);
  const double magic = b.Magic(b.bias());
  const Val t = b.Fma(q, b.C(-0x1.71547652b82fep+0), b.C(magic));
  const Val n = b.Sub(t, b.C(magic));
  const Val minus_r = b.Fma(n, b.C(0x1.62e42fefa39efp-1), q);
  double e[kE];
  for (size_t i = 0; i < kE; ++i) e[i] = i % 2 == 0 ? -exp_q[i] : exp_q[i];
  const Val p = b.Fma(b.Horner(minus_r, e, kE), minus_r, b.C(1));
  const Val high = b.Fma(b.Neg(p), b.PowerOfTwo(t), b.C(1));
  return b.Finish({b.Select(b.Greater(a, 1), b.WithSign(high, x), low)});
}

}  // namespace

Graph ErfF32() { return Erf(DType::kF32, kLow32, kHigh32, kExp32, 4); }
Graph ErfF64() { return Erf(DType::kF64, kLow64, kHigh64, kExp64, 6); }

}  // namespace tenon::kir::internal
