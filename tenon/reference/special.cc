#include "tenon/reference/special.h"

#include <array>

namespace tenon::reference {
namespace {

constexpr long double kNan = std::numeric_limits<long double>::quiet_NaN();
constexpr long double kInf = std::numeric_limits<long double>::infinity();
constexpr long double kPi = std::numbers::pi_v<long double>;

// The Bernoulli numbers B2, B4, ... B28.
constexpr std::array<long double, 14> kBernoulli = {
    1.0L / 6,       -1.0L / 30,           1.0L / 42,      -1.0L / 30,       5.0L / 66,       -691.0L / 2730,
    7.0L / 6,       -3617.0L / 510,       43867.0L / 798, -174611.0L / 330, 854513.0L / 138, -236364091.0L / 2730,
    8553103.0L / 6, -23749461029.0L / 870};

}  // namespace

long double LgammaOf(long double x) {
  int sign = 0;
  return ::lgammal_r(x, &sign);
}

long double DigammaOf(long double x) {
  if (std::isnan(x) || x == -kInf) return kNan;
  if (x == kInf) return kInf;
  if (x <= 0 && x == std::floor(x)) return kNan;
  if (x < 0) {
    // Reflection, with the angle reduced before pi comes in.
    const long double fraction = x - std::round(x);
    return DigammaOf(1 - x) - kPi / std::tan(kPi * fraction);
  }
  long double shift = 0;
  for (; x < 20; x += 1) shift -= 1 / x;
  const long double inverse_square = 1 / (x * x);
  long double series = 0, power = inverse_square;
  for (size_t k = 0; k < kBernoulli.size(); ++k, power *= inverse_square)
    series += kBernoulli[k] / (2 * static_cast<long double>(k + 1)) * power;
  return shift + std::log(x) - 1 / (2 * x) - series;
}

long double HurwitzZeta(long double x, long double q) {
  if (std::isnan(x) || std::isnan(q)) return kNan;
  if (x == 1) return kInf;
  if (x < 1) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInf;
    if (x != std::floor(x)) return kNan;
  }
  if (q == kInf) return 0;
  // Euler and Maclaurin: the first terms one by one, the rest as an integral with corrections.
  long double sum = 0, a = q;
  for (int k = 0; k < 20 || a < 20; ++k, a += 1) {
    const long double term = std::pow(a, -x);
    sum += term;
    if (a > 0 && std::fabs(term) < std::fabs(sum) * 1e-22L) return sum;
    if (!std::isfinite(sum)) return sum;
  }
  const long double at = std::pow(a, -x);
  sum += at * a / (x - 1) + at / 2;
  long double factor = x, power = at / a, factorial = 2;
  for (size_t k = 0; k < kBernoulli.size(); ++k) {
    const long double term = kBernoulli[k] / factorial * factor * power;
    sum += term;
    const long double n = 2 * static_cast<long double>(k + 1);
    factor *= (x + n - 1) * (x + n);
    power /= a * a;
    factorial *= (n + 1) * (n + 2);
  }
  return sum;
}

long double PolygammaOf(long double n, long double x) {
  if (std::isnan(n) || std::isnan(x) || n < 0 || n != std::floor(n)) return kNan;
  if (n == 0) return DigammaOf(x);
  const long double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::exp(LgammaOf(n + 1)) * HurwitzZeta(n + 1, x);
}

long double ErfInvOf(long double y) {
  if (std::isnan(y) || std::fabs(y) > 1) return kNan;
  if (std::fabs(y) == 1) return y * kInf;
  if (y == 0) return y;
  // Winitzki's estimate, then Halley's steps on erf(x) - y, or on erfc(x) - (1 - y) where erf is flat.
  const long double magnitude = std::fabs(y), rest = 1 - magnitude;
  const long double log_term = std::log(rest * (1 + magnitude));
  const long double t = 2 / (kPi * 0.147L) + log_term / 2;
  long double x = std::sqrt(std::sqrt(t * t - log_term / 0.147L) - t);
  if (magnitude < 1e-3L) x = magnitude * std::sqrt(kPi) / 2;
  for (int step = 0; step < 6; ++step) {
    const long double error = magnitude < 0.5L ? std::erf(x) - magnitude : rest - std::erfc(x);
    const long double slope = 2 / std::sqrt(kPi) * std::exp(-x * x);
    x -= error / (slope + x * error);
  }
  return std::copysign(x, y);
}

long double BesselI1e(long double x) {
  if (std::isnan(x)) return kNan;
  const long double a = std::fabs(x);
  long double result;
  if (a == kInf) {
    result = 0;
  } else if (a < 40) {
    // The power series: all terms positive.
    const long double quarter = a * a / 4;
    long double term = a / 2, sum = 0;
    for (int k = 1; term > sum * 1e-22L; ++k) {
      sum += term;
      term *= quarter / (static_cast<long double>(k) * (k + 1));
    }
    result = sum * std::exp(-a);
  } else {
    // The asymptotic series, cut where its terms are smallest or vanish.
    long double term = 1, sum = 0;
    for (int k = 1; std::fabs(term) > 1e-22L; ++k) {
      sum += term;
      const long double odd = 2 * static_cast<long double>(k) - 1;
      const long double next = -term * (4 - odd * odd) / (8 * a * k);
      if (std::fabs(next) > std::fabs(term)) break;
      term = next;
    }
    result = sum / std::sqrt(2 * kPi * a);
  }
  return std::copysign(result, x);
}

}  // namespace tenon::reference
