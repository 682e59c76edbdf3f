// Power. Coefficients: scripts/fit_math.py.

#include "tenon/kir/internal/math_builder.h"
#include "tenon/kir/internal/math_functions.h"

namespace tenon::kir::internal {
namespace {

// log2(1 + f) = f q(f) on [sqrt 1/2 - 1, sqrt 2 - 1] in f64, 2^-35.8.
constexpr double kLog2[] = {0x1.71547652a1eccp+0, -0x1.715476565ff24p-1, 0x1.ec709ebb6e781p-2, -0x1.71547095bfbb1p-2,
                            0x1.27765204cb0b2p-2, -0x1.ec72b6a0a7f63p-3, 0x1.a63f43c80ad75p-3, -0x1.7141558d5fbc8p-3,
                            0x1.452905324d2c9p-3, -0x1.253058af44ce7p-3, 0x1.28736d23b3b5ep-3, -0x1.2484dd7fa52cdp-3,
                            0x1.3cda9a6dbbb41p-4};
// 2^r = 1 + r q(r) on [0, 1], 2^-26.4.
constexpr double kExp2_32[] = {0x1.62e42cp-1, 0x1.ebfd58p-3,  0x1.c6890cp-5,
                               0x1.3d0bb8p-7, 0x1.46d522p-10, 0x1.c54508p-13};

// In f64: log(1 + f) = s (2 + 2/3 z + z^2 q(z)) with s = f / (2 + f), z = s^2 <= 0.0295, 2^-65; 2^r = 1 + r q(r) on
// [-1/2, 1/2], 2^-55.6.
constexpr double kAtanh[] = {0x1.9999999999b31p-2, 0x1.2492492457b6cp-2, 0x1.c71c722d93afep-3, 0x1.745ce9d318a30p-3,
                             0x1.3b1eef1c9defcp-3, 0x1.0f7f9ee051daap-3, 0x1.0e457f1527bf7p-3};
constexpr double kExp2_64[] = {0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58fp-3,  0x1.c6b08d704a0cfp-5,
                               0x1.3b2ab6fba4e23p-7,  0x1.5d87fe78a268dp-10, 0x1.430912f8838fdp-13,
                               0x1.ffcbfc74e7edep-17, 0x1.62c021e349e95p-20, 0x1.b524dd2f30130p-24,
                               0x1.e4d069a3ae1ffp-28, 0x1.ea018a4d9790cp-32, 0x1.c2d22eb4e356bp-36};

// An unevaluated sum of two numbers.
struct Pair {
  Val high, low;
};

// x (high + low) plus x_low high, for x = x + x_low.
Pair MulPair(MathBuilder& b, Val x, Val x_low, Pair y) {
  const Val p = b.Mul(x, y.high);
  Val low = b.ExactFma(x, y.high, b.Neg(p));
  low = b.Add(low, b.Fma(x, y.low, x_low == kNone ? b.C(0) : b.Mul(x_low, y.high)));
  return {p, low};
}

// high + low, where |high| >= |low| or high is 0, with |low| below a rounding of the sum.
Pair Normalize(MathBuilder& b, Val high, Val low) {
  const Val sum = b.Add(high, low);
  return {sum, b.Add(b.Sub(high, sum), low)};
}

// log2 of a normal positive number to 2^-64 or so, times y to 2^-63.
Pair YLog2(MathBuilder& b, Val a, Val y) {
  const Val bits = b.Bits(a);
  const Val biased = b.Add(bits, b.I(0x3ff0000000000000 - 0x3fe6a09e667f3bcd));
  const Val e = b.Sub(b.FromBits(b.Or(b.ShrLogical(biased, b.I(52)), b.I(0x4330000000000000))), b.C(0x1p52 + 1023));
  const Val m = b.FromBits(b.Sub(bits, b.Sub(b.And(biased, b.I(0x7ff0000000000000)), b.I(0x3ff0000000000000))));
  const Val f = b.Sub(m, b.C(1));
  const Val d = b.Add(f, b.C(2));
  const Val d_low = b.Sub(f, b.Sub(d, b.C(2)));
  const Val s = b.Div(f, d);
  // 1 / (2 + f) = (1 - s) / 2.
  const Val s_low = b.Mul(b.Fma(b.Neg(s), d_low, b.ExactFma(b.Neg(s), d, f)), b.Fma(s, b.C(-0.5), b.C(0.5)));
  Pair z = {b.Mul(s, s), kNone};
  z.low = b.Fma(b.Add(s, s), s_low, b.ExactFma(s, s, b.Neg(z.high)));
  const Pair third = MulPair(b, b.C(0x1.5555555555555p-1), b.C(0x1.5555555555555p-55), z);
  const Val rest = b.Fma(b.Mul(z.high, z.high), b.Horner(z.high, kAtanh, std::size(kAtanh)), third.low);
  const Pair two = Normalize(b, b.C(2), third.high);
  const Pair factor = Normalize(b, two.high, b.Add(two.low, rest));
  const Pair log = MulPair(b, s, s_low, factor);
  const Pair log2 = MulPair(b, b.C(0x1.71547652b82fep+0), b.C(0x1.777d0ffda0d24p-56), log);
  Pair sum = Normalize(b, e, log2.high);
  sum.low = b.Add(sum.low, log2.low);
  sum.high = b.Select(b.Less(a, std::numeric_limits<double>::infinity()), sum.high, a);
  sum.high = b.Select(b.Compare(kEq, a, b.C(0)), b.C(-std::numeric_limits<double>::infinity()), sum.high);
  return MulPair(b, y, kNone, sum);
}

// What is left to do with `r` = |x|^y: the sign of odd powers of negative numbers, NaN for fractional ones, and the
// powers that are 1 whatever the rest is. r must be right for x = 0 and infinite x, and NaN for NaNs.
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
  // At the largest numbers a rounding too many would be infinite.
  return b.Finish({b.Select(b.Compare(kEq, y, b.C(1)), x, PowSpecials(b, x, y, a, power))});
}

// The logarithm in pairs of numbers, since its error counts up to 1024 times.
Graph PowF64() {
  MathBuilder b(DType::kF64, 2);
  const Val x = b.Argument(0), y = b.Argument(1);
  const Val a = b.Abs(x);
  const Pair t = YLog2(b, a, y);
  // Beyond these ends the power is infinite or zero.
  Val high = b.Select(b.Greater(t.high, 1025), b.C(1025), t.high);
  high = b.Select(b.Less(high, -1023), b.C(-1023), high);
  const Val low = b.Select(b.Compare(kEq, high, t.high), t.low, b.C(0));
  const Val n = b.RoundEven(high);
  const Val r = b.Add(b.Sub(high, n), low);
  const Val p = b.Fma(b.Horner(r, kExp2_64, std::size(kExp2_64)), r, b.C(1));
  // 2^1024 is no number, so above 1 half of the scale comes last.
  const Val big = b.Greater(n, 0);
  const Val scale = b.PowerOfTwo(b.Add(b.Select(big, b.Sub(n, b.C(1)), n), b.C(b.Magic(b.bias()))));
  const Val power = b.Mul(b.Mul(p, scale), b.Select(big, b.C(2), b.C(1)));
  return b.Finish({PowSpecials(b, x, y, a, power)});
}

}  // namespace tenon::kir::internal
