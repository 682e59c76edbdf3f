#include "tenon/compiler/import/special_complex.h"

#include <numbers>
#include <utility>

#include "tenon/compiler/import/formulas.h"

namespace tenon::compiler {
namespace {

using mlir::Value;

struct Parts {
  Value re, im;
};

/// In f64, whose range takes the squares of all f32; numbers of f64 that are larger are told apart.
class ComplexFormulas : public Formulas {
 public:
  using Formulas::Formulas;

  Parts Asin(Parts z) {
    const Angles a = AnglesOf(Abs(z.re), Abs(z.im));
    return {WithSign(Atan2(a.opposite, a.adjacent), z.re), WithSign(a.height, z.im)};
  }
  Parts Acos(Parts z) {
    const Angles a = AnglesOf(Abs(z.re), Abs(z.im));
    return {Atan2(a.adjacent, z.re), WithSign(a.height, Neg(z.im))};
  }
  Parts Acosh(Parts z) {
    const Angles a = AnglesOf(Abs(z.re), Abs(z.im));
    return {a.height, WithSign(Atan2(a.adjacent, z.re), z.im)};
  }
  /// -i asin(i z).
  Parts Asinh(Parts z) {
    const Angles a = AnglesOf(Abs(z.im), Abs(z.re));
    return {WithSign(a.height, z.re), WithSign(Atan2(a.opposite, a.adjacent), z.im)};
  }
  Parts Atanh(Parts z) {
    const Parts p = AtanhOf(Abs(z.re), Abs(z.im));
    return {WithSign(p.re, z.re), WithSign(p.im, z.im)};
  }
  /// -i atanh(i z).
  Parts Atan(Parts z) {
    const Parts p = AtanhOf(Abs(z.im), Abs(z.re));
    return {WithSign(p.im, z.re), WithSign(p.re, z.im)};
  }
  Parts Sinh(Parts z) {
    return {Unless0(z.re, Mul(Hyperbolic("sinh", z.re), Cos(z.im))),
            Unless0(z.im, Mul(Hyperbolic("cosh", z.re), Sin(z.im)))};
  }
  Parts Cosh(Parts z) {
    const Value im = Mul(Hyperbolic("sinh", z.re), Sin(z.im)), zero = Mul(Sign(z.re), Sign(z.im));
    const Value either = Or(Equal(z.re, C(0)), Equal(z.im, C(0)));
    return {Mul(Hyperbolic("cosh", z.re), Cos(z.im)), Select(either, zero, im)};
  }
  /// With t = tan x and h = tanh y: (t (1 - h^2) + i h (1 + t^2)) / (1 + t^2 h^2).
  Parts Tan(Parts z) {
    const Value t = w().Unary("stablehlo.tan", z.re), h = w().Unary("stablehlo.tanh", z.im);
    const Value cosh = Hyperbolic("cosh", z.im), product = Mul(t, h);
    const Value below = Add(C(1), Mul(product, product));
    return {Div(Div(t, Mul(cosh, cosh)), below), Div(Mul(h, Add(C(1), Mul(t, t))), below)};
  }

 private:
  /// From here on 1 is nothing beside a number, and squares may not fit.
  static constexpr double kLarge = 0x1p500;   // structural: of f64
  static constexpr double kSmall = 0x1p-400;  // structural: of f64

  /// For x, y >= 0: asin(x + i y) = atan2(opposite, adjacent) + i height.
  struct Angles {
    Value opposite, adjacent, height;
  };
  /// With r and s the distances from -1 and 1, and a half their sum, asin's real part is that of x / a and its
  /// imaginary part arcosh a. Both a - x and a - 1 are sums of parts of one sign: r - (x + 1) is y^2 / (r + (x + 1)),
  /// and so on.
  Angles AnglesOf(Value x, Value y) {
    const Value one = C(1), half = C(0.5), least = Min(x, y), most = Max(x, y);
    const Value large = Greater(most, C(kLarge));
    const Value r = Distance(Add(x, one), y), s = Distance(Sub(x, one), y), a = Mul(half, Add(r, s));
    const Value over_r = Add(r, Add(x, one)), over_s = Add(s, Abs(Sub(one, x)));
    const Value squares = Div(Mul(y, y), over_r), inverses = Add(Div(one, over_r), Div(one, over_s));
    // Where y^2 is a factor it is taken out, lest it vanish.
    const Value above = Greater(x, one), below = Less(x, one);
    const Value less_x = Select(above, inverses, Add(squares, over_s));
    const Value root = Mul(Sqrt(Mul(half, Mul(Add(a, x), less_x))), Select(above, y, one));
    const Value less_1 = Select(below, inverses, Add(squares, over_s));
    const Value factor = Select(below, y, one);
    const Value excess = Mul(Mul(half, less_1), Mul(factor, factor));
    const Value slope = Mul(Sqrt(Mul(half, Mul(Add(a, one), less_1))), factor);
    // log(2 |z|), of |z| = most sqrt(1 + ratio^2).
    const Value ratio = Select(Equal(least, most), one, Div(least, most));
    const Value log = Log1p(Select(large, Mul(ratio, ratio), Add(excess, slope)));
    const Value height =
        Add(Mul(log, Select(large, half, one)), Select(large, Add(Log(most), C(std::numbers::ln2)), C(0)));
    return {x, Select(large, y, root), height};
  }

  /// For x, y >= 0.
  Parts AtanhOf(Value x, Value y) {
    const Value one = C(1), most = Max(x, y);
    const Value large = Greater(most, C(kLarge));
    const Value d = Sub(one, x), h = Distance(d, y);
    const Value log = Mul(C(0.25), Log1p(Div(Mul(C(4), x), Mul(h, h))));
    const Value near_1 = Mul(C(0.5), Sub(C(std::numbers::ln2), Log(h)));
    const Value u = Div(x, most), v = Div(y, most);
    const Value far = Select(Equal(most, Inf()), C(0), Div(Div(u, most), Add(Mul(u, u), Mul(v, v))));
    const Value angle = Mul(C(0.5), Atan2(Add(y, y), Sub(Mul(d, Add(one, x)), Mul(y, y))));
    return {Select(large, far, Select(Less(h, C(kSmall)), near_1, log)), Select(large, C(std::numbers::pi / 2), angle)};
  }

  Value Distance(Value x, Value y) {
    const auto complex = type().clone(mlir::ComplexType::get(w().f64()));
    return w().Op("stablehlo.abs", w().Op("stablehlo.complex", {x, y}, complex), type());
  }
  Value Hyperbolic(llvm::StringRef name, Value x) { return w().Unary(("chlo." + name).str(), x); }
  /// 0 keeps its sign, whatever it is multiplied by.
  Value Unless0(Value zero, Value v) { return Select(Equal(zero, C(0)), zero, v); }
  Value WithSign(Value magnitude, Value sign) {
    const auto bits = type().clone(w().Int(64));
    constexpr uint64_t kSign = uint64_t{1} << 63;
    const auto part = [&](Value v, uint64_t kept) {
      return w().Binary("stablehlo.and", w().Op("stablehlo.bitcast_convert", v, bits), w().Ints(bits, kept));
    };
    const Value both = w().Binary("stablehlo.or", part(magnitude, ~kSign), part(sign, kSign));
    return w().Op("stablehlo.bitcast_convert", both, type());
  }
};

}  // namespace

std::optional<Value> ComplexFunction(mlir::Operation* op, llvm::StringRef name) {
  const Value z = op->getOperand(0);
  using Function = Parts (ComplexFormulas::*)(Parts);
  static constexpr std::pair<const char*, Function> kFunctions[] = {
      {"acos", &ComplexFormulas::Acos},   {"acosh", &ComplexFormulas::Acosh}, {"asin", &ComplexFormulas::Asin},
      {"asinh", &ComplexFormulas::Asinh}, {"atan", &ComplexFormulas::Atan},   {"atanh", &ComplexFormulas::Atanh},
      {"cosh", &ComplexFormulas::Cosh},   {"sinh", &ComplexFormulas::Sinh},   {"tan", &ComplexFormulas::Tan}};
  for (const auto& [known, function] : kFunctions) {
    if (name != known) continue;
    ComplexFormulas f(op);
    const mlir::Type element = mlir::cast<mlir::ComplexType>(TensorOf(z).getElementType()).getElementType();
    mlir::RankedTensorType narrow = TensorOf(z).clone(element);
    const auto part = [&](const char* of) { return f.w().Convert(f.w().Op(of, z, narrow), f.w().f64()); };
    const Parts result = (f.*function)({part("stablehlo.real"), part("stablehlo.imag")});
    return f.w().Op("stablehlo.complex", {f.w().Convert(result.re, element), f.w().Convert(result.im, element)},
                    z.getType());
  }
  return std::nullopt;
}

}  // namespace tenon::compiler
