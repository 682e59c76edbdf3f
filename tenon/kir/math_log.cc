// Logarithms. Coefficients: scripts/fit_math.py.

#include "tenon/kir/internal/math_builder.h"
#include "tenon/kir/internal/math_functions.h"

namespace tenon::kir::internal {
namespace {

// log(1 + f) = f + f^2 q(f), 1 + f in [sqrt 1/2, sqrt 2], 2^-26.8 and 2^-56.4.
constexpr double kLog32[] = {-0.5,          0x1.555554p-2,  -0x1.000228p-2, 0x1.99a00cp-3, -0x1.547234p-3,
                             0x1.22d984p-3, -0x1.0d8596p-3, 0x1.055f78p-3,  -0x1.38bd28p-4};
constexpr double kLog64[] = {-0.5,
                             0x1.5555555555533p-2,
                             -0x1.fffffffffef12p-3,
                             0x1.999999999f76dp-3,
                             -0x1.555555566b271p-3,
                             0x1.24924922a3a12p-3,
                             -0x1.ffffff2c0d05dp-4,
                             0x1.c71c71e0357fep-4,
                             -0x1.9999c266f7736p-4,
                             0x1.745d3f15f1ee0p-4,
                             -0x1.5550eed6b8b78p-4,
                             0x1.3b0b89dc6c97bp-4,
                             -0x1.24d74a2923454p-4,
                             0x1.11ccf4ffd34dbp-4,
                             -0x1.fba1f5be3a1c8p-5,
                             0x1.d05b11e2ff5b2p-5,
                             -0x1.d11f671b507fcp-5,
                             0x1.0a612d0351670p-4,
                             -0x1.ea04f35001bbep-5,
                             0x1.ac76e522be800p-6};

// atanh(x) = x + x z q(z), z = x^2 <= 1/4, 2^-27.8 and 2^-57.8.
constexpr double kAtanh32[] = {0x1.555540p-2, 0x1.99a6ccp-3, 0x1.234846p-3,
                               0x1.e44c64p-4, 0x1.a4bba2p-5, 0x1.69dcf0p-3};
constexpr double kAtanh64[] = {0x1.555555555554cp-2,  0x1.999999999b325p-3, 0x1.24924923c9d69p-3,  0x1.c71c722a4e811p-4,
                               0x1.745d08c00dd3ep-4,  0x1.3b151091a4ec2p-4, 0x1.10fa7fcdabcf7p-4,  0x1.e3e9d5cd9535ap-5,
                               0x1.9e858387432a8p-5,  0x1.e7175ad0ca8b0p-5, -0x1.455abc342cb4cp-8, 0x1.648a450eb1131p-3,
                               -0x1.8f511661c177bp-3, 0x1.ec6efe37c3988p-3};

// x = 2^e m with m in [sqrt 1/2, sqrt 2), for normal positive x.
struct Split {
  Val exponent;  // e << mantissa bits, up to bits below that do not matter to `Scale`
  Val e;         // as a float
  Val m;
};
Split SplitFloat(MathBuilder& b, Val x) {
  const Val bits = b.Bits(x);
  if (b.is_f32()) {
    const Val e = b.ShrArith(b.Sub(bits, b.I(0x3f3504f3)), b.I(23));
    const Val exponent = b.Shl(e, b.I(23));
    return {exponent, b.Convert(DType::kF32, e), b.FromBits(b.Sub(bits, exponent))};
  }
  // Without conversions of 64-bit integers and arithmetic shifts, which many machines lack in vectors: e + 1023 is put
  // into the low bits of 2^52.
  const Val biased = b.Add(bits, b.I(0x3ff0000000000000 - 0x3fe6a09e667f3bcd));
  const Val low = b.ShrLogical(biased, b.I(52));
  const Val e = b.Sub(b.FromBits(b.Or(low, b.I(0x4330000000000000))), b.C(0x1p52 + 1023));
  const Val exponent = b.Sub(b.And(biased, b.I(0x7ff0000000000000)), b.I(0x3ff0000000000000));
  return {exponent, e, b.FromBits(b.Sub(bits, exponent))};
}

// e ln 2 + log(1 + f). One constant for ln 2 is enough: its error is 2^-28 (2^-55) of the result.
Val LogCore(MathBuilder& b, Val e, Val f) {
  const Val w = b.is_f32() ? b.Horner(f, kLog32, std::size(kLog32)) : b.Horner(f, kLog64, std::size(kLog64));
  return b.Fma(e, b.C(0x1.62e42fefa39efp-1), b.Fma(b.Mul(f, f), w, f));
}

// What a logarithm of `u` is where it is not a positive finite number.
Val LogSpecials(MathBuilder& b, Val u, Val y) {
  const Val zero = b.C(0);
  y = b.Select(b.Compare(kGt, u, zero), y, b.Select(b.Compare(kEq, u, zero), b.Neg(b.Inf()), b.NaN()));
  return b.Select(b.Compare(kEq, u, b.Inf()), u, y);
}

Graph Log(DType type) {
  MathBuilder b(type);
  const Val x = b.Argument(0);
  const Split s = SplitFloat(b, x);
  return b.Finish({LogSpecials(b, x, LogCore(b, s.e, b.Sub(s.m, b.C(1))))});
}

// log of u = 1 + x, with what the rounding of u lost put back: f = (m - 1) + 2^-e (x - (u - 1)).
Graph Log1p(DType type) {
  MathBuilder b(type);
  const Val x = b.Argument(0);
  const Val one = b.C(1);
  const Val u = b.Add(x, one);
  const Split s = SplitFloat(b, u);
  const Val lost = b.Sub(x, b.Sub(u, one));
  const Val scale = b.FromBits(b.Sub(b.Bits(b.C(4)), s.exponent));  // 4 * 2^-e: e may be 128 (1024)
  const Val f = b.Fma(b.Mul(lost, b.C(0.25)), scale, b.Sub(s.m, one));
  Val y = LogSpecials(b, u, LogCore(b, s.e, f));
  y = b.Select(b.Less(b.Abs(x), b.is_f32() ? 0x1p-26 : 0x1p-55), x, y);
  return b.Finish({y});
}

// log((1 + |x|) / (1 - |x|)) / 2, and the polynomial up to a half.
Graph Atanh(DType type) {
  MathBuilder b(type);
  const Val x = b.Argument(0);
  const Val one = b.C(1);
  const Val a = b.Abs(x);
  const Val z = b.Mul(x, x);
  const Val q = b.is_f32() ? b.Horner(z, kAtanh32, std::size(kAtanh32)) : b.Horner(z, kAtanh64, std::size(kAtanh64));
  const Val low = b.Fma(b.Mul(x, z), q, x);
  const Val u = b.Div(b.Add(one, a), b.Sub(one, a));
  const Split s = SplitFloat(b, u);
  const Val high = b.Mul(LogSpecials(b, u, LogCore(b, s.e, b.Sub(s.m, one))), b.C(0.5));
  return b.Finish({b.Select(b.Greater(a, 0.5), b.WithSign(high, x), low)});
}

}  // namespace

Graph AtanhF32() { return Atanh(DType::kF32); }
Graph AtanhF64() { return Atanh(DType::kF64); }
Graph LogF32() { return Log(DType::kF32); }
Graph LogF64() { return Log(DType::kF64); }
Graph Log1pF32() { return Log1p(DType::kF32); }
Graph Log1pF64() { return Log1p(DType::kF64); }

}  // namespace tenon::kir::internal
