// The error function. Coefficients: scripts/fit_math.py.

#include "tenon/kir/internal/math_builder.h"
#include "tenon/kir/internal/math_functions.h"

namespace tenon::kir::internal {
namespace {

// erf(x) = x + x q(x^2) on [0, 1], 2^-28.5.
constexpr double kErfLow32[] = {0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2cf8p-4, -0x1.b7f90ep-6, 0x1.5405b2p-8, -0x1.a3f6f0p-11, 0x1.4969eap-14};
// erf(x) = 1 - exp(-q(x)) on [0.98, 4], 2^-28.9; as 1 - 2^-q here, that is with coefficients times log2(e).
constexpr double kErfHigh32[] = {0x1.3b36dap-12, 0x1.209382p+0, 0x1.4698c4p-1, 0x1.a7395ep-4, -0x1.67763ep-6, 0x1.8594dep-9, -0x1.8bf3a6p-13};
// exp(r) = 1 + r q(r), as in math_exp.cc.
constexpr double kExp32[] = {1.0, 0x1.00004cp-1, 0x1.55431ap-3, 0x1.56e084p-5, 0x1.01d356p-7, 0x1.f561bcp-10};

}  // namespace

// Both ranges are computed; erf is 1 from 3.92 on.
Graph ErfF32() {
  MathBuilder b(DType::kF32);
  const Val x = b.Argument(0);
  const Val a = b.Abs(x);
  const Val low = b.Fma(b.Horner(b.Mul(x, x), kErfLow32, std::size(kErfLow32)), x, x);
  const Val c = b.Select(b.Greater(a, 4), b.C(4), a);
  const Val q = b.Horner(c, kErfHigh32, std::size(kErfHigh32));
  const double magic = b.Magic(b.bias());
  const Val t = b.Add(b.Fma(q, b.C(-0x1.71547652b82fep+0), b.C(-0.5)), b.C(magic));
  const Val n = b.Sub(t, b.C(magic));
  const Val r = b.Fma(n, b.C(-0x1.62e430p-1), b.Neg(q));
  const Val p = b.Fma(b.Horner(r, kExp32, std::size(kExp32)), r, b.C(1));
  const Val high = b.Fma(b.Neg(p), b.PowerOfTwo(t), b.C(1));
  return b.Finish({b.Select(b.Greater(a, 1), b.WithSign(high, x), low)});
}

}  // namespace tenon::kir::internal
