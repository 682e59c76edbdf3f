#pragma once

// The functions of the CHLO dialect, in the manner of math.h. f64 is computed in long double.

#include "tenon/reference/math.h"

namespace tenon::reference {

long double DigammaOf(long double x);
/// Sum over k >= 0 of (q + k)^-x.
long double HurwitzZeta(long double x, long double q);
long double PolygammaOf(long double n, long double x);
long double ErfInvOf(long double y);
/// The modified Bessel function I1 times e^-|x|.
long double BesselI1e(long double x);
/// lgamma without the process-wide sign.
long double LgammaOf(long double x);

struct Erf : Function<Erf, long double> {
  template <class W>
  static W Real(W x) {
    return std::erf(x);
  }
};
struct Erfc : Function<Erfc, long double> {
  template <class W>
  static W Real(W x) {
    return std::erfc(x);
  }
};
struct ErfInv : Function<ErfInv, long double> {
  template <class W>
  static W Real(W x) {
    return static_cast<W>(ErfInvOf(x));
  }
};
struct Lgamma : Function<Lgamma, long double> {
  template <class W>
  static W Real(W x) {
    return static_cast<W>(LgammaOf(x));
  }
};
struct Digamma : Function<Digamma, long double> {
  template <class W>
  static W Real(W x) {
    return static_cast<W>(DigammaOf(x));
  }
};
struct BesselI1eFunction : Function<BesselI1eFunction, long double> {
  template <class W>
  static W Real(W x) {
    return static_cast<W>(BesselI1e(x));
  }
};
struct Zeta {
  static float Apply(float x, float q) { return static_cast<float>(HurwitzZeta(x, q)); }
  static double Apply(double x, double q) { return static_cast<double>(HurwitzZeta(x, q)); }
};
struct Polygamma {
  static float Apply(float n, float x) { return static_cast<float>(PolygammaOf(n, x)); }
  static double Apply(double n, double x) { return static_cast<double>(PolygammaOf(n, x)); }
};

struct Acos : Function<Acos, long double> {
  template <class W>
  static W Real(W x) {
    return std::acos(x);
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z) {
    return std::acos(z);
  }
};
struct Asin : Function<Asin, long double> {
  template <class W>
  static W Real(W x) {
    return std::asin(x);
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z) {
    return std::asin(z);
  }
};
struct Atan : Function<Atan, long double> {
  template <class W>
  static W Real(W x) {
    return std::atan(x);
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z) {
    return std::atan(z);
  }
};
struct Acosh : Function<Acosh, long double> {
  template <class W>
  static W Real(W x) {
    return std::acosh(x);
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z) {
    return std::acosh(z);
  }
};
struct Asinh : Function<Asinh, long double> {
  template <class W>
  static W Real(W x) {
    return std::asinh(x);
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z) {
    return std::asinh(z);
  }
};
struct Atanh : Function<Atanh, long double> {
  template <class W>
  static W Real(W x) {
    return std::atanh(x);
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z) {
    return std::atanh(z);
  }
};
// Hyperbolic functions in the arithmetic of their type, as clients expand them before XLA sees them: e^(x - log 2)
// overflows only where the result does.
struct Cosh {
  template <FloatCompute C>
  static C Apply(C x) {
    const C half_log = Log::Apply(C{0.5});
    return Exponential::Apply(x + half_log) + Exponential::Apply(half_log - x);
  }
  template <class R>
  static std::complex<R> Apply(std::complex<R> z) {
    return NarrowTo<R>(std::cosh(std::complex<long double>(z.real(), z.imag())));
  }
};
struct Sinh {
  template <FloatCompute C>
  static C Apply(C x) {
    if (std::fabs(x) < 1) {
      const C e = ExponentialMinusOne::Apply(x);
      return C{0.5} * (e + e / (e + 1));
    }
    const C half_log = Log::Apply(C{0.5});
    return Exponential::Apply(x + half_log) - Exponential::Apply(half_log - x);
  }
  template <class R>
  static std::complex<R> Apply(std::complex<R> z) {
    return NarrowTo<R>(std::sinh(std::complex<long double>(z.real(), z.imag())));
  }
};
struct Square {
  template <FloatCompute C>
  static C Apply(C a) {
    return a * a;
  }
  // (x - y)(x + y) does not cancel as x^2 - y^2 does.
  template <class R>
  static std::complex<R> Apply(std::complex<R> z) {
    const R x = z.real(), y = z.imag();
    return {std::fabs(x) == std::fabs(y) && std::isfinite(x) ? R{0} : (x - y) * (x + y), x * y * 2};
  }
};
struct Conj {
  template <FloatCompute C>
  static C Apply(C a) {
    return a;
  }
  template <class R>
  static std::complex<R> Apply(std::complex<R> z) {
    return {z.real(), Negate::Apply(z.imag())};
  }
};
struct Mulhi {
  static int64_t Apply(int64_t a, int64_t b, int bits) {
    return static_cast<int64_t>((static_cast<__int128>(a) * b) >> bits);
  }
  static uint64_t Apply(uint64_t a, uint64_t b, int bits) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> bits);
  }
};

}  // namespace tenon::reference
