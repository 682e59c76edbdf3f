#include "tenon/kir/testing/math_oracle.h"

#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

namespace tenon::kir::testing {
namespace {

using D = double;
using L = long double;

template <class T>
T Logistic(T x) {
  return x >= 0 ? T(1) / (T(1) + std::exp(-x)) : std::exp(x) / (T(1) + std::exp(x));
}

struct Row {
  std::string_view name;
  D (*d)(D);
  L (*l)(L);
};
constexpr Row kUnary[] = {
    {"exp", [](D x) { return std::exp(x); }, [](L x) { return std::exp(x); }},
    {"expm1", [](D x) { return std::expm1(x); }, [](L x) { return std::expm1(x); }},
    {"log", [](D x) { return std::log(x); }, [](L x) { return std::log(x); }},
    {"log1p", [](D x) { return std::log1p(x); }, [](L x) { return std::log1p(x); }},
    {"logistic", [](D x) { return Logistic(x); }, [](L x) { return Logistic(x); }},
    {"tanh", [](D x) { return std::tanh(x); }, [](L x) { return std::tanh(x); }},
    {"sin", [](D x) { return std::sin(x); }, [](L x) { return std::sin(x); }},
    {"cos", [](D x) { return std::cos(x); }, [](L x) { return std::cos(x); }},
    {"tan", [](D x) { return std::tan(x); }, [](L x) { return std::tan(x); }},
    {"rsqrt", [](D x) { return 1 / std::sqrt(x); }, [](L x) { return 1 / std::sqrt(x); }},
    {"cbrt", [](D x) { return std::cbrt(x); }, [](L x) { return std::cbrt(x); }},
    {"erf", [](D x) { return std::erf(x); }, [](L x) { return std::erf(x); }},
    {"erfc", [](D x) { return std::erfc(x); }, [](L x) { return std::erfc(x); }},
    {"sinh", [](D x) { return std::sinh(x); }, [](L x) { return std::sinh(x); }},
    {"cosh", [](D x) { return std::cosh(x); }, [](L x) { return std::cosh(x); }},
    {"asin", [](D x) { return std::asin(x); }, [](L x) { return std::asin(x); }},
    {"acos", [](D x) { return std::acos(x); }, [](L x) { return std::acos(x); }},
    {"atan", [](D x) { return std::atan(x); }, [](L x) { return std::atan(x); }},
    {"asinh", [](D x) { return std::asinh(x); }, [](L x) { return std::asinh(x); }},
    {"acosh", [](D x) { return std::acosh(x); }, [](L x) { return std::acosh(x); }},
    {"atanh", [](D x) { return std::atanh(x); }, [](L x) { return std::atanh(x); }},
};

const Row* Find(std::string_view name) {
  for (const Row& r : kUnary) {
    if (r.name == name) return &r;
  }
  return nullptr;
}

}  // namespace

double (*TrueDouble(std::string_view function))(double) {
  const Row* row = Find(function);
  return row == nullptr ? nullptr : row->d;
}

bool Knows(std::string_view function) { return function == "pow" || function == "atan2" || Find(function) != nullptr; }
int NumArguments(std::string_view function) { return function == "pow" || function == "atan2" ? 2 : 1; }

long double TrueValue(std::string_view function, DType type, long double x, long double y) {
  if (function == "pow")
    return type == DType::kF32 ? static_cast<L>(std::pow(static_cast<D>(x), static_cast<D>(y))) : std::pow(x, y);
  if (function == "atan2")
    return type == DType::kF32 ? static_cast<L>(std::atan2(static_cast<D>(x), static_cast<D>(y))) : std::atan2(x, y);
  const Row* row = Find(function);
  if (row == nullptr) return std::numeric_limits<L>::quiet_NaN();
  return type == DType::kF32 ? static_cast<L>(row->d(static_cast<D>(x))) : row->l(x);
}

long double ValueOf(DType type, uint64_t bits) {
  const double v = type == DType::kF32 ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))
                                       : std::bit_cast<double>(bits);
  const double least = type == DType::kF32 ? 0x1p-126 : 0x1p-1022;
  return std::fabs(v) < least ? std::copysign(0.0, v) : v;
}

double UlpsOff(DType type, uint64_t bits, long double wanted) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  const int mantissa = type == DType::kF32 ? 23 : 52;
  const int lowest = type == DType::kF32 ? -126 : -1022;
  const L largest = type == DType::kF32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const L got = ValueOf(type, bits);
  if (std::isnan(wanted) || std::isnan(got)) return std::isnan(wanted) && std::isnan(got) ? 0 : kWrong;
  if (std::isinf(wanted)) return got == wanted ? 0 : kWrong;
  if (wanted == 0) return got == 0 && std::signbit(got) == std::signbit(wanted) ? 0 : kWrong;
  if (std::signbit(got) != std::signbit(wanted)) return kWrong;
  const L least = std::ldexp(L(1), lowest);
  const L a = std::fabs(wanted), g = std::fabs(got);
  if (a < least && g == 0) return 0;
  const int e = std::max(std::ilogb(a), lowest);
  const L ulp = std::ldexp(L(1), e - mantissa);
  if (std::isinf(got)) {
    const L next = largest + std::ldexp(L(1), std::ilogb(largest) - mantissa);
    return a >= largest ? static_cast<double>(std::fabs(next - a) < 3 * ulp ? std::fabs(next - a) / ulp : 0) : kWrong;
  }
  if (g == 0) return a < least * (1 + 4 * std::ldexp(L(1), -mantissa)) ? 1 : kWrong;
  if (a > largest) return static_cast<double>((a - g) / std::ldexp(L(1), std::ilogb(largest) - mantissa));
  return static_cast<double>(std::fabs(got - wanted) / ulp);
}

}  // namespace tenon::kir::testing
