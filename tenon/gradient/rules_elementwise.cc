#include "tenon/gradient/internal/rules.h"

namespace tenon::gradient::internal {

using namespace builder;  // NOLINT: a formula per operation reads like one

namespace {

// For scalars that stood for whole arrays.
Value ToShapeOf(Value g, Value x) {
  return x.rank() == 0 && g.rank() != 0 ? Reduce(g, Reduction::kSum,
                                                 [&] {
                                                   Dims all;
                                                   for (int64_t d = 0; d < g.rank(); ++d) all.push_back(d);
                                                   return all;
                                                 }())
                                        : g;
}

// Half where both are equal, all or nothing elsewhere.
Value Share(Value g, Value mine, Value other, Direction direction) {
  const Value zero = FullLike(g, 0);
  return Select(Compare(mine, other, direction), g, Select(Compare(mine, other, Direction::kEq), g * 0.5, zero));
}

}  // namespace

std::optional<Values> ElementwiseRule(const Site& s) {
  const Value g = s.g(), y = s.y();
  if (s.op.operands().empty() || !g.valid()) return std::nullopt;
  const Value a = s.x(), b = s.op.operands().size() > 1 ? s.x(1) : Value();
  // Gradients are computed only where they are wanted.
  const auto both = [&](auto first, auto second) {
    return Values{s.wanted[0] ? first() : Value(), s.wanted[1] ? second() : Value()};
  };
  switch (s.op.kind()) {
    case OpKind::kAbs:
      return Values{g * Sign(a)};
    case OpKind::kAdd:
      return Values{g, g};
    case OpKind::kAtan2:
      return both([&] { return g * b / (a * a + b * b); }, [&] { return -(g * a) / (a * a + b * b); });
    case OpKind::kCbrt:
      return Values{g / (y * y * 3.0)};
    case OpKind::kClamp: {
      // Operands are low, x, high.
      const Value x = b, high = s.x(2), zero = FullLike(g, 0);
      const auto wide = [&](Value v) { return BroadcastTo(v, x.dims()); };
      const Value above = Compare(x, wide(a), Direction::kGt), below = Compare(x, wide(high), Direction::kLt);
      return Values{s.wanted[0]
                        ? ToShapeOf(Select(And(Not(above), Compare(wide(a), wide(high), Direction::kLt)), g, zero), a)
                        : Value(),
                    s.wanted[1] ? Select(And(above, below), g, zero) : Value(),
                    s.wanted[2] ? ToShapeOf(Select(Not(below), g, zero), high) : Value()};
    }
    // The gradient of a complex z is the c for which Re(c dz) is the change: rules of analytic functions are those of
    // real ones.
    case OpKind::kComplex:
      return both([&] { return Real(g); }, [&] { return -Imag(g); });
    case OpKind::kConvert:
      return IsFloat(a.dtype()) ? Values{Convert(g, a.dtype())} : Values{Value()};
    case OpKind::kCosine:
      return Values{-(g * Sine(a))};
    case OpKind::kDivide:
      return both([&] { return g / b; }, [&] { return -(g * y) / b; });
    case OpKind::kExponential:
      return Values{g * y};
    case OpKind::kExponentialMinusOne:
      return Values{g * (y + 1.0)};
    case OpKind::kImag:
      return Values{IsFloat(a.dtype()) ? Value() : Complex(FullLike(g, 0), -g)};
    case OpKind::kLog:
      return Values{g / a};
    case OpKind::kLogPlusOne:
      return Values{g / (a + 1.0)};
    case OpKind::kLogistic:
      return Values{g * y * (1.0 - y)};
    case OpKind::kMaximum:
      return both([&] { return Share(g, a, b, Direction::kGt); }, [&] { return Share(g, b, a, Direction::kGt); });
    case OpKind::kMinimum:
      return both([&] { return Share(g, a, b, Direction::kLt); }, [&] { return Share(g, b, a, Direction::kLt); });
    case OpKind::kMultiply:
      return both([&] { return g * b; }, [&] { return g * a; });
    case OpKind::kNegate:
      return Values{-g};
    case OpKind::kPower:
      return both(
          [&] {
            // At an exponent of 0 the power is constant, also at a base of 0.
            const Value zero = FullLike(b, 0);
            return Select(Compare(b, zero, Direction::kEq), zero, g * b * Power(a, b - 1.0));
          },
          [&] { return g * y * Log(Select(Compare(a, FullLike(a, 0), Direction::kEq), FullLike(a, 1), a)); });
    case OpKind::kReal:
      return Values{IsFloat(a.dtype()) ? g : Complex(g, FullLike(g, 0))};
    case OpKind::kReducePrecision:
      return Values{g};
    case OpKind::kRsqrt:
      return Values{g * y / a * -0.5};
    case OpKind::kSelect: {
      const Value zero = FullLike(g, 0);
      return Values{Value(), s.wanted[1] ? Select(a, g, zero) : Value(), s.wanted[2] ? Select(a, zero, g) : Value()};
    }
    case OpKind::kSine:
      return Values{g * Cosine(a)};
    case OpKind::kSqrt:
      return Values{g / y * 0.5};
    case OpKind::kSubtract:
      return both([&] { return g; }, [&] { return -g; });
    case OpKind::kTan:
      return Values{g * (y * y + 1.0)};
    case OpKind::kTanh:
      return Values{g * (1.0 - y * y)};
    default:
      return std::nullopt;
  }
}

}  // namespace tenon::gradient::internal
