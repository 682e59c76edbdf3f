#pragma once

// Elementwise functions on the arithmetic types of scalar.h: one struct per operation with an Apply per kind of
// operand. f32 functions are computed in f64 and rounded once, complex<f32> in complex<f64>, complex<f64> in
// complex<long double>.

#include <bit>
#include <cmath>
#include <complex>
#include <numbers>

#include "tenon/reference/scalar.h"

namespace tenon::reference {

template <class R>
using Wider = std::conditional_t<std::is_same_v<R, float>, double, long double>;
template <class R>
std::complex<Wider<R>> Widen(std::complex<R> z) {
  return {z.real(), z.imag()};
}
template <class R, class W>
std::complex<R> NarrowTo(std::complex<W> z) {
  return {static_cast<R>(z.real()), static_cast<R>(z.imag())};
}

inline int64_t Wrap(uint64_t v) { return static_cast<int64_t>(v); }
inline uint64_t U(int64_t v) { return static_cast<uint64_t>(v); }
inline uint64_t LowBits(uint64_t v, int bits) { return bits == 64 ? v : v & ((uint64_t{1} << bits) - 1); }

//===--- Arithmetic ---===//

struct Add {
  static bool Apply(bool a, bool b) { return a || b; }
  static int64_t Apply(int64_t a, int64_t b) { return Wrap(U(a) + U(b)); }
  static uint64_t Apply(uint64_t a, uint64_t b) { return a + b; }
  static float Apply(float a, float b) { return a + b; }
  static double Apply(double a, double b) { return a + b; }
  template <class R>
  static std::complex<R> Apply(std::complex<R> a, std::complex<R> b) {
    return {a.real() + b.real(), a.imag() + b.imag()};
  }
};

struct Subtract {
  static int64_t Apply(int64_t a, int64_t b) { return Wrap(U(a) - U(b)); }
  static uint64_t Apply(uint64_t a, uint64_t b) { return a - b; }
  static float Apply(float a, float b) { return a - b; }
  static double Apply(double a, double b) { return a - b; }
  template <class R>
  static std::complex<R> Apply(std::complex<R> a, std::complex<R> b) {
    return {a.real() - b.real(), a.imag() - b.imag()};
  }
};

struct Multiply {
  static bool Apply(bool a, bool b) { return a && b; }
  static int64_t Apply(int64_t a, int64_t b) { return Wrap(U(a) * U(b)); }
  static uint64_t Apply(uint64_t a, uint64_t b) { return a * b; }
  static float Apply(float a, float b) { return a * b; }
  static double Apply(double a, double b) { return a * b; }
  // The plain formula: no recovery of infinities.
  template <class R>
  static std::complex<R> Apply(std::complex<R> a, std::complex<R> b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
};

// A product with a predicate that was made a number, the first or the second factor: the other factor or zero, whatever
// the other one is.
struct FirstIfTrue {
  template <class T>
  static T Apply(T a, T truth) {
    return truth == T(0) ? T(0) : a;
  }
};
struct SecondIfTrue {
  template <class T>
  static T Apply(T truth, T b) {
    return truth == T(0) ? T(0) : b;
  }
};

struct Divide {
  // x/0 has all bits set. MIN/-1 wraps to MIN.
  static int64_t Apply(int64_t a, int64_t b) { return b == 0 ? -1 : b == -1 ? Wrap(0 - U(a)) : a / b; }
  static uint64_t Apply(uint64_t a, uint64_t b) { return b == 0 ? ~uint64_t{0} : a / b; }
  static float Apply(float a, float b) { return a / b; }
  static double Apply(double a, double b) { return a / b; }
  template <class R>
  static std::complex<R> Apply(std::complex<R> x, std::complex<R> y) {
    using W = Wider<R>;  // wide enough that the squares of the denominator neither overflow nor vanish
    const W a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
    const W norm = c * c + d * d;
    if (norm == 0) {
      const W inf = std::copysign(std::numeric_limits<W>::infinity(), c);
      return NarrowTo<R>(std::complex<W>(inf * a, inf * b));
    }
    if (std::isinf(c) || std::isinf(d)) {
      if (std::isfinite(a) && std::isfinite(b)) {
        const W p = std::copysign(std::isinf(c) ? W{1} : W{0}, c), q = std::copysign(std::isinf(d) ? W{1} : W{0}, d);
        return NarrowTo<R>(std::complex<W>(W{0} * (a * p + b * q), W{0} * (b * p - a * q)));
      }
    }
    const W re = (a * c + b * d) / norm, im = (b * c - a * d) / norm;
    if (std::isnan(re) && std::isnan(im) && (std::isinf(a) || std::isinf(b)) && std::isfinite(c) && std::isfinite(d)) {
      const W inf = std::numeric_limits<W>::infinity();
      const W p = std::copysign(std::isinf(a) ? W{1} : W{0}, a), q = std::copysign(std::isinf(b) ? W{1} : W{0}, b);
      return NarrowTo<R>(std::complex<W>(inf * (p * c + q * d), inf * (q * c - p * d)));
    }
    return NarrowTo<R>(std::complex<W>(re, im));
  }
};

struct Remainder {
  // Sign of the dividend; x%0 = x.
  static int64_t Apply(int64_t a, int64_t b) { return b == 0 ? a : b == -1 ? 0 : a % b; }
  static uint64_t Apply(uint64_t a, uint64_t b) { return b == 0 ? a : a % b; }
  static float Apply(float a, float b) { return std::fmod(a, b); }
  static double Apply(double a, double b) { return std::fmod(a, b); }
};

struct Power {
  static uint64_t Apply(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent != 0; exponent >>= 1, base *= base) {
      if ((exponent & 1) != 0) result *= base;
    }
    return result;
  }
  static int64_t Apply(int64_t base, int64_t exponent) {
    if (exponent >= 0) return Wrap(Apply(U(base), U(exponent)));
    if (base == 1) return 1;
    if (base == -1) return (exponent & 1) != 0 ? -1 : 1;
    return 0;
  }
  static float Apply(float a, float b) {
    return static_cast<float>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
  static double Apply(double a, double b) { return std::pow(a, b); }
  template <class R>
  static std::complex<R> Apply(std::complex<R> a, std::complex<R> b) {
    using W = Wider<R>;
    if (b.real() == 0 && b.imag() == 0) return {1, 0};
    if (a.real() == 0 && a.imag() == 0 && b.real() > 0) return {0, 0};
    const W norm = std::log(std::hypot(static_cast<W>(a.real()), static_cast<W>(a.imag())));
    const W angle = std::atan2(static_cast<W>(a.imag()), static_cast<W>(a.real()));
    const W magnitude = std::exp(b.real() * norm - b.imag() * angle);
    const W phase = b.imag() * norm + b.real() * angle;
    return {static_cast<R>(magnitude * std::cos(phase)), static_cast<R>(magnitude * std::sin(phase))};
  }
};

// NaN wins on either side; +0 is larger than -0.
struct Maximum {
  template <class C>
    requires(IntCompute<C> || BoolCompute<C>)
  static C Apply(C a, C b) {
    return a > b ? a : b;
  }
  template <FloatCompute C>
  static C Apply(C a, C b) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
  }
  // The real parts alone decide, the left side at equal ones.
  template <class R>
  static std::complex<R> Apply(std::complex<R> a, std::complex<R> b) {
    if (std::isnan(a.real()) || std::isnan(b.real())) return {std::numeric_limits<R>::quiet_NaN(), 0};
    return a.real() >= b.real() ? a : b;
  }
};

struct Minimum {
  template <class C>
    requires(IntCompute<C> || BoolCompute<C>)
  static C Apply(C a, C b) {
    return a < b ? a : b;
  }
  template <FloatCompute C>
  static C Apply(C a, C b) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
  }
  template <class R>
  static std::complex<R> Apply(std::complex<R> a, std::complex<R> b) {
    if (std::isnan(a.real()) || std::isnan(b.real())) return {std::numeric_limits<R>::quiet_NaN(), 0};
    return a.real() <= b.real() ? a : b;
  }
};

struct Atan2 {
  static float Apply(float y, float x) {
    return static_cast<float>(std::atan2(static_cast<double>(y), static_cast<double>(x)));
  }
  static double Apply(double y, double x) { return std::atan2(y, x); }
  // -i log((x + iy) / sqrt(x^2 + y^2))
  template <class R>
  static std::complex<R> Apply(std::complex<R> y, std::complex<R> x) {
    const auto wy = Widen(y), wx = Widen(x);
    const decltype(wy) i(0, 1);
    return NarrowTo<R>(-i * std::log((wx + i * wy) / std::sqrt(wx * wx + wy * wy)));
  }
};

//===--- Bits ---===//

struct And {
  template <class C>
    requires(IntCompute<C> || BoolCompute<C>)
  static C Apply(C a, C b) {
    return a & b;
  }
};
struct Or {
  template <class C>
    requires(IntCompute<C> || BoolCompute<C>)
  static C Apply(C a, C b) {
    return a | b;
  }
};
struct Xor {
  template <class C>
    requires(IntCompute<C> || BoolCompute<C>)
  static C Apply(C a, C b) {
    return a ^ b;
  }
};
struct Not {
  static bool Apply(bool a) { return !a; }
  template <IntCompute C>
  static C Apply(C a) {
    return ~a;
  }
};

// Amounts of the width and beyond (negative ones count as huge) shift everything out.
struct ShiftLeft {
  template <IntCompute C>
  static C Apply(C a, C amount, int bits) {
    return LowBits(static_cast<uint64_t>(amount), bits) >= static_cast<uint64_t>(bits)
               ? C{0}
               : static_cast<C>(static_cast<uint64_t>(a) << amount);
  }
};
struct ShiftRightLogical {
  template <IntCompute C>
  static C Apply(C a, C amount, int bits) {
    const uint64_t n = LowBits(static_cast<uint64_t>(amount), bits);
    return n >= static_cast<uint64_t>(bits) ? C{0} : static_cast<C>(LowBits(static_cast<uint64_t>(a), bits) >> n);
  }
};
struct ShiftRightArithmetic {
  template <IntCompute C>
  static C Apply(C a, C amount, int bits) {
    const int64_t value = static_cast<int64_t>(static_cast<uint64_t>(a) << (64 - bits)) >>
                          (64 - bits);  // sign-extended, also when unsigned
    const uint64_t n = LowBits(static_cast<uint64_t>(amount), bits);
    return static_cast<C>(value >> (n >= static_cast<uint64_t>(bits) ? 63 : n));
  }
};
struct Popcnt {
  template <IntCompute C>
  static C Apply(C a, int bits) {
    return static_cast<C>(std::popcount(LowBits(static_cast<uint64_t>(a), bits)));
  }
};
struct CountLeadingZeros {
  template <IntCompute C>
  static C Apply(C a, int bits) {
    return static_cast<C>(std::countl_zero(LowBits(static_cast<uint64_t>(a), bits)) - (64 - bits));
  }
};

//===--- Signs and rounding ---===//

struct Negate {
  static int64_t Apply(int64_t a) { return Wrap(0 - U(a)); }
  static uint64_t Apply(uint64_t a) { return 0 - a; }
  static float Apply(float a) { return std::bit_cast<float>(std::bit_cast<uint32_t>(a) ^ 0x80000000u); }
  static double Apply(double a) { return std::bit_cast<double>(std::bit_cast<uint64_t>(a) ^ (uint64_t{1} << 63)); }
  template <class R>
  static std::complex<R> Apply(std::complex<R> a) {
    return {Apply(a.real()), Apply(a.imag())};
  }
};

struct Abs {
  static int64_t Apply(int64_t a) { return a < 0 ? Wrap(0 - U(a)) : a; }
  static float Apply(float a) { return std::bit_cast<float>(std::bit_cast<uint32_t>(a) & 0x7fffffffu); }
  static double Apply(double a) { return std::bit_cast<double>(std::bit_cast<uint64_t>(a) & ~(uint64_t{1} << 63)); }
};

struct Sign {
  static int64_t Apply(int64_t a) { return (a > 0) - (a < 0); }
  template <FloatCompute C>
  static C Apply(C a) {
    return std::isnan(a) || a == 0 ? a : std::copysign(C{1}, a);
  }
  template <class R>
  static std::complex<R> Apply(std::complex<R> a) {
    const auto z = Widen(a);
    const auto magnitude = std::hypot(z.real(), z.imag());
    if (magnitude == 0) return {0, 0};
    return {static_cast<R>(z.real() / magnitude), static_cast<R>(z.imag() / magnitude)};
  }
};

struct Ceil {
  template <FloatCompute C>
  static C Apply(C a) {
    return std::ceil(a);
  }
};
struct Floor {
  template <FloatCompute C>
  static C Apply(C a) {
    return std::floor(a);
  }
};
struct RoundNearestAfz {
  template <FloatCompute C>
  static C Apply(C a) {
    return std::round(a);
  }
};
struct RoundNearestEven {
  template <FloatCompute C>
  static C Apply(C a) {
    return std::nearbyint(a);
  }
};

//===--- Functions ---===//

/// Gives Apply to a struct with Real(W) and perhaps Complex(std::complex<W>). `W64` is the type in which f64 is
/// computed.
template <class Derived, class W64 = double>
struct Function {
  static float Apply(float x) { return static_cast<float>(Derived::Real(static_cast<double>(x))); }
  static double Apply(double x) { return static_cast<double>(Derived::Real(static_cast<W64>(x))); }
  template <class R>
  static std::complex<R> Apply(std::complex<R> z)
    requires requires(std::complex<long double> w) { Derived::Complex(w); }
  {
    return NarrowTo<R>(Derived::Complex(std::complex<long double>(z.real(), z.imag())));
  }
};

struct Exponential : Function<Exponential> {
  template <class W>
  static W Real(W x) {
    return std::exp(x);
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z) {
    if (z.imag() == 0) return {std::exp(z.real()), z.imag()};
    const W r = std::exp(z.real());
    return {r * std::cos(z.imag()), r * std::sin(z.imag())};
  }
};
struct ExponentialMinusOne : Function<ExponentialMinusOne> {
  template <class W>
  static W Real(W x) {
    return std::expm1(x);
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z) {
    const W x = z.real(), y = z.imag(), s = std::sin(y / 2);
    if (y == 0) return {std::expm1(x), y};
    return {std::expm1(x) * std::cos(y) - 2 * s * s, std::exp(x) * std::sin(y)};
  }
};
struct Log : Function<Log> {
  template <class W>
  static W Real(W x) {
    return std::log(x);
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z) {
    return std::log(z);
  }
};
struct LogPlusOne : Function<LogPlusOne> {
  template <class W>
  static W Real(W x) {
    return std::log1p(x);
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z);
};
struct Logistic : Function<Logistic> {
  template <class W>
  static W Real(W x) {
    return 1 / (1 + std::exp(-x));
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z) {
    return W{1} / (W{1} + Exponential::Complex(-z));
  }
};
struct Sqrt {
  static float Apply(float x) { return std::sqrt(x); }
  static double Apply(double x) { return std::sqrt(x); }
  template <class R>
  static std::complex<R> Apply(std::complex<R> z) {
    const std::complex<long double> w(z.real(), z.imag());
    // Both sides of the cut give the upper root.
    if (w.imag() == 0 && w.real() < 0) return {0, static_cast<R>(std::sqrt(-w.real()))};
    return NarrowTo<R>(std::sqrt(w));
  }
};
struct Rsqrt {
  static float Apply(float x) { return static_cast<float>(1 / std::sqrt(static_cast<double>(x))); }
  static double Apply(double x) { return static_cast<double>(1 / std::sqrt(static_cast<long double>(x))); }
  template <class R>
  static std::complex<R> Apply(std::complex<R> z) {
    const std::complex<long double> w(z.real(), z.imag());
    const R nan = std::numeric_limits<R>::quiet_NaN();
    if (w == 0.0L) return {std::numeric_limits<R>::infinity(), nan};
    if (std::isnan(z.real()) || std::isnan(z.imag())) return {nan, nan};
    if (std::isinf(z.real()) || std::isinf(z.imag())) return {0, std::copysign(R{0}, -z.imag())};
    const auto root = std::sqrt(w);
    const long double norm = std::hypot(root.real(), root.imag());
    return {static_cast<R>(root.real() / norm / norm), static_cast<R>(-root.imag() / norm / norm)};
  }
};
struct Cbrt : Function<Cbrt> {
  template <class W>
  static W Real(W x) {
    return std::cbrt(x);
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z) {
    return z == W{0} ? z : std::exp(std::log(z) / W{3});
  }
};
struct Sine : Function<Sine> {
  template <class W>
  static W Real(W x) {
    return std::sin(x);
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z) {
    return std::sin(z);
  }
};
struct Cosine : Function<Cosine> {
  template <class W>
  static W Real(W x) {
    return std::cos(x);
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z) {
    return std::cos(z);
  }
};
struct Tan : Function<Tan> {
  template <class W>
  static W Real(W x) {
    return std::tan(x);
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z) {
    const std::complex<W> t = std::tan(z);
    // An infinite or unknown angle is no number, along the real axis, too, where C's function keeps the 0.
    return std::isnan(t.real()) ? std::complex<W>(t.real(), t.real()) : t;
  }
};
struct Tanh : Function<Tanh> {
  template <class W>
  static W Real(W x) {
    return std::tanh(x);
  }
  template <class W>
  static std::complex<W> Complex(std::complex<W> z) {
    return std::tanh(z);
  }
};

template <class W>
std::complex<W> LogPlusOne::Complex(std::complex<W> z) {
  const W x = z.real(), y = z.imag();
  // log|1+z| = log1p(2x + x^2 + y^2) / 2 loses nothing where |1+z| is about 1; elsewhere the plain logarithm does.
  W re;
  if (std::hypot(1 + x, y) < W{0.5} || std::hypot(1 + x, y) > 2) {
    re = std::log(std::hypot(1 + x, y));
  } else {
    // x(2+x) and y^2 may cancel: both products with their rounding errors.
    const W a = x * (2 + x), a_low = std::fma(x, x, std::fma(x, W{2}, -a));
    const W b = y * y, b_low = std::fma(y, y, -b);
    const W sum = a + b, part = sum - a, low = (a - (sum - part)) + (b - part);
    re = std::log1p(sum + (low + a_low + b_low)) / 2;
  }
  return {re, std::atan2(y, 1 + x)};
}

}  // namespace tenon::reference
