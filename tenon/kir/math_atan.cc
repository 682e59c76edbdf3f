// Inverse tangent of a quotient. Coefficients: scripts/fit_math.py.

#include "tenon/kir/internal/math_builder.h"
#include "tenon/kir/internal/math_functions.h"

namespace tenon::kir::internal {
namespace {

// atan(t) = t + t z q(z), z = t^2 <= 1.
constexpr double kAtan32[] = {-0x1.55553ep-2, 0x1.9991fep-3,  -0x1.2421b8p-3, 0x1.c09a16p-4,  -0x1.5834c2p-4,
                              0x1.daca40p-5,  -0x1.fed19ap-6, 0x1.65a626p-7,  -0x1.d62ed2p-10};

// 2^-55.8.
constexpr double kAtan64[] = {
    -0x1.5555555555526p-2, 0x1.999999999558ap-3,  -0x1.249249237ed86p-3, 0x1.c71c717fb4c6ap-4,   -0x1.745d11acb42e6p-4,
    0x1.3b136686458f4p-4,  -0x1.110e5086a7114p-4, 0x1.e1bb9eff63eb2p-5,  -0x1.ae5e51946faa3p-5,  0x1.82da65f594bf6p-5,
    -0x1.59a2d14db14ddp-5, 0x1.2c2bebbdcf7aep-5,  -0x1.e9f22a29f8833p-6, 0x1.6832e49d1b7ebp-6,   -0x1.c77cbf5db694ep-7,
    0x1.d79d8ae310538p-8,  -0x1.7a1c7ead3527dp-9, 0x1.b3d0ad0470aa9p-11, -0x1.3f10eb95fd83cp-13, 0x1.bbb0469faba56p-17};

// The smaller of |y| and |x| over the larger is t; the angle is 0, pi/2 or pi, plus or minus atan(t), with the sign of
// y.
Graph Atan2(DType type, const double* q, size_t n) {
  MathBuilder b(type, 2);
  const Val y = b.Argument(0), x = b.Argument(1);
  const Val ay = b.Abs(y), ax = b.Abs(x);
  const Val steep = b.Compare(kGt, ay, ax);
  const Val low = b.Select(steep, ax, ay), high = b.Select(steep, ay, ax);
  Val t = b.Div(low, high);
  // 0 / 0 and inf / inf.
  t = b.Select(b.Compare(kEq, low, high), b.Select(b.Compare(kEq, high, b.C(0)), b.C(0), b.C(1)), t);
  const Val z = b.Mul(t, t);
  const Val a = b.Fma(b.Mul(t, z), b.Horner(z, q, n), t);
  const Val left = b.Compare(kLt, b.Bits(x), b.I(0));  // -0 too
  const Val base = b.Select(steep, b.C(0x1.921fb54442d18p+0), b.Select(left, b.C(0x1.921fb54442d18p+1), b.C(0)));
  const Val minus = b.Xor(steep, left);
  const Val angle = b.Add(base, b.Select(minus, b.Neg(a), a));
  return b.Finish({b.WithSign(angle, y)});
}

}  // namespace

Graph Atan2F32() { return Atan2(DType::kF32, kAtan32, std::size(kAtan32)); }
Graph Atan2F64() { return Atan2(DType::kF64, kAtan64, std::size(kAtan64)); }

}  // namespace tenon::kir::internal
