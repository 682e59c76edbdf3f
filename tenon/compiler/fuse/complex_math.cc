#include "tenon/compiler/fuse/complex_math.h"

#include <limits>
#include <utility>

namespace tenon::compiler {
namespace {

using kir::Val;

/// Nodes of one real type.
class Real {
 public:
  Real(kir::NodeBuilder& b, Val like) : b(b), type_(b.type(like)), is_f32_(type_ == DType::kF32) {}

  kir::NodeBuilder& b;

  bool is_f32() const { return is_f32_; }
  Val C(double value) { return b.Const(type_, value); }
  /// The constant for f32, or for f64.
  Val C(double f32, double f64) { return C(is_f32_ ? f32 : f64); }
  Val Inf() { return C(std::numeric_limits<double>::infinity()); }
  Val NaN() { return C(std::numeric_limits<double>::quiet_NaN()); }
  DType int_type() const { return is_f32_ ? DType::kS32 : DType::kS64; }
  Val I(int64_t value) { return b.Const(int_type(), value); }
  Val Bits(Val x) { return b.Bitcast(int_type(), x); }
  Val FromBits(Val i) { return b.Bitcast(type_, i); }
  Val SignBit(Val x) { return b.And(Bits(x), I(is_f32_ ? int64_t{1} << 31 : std::numeric_limits<int64_t>::min())); }
  /// `magnitude`, which has no sign, with that of `sign`.
  Val WithSign(Val magnitude, Val sign) { return FromBits(b.Or(Bits(magnitude), SignBit(sign))); }
  Val Math(std::string_view function, Val x) { return b.MathOrDie(function, {x}); }
  Val IsInf(Val x) { return b.Compare(kir::kEq, b.Abs(x), Inf()); }
  Val IsZero(Val x) { return b.Compare(kir::kEq, x, C(0)); }
  Val IsNaN(Val x) { return b.Compare(kir::kNe, x, x); }
  Val Either(const auto& test, Scalar z) { return b.Or(test(z.re), test(z.im)); }
  Val AnyInf(Scalar z) {
    return Either([this](Val x) { return IsInf(x); }, z);
  }
  Val Larger(Scalar z) { return b.Max(b.Abs(z.re), b.Abs(z.im)); }
  bool IsConst(Val x, double value) { return b.IsConst(x, kir::LiteralBits(type_, value)); }

  Scalar Select(Val pred, Scalar x, Scalar y) { return {b.Select(pred, x.re, y.re), b.Select(pred, x.im, y.im)}; }
  Scalar SelectRare(Val pred, Scalar x, Scalar y) {
    return {b.SelectRare(pred, x.re, y.re), b.SelectRare(pred, x.im, y.im)};
  }

 private:
  DType type_;
  bool is_f32_;
};

/// A power of two by which a number's parts can be multiplied so that their squares neither overflow nor vanish: 1
/// where they would not anyhow.
struct Scaling {
  Val large;  ///< Where it is 2^-70 (f32), 2^-600 (f64).
  Val small;  ///< Where it is 2^64, 2^600.
  Val by;

  Scaling(Real& r, Val larger)
      : large(r.b.Compare(kir::kGe, larger, r.C(0x1p63, 0x1p500))),
        small(r.b.Compare(kir::kLt, larger, r.C(0x1p-50, 0x1p-400))),
        by(Choose(r, r.C(0x1p-70, 0x1p-600), r.C(0x1p64, 0x1p600), r.C(1))) {}

  Val Choose(Real& r, Val if_large, Val if_small, Val otherwise) const {
    return r.b.Select(large, if_large, r.b.Select(small, if_small, otherwise));
  }
  Val Back(Real& r) const { return Choose(r, r.C(0x1p70, 0x1p600), r.C(0x1p-64, 0x1p-600), r.C(1)); }
  Val BackRoot(Real& r) const { return Choose(r, r.C(0x1p35, 0x1p300), r.C(0x1p-32, 0x1p-300), r.C(1)); }
};

/// |z| times a scaling; infinite where a part is.
Val ScaledAbs(Real& r, Scalar z, const Scaling& s) {
  const Val x = r.b.Mul(z.re, s.by), y = r.b.Mul(z.im, s.by);
  const Val root = r.b.Sqrt(r.b.Fma(x, x, r.b.Mul(y, y)));
  return r.b.Select(r.AnyInf(z), r.Inf(), root);
}

/// log |z + low|, where `low` (kNone for none) is what the rounding of z.re lost. With h + e = |z|^2 to twice the
/// precision it is log(h) / 2, and e / 2 more where h is near 1: there e / h is e as far as it counts.
Val LogAbs(Real& r, Scalar z, Val low) {
  kir::NodeBuilder& b = r.b;
  const Scaling s(r, r.Larger(z));
  const Val x = b.Mul(z.re, s.by), y = b.Mul(z.im, s.by);
  const Val xx = b.Mul(x, x), yy = b.Mul(y, y);
  const Val sum = b.Add(xx, yy);
  Val lost = b.Sub(b.Min(xx, yy), b.Sub(sum, b.Max(xx, yy)));
  lost = b.Add(lost, b.Add(b.ExactFma(x, x, b.Neg(xx)), b.ExactFma(y, y, b.Neg(yy))));
  if (low != kir::kNone) lost = b.Fma(b.Add(x, x), b.Mul(low, s.by), lost);
  const Val near = b.And(b.Compare(kir::kGe, sum, r.C(0.5)), b.Compare(kir::kLe, sum, r.C(2)));
  const Val closer = b.Add(sum, lost);
  const Val h = b.Select(near, closer, sum);
  const Val e = b.Select(near, b.Sub(lost, b.Sub(closer, sum)), r.C(0));
  const double ln2 = 0x1.62e42fefa39efp-1;
  const Val shift = s.Choose(r, r.C(70 * ln2, 600 * ln2), r.C(-64 * ln2, -600 * ln2), r.C(0));
  const Val log = b.Fma(r.C(0.5), b.Add(r.Math("log", h), e), shift);
  return b.Select(r.AnyInf(z), r.Inf(), log);
}

/// e^t (cos y + i sin y), in two halves where e^t alone overflows.
Scalar ExpPolar(Real& r, Val t, Val y) {
  kir::NodeBuilder& b = r.b;
  const Val e = r.Math("exponential", t);
  const Val half = r.Math("exponential", b.Mul(t, r.C(0.5)));
  const Val c = r.Math("cosine", y), s = r.Math("sine", y);
  const Val over = r.IsInf(e);
  return r.SelectRare(over, {b.Mul(b.Mul(half, c), half), b.Mul(b.Mul(half, s), half)}, {b.Mul(e, c), b.Mul(e, s)});
}

Scalar Exp(Real& r, Scalar z) {
  const Scalar e = ExpPolar(r, z.re, z.im);
  return {e.re, r.b.Select(r.IsZero(z.im), z.im, e.im)};
}

// e^x cos y - 1 = (e^x - 1) cos y - 2 sin^2(y / 2)
Scalar Expm1(Real& r, Scalar z) {
  kir::NodeBuilder& b = r.b;
  const Scalar e = Exp(r, z);
  const Val half = r.Math("sine", b.Mul(z.im, r.C(0.5)));
  const Val near =
      b.Fma(r.Math("exponential_minus_one", z.re), r.Math("cosine", z.im), b.Mul(b.Mul(half, half), r.C(-2)));
  // From e^2 on the 1 is no more than a rounding or two.
  return {b.Select(b.Compare(kir::kGt, z.re, r.C(2)), b.Sub(e.re, r.C(1)), near), e.im};
}

Scalar Log(Real& r, Scalar z) { return {LogAbs(r, z, kir::kNone), r.b.MathOrDie("atan2", {z.im, z.re})}; }

Scalar Log1p(Real& r, Scalar z) {
  kir::NodeBuilder& b = r.b;
  const Val one = r.C(1);
  const Val sum = b.Add(z.re, one);
  const Val part = b.Sub(sum, one);
  const Val low = b.Add(b.Sub(z.re, part), b.Sub(one, b.Sub(sum, part)));
  return {LogAbs(r, {sum, z.im}, low), b.MathOrDie("atan2", {z.im, sum})};
}

/// The root with Re >= 0, before the sign of its imaginary part.
struct Root {
  Scalar z;
  Val negative;  ///< Re of the argument < 0.
};
// The larger part is sqrt((|z| + |x|) / 2), the other one |y| over twice that.
Root RootOf(Real& r, Scalar z, const Scaling& s, Val scaled_abs) {
  kir::NodeBuilder& b = r.b;
  const Val half = r.C(0.5);
  const Val x = b.Mul(b.Abs(z.re), s.by);
  Val large = b.Mul(b.Sqrt(b.Mul(b.Add(scaled_abs, x), half)), s.BackRoot(r));
  Val small = b.Div(b.Abs(z.im), b.Add(large, large));
  small = b.Select(r.IsZero(large), r.C(0), small);
  const Val infinite = r.IsInf(z.im);
  large = b.Select(infinite, r.Inf(), large);
  small = b.Select(infinite, r.Inf(), small);
  const Val negative = b.Compare(kir::kLt, z.re, r.C(0));
  return {{b.Select(negative, small, large), b.Select(negative, large, small)}, negative};
}

// Both sides of the cut give the upper root.
Scalar Sqrt(Real& r, Scalar z) {
  kir::NodeBuilder& b = r.b;
  const Scaling s(r, r.Larger(z));
  const Root root = RootOf(r, z, s, ScaledAbs(r, z, s));
  const Val cut = b.And(root.negative, r.IsZero(z.im));
  return {root.z.re, b.Select(cut, root.z.im, r.WithSign(root.z.im, z.im))};
}

// conj(sqrt(z)) / |z|
Scalar Rsqrt(Real& r, Scalar z) {
  kir::NodeBuilder& b = r.b;
  const Scaling s(r, r.Larger(z));
  const Val magnitude = ScaledAbs(r, z, s);
  const Root root = RootOf(r, z, s, magnitude);
  const Val minus = b.Neg(z.im);
  Scalar y{b.Mul(b.Div(root.z.re, magnitude), s.by), r.WithSign(b.Mul(b.Div(root.z.im, magnitude), s.by), minus)};
  y = r.SelectRare(r.AnyInf(z), {r.C(0), r.WithSign(r.C(0), minus)}, y);
  const Val nan = b.Or(r.IsNaN(z.re), r.IsNaN(z.im));
  y = r.SelectRare(nan, {r.NaN(), r.NaN()}, y);
  return r.SelectRare(r.IsZero(magnitude), {r.Inf(), r.NaN()}, y);
}

// With magnitude and angle a third.
Scalar Cbrt(Real& r, Scalar z) {
  kir::NodeBuilder& b = r.b;
  const Scaling s(r, r.Larger(z));
  const Val third = b.Mul(b.MathOrDie("atan2", {z.im, z.re}), r.C(1.0 / 3));
  // Of the scaling, the part that is a cube.
  const Val abs = b.Mul(ScaledAbs(r, z, s), s.Choose(r, r.C(0x1p1, 1), r.C(0x1p-1, 1), r.C(1)));
  const Val back = s.Choose(r, r.C(0x1p23, 0x1p200), r.C(0x1p-21, 0x1p-200), r.C(1));
  const Val root = b.Mul(r.Math("cbrt", abs), back);
  const Val zero = b.And(r.IsZero(z.re), r.IsZero(z.im));
  return r.Select(
      zero, z,
      {b.Mul(root, r.Math("cosine", third)), b.Select(r.IsZero(third), third, b.Mul(root, r.Math("sine", third)))});
}

/// x e^|y| / 2 in two factors, for |y| beyond where cosh and sinh are the same: the product of the factors may overflow
/// when the final product does not. The half is one of a large number: of a tiny `x` it might be too small.
Val TimesHalfExp(Real& r, Val x, Val y) {
  const Val half = r.Math("exponential", r.b.Mul(r.b.Abs(y), r.C(0.5)));
  return r.b.Mul(r.b.Mul(x, half), r.b.Mul(half, r.C(0.5)));
}

// sin x cosh y + i cos x sinh y
Scalar Sin(Real& r, Scalar z) {
  kir::NodeBuilder& b = r.b;
  const Val s = r.Math("sine", z.re), c = r.Math("cosine", z.re);
  const Val over = b.Compare(kir::kGt, b.Abs(z.im), r.C(88, 709));
  const Scalar far{TimesHalfExp(r, s, z.im), TimesHalfExp(r, r.FromBits(b.Xor(r.Bits(c), r.SignBit(z.im))), z.im)};
  const Scalar y = r.SelectRare(over, far, {b.Mul(s, r.Math("cosh", z.im)), b.Mul(c, r.Math("sinh", z.im))});
  return {b.Select(r.IsZero(z.re), z.re, y.re), b.Select(r.IsZero(z.im), z.im, y.im)};
}

// cos x cosh y - i sin x sinh y
Scalar Cos(Real& r, Scalar z) {
  kir::NodeBuilder& b = r.b;
  const Val s = r.Math("sine", z.re), c = r.Math("cosine", z.re);
  const Val over = b.Compare(kir::kGt, b.Abs(z.im), r.C(88, 709));
  const Scalar far{TimesHalfExp(r, c, z.im), TimesHalfExp(r, r.FromBits(b.Xor(r.Bits(s), r.SignBit(z.im))), z.im)};
  const Scalar y = r.SelectRare(over, far, {b.Mul(c, r.Math("cosh", z.im)), b.Mul(s, r.Math("sinh", z.im))});
  const Val zero = b.Or(r.IsZero(z.re), r.IsZero(z.im));
  const Val signed_zero = r.FromBits(b.Xor(r.SignBit(z.re), r.SignBit(z.im)));
  return {y.re, b.Neg(b.Select(zero, signed_zero, y.im))};
}

// With s = sinh x, c = cos y: (s cosh x + i c sin y) / (s^2 + c^2), sums of squares only.
Scalar Tanh(Real& r, Scalar z) {
  kir::NodeBuilder& b = r.b;
  const Val s = r.Math("sinh", z.re);
  const Val c = r.Math("cosine", z.im);
  const Val norm = b.Fma(s, s, b.Mul(c, c));
  const Val far = b.Compare(kir::kGt, b.Abs(z.re), r.C(10, 20));  // tanh is 1 there to the last bit.
  Val re = b.Div(b.Mul(s, b.Sqrt(b.Fma(s, s, r.C(1)))), norm);
  re = b.Select(r.IsZero(z.re), z.re, re);
  Val im = b.Div(b.Mul(c, r.Math("sine", z.im)), norm);
  im = b.Select(r.IsZero(z.im), z.im, im);
  const Val lost = b.And(r.IsInf(z.re), r.IsNaN(im));  // The angle at infinity.
  im = b.Select(lost, r.C(0), im);
  return {b.Select(far, b.Fma(im, r.C(0), r.WithSign(r.C(1), z.re)), re), im};
}

// -i tanh(i z); as with sin z / cos z, nothing is known where the real part is not, not even that an imaginary one is
// 0.
Scalar Tan(Real& r, Scalar z) {
  const Scalar t = Tanh(r, {r.b.Neg(z.im), z.re});
  return {t.im, r.b.Select(r.IsNaN(t.im), t.im, r.b.Neg(t.re))};
}

Scalar Logistic(Real& r, Scalar z) {
  kir::NodeBuilder& b = r.b;
  const Scalar e = Exp(r, {b.Neg(z.re), b.Neg(z.im)});
  return ComplexDivide(b, {r.C(1), r.C(0)}, {b.Add(e.re, r.C(1)), e.im});
}

/// Quotients with infinite or zero parts: what the plain formula gives, with infinities recovered where it gives
/// nothing but NaN, and zeros below infinite divisors.
Scalar DivideSpecial(Real& r, Scalar x, Scalar y) {
  kir::NodeBuilder& b = r.b;
  const auto unit = [&](Val v) { return r.WithSign(b.Select(r.IsInf(v), r.C(1), r.C(0)), v); };
  const auto times = [&](Scalar u, Scalar v) {  // u conj(v)
    return Scalar{b.Add(b.Mul(u.re, v.re), b.Mul(u.im, v.im)), b.Sub(b.Mul(u.im, v.re), b.Mul(u.re, v.im))};
  };
  const Val infinite = r.AnyInf(y);
  const Scalar d = r.Select(infinite, {unit(y.re), unit(y.im)}, y);
  // Beside an infinity, finite numbers count no more than as such, and neither the divisor's norm nor a factor changes
  // infinities, NaN or, below infinite divisors, zeros.
  const Val of_infinite = r.AnyInf(x);
  const auto count = [&](Val v) {
    return b.Select(b.And(of_infinite, b.Not(r.IsInf(v))), b.Mul(v, r.C(0)), b.Mul(v, r.C(0.25)));
  };
  const Scalar product = times({count(x.re), count(x.im)}, d);
  const Val finish = b.Select(infinite, r.C(0), r.C(1));
  const Scalar plain{b.Mul(product.re, finish), b.Mul(product.im, finish)};
  const Scalar ends = times({unit(x.re), unit(x.im)}, d);
  const Val nothing = b.And(b.And(r.IsNaN(plain.re), r.IsNaN(plain.im)), b.And(of_infinite, b.Not(infinite)));
  const Scalar value = r.Select(nothing, {b.Mul(r.Inf(), ends.re), b.Mul(r.Inf(), ends.im)}, plain);
  const Val inf = r.WithSign(r.Inf(), y.re);
  return r.Select(b.And(r.IsZero(y.re), r.IsZero(y.im)), {b.Mul(inf, x.re), b.Mul(inf, x.im)}, value);
}

}  // namespace

Val ComplexAbs(kir::NodeBuilder& b, Scalar z) {
  Real r(b, z.re);
  const Scaling s(r, r.Larger(z));
  return b.Mul(ScaledAbs(r, z, s), s.Back(r));
}

Scalar ComplexSign(kir::NodeBuilder& b, Scalar z) {
  Real r(b, z.re);
  const Scaling s(r, r.Larger(z));
  const Val magnitude = ScaledAbs(r, z, s);
  const auto part = [&](Val x) { return b.Select(r.IsZero(magnitude), r.C(0), b.Div(b.Mul(x, s.by), magnitude)); };
  return {part(z.re), part(z.im)};
}

// The divisor is scaled to a magnitude of about 1; products are summed without cancelling (an error-free product and
// one more rounding). Numerators are scaled only where products of them would leave the range.
Scalar ComplexDivide(kir::NodeBuilder& b, Scalar x, Scalar y) {
  Real r(b, x.re);
  if (r.IsConst(y.im, 0.0)) return {b.Div(x.re, y.re), b.Div(x.im, y.re)};
  const Val inf = r.Inf();
  const Val of_x = r.Larger(x), of_y = r.Larger(y);
  // 2^-e of the divisor's exponent e, but never 0.
  const int bits = r.is_f32() ? 23 : 52;
  const int64_t top = r.is_f32() ? 254 : 2046;
  const Val exponent = b.And(r.Bits(of_y), r.I((top + 1) << bits));
  const Val down = r.FromBits(b.Sub(r.I(top << bits), b.Min(exponent, r.I((top - 1) << bits))));
  const Val large = b.Compare(kir::kGe, of_x, r.C(0x1p120, 0x1p1000));
  const Val small = b.Compare(kir::kLt, of_x, r.C(0x1p-60, 0x1p-400));
  const auto choose = [&](Val if_large, Val if_small) {
    return b.Select(large, if_large, b.Select(small, if_small, r.C(1)));
  };
  const Val by = choose(r.C(0x1p-8, 0x1p-32), r.C(0x1p60, 0x1p400));
  const Val back = choose(r.C(0x1p8, 0x1p32), r.C(0x1p-60, 0x1p-400));
  const Scalar n{b.Mul(x.re, by), b.Mul(x.im, by)};
  const Scalar d{b.Mul(y.re, down), b.Mul(y.im, down)};
  const Val norm = b.Fma(d.re, d.re, b.Mul(d.im, d.im));
  const Val first = b.Mul(n.im, d.im), second = b.Mul(n.re, d.im);
  const Val minus_first = b.Neg(first), minus_second = b.Neg(second);
  const Val re = b.Add(b.Fma(n.re, d.re, first), b.Fma(n.im, d.im, minus_first));
  const Val im = b.Sub(b.Fma(n.im, d.re, minus_second), b.Fma(n.re, d.im, minus_second));
  const auto finish = [&](Val part) { return b.Mul(b.Mul(b.Div(part, norm), down), back); };
  const Val ordinary =
      b.And(b.And(b.Compare(kir::kLt, of_x, inf), b.Compare(kir::kLt, of_y, inf)), b.Compare(kir::kGt, of_y, r.C(0)));
  return r.SelectRare(b.Not(ordinary), DivideSpecial(r, x, y), {finish(re), finish(im)});
}

// exp(exponent log(base))
Scalar ComplexPower(kir::NodeBuilder& b, Scalar base, Scalar exponent) {
  Real r(b, base.re);
  const Val log = LogAbs(r, base, kir::kNone);
  const Val angle = b.MathOrDie("atan2", {base.im, base.re});
  const Val t = b.Sub(b.Mul(exponent.re, log), b.Mul(exponent.im, angle));
  const Val phase = b.Add(b.Mul(exponent.im, log), b.Mul(exponent.re, angle));
  const Scalar power = ExpPolar(r, t, phase);
  const auto is_zero = [&](Scalar z) { return b.And(r.IsZero(z.re), r.IsZero(z.im)); };
  const Val nothing = b.And(is_zero(base), b.Compare(kir::kGt, exponent.re, r.C(0)));
  const Scalar value = r.Select(nothing, {r.C(0), r.C(0)}, power);
  return r.Select(is_zero(exponent), {r.C(1), r.C(0)}, value);
}

bool HasComplexFunction(OpCode op) {
  return op != OpCode::kAbs && op != OpCode::kDivide && op != OpCode::kPower && ComplexCost(op) > 0;
}

Scalar ComplexFunction(kir::NodeBuilder& b, OpCode op, Scalar z) {
  Real r(b, z.re);
  switch (op) {
    case OpCode::kSign:
      return ComplexSign(b, z);
    case OpCode::kCbrt:
      return Cbrt(r, z);
    case OpCode::kCosine:
      return Cos(r, z);
    case OpCode::kExp:
      return Exp(r, z);
    case OpCode::kExpm1:
      return Expm1(r, z);
    case OpCode::kLog:
      return Log(r, z);
    case OpCode::kLog1p:
      return Log1p(r, z);
    case OpCode::kLogistic:
      return Logistic(r, z);
    case OpCode::kRsqrt:
      return Rsqrt(r, z);
    case OpCode::kSine:
      return Sin(r, z);
    case OpCode::kSqrt:
      return Sqrt(r, z);
    case OpCode::kTan:
      return Tan(r, z);
    case OpCode::kTanh:
      return Tanh(r, z);
    default:
      TENON_CHECK(false);
      return {};
  }
}

int ComplexCost(OpCode op) {
  switch (op) {
    case OpCode::kAbs:
      return 35;
    case OpCode::kSign:
      return 60;
    case OpCode::kDivide:
      return 60;
    case OpCode::kSqrt:
    case OpCode::kRsqrt:
      return 75;
    case OpCode::kExp:
      return 70;
    case OpCode::kLog:
    case OpCode::kLog1p:
    case OpCode::kExpm1:
      return 100;
    case OpCode::kTan:
    case OpCode::kTanh:
      return 140;
    case OpCode::kCbrt:
    case OpCode::kCosine:
    case OpCode::kLogistic:
    case OpCode::kSine:
      return 150;
    case OpCode::kPower:
      return 170;
    default:
      return 0;
  }
}

}  // namespace tenon::compiler
