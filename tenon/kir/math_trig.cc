// Sine, cosine, tangent. Coefficients: scripts/fit_math.py.
//
// The argument is reduced to r in [-pi/4, pi/4] and a quadrant. Moderate arguments subtract k pi/2 in three parts, each exact where it must be (Cody and
// Waite); arguments beyond that (2^17 in f32, 2^25 in f64) multiply by a window of the bits of 2/pi in integers (Payne and Hanek). The second way sits
// behind a select marked rare: 48 operations in f32, 130 in f64, that code may skip.

#include <vector>

#include "tenon/kir/internal/math_builder.h"
#include "tenon/kir/internal/math_functions.h"

namespace tenon::kir::internal {
namespace {

// sin(r) = r + r z q(z), cos(r) = 1 - z/2 + z^2 q(z), z = r^2 <= 0.65 (f32), 0.62 (f64).
constexpr double kSin32[] = {1.0, -0x1.555542p-3, 0x1.110624p-7, -0x1.98e5fcp-13};
constexpr double kCos32[] = {1.0, -0.5, 0x1.555548p-5, -0x1.6c0b04p-10, 0x1.9995a8p-16};
constexpr double kSin64[] = {1.0, -0x1.5555555555548p-3, 0x1.111111110f729p-7, -0x1.a01a019be83c5p-13,
                             0x1.71de355459f4cp-19, -0x1.ae5e4ad998285p-26, 0x1.5d8b22bfdc3acp-33};
constexpr double kCos64[] = {1.0, -0.5, 0x1.555555555554ap-5, -0x1.6c16c16c14ed2p-10, 0x1.a01a019c71325p-16,
                             -0x1.27e4f7dca1a4dp-22, 0x1.1ee9cde208113p-29, -0x1.8f9f689d1b3dcp-37};
// pi/2 in parts of each type's width, all positive, so that -0 reduces to -0.
constexpr double kHalfPi32[] = {0x1.921fb4p+0, 0x1.4442d0p-24, 0x1.846988p-48};

struct Reduced {
  Val r;
  Val quadrant;  // an integer whose low two bits count
};

// The bits of 2/pi behind 32 zeros.
constexpr uint32_t kTwoOverPi32[] = {0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};

// |x| = m 2^e with e from -6 to 104. Bits of 2/pi whose weight times 2^e is 4 or more do not matter; a window of 96 bits begins below them. m times the window, in
// units of 2^-62 modulo 4, is the angle in quarter turns.
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
      w[t] = b.Select(b.Compare(kEq, word, b.Const(u32, j)), b.Const(u32, static_cast<int64_t>(kTwoOverPi32[j + t])), w[t]);
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
  const Val r = b.Convert(DType::kF32, b.Mul(b.Convert(DType::kF64, rest), b.ConstF64(0x1.921fb54442d18p-62)));
  // For negative x both change sign.
  const Val sign = b.And(b.Bits(x), b.I(b.sign_bit()));
  const Val mask = b.ShrArith(b.Bits(x), b.I(31));
  const Val k32 = b.Convert(DType::kS32, k);
  const Val is_infinite = b.Compare(kEq, magnitude, b.Const(u32, 0x7f800000));
  return {b.Select(is_infinite, b.NaN(), b.FromBits(b.Xor(b.Bits(r), sign))), b.Sub(b.Xor(k32, mask), mask)};
}

Reduced Reduce32(MathBuilder& b, Val x) {
  const Val t = b.Fma(x, b.C(0x1.45f306dc9c883p-1), b.C(b.Magic()));
  const Val k = b.Sub(t, b.C(b.Magic()));
  Val r = x;
  for (double part : kHalfPi32) r = b.Fma(k, b.C(-part), r);
  const Reduced large = ReduceLarge32(b, x);
  const Val is_large = b.Compare(kGe, b.Abs(x), b.C(0x1p17));
  return {b.SelectRare(is_large, large.r, r), b.SelectRare(is_large, large.quadrant, b.Bits(t))};
}

Val Sin32(MathBuilder& b, Val r, Val z) { return b.Mul(r, b.Horner(z, kSin32, std::size(kSin32))); }
Val Cos32(MathBuilder& b, Val z) { return b.Horner(z, kCos32, std::size(kCos32)); }

// sin(x) with the quadrant moved on by `ahead`: 1 makes it the cosine.
Graph SinLike32(int ahead) {
  MathBuilder b(DType::kF32);
  const Reduced a = Reduce32(b, b.Argument(0));
  const Val z = b.Mul(a.r, a.r);
  const Val q = ahead == 0 ? a.quadrant : b.Add(a.quadrant, b.I(ahead));
  const Val odd = b.Compare(kNe, b.And(q, b.I(1)), b.I(0));
  const Val y = b.Select(odd, Cos32(b, z), Sin32(b, a.r, z));
  const Val sign = b.Shl(b.And(q, b.I(2)), b.I(30));
  return b.Finish({b.FromBits(b.Xor(b.Bits(y), sign))});
}

}  // namespace

Graph SinF32() { return SinLike32(0); }
Graph CosF32() { return SinLike32(1); }

// sin / cos, or -cos / sin in odd quadrants.
Graph TanF32() {
  MathBuilder b(DType::kF32);
  const Reduced a = Reduce32(b, b.Argument(0));
  const Val z = b.Mul(a.r, a.r);
  const Val s = Sin32(b, a.r, z), c = Cos32(b, z);
  const Val odd = b.Compare(kNe, b.And(a.quadrant, b.I(1)), b.I(0));
  const Val y = b.Div(b.Select(odd, c, s), b.Select(odd, s, c));
  return b.Finish({b.FromBits(b.Xor(b.Bits(y), b.Shl(a.quadrant, b.I(31))))});
}

}  // namespace tenon::kir::internal
