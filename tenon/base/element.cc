#include "tenon/base/element.h"

#include <cmath>
#include <limits>

namespace tenon::internal {
namespace {
// To the nearest integer, ties to even, whatever the rounding mode of the thread is. Exact for what a mantissa can
// hold.
double RoundToEven(double x) {
  const double low = std::floor(x);
  const double rest = x - low;
  if (rest != 0.5) return rest < 0.5 ? low : low + 1;
  return std::fmod(low, 2) == 0 ? low : low + 1;
}
}  // namespace

uint16_t EncodeSmallFloat(double value, int exponent_bits, int mantissa_bits, int bias, FloatEnds ends) {
  const uint32_t sign = std::signbit(value) ? 1u << (exponent_bits + mantissa_bits) : 0;
  const uint32_t all_ones = (1u << (exponent_bits + mantissa_bits)) - 1;
  const uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  const uint32_t negative_zero = all_ones + 1;
  const auto overflow = [&]() -> uint32_t {
    switch (ends) {
      case FloatEnds::kIeee:
        return sign | infinity;
      case FloatEnds::kFn:
        return sign | all_ones;
      case FloatEnds::kFnuz:
        return negative_zero;
      case FloatEnds::kFinite:
        return sign | all_ones;
    }
    return 0;
  };
  if (std::isnan(value)) {
    switch (ends) {
      case FloatEnds::kIeee:
        return static_cast<uint16_t>(sign | infinity | (1u << (mantissa_bits - 1)));
      case FloatEnds::kFn:
        return static_cast<uint16_t>(sign | all_ones);
      case FloatEnds::kFnuz:
        return static_cast<uint16_t>(negative_zero);
      case FloatEnds::kFinite:
        return static_cast<uint16_t>(negative_zero);
    }
  }
  const double a = std::fabs(value);
  if (std::isinf(a)) return static_cast<uint16_t>(overflow());
  if (a == 0) return static_cast<uint16_t>(ends == FloatEnds::kFnuz ? 0 : sign);
  int exponent = std::ilogb(a);
  if (exponent < 1 - bias) exponent = 1 - bias;  // below: subnormal, with the quantum of the smallest normal
  if (exponent > 1024 - mantissa_bits) return static_cast<uint16_t>(overflow());
  const auto quanta = static_cast<uint64_t>(RoundToEven(std::ldexp(a, mantissa_bits - exponent)));
  // Adding instead of joining the fields lets a carry out of the mantissa reach the exponent; subnormals lack the
  // implicit one, which is what makes their exponent field 0.
  const int64_t field = exponent + bias - 1;
  const uint64_t code = (static_cast<uint64_t>(field) << mantissa_bits) + quanta;
  const uint64_t max_code = ends == FloatEnds::kIeee ? infinity - 1 : ends == FloatEnds::kFn ? all_ones - 1 : all_ones;
  if (code > max_code) return static_cast<uint16_t>(overflow());
  if (code == 0 && ends == FloatEnds::kFnuz) return 0;
  return static_cast<uint16_t>(sign | code);
}

double DecodeSmallFloat(uint16_t bits, int exponent_bits, int mantissa_bits, int bias, FloatEnds ends) {
  const uint32_t all_ones = (1u << (exponent_bits + mantissa_bits)) - 1;
  const uint32_t magnitude = bits & all_ones;
  const bool negative = ((bits >> (exponent_bits + mantissa_bits)) & 1) != 0;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (ends == FloatEnds::kFnuz && negative && magnitude == 0) return nan;
  if (ends == FloatEnds::kFn && magnitude == all_ones) return nan;
  const int field = static_cast<int>(magnitude >> mantissa_bits);
  const uint32_t mantissa = magnitude & ((1u << mantissa_bits) - 1);
  double value;
  if (ends == FloatEnds::kIeee && field == (1 << exponent_bits) - 1) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity() : nan;
  } else if (field == 0) {
    value = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    value = std::ldexp(mantissa + (1u << mantissa_bits), field - bias - mantissa_bits);
  }
  return negative ? -value : value;
}

uint8_t EncodeE8M0(double value) {
  if (!(value > 0x1p-150) || std::isinf(value)) return 255;
  if (value < 0x1p-126) return value > 0x1p-127 ? 1 : 0;
  int exponent = std::ilogb(value);
  if (std::ldexp(value, -exponent) >= 1.5) ++exponent;
  return static_cast<uint8_t>(exponent > 127 ? 255 : exponent + 127);
}

double DecodeE8M0(uint8_t bits) {
  return bits == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
}

}  // namespace tenon::internal
