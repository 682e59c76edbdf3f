// Sine, cosine, tangent. Coefficients: scripts/fit_math.py.
//
// The argument is reduced to r in [-pi/4, pi/4] and a quadrant. Moderate arguments subtract k pi/2 in three parts, each
// exact where it must be (Cody and Waite); arguments beyond that (2^17 in f32, 2^25 in f64) multiply by a window of the
// bits of 2/pi in integers (Payne and Hanek). The second way sits behind a select marked rare: 48 operations in f32,
// 130 in f64, that code may skip.

#include <algorithm>
#include <vector>

#include "tenon/kir/internal/math_builder.h"
#include "tenon/kir/internal/math_functions.h"

namespace tenon::kir::internal {
namespace {

// sin(r) = r + r z q(z), cos(r) = 1 - z/2 + z^2 q(z), z = r^2 <= 0.65 (f32), 0.62 (f64).
constexpr double kSin32[] = {-0x1.555542p-3, 0x1.110624p-7, -0x1.98e5fcp-13};
constexpr double kCos32[] = {1.0, -0.5, 0x1.555548p-5, -0x1.6c0b04p-10, 0x1.9995a8p-16};
constexpr double kSin64[] = {-0x1.5555555555548p-3, 0x1.111111110f729p-7,   -0x1.a01a019be83c5p-13,
                             0x1.71de355459f4cp-19, -0x1.ae5e4ad998285p-26, 0x1.5d8b22bfdc3acp-33};
constexpr double kCos64[] = {1.0,
                             -0.5,
                             0x1.555555555554ap-5,
                             -0x1.6c16c16c14ed2p-10,
                             0x1.a01a019c71325p-16,
                             -0x1.27e4f7dca1a4dp-22,
                             0x1.1ee9cde208113p-29,
                             -0x1.8f9f689d1b3dcp-37};
// tan(r) = r + r z q(z), 2^-28 and 2^-57.
constexpr double kTan32[] = {0x1.555566p-2, 0x1.110beep-3,   0x1.bb264ap-5, 0x1.59aa76p-6,
                             0x1.72cc7cp-7, -0x1.10ec04p-11, 0x1.328b92p-8};
constexpr double kTan64[] = {0x1.555555555555ep-2,  0x1.1111111110588p-3,   0x1.ba1ba1bac336bp-5,
                             0x1.664f485c48eebp-6,  0x1.226e3a9d379fap-7,   0x1.d6d2e328e1955p-9,
                             0x1.7db1cefe6043cp-10, 0x1.34b99d87bdcc1p-11,  0x1.ff51f40570c13p-13,
                             0x1.5dc3d9efb58cbp-14, 0x1.1b3f3c6cf4c59p-14,  -0x1.b4b1a369cd305p-16,
                             0x1.9ac88f0e2de27p-15, -0x1.9a0c1daf358c7p-16, 0x1.4a0f5f2c236b5p-17};
// pi/2 in parts of each type's width, all positive, so that -0 reduces to -0.
constexpr double kHalfPi32[] = {0x1.921fb4p+0, 0x1.4442d0p-24, 0x1.846988p-48};
constexpr double kHalfPi64[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c06p-54, 0x1.c1cd129024e08p-107};

struct Reduced {
  Val r;
  Val low;       // what the rounding of r lost; only where asked for
  Val quadrant;  // an integer whose low two bits count
};

// The bits of 2/pi behind 32 zeros.
constexpr uint32_t kTwoOverPi32[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                     0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};

// |x| = m 2^e with e from -6 to 104. Bits of 2/pi whose weight times 2^e is 4 or more do not matter; a window of 96
// bits begins below them. m times the window, in units of 2^-62 modulo 4, is the angle in quarter turns.
Reduced ReduceLarge32(MathBuilder& b, Val x) {
  const DType u32 = DType::kU32, u64 = DType::kU64;
  const Val bits = b.Bitcast(u32, x);
  const Val magnitude = b.And(bits, b.Const(u32, int64_t{0x7fffffff}));
  const Val m = b.Or(b.And(bits, b.Const(u32, 0x7fffff)), b.Const(u32, 0x800000));
  const Val first = b.Sub(b.ShrLogical(magnitude, b.Const(u32, 23)), b.Const(u32, 150 + 2 - 32));
  const Val word = b.ShrLogical(first, b.Const(u32, 5));
  const Val shift = b.And(first, b.Const(u32, 31));
  Val w[4];
  for (int t = 0; t < 4; ++t) {
    w[t] = b.Const(u32, static_cast<int64_t>(kTwoOverPi32[4 + t]));
    for (int j = 3; j >= 0; --j) {
      w[t] = b.Select(b.Compare(kEq, word, b.Const(u32, j)), b.Const(u32, static_cast<int64_t>(kTwoOverPi32[j + t])),
                      w[t]);
    }
  }
  const Val back = b.Sub(b.Const(u32, 32), shift);
  Val h[3];
  for (int t = 0; t < 3; ++t) h[t] = b.Convert(u64, b.Or(b.Shl(w[t], shift), b.ShrLogical(w[t + 1], back)));
  const Val m64 = b.Convert(u64, m);
  const Val c32 = b.Const(u64, 32);
  const Val turns = b.Add(b.Add(b.Shl(b.Mul(m64, h[0]), c32), b.Mul(m64, h[1])), b.ShrLogical(b.Mul(m64, h[2]), c32));
  const Val k = b.ShrLogical(b.Add(turns, b.Const(u64, int64_t{1} << 61)), b.Const(u64, 62));
  const Val rest = b.Bitcast(DType::kS64, b.Sub(turns, b.Shl(k, b.Const(u64, 62))));
  const Val wide = b.Mul(b.Convert(DType::kF64, rest), b.ConstF64(0x1.921fb54442d18p-62));
  const Val r = b.Convert(DType::kF32, wide);
  const Val low = b.Convert(DType::kF32, b.Sub(wide, b.Convert(DType::kF64, r)));
  // For negative x both change sign.
  const Val sign = b.And(b.Bits(x), b.I(b.sign_bit()));
  const Val mask = b.ShrArith(b.Bits(x), b.I(31));
  const Val k32 = b.Convert(DType::kS32, k);
  const Val is_infinite = b.Compare(kEq, magnitude, b.Const(u32, 0x7f800000));
  return {b.Select(is_infinite, b.NaN(), b.FromBits(b.Xor(b.Bits(r), sign))), b.FromBits(b.Xor(b.Bits(low), sign)),
          b.Sub(b.Xor(k32, mask), mask)};
}

// The bits of 2/pi behind 64 zeros.
constexpr uint64_t kTwoOverPi64[] = {0,
                                     0xa2f9836e4e441529,
                                     0xfc2757d1f534ddc0,
                                     0xdb6295993c439041,
                                     0xfe5163abdebbc561,
                                     0xb7246e3a424dd2e0,
                                     0x06492eea09d1921c,
                                     0xfe1deb1cb129a73e,
                                     0xe88235f52ebb4484,
                                     0xe99c7026b45f7e41,
                                     0x3991d639835339f4,
                                     0x9c845f8bbdf9283b,
                                     0x1ff897ffde05980f,
                                     0xef2f118b5a0a6d1f,
                                     0x6d367ecf27cb09b7,
                                     0x4f463f669e5fea2d,
                                     0x7527bac7ebe5f17b,
                                     0x3d0739f78a5292ea,
                                     0x6bfb5fb11f8d5d08,
                                     0x56033046fc7b6bab};

// The upper 64 bits of a product of 64-bit integers.
Val MulHigh(MathBuilder& b, Val x, Val y) {
  const DType u64 = DType::kU64;
  const Val c32 = b.Const(u64, 32), low = b.ConstBits(u64, 0xffffffff);
  const Val xl = b.And(x, low), xh = b.ShrLogical(x, c32), yl = b.And(y, low), yh = b.ShrLogical(y, c32);
  const Val middle = b.Add(b.Mul(xl, yh), b.ShrLogical(b.Mul(xl, yl), c32));
  const Val middle2 = b.Add(b.Mul(xh, yl), b.And(middle, low));
  return b.Add(b.Add(b.Mul(xh, yh), b.ShrLogical(middle, c32)), b.ShrLogical(middle2, c32));
}

// The same with |x| = m 2^e, e from -27 to 971, a window of 192 bits and an angle of 128 bits, in units of 2^-126
// modulo 4.
Reduced ReduceLarge64(MathBuilder& b, Val x) {
  const DType u64 = DType::kU64, f64 = DType::kF64;
  const auto c = [&](uint64_t bits) { return b.ConstBits(u64, bits); };
  const Val bits = b.Bitcast(u64, x);
  const Val magnitude = b.And(bits, c(~uint64_t{0} >> 1));
  const Val m = b.Or(b.And(bits, c((uint64_t{1} << 52) - 1)), c(uint64_t{1} << 52));
  const Val first = b.Sub(b.ShrLogical(magnitude, c(52)), c(1075 + 2 - 64));
  const Val word = b.ShrLogical(first, c(6));
  const Val shift = b.And(first, c(63));
  // The four words from `word` on: shifted down by 16, 8, 4, 2, 1 words where that bit of the number is set.
  std::vector<Val> w;
  for (uint64_t bits_of : kTwoOverPi64) w.push_back(c(bits_of));
  for (size_t step = 16; step > 0; step /= 2) {
    const Val set = b.Compare(kNe, b.And(word, c(step)), c(0));
    const size_t keep = step + 3;  // what the smaller steps can still reach
    for (size_t i = 0; i < keep && i + step < w.size(); ++i) w[i] = b.Select(set, w[i + step], w[i]);
    w.resize(keep);
  }
  const Val back = b.Sub(c(64), shift);
  Val h[3];
  for (size_t t = 0; t < 3; ++t) h[t] = b.Or(b.Shl(w[t], shift), b.ShrLogical(w[t + 1], back));
  const Val middle = b.Mul(m, h[1]);
  Val low = b.Add(middle, MulHigh(b, m, h[2]));
  const Val carry = b.Select(b.Compare(kLt, low, middle), c(1), c(0));
  Val high = b.Add(b.Add(b.Mul(m, h[0]), MulHigh(b, m, h[1])), carry);
  const Val k = b.ShrLogical(b.Add(high, c(uint64_t{1} << 61)), c(62));
  high = b.Sub(high, b.Shl(k, c(62)));
  // Its magnitude: small angles keep all of their bits.
  const Val negative = b.Compare(kLt, b.Bitcast(DType::kS64, high), b.Const(DType::kS64, 0));
  const Val borrow = b.Select(b.Compare(kEq, low, c(0)), c(1), c(0));
  high = b.Select(negative, b.Add(b.Not(high), borrow), high);
  low = b.Select(negative, b.Neg(low), low);
  // In two floats: the bits above the 11 lowest of `high`, and those with the ones of `low`.
  const Val a = b.Convert(f64, b.Bitcast(DType::kS64, b.And(high, c(~uint64_t{0x7ff}))));
  const Val rest = b.ShrLogical(b.Or(b.Shl(b.And(high, c(0x7ff)), c(53)), b.ShrLogical(low, c(11))), c(1));
  const Val a2 = b.Mul(b.Convert(f64, b.Bitcast(DType::kS64, rest)), b.C(0x1p-52));
  const double unit = 0x1p-62;
  const Val half_pi = b.C(0x1.921fb54442d18p+0 * unit);
  const Val small = b.Fma(a2, half_pi, b.Mul(a, b.C(0x1.1a62633145c07p-54 * unit)));
  const Val r = b.Fma(a, half_pi, small);
  const Val r_low = b.Add(b.ExactFma(a, half_pi, b.Neg(r)), small);
  // The signs: of the angle, and of x.
  const Val sign = b.Xor(b.And(b.Bits(x), b.I(b.sign_bit())), b.Select(negative, b.I(b.sign_bit()), b.I(0)));
  const Val of_x = b.Select(b.Compare(kLt, b.Bits(x), b.I(0)), b.I(-1), b.I(0));
  const Val k64 = b.Bitcast(DType::kS64, k);
  const Val is_infinite = b.Compare(kEq, magnitude, c(uint64_t{0x7ff} << 52));
  return {b.Select(is_infinite, b.NaN(), b.FromBits(b.Xor(b.Bits(r), sign))), b.FromBits(b.Xor(b.Bits(r_low), sign)),
          b.Sub(b.Xor(k64, of_x), of_x)};
}

Reduced Reduce(MathBuilder& b, Val x, bool with_low) {
  const double* parts = b.is_f32() ? kHalfPi32 : kHalfPi64;
  const Val t = b.Fma(x, b.C(0x1.45f306dc9c883p-1), b.C(b.Magic()));
  const Val k = b.Sub(t, b.C(b.Magic()));
  const Val r1 = b.ExactFma(k, b.C(-parts[0]), x);  // exact
  const Val r2 = b.ExactFma(k, b.C(-parts[1]), r1);
  const Val r = b.Fma(k, b.C(-parts[2]), r2);
  const Reduced large = b.is_f32() ? ReduceLarge32(b, x) : ReduceLarge64(b, x);
  const Val is_large = b.Compare(kGe, b.Abs(x), b.C(b.is_f32() ? 0x1p17 : 0x1p25));
  Reduced reduced = {b.SelectRare(is_large, large.r, r), kNone, b.SelectRare(is_large, large.quadrant, b.Bits(t))};
  if (with_low) {
    // r1 - k p2 as a sum of two, whichever is the larger; then k p3.
    const Val product = b.Mul(k, b.C(parts[1]));
    const Val product_low = b.ExactFma(k, b.C(parts[1]), b.Neg(product));
    const Val sum = b.Sub(r1, product);
    const Val taken = b.Sub(sum, r1);
    const Val lost = b.Sub(b.Sub(r1, b.Sub(sum, taken)), b.Add(product, taken));
    const Val rest = b.Fma(k, b.C(-parts[2]), b.Sub(lost, product_low));
    const Val closer = b.Add(sum, rest);
    reduced.r = b.SelectRare(is_large, large.r, closer);
    reduced.low = b.SelectRare(is_large, large.low, b.Add(b.Sub(sum, closer), rest));
  }
  return reduced;
}

// +0 for -0.
Val Sin(MathBuilder& b, Val r, Val z) {
  const Val q = b.is_f32() ? b.Horner(z, kSin32, std::size(kSin32)) : b.Horner(z, kSin64, std::size(kSin64));
  return b.Fma(b.Mul(r, z), q, r);
}
Val Cos(MathBuilder& b, Val z) {
  return b.is_f32() ? b.Horner(z, kCos32, std::size(kCos32)) : b.Horner(z, kCos64, std::size(kCos64));
}

// sin(x) with the quadrant moved on by `ahead`: 1 makes it the cosine.
Graph SinLike(DType type, int ahead) {
  MathBuilder b(type);
  const Val x = b.Argument(0);
  const Reduced a = Reduce(b, x, false);
  const Val z = b.Mul(a.r, a.r);
  const Val q = ahead == 0 ? a.quadrant : b.Add(a.quadrant, b.I(ahead));
  const Val odd = b.Compare(kNe, b.And(q, b.I(1)), b.I(0));
  const Val y = b.Select(odd, Cos(b, z), Sin(b, a.r, z));
  const Val sign = b.Shl(b.And(q, b.I(2)), b.I(b.is_f32() ? 30 : 62));
  const Val signed_y = b.FromBits(b.Xor(b.Bits(y), sign));
  return b.Finish({ahead == 0 ? b.Select(b.Compare(kEq, x, b.C(0)), x, signed_y) : signed_y});
}

// t = tan(r), or -1 / t in odd quadrants.
Graph Tan(DType type) {
  MathBuilder b(type);
  const Val x = b.Argument(0);
  const Reduced a = Reduce(b, x, true);
  const Val z = b.Mul(a.r, a.r);
  const Val q = b.is_f32() ? b.Horner(z, kTan32, std::size(kTan32)) : b.Horner(z, kTan64, std::size(kTan64));
  const Val t = b.Add(a.r, b.Fma(b.Mul(a.r, z), q, b.Fma(a.low, z, a.low)));
  const Val odd = b.Compare(kNe, b.And(a.quadrant, b.I(1)), b.I(0));
  const Val y = b.Select(odd, b.Div(b.C(-1), t), t);
  return b.Finish({b.Select(b.Compare(kEq, x, b.C(0)), x, y)});
}

}  // namespace

Graph SinF32() { return SinLike(DType::kF32, 0); }
Graph SinF64() { return SinLike(DType::kF64, 0); }
Graph CosF32() { return SinLike(DType::kF32, 1); }
Graph CosF64() { return SinLike(DType::kF64, 1); }
Graph TanF32() { return Tan(DType::kF32); }
Graph TanF64() { return Tan(DType::kF64); }

}  // namespace tenon::kir::internal
