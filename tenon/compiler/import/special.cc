#include "tenon/compiler/import/special.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <utility>

#include "tenon/compiler/import/formulas.h"
#include "tenon/compiler/import/special_complex.h"

namespace tenon::compiler {
namespace {

using mlir::Value;

// Polynomials, lowest degree first. Coefficients: scripts/fit_math.py.

constexpr double kErfInvNear32[] = {0x1.805c5e28f4fdbp+0,   0x1.f91ec5c7760e3p-3,  -0x1.11ca4323217bap-8,
                                    -0x1.48a6d4774feaap-10, 0x1.ca7066f28ef35p-13, -0x1.2714ccea66f24p-18,
                                    -0x1.d99981bae33c6p-19, 0x1.71199fae382d1p-22, 0x1.e9eef75f4d6eap-26};
constexpr double kErfInvFar32[] = {0x1.8abcc12679198p+1,  0x1.01587ad56cf6dp+0,   0x1.60ad1b6f20996p-8,
                                   -0x1.e6e7da055d7c6p-9, 0x1.3e13089d73d57p-9,   -0x1.dd93044d4ede9p-10,
                                   0x1.1f365b6c517dbp-10, -0x1.77122dfd3f8a6p-13, -0x1.c259a9b1ff518p-14};
constexpr double kErfInvNear64[] = {
    0x1.9fa072ed72dbbp+0,   0x1.eedbebdce7428p-3,   -0x1.780def1d3e92bp-8,  -0x1.b6666b1550037p-11,
    0x1.9912c049e4ea7p-13,  -0x1.aab13d03ef8b1p-17, -0x1.d539c9b207b03p-20, 0x1.e32b0994f51ecp-22,
    -0x1.96f836db35846p-26, -0x1.77b2ff96cd5a6p-28, 0x1.31563ff4345ap-30,   -0x1.148dc40ad79b3p-35,
    -0x1.30ead6d909a01p-36, 0x1.7c6934cc7cd61p-39,  0x1.fc92e12d86957p-48,  -0x1.e31eda7d6d803p-45,
    0x1.c022565790e8p-48,   0x1.99b69fda5d14p-52,   -0x1.5f2ef37afa426p-53, 0x1.024cd31bf38b3p-57,
    0x1.c8f28fef1d5d2p-60,  -0x1.6154a8c1c21c3p-63};
constexpr double kErfInvFar64[] = {
    0x1.8abcc380d5a46p+1,   0x1.0158a6d641d39p+0,   0x1.5ffcfe5b9e465p-8,   -0x1.ebadabb88e889p-9,
    0x1.468eec9666ad3p-9,   -0x1.ba9241332d9e8p-10, 0x1.f3cc59ecdfadfp-11,  -0x1.7448a8ac83a07p-12,
    0x1.9327f560b9177p-16,  0x1.1e6850ed88581p-14,  -0x1.8ce294dd15c5dp-15, 0x1.a29954e610adp-17,
    0x1.86034a2e8ee63p-19,  -0x1.0d59b0989017p-18,  0x1.9bb268dd2d1a8p-20,  0x1.33e531a4d191ap-26,
    -0x1.46e7ae4bc1d73p-22, 0x1.8683b5f8332bcp-24,  0x1.d84705218e3bp-27};
constexpr double kErfInvFarthest64[] = {0x1.3664ddd1ad7fcp+2,   0x1.02a30d1fba0acp+0,   -0x1.22ea5df4d5b92p-13,
                                        -0x1.c2f36a82ad54dp-13, 0x1.3ebf4f742ea71p-14,  -0x1.4a349bf6804ep-16,
                                        0x1.2fbcc784ede59p-18,  -0x1.0a8c235f19894p-20, 0x1.ebf898eba5fe2p-23,
                                        -0x1.22fa1705a671p-24,  0x1.f19d6f7d21a9ap-26,  -0x1.00435834d52b4p-26,
                                        0x1.0cf627167c557p-27,  -0x1.063cf938c505dp-28, 0x1.7b4cbeb9cdd35p-30,
                                        -0x1.11d5a60a758cdp-32, 0x1.229cffb7fd9fp-38};
constexpr double kErfc32[] = {0x1.058671da6020cp-1, 0x1.5fd386dbae5cfp-1,  0x1.1e2db2f5fd8abp-1,
                              0x1.2a875c4a8866ap-3, -0x1.6031689d3d4d1p-3, -0x1.a807dadd9c218p-4,
                              0x1.8a69b50412d76p-4, 0x1.a4655728aba67p-5,  -0x1.f7e62ce579b9cp-5};
constexpr double kErfc64[] = {
    0x1.e144d0fea7ee2p-2,  0x1.3d029aa657608p-1,  0x1.0e42d9bbc25e6p-1,  0x1.796d851a5b926p-3,  -0x1.1355cded9ff2p-3,
    -0x1.14f55e5fadbc6p-3, 0x1.10cd8c7040a85p-4,  0x1.7acff0a8bcf8ep-4,  -0x1.0e0c3ffee388ap-4, -0x1.e6eaa4229e9d6p-5,
    0x1.4fe5b6d707d3bp-4,  0x1.2348912fdf7fp-6,   -0x1.7d217f096d50cp-4, 0x1.54738a395f9a8p-5,  0x1.2e2524c11331fp-4,
    -0x1.b9a9f1bb2a1dap-4, -0x1.398522ba49945p-9, 0x1.24c47f7a536a6p-3,  -0x1.86337e012ef62p-4, -0x1.c3a7ebdad1f23p-4,
    0x1.bcf7f4897dd31p-4,  0x1.3feb8a68d3132p-5};
constexpr double kBesselLow32[] = {
    0x1.6e14ea6f90ca5p-5,  -0x1.f4bb2d216611dp-7,  0x1.16c3f856d40b8p-8,  -0x1.187e33defa11ap-10,
    0x1.0525fcd9f7c6fp-12, -0x1.c51dbfe0fc5d5p-15, 0x1.6ecd8f72a6346p-17, -0x1.12a1d073278a7p-19,
    0x1.7c95b2a82f14ep-22, -0x1.042ecb6e629bfp-24, 0x1.5d46d20d69b86p-27, -0x1.5a0f8c2ec3a2fp-30,
    0x1.b4b5fc046fd46p-34, -0x1.84d8026deabaap-36, 0x1.96b43f611de72p-38, -0x1.16988613d6cf1p-41};
constexpr double kBesselHigh32[] = {0x1.8ebe783b9d1cbp-2,  -0x1.3f796a39f3f21p-3, -0x1.cbc6433068486p-5,
                                    -0x1.f778bf1707a97p-5, -0x1.e9d1f62b43852p-4, -0x1.c381920c9f1c8p-2,
                                    -0x1.08d04ce51d08dp+1};
constexpr double kBesselLow64[] = {
    0x1.6e14eb8e5d319p-5,  -0x1.f4bb071a7752bp-7,  0x1.16c390ddb08edp-8,  -0x1.1881379ffb5cap-10,
    0x1.0530f817ffa01p-12, -0x1.c4daa5134196cp-15, 0x1.6df95e8be0becp-17, -0x1.13d5f358a8dfbp-19,
    0x1.84125b0d1310fp-22, -0x1.fe3d9c00ec4aep-25, 0x1.3a0c1a0237f5ep-27, -0x1.6ab6a39221766p-30,
    0x1.89f8a66fa976cp-33, -0x1.936825bfefe16p-36, 0x1.8656c3888fdacp-39, -0x1.65bf70dce4ea3p-42,
    0x1.3742f67c4921dp-45, -0x1.01a3cf13cb972p-48, 0x1.969463f0e275fp-52, -0x1.326f74efd5925p-55,
    0x1.ba0d748597759p-59, -0x1.314bbe8b2a04cp-62, 0x1.93fad2633096ap-66, -0x1.030b2bf8f7427p-69,
    0x1.453f74ae77749p-73, -0x1.75059e34b656fp-77, 0x1.6d3c469f61551p-81, -0x1.d01a3a7eeee4p-85,
    0x1.9143ab12fd58ap-88, -0x1.59929e7d2b1eap-92};
constexpr double kBesselHigh64[] = {
    0x1.8ebe783a8403p-2,   -0x1.3f796198ee624p-3,  -0x1.cbc54df1d8a58p-5,  -0x1.f89c2306d6c61p-5,
    -0x1.ec8e12032dae1p-4, -0x1.76137d085ae94p-2,  -0x1.ad8b6fcbff1f7p+0,  -0x1.727afb629534p+3,
    -0x1.91da0a09023p+6,   -0x1.217ae1ff70fbep+9,  0x1.d584df981f635p+12,  0x1.e1d2493c6511cp+17,
    0x1.81ec1b81e9355p+20, -0x1.059064e520d27p+25, -0x1.e2d271dd742d1p+28, 0x1.cfd618d26836ap+31,
    0x1.4e0f567b26a6ep+36, -0x1.7ba3cde934b2fp+38, -0x1.40e25e4223814p+43, 0x1.0cd72ac3a68a7p+45,
    0x1.8502b1b085704p+49, -0x1.105a715cdeae8p+51, -0x1.b9a1f08f502fep+54, 0x1.13d33aa6fe0c5p+56};
// Lanczos' sum for g = 7: gamma(z + 1) = sqrt(2 pi) t^(z + 1/2) exp(-t) (c[0] + c[1] / (z + 1) + ...), t = z + 7.5.
constexpr double kLanczosG = 7;  // structural: of the sum below
constexpr double kLanczos[] = {0.99999999999980993,  676.5203681218851,     -1259.1392167224028,
                               771.32342877765313,   -176.61502916214059,   12.507343278686905,
                               -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7};

class RealFormulas : public Formulas {
 public:
  using Formulas::Formulas;

  Value Asin(Value x) { return Atan2(x, Other(x)); }
  Value Acos(Value x) { return Atan2(Other(x), x); }
  Value Atan(Value x) { return Atan2(x, C(1)); }

  Value Asinh(Value x) {
    const Value a = Abs(x), square = Mul(a, a);
    const Value less = Log1p(Add(a, Div(square, Add(C(1), Sqrt(Add(square, C(1)))))));
    return Mul(Sign(x), Select(Greater(a, C(kSquaresOnly)), Add(Log(a), C(std::numbers::ln2)), less));
  }
  Value Acosh(Value x) {
    const Value above = Sub(x, C(1));
    const Value less = Log1p(Add(above, Sqrt(Mul(above, Add(above, C(2))))));
    const Value y = Select(Greater(x, C(kSquaresOnly)), Add(Log(x), C(std::numbers::ln2)), less);
    return Select(Less(x, C(1)), NaN(), y);
  }

  /// x q(w) or x q(sqrt w), w = -log(1 - x^2).
  Value ErfInv(Value x) {
    const Value w = Neg(Log(Mul(Sub(C(1), x), Add(C(1), x)))), root = Sqrt(w);
    Value q;
    if (is_f32()) {
      q = Select(Less(w, C(5)), Horner(Sub(w, C(2.5)), kErfInvNear32), Horner(Sub(root, C(3.25)), kErfInvFar32));
    } else {
      q = Select(Less(w, C(16)), Horner(Sub(root, C(3.25)), kErfInvFar64), Horner(Sub(root, C(5)), kErfInvFarthest64));
      q = Select(Less(w, C(6)), Horner(Sub(w, C(3)), kErfInvNear64), q);
    }
    return Mul(x, Select(Equal(Abs(x), C(1)), Inf(), q));
  }

  /// exp(-a^2) t q(t) with t = 1 / (1 + a / 2), a = |x|, from 1/2 on.
  Value Erfc(Value x) {
    const Value a = Min(Abs(x), C(is_f32() ? 10.1 : 27.3));
    const Value t = Div(C(1), Add(C(1), Mul(a, C(0.5))));
    const Value q = is_f32() ? Horner(Sub(t, C(0.5)), kErfc32) : Horner(Sub(t, C(0.4375)), kErfc64);
    // The square of the upper half of a's bits is exact.
    const Value high = UpperHalf(a);
    const Value squares = Mul(Exp(Neg(Mul(high, high))), Exp(Mul(Sub(high, a), Add(high, a))));
    const Value tail = Mul(squares, Mul(t, q));
    const Value outside = Select(Less(x, C(0)), Sub(C(2), tail), tail);
    return Select(Less(Abs(x), C(0.5)), Sub(C(1), w().Unary("chlo.erf", x)), outside);
  }

  Value BesselI1e(Value x) {
    const Value a = Abs(x), low = Min(a, C(8)), high = Max(a, C(8));
    const Value u = Sub(low, C(4)), v = Sub(Div(C(1), high), C(1.0 / 16));
    const Value near = Mul(low, is_f32() ? Horner(u, kBesselLow32) : Horner(u, kBesselLow64));
    const Value far = Div(is_f32() ? Horner(v, kBesselHigh32) : Horner(v, kBesselHigh64), Sqrt(high));
    return Mul(Sign(x), Select(Less(a, C(8)), near, far));
  }

  Value Lgamma(Value x) {
    const Value reflected = Less(x, C(0.5));
    const Lanczos s(*this, Select(reflected, Neg(x), Sub(x, C(1))));
    // (z + 1/2) log t - t, without the cancellation.
    const Value y = Add(Mul(Sub(Add(s.z, C(0.5)), Div(s.t, s.log_t)), s.log_t),
                        Add(C(0.5 * std::log(2 * std::numbers::pi)), Log(s.sum)));
    // lgamma(x) = log(pi / |sin(pi x)|) - lgamma(1 - x).
    const Value rest = Sub(Abs(x), Floor(Abs(x)));
    const Value sine = Sin(Mul(C(std::numbers::pi), Min(rest, Sub(C(1), rest))));
    const Value other = Sub(Sub(C(std::log(std::numbers::pi)), Log(sine)), y);
    const Value whole = And(reflected, Equal(rest, C(0)));
    return Select(Or(whole, Equal(Abs(x), Inf())), Inf(), Select(reflected, other, y));
  }

  Value Digamma(Value x) {
    const Value reflected = Less(x, C(0.5));
    const Lanczos s(*this, Select(reflected, Neg(x), Sub(x, C(1))));
    const Value y = Sub(Add(s.log_t, Div(s.slope, s.sum)), Div(C(kLanczosG), s.t));
    // digamma(x) = digamma(1 - x) - pi / tan(pi x).
    const Value angle = Mul(C(std::numbers::pi), Sub(x, Floor(Add(x, C(0.5)))));
    const Value other = Sub(y, Div(Mul(C(std::numbers::pi), Cos(angle)), Sin(angle)));
    const Value pole = And(Not(Greater(x, C(0))), Equal(x, Floor(x)));
    return Select(pole, NaN(), Select(reflected, other, y));
  }

  /// Hurwitz' zeta function, the sum over k >= 0 of (q + k)^-x.
  Value Zeta(Value x, Value q) {
    const Value whole = Floor(q), positive = Greater(q, C(0)), even = IsEven(x);
    // Below 0 the sum over all integers, which repeats itself, less that over those before q.
    const Value f = Sub(q, whole), g = Sub(C(1), f), other = Sub(C(1), q);
    const Value before = Sub(PositiveZeta(x, Max(g, C(kTiny))), PositiveZeta(x, Max(other, C(kTiny))));
    const Value below = Add(PositiveZeta(x, Max(f, C(kTiny))), Select(even, before, Neg(before)));
    const Value sum = Select(positive, PositiveZeta(x, q), below);
    return ZetaEdges(x, q, sum);
  }

  /// (-1)^(n+1) n! zeta(n + 1, x).
  Value Polygamma(Value n, Value x, std::optional<double> known_n) {
    if (known_n == 0) return Digamma(x);
    if (known_n == 1) {
      // pi^2 / sin^2(pi x) - trigamma(1 - x) below 0.
      const Value positive = Greater(x, C(0)), rest = Sub(x, Floor(Add(x, C(0.5))));
      const Value sum = PositiveZeta(2, Select(positive, x, Sub(C(1), x)));
      const Value sine = Div(C(std::numbers::pi), Sin(Mul(C(std::numbers::pi), rest)));
      return ZetaEdges(C(2), x, Select(positive, sum, Sub(Mul(sine, sine), sum)));
    }
    const Value s = Add(n, C(1)), product = Mul(Exp(Lgamma(s)), Zeta(s, x));
    const Value other = Select(IsEven(n), Neg(product), product);
    const Value natural = And(Not(Less(n, C(0))), Equal(n, Floor(n)));
    return Select(natural, known_n ? other : Select(Equal(n, C(0)), Digamma(x), other), NaN());
  }

 private:
  static constexpr double kTiny = 0x1p-100;  // structural: not 0, of either type
  /// Beyond it x^2 + 1 is x^2 in either type, and squares need not fit.
  static constexpr double kSquaresOnly = 0x1p30;  // structural: of the types

  struct Lanczos {
    Lanczos(RealFormulas& f, Value place) : z(place) {
      sum = f.C(kLanczos[0]);
      slope = f.C(0);
      for (size_t i = 1; i < std::size(kLanczos); ++i) {
        const Value at = f.Add(z, f.C(static_cast<double>(i))), term = f.Div(f.C(kLanczos[i]), at);
        sum = f.Add(sum, term);
        slope = f.Sub(slope, f.Div(term, at));
      }
      const double middle = kLanczosG + 0.5;
      t = f.Add(z, f.C(middle));
      log_t = f.Add(f.C(std::log(middle)), f.Log1p(f.Div(z, f.C(middle))));
    }
    Value z, t, log_t;
    Value sum, slope;  ///< And its derivative.
  };

  Value IsEven(Value whole) {
    const Value half = Mul(whole, C(0.5));
    return Equal(half, Floor(half));
  }
  Value ZetaEdges(Value x, Value q, Value sum) {
    const Value pole = And(Not(Greater(q, C(0))), Equal(q, Floor(q)));
    const Value none = Or(Less(x, C(1)), And(Less(q, C(0)), Not(Equal(x, Floor(x)))));
    const Value edge = Select(Equal(q, Inf()), C(0), Select(none, NaN(), sum));
    const Value infinite = Select(Less(x, C(1)), NaN(), Inf());
    const Value known = Select(Or(pole, Equal(x, C(1))), infinite, edge);
    return Select(Or(Not(Equal(x, x)), Not(Equal(q, q))), NaN(), known);
  }
  /// a^-x, of a whole x by multiplications.
  Value InversePower(Value a, Value x) { return w().Binary("stablehlo.power", a, Neg(x)); }
  Value InversePower(Value a, int x) {
    const Value inverse = Div(C(1), a);
    Value power = inverse;
    for (int i = 1; i < x; ++i) power = Mul(power, inverse);
    return power;
  }
  Value Number(Value x) { return x; }
  Value Number(int x) { return C(x); }

  /// For q > 0, by Euler's and Maclaurin's formula: the first terms one by one, the rest as an integral and corrections
  /// t_j = B_2j / (2j)! x (x + 1) ... (x + 2j - 2) a^-(x + 2j - 1), each made of the last one, so that none overflows.
  template <class X>
  Value PositiveZeta(X x, Value q) {
    // B_(2j+2) / (2j+2)! over B_2j / (2j)!.
    static constexpr double kNext[] = {-1.0 / 60,      -1.0 / 42,    -1.0 / 40,        -5.0 / 198,
                                       -691.0 / 27300, -35.0 / 1382, -3617.0 / 142800, -219335.0 / 8659098};
    const int terms = is_f32() ? 8 : 12, corrections = is_f32() ? 4 : 9;  // structural: of the types
    Value sum = InversePower(q, x), a = q;
    for (int k = 1; k < terms; ++k) {
      a = Add(q, C(k));
      sum = Add(sum, InversePower(a, x));
    }
    a = Add(q, C(terms));
    const Value last = InversePower(a, x), s = Number(x);
    sum = Add(sum, Mul(last, Add(Div(a, Sub(s, C(1))), C(0.5))));
    Value correction = Mul(last, Div(Mul(s, C(1.0 / 12)), a));
    for (int j = 1;; ++j) {
      sum = Add(sum, correction);
      if (j == corrections) return sum;
      const Value first = Div(Add(s, C(2 * j - 1)), a), second = Div(Add(s, C(2 * j)), a);
      correction = Mul(Mul(Mul(correction, C(kNext[j - 1])), first), second);
    }
  }

  /// sqrt(1 - x^2).
  Value Other(Value x) { return Sqrt(Mul(Sub(C(1), x), Add(C(1), x))); }
  Value UpperHalf(Value x) {
    const auto bits = type().clone(w().Int(is_f32() ? 32 : 64));
    const uint64_t kept = is_f32() ? 0xfffff000 : 0xfffffffff8000000;
    const Value masked =
        w().Binary("stablehlo.and", w().Op("stablehlo.bitcast_convert", x, bits), w().Ints(bits, kept));
    return w().Op("stablehlo.bitcast_convert", masked, type());
  }
};

/// The number after x on the way to y, from their bits: a sign and a magnitude.
Value NextAfter(mlir::Operation* op) {
  OpWriter w(op);
  const Value x = op->getOperand(0), y = op->getOperand(1);
  const unsigned width = TensorOf(x).getElementType().getIntOrFloatBitWidth();
  const auto type = TensorOf(x).clone(w.Int(width));
  const auto number = [&](uint64_t v) { return w.Ints(type, v); };
  const auto select = [&](Value p, Value a, Value b) { return w.Op("stablehlo.select", {p, a, b}, a.getType()); };
  const uint64_t sign = uint64_t{1} << (width - 1);
  const Value bits = w.Op("stablehlo.bitcast_convert", x, type), to = w.Op("stablehlo.bitcast_convert", y, type);
  const Value zero = w.Compare(w.Binary("stablehlo.and", bits, number(sign - 1)), number(0), "EQ");
  const Value from_zero = w.Binary("stablehlo.or", w.Binary("stablehlo.and", to, number(sign)), number(1));
  const Value positive = w.Compare(bits, number(0), "GE"), upwards = w.Compare(x, y, "LT");
  const Value grows = w.Unary("stablehlo.not", w.Binary("stablehlo.xor", positive, upwards));
  const Value step = select(grows, number(1), number(~uint64_t{0}));
  const Value next = select(zero, from_zero, w.Binary("stablehlo.add", bits, step));
  const Value moved = w.Op("stablehlo.bitcast_convert", next, x.getType());
  const Value x_ordered = w.Compare(x, x, "EQ"), ordered = w.Binary("stablehlo.and", x_ordered, w.Compare(y, y, "EQ"));
  return select(w.Compare(x, y, "EQ"), y, select(ordered, moved, select(x_ordered, y, x)));
}

/// The one number that all elements are, where that is plain to see.
std::optional<double> KnownNumber(Value v) {
  while (mlir::Operation* op = v.getDefiningOp()) {
    const llvm::StringRef name = op->getName().getStringRef();
    if (name == "stablehlo.constant") {
      const auto value = op->getAttrOfType<mlir::DenseFPElementsAttr>("value");
      if (!value || !value.isSplat()) return std::nullopt;
      return value.getSplatValue<llvm::APFloat>().convertToDouble();
    }
    if (name != "stablehlo.broadcast_in_dim" && name != "stablehlo.reshape") return std::nullopt;
    v = op->getOperand(0);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Value> SpecialFunction(mlir::Operation* op, llvm::StringRef name) {
  if (op->getNumOperands() == 0) return std::nullopt;
  if (mlir::isa<mlir::ComplexType>(TensorOf(op->getOperand(0)).getElementType())) return ComplexFunction(op, name);
  const auto element = mlir::dyn_cast<mlir::FloatType>(TensorOf(op->getOperand(0)).getElementType());
  if (!element) return std::nullopt;
  const bool usual = element.isF64() || element.isF32() || element.isF16() || element.isBF16();
  if (name == "next_after") return usual ? std::optional(NextAfter(op)) : std::nullopt;
  using Function = Value (RealFormulas::*)(Value);
  static constexpr std::pair<const char*, Function> kFunctions[] = {
      {"acos", &RealFormulas::Acos},       {"acosh", &RealFormulas::Acosh},    {"asin", &RealFormulas::Asin},
      {"asinh", &RealFormulas::Asinh},     {"atan", &RealFormulas::Atan},      {"bessel_i1e", &RealFormulas::BesselI1e},
      {"digamma", &RealFormulas::Digamma}, {"erf_inv", &RealFormulas::ErfInv}, {"erfc", &RealFormulas::Erfc},
      {"lgamma", &RealFormulas::Lgamma}};
  for (const auto& [known, function] : kFunctions) {
    if (name != known) continue;
    RealFormulas f(op);
    const Value result = (f.*function)(f.w().Convert(op->getOperand(0), f.type().getElementType()));
    return f.w().Convert(result, element);
  }
  if (name == "zeta" || name == "polygamma") {
    RealFormulas f(op);
    const auto wide = [&](unsigned i) { return f.w().Convert(op->getOperand(i), f.type().getElementType()); };
    const Value first = wide(0), second = wide(1);
    const Value result =
        name == "zeta" ? f.Zeta(first, second) : f.Polygamma(first, second, KnownNumber(op->getOperand(0)));
    return f.w().Convert(result, element);
  }
  OpWriter w(op);
  const Value x = op->getOperand(0);
  const auto infinity = [&](double v) { return w.Floats(TensorOf(x), v); };
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (!usual) return std::nullopt;
  if (name == "is_inf") return w.Compare(w.Unary("stablehlo.abs", x), infinity(inf), "EQ");
  if (name == "is_pos_inf") return w.Compare(x, infinity(inf), "EQ");
  if (name == "is_neg_inf") return w.Compare(x, infinity(-inf), "EQ");
  return std::nullopt;
}

}  // namespace tenon::compiler
