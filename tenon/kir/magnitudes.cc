#include "tenon/kir/magnitudes.h"

#include <algorithm>
#include <cmath>

#include "tenon/kir/builder.h"

namespace tenon::kir {

namespace {

/// Bits of a number's mantissa, the leading one included: of arithmetic on the type, which narrow floats do in f32.
int Digits(DType type) { return type == DType::kF64 ? 53 : 24; }

/// Of whole multiples of 2^unit.
Magnitude Multiples(int unit) { return {unit, unit}; }

/// Of numbers of the type that are not below 2^least.
Magnitude AtLeast(DType type, int least) { return {least, least - Digits(type) + 1}; }

Magnitude Either(const Magnitude& a, const Magnitude& b) {
  return {std::min(a.least, b.least), std::min(a.unit, b.unit)};
}

Magnitude OfConstant(double value) {
  constexpr int kNothing = 1 << 12;  // structural: beyond the exponents of f64
  if (value == 0 || !std::isfinite(value)) return {kNothing, kNothing};
  int unit = std::ilogb(value);
  while (std::ldexp(value, -unit) != std::trunc(std::ldexp(value, -unit))) --unit;
  return {std::ilogb(value), unit};
}

/// As far as operations tell; rounding to the node's type takes no bits below its unit.
Magnitude OfOperation(const Kernel& k, const Node& n, const std::vector<Magnitude>& known) {
  const auto in = [&](size_t i) { return known[n.in[i]]; };
  switch (n.op) {
    case Op::kConst:
      return OfConstant(LiteralValue(n.type, k.literals[n.attr]));
    case Op::kNeg:
    case Op::kAbs:
    case Op::kConvert:
      return in(0);
    case Op::kAdd:
    case Op::kSub:
      return Multiples(std::min(in(0).unit, in(1).unit));
    case Op::kMul: {
      const Magnitude by_size = AtLeast(n.type, in(0).least + in(1).least);
      return {by_size.least, std::max(by_size.unit, in(0).unit + in(1).unit)};
    }
    case Op::kFma:
      return Multiples(std::min(in(0).unit + in(1).unit, in(2).unit));
    case Op::kDiv: {
      const Node& divisor = k.nodes[n.in[1]];
      if (divisor.op != Op::kConst) return MagnitudeOf(n.type);
      const double by = std::abs(LiteralValue(divisor.type, k.literals[divisor.attr]));
      if (by == 0 || !std::isfinite(by)) return MagnitudeOf(n.type);
      return AtLeast(n.type, in(0).least - std::ilogb(by) - 1);
    }
    case Op::kMin:
    case Op::kMax:
      return Either(in(0), in(1));
    case Op::kSelect:
      return Either(in(1), in(2));
    case Op::kSign:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRoundEven:
    case Op::kRoundAway:
    case Op::kTrunc:
      return Multiples(0);
    default:
      return MagnitudeOf(n.type);
  }
}

}  // namespace

Magnitude MagnitudeOf(DType type) {
  // The least subnormal number; those of all floats of eight bits and fewer but e8m0, which holds none, are above
  // f16's.
  if (!IsFloat(type)) return Multiples(0);
  if (type == DType::kF64) return Multiples(-1074);
  if (type == DType::kF32 || type == DType::kBF16 || type == DType::kF8E8M0FNU) return Multiples(-149);
  return Multiples(-24);
}

std::vector<Magnitude> Magnitudes(const Kernel& kernel) {
  std::vector<Magnitude> known;
  known.reserve(kernel.nodes.size());
  for (const Node& n : kernel.nodes) {
    const Magnitude whole = MagnitudeOf(n.type);
    const Magnitude here = IsFloat(n.type) ? OfOperation(kernel, n, known) : whole;
    known.push_back({std::max(here.least, whole.least), std::max(here.unit, whole.unit)});
  }
  return known;
}

}  // namespace tenon::kir
