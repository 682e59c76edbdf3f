// Roots.

#include "tenon/kir/internal/math_builder.h"
#include "tenon/kir/internal/math_functions.h"

namespace tenon::kir::internal {
namespace {

// 1 / sqrt(x): two correct roundings, 1.5 ulp.
Graph Rsqrt(DType type) {
  MathBuilder b(type);
  return b.Finish({b.Div(b.C(1), b.Sqrt(b.Argument(0)))});
}

// y = |x|^(-1/3), first from the exponent (minus a third of it; 4 % off), then by Newton steps y += y (1 - x y^3) / 3,
// the first with its next term. The root is x y^2; a last step on it in terms of its own residual leaves about one
// rounding. Small x are scaled, lest the residual underflow. 0, infinities and NaN are their own roots.
Graph Cbrt(DType type, int steps) {
  MathBuilder b(type);
  const Val x = b.Argument(0);
  const double lift = b.is_f32() ? 0x1p90 : 0x1p600, drop = b.is_f32() ? 0x1p-30 : 0x1p-200;
  const Val magnitude = b.Abs(x);
  const Val small = b.Less(magnitude, b.is_f32() ? 0x1p-70 : 0x1p-700);
  // Without FMA the residual of a large f64 would be made of parts that overflow.
  const bool splits = !b.is_f32();
  const Val large = splits ? b.Greater(magnitude, 0x1p900) : kNone;
  const auto scale = [&](double of_small, double of_large) {
    return b.Select(small, b.C(of_small), splits ? b.Select(large, b.C(of_large), b.C(1)) : b.C(1));
  };
  const Val a = b.Mul(magnitude, scale(lift, 0x1p-300));
  // A third of the upper half of the bits, by multiplication.
  Val guess;
  if (b.is_f32()) {
    guess = b.Sub(b.I(0x54a21d2a), b.Mul(b.ShrLogical(b.Bits(a), b.I(16)), b.I(0x5555)));
  } else {
    const Val upper = b.ShrLogical(b.Bits(a), b.I(32));
    guess = b.Sub(b.I(0x553ef0ff289dd796), b.Mul(upper, b.I(0x55555555)));
  }
  Val y = b.FromBits(guess);
  const Val third = b.C(1.0 / 3);
  for (int i = 0; i < steps; ++i) {
    const Val e = b.Fma(b.Neg(b.Mul(a, y)), b.Mul(y, y), b.C(1));
    y = i == 0 ? b.Fma(b.Mul(y, e), b.Fma(e, b.C(2.0 / 9), third), y) : b.Fma(b.Mul(y, third), e, y);
  }
  const Val y2 = b.Mul(y, y);
  Val root = b.Mul(a, y2);
  const Val residual = b.ExactFma(b.Neg(b.Mul(root, root)), root, a);
  root = b.Fma(residual, b.Mul(y2, third), root);  // 1 / root^2 is y^2
  root = b.WithSign(b.Mul(root, scale(drop, 0x1p100)), x);
  const Val ordinary = b.And(b.Greater(magnitude, 0), b.Less(magnitude, std::numeric_limits<double>::infinity()));
  return b.Finish({b.Select(ordinary, root, x)});
}

}  // namespace

Graph RsqrtF32() { return Rsqrt(DType::kF32); }
Graph RsqrtF64() { return Rsqrt(DType::kF64); }
Graph CbrtF32() { return Cbrt(DType::kF32, 2); }
Graph CbrtF64() { return Cbrt(DType::kF64, 3); }

}  // namespace tenon::kir::internal
