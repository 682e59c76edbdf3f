#include "tenon/kir/internal/soft_float.h"

#include <algorithm>

namespace tenon::kir::internal {
namespace {

enum class Style : uint8_t {
  kIeee,         // infinities and NaNs in the last exponent
  kFinite,       // "FN": one NaN per sign (all ones), no infinity
  kOneNan,       // "FNUZ": the code of -0 is the only NaN
  kNumbersOnly,  // neither; out of range saturates
  kPowersOfTwo,  // f8e8m0fnu
};

struct Format {
  int bits;
  int mantissa_bits;
  int bias;
  Style style;
};

Format FormatOf(DType type) {
  switch (type) {
    case DType::kF64:
      return {64, 52, 1023, Style::kIeee};
    case DType::kF32:
      return {32, 23, 127, Style::kIeee};
    case DType::kF16:
      return {16, 10, 15, Style::kIeee};
    case DType::kBF16:
      return {16, 7, 127, Style::kIeee};
    case DType::kF8E5M2:
      return {8, 2, 15, Style::kIeee};
    case DType::kF8E4M3:
      return {8, 3, 7, Style::kIeee};
    case DType::kF8E3M4:
      return {8, 4, 3, Style::kIeee};
    case DType::kF8E4M3FN:
      return {8, 3, 7, Style::kFinite};
    case DType::kF8E5M2FNUZ:
      return {8, 2, 16, Style::kOneNan};
    case DType::kF8E4M3FNUZ:
      return {8, 3, 8, Style::kOneNan};
    case DType::kF8E4M3B11FNUZ:
      return {8, 3, 11, Style::kOneNan};
    case DType::kF8E8M0FNU:
      return {8, 0, 127, Style::kPowersOfTwo};
    case DType::kF4E2M1FN:
      return {4, 1, 1, Style::kNumbersOnly};
    case DType::kF6E2M3FN:
      return {6, 3, 1, Style::kNumbersOnly};
    default:
      return {6, 2, 3, Style::kNumbersOnly};  // kF6E3M2FN
  }
}

bool Flushes(DType type) { return type == DType::kF32 || type == DType::kF64; }

// The largest code (without the sign bit) of a finite value.
uint64_t MaxCode(const Format& f) {
  const uint64_t all = (uint64_t{1} << (f.bits - 1)) - 1;
  switch (f.style) {
    case Style::kIeee:
      return (all >> f.mantissa_bits << f.mantissa_bits) - 1;
    case Style::kFinite:
      return all - 1;
    case Style::kPowersOfTwo:
      return 0xfe;
    default:
      return all;
  }
}

uint64_t NanCode(const Format& f) {
  switch (f.style) {
    case Style::kIeee:
      return MaxCode(f) + 1 + (uint64_t{1} << (f.mantissa_bits - 1));
    case Style::kFinite:
      return MaxCode(f) + 1;
    case Style::kOneNan:
      return uint64_t{1} << (f.bits - 1);
    case Style::kPowersOfTwo:
      return 0xff;
    default:
      return uint64_t{1} << (f.bits - 1);  // there is none: -0
  }
}

int TopBit(Wide m) {
  const auto high = static_cast<uint64_t>(m >> 64);
  return high != 0 ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll(static_cast<uint64_t>(m));
}

// m / 2^n with everything lost kept as a one in the lowest bit.
Wide ShiftRightJam(Wide m, int n) {
  if (n <= 0) return m;
  if (n > 127) return m != 0;
  return m >> n | static_cast<Wide>((m & ((Wide{1} << n) - 1)) != 0);
}

// m / 2^n to nearest, ties to even.
Wide ShiftRightRound(Wide m, int n) {
  if (n <= 0) return m << -n;
  if (n > 127) return 0;
  const Wide kept = m >> n;
  const Wide lost = m & ((Wide{1} << n) - 1);
  const Wide half = Wide{1} << (n - 1);
  return kept + (lost > half || (lost == half && (kept & 1)));
}

Real Nan() { return {Real::kNan, false, 0, 0}; }
Real Infinity(bool negative) { return {Real::kInfinite, negative, 0, 0}; }
Real Zero(bool negative) { return {Real::kFinite, negative, 0, 0}; }

// The same value with the top bit of the mantissa at `top`.
Real Normalized(Real a, int top) {
  const int shift = top - TopBit(a.mantissa);
  a.mantissa = shift >= 0 ? a.mantissa << shift : ShiftRightJam(a.mantissa, -shift);
  a.exponent -= shift;
  return a;
}

uint64_t Sign(const Format& f, bool negative) { return static_cast<uint64_t>(negative) << (f.bits - 1); }

// Halves go up; what a float has no other number for than zero becomes NaN, as zero does; what lies between the two
// smallest powers becomes the greater.
uint64_t EncodePowerOfTwo(const Real& v) {
  if (v.kind != Real::kFinite || v.negative || v.is_zero()) return 0xff;
  const int e = TopBit(v.mantissa) + v.exponent;
  const Real n = Normalized(v, 100);
  const bool is_power = n.mantissa == (Wide{1} << 100);
  if (e < -150 || (e == -150 && is_power)) return 0xff;
  if (e < -126) return e == -127 && !is_power ? 1 : 0;
  const int rounded = e + (n.mantissa >= (Wide{3} << 99) ? 1 : 0);
  return rounded > 127 ? 0xff : static_cast<uint64_t>(rounded + 127);
}

}  // namespace

int MantissaBits(DType type) { return FormatOf(type).mantissa_bits; }

Real Decode(DType type, uint64_t bits, bool flush) {
  const Format f = FormatOf(type);
  if (f.style == Style::kPowersOfTwo) {
    if (bits == 0xff) return Nan();
    return {Real::kFinite, false, static_cast<int>(bits) - 127, 1};
  }
  const bool negative = bits >> (f.bits - 1) & 1;
  const uint64_t code = bits & ((uint64_t{1} << (f.bits - 1)) - 1);
  if (f.style == Style::kOneNan && negative && code == 0) return Nan();
  if (code > MaxCode(f)) return f.style == Style::kIeee && code == MaxCode(f) + 1 ? Infinity(negative) : Nan();
  const uint64_t fraction = code & ((uint64_t{1} << f.mantissa_bits) - 1);
  const int biased = static_cast<int>(code >> f.mantissa_bits);
  if (biased == 0) {
    if (fraction == 0 || (flush && Flushes(type))) return Zero(negative);
    return {Real::kFinite, negative, 1 - f.bias - f.mantissa_bits, fraction};
  }
  return {Real::kFinite, negative, biased - f.bias - f.mantissa_bits, fraction | uint64_t{1} << f.mantissa_bits};
}

uint64_t Encode(DType type, const Real& v, bool flush) {
  const Format f = FormatOf(type);
  if (f.style == Style::kPowersOfTwo) return EncodePowerOfTwo(v);
  const uint64_t sign = Sign(f, v.negative);
  const uint64_t zero = f.style == Style::kOneNan ? 0 : sign;
  uint64_t overflow = NanCode(f);
  if (f.style == Style::kIeee) overflow = sign | (MaxCode(f) + 1);
  if (f.style == Style::kFinite) overflow = sign | NanCode(f);
  if (f.style == Style::kNumbersOnly) overflow = sign | MaxCode(f);
  if (v.is_nan()) return NanCode(f);
  if (v.kind == Real::kInfinite) return overflow;
  if (v.is_zero()) return zero;

  const int lowest = 1 - f.bias;                  // exponent of the smallest normal value
  const int e = TopBit(v.mantissa) + v.exponent;  // 2^e <= |v| < 2^(e+1)
  if (flush && Flushes(type) && e < lowest) {
    const int shift = e - f.mantissa_bits - v.exponent;
    const Wide rounded = ShiftRightRound(v.mantissa, shift);
    if (e < lowest - 1 || rounded >> (f.mantissa_bits + 1) == 0) return zero;
  }
  int unit = std::max(e, lowest) - f.mantissa_bits;  // exponent of the last place
  Wide m = ShiftRightRound(v.mantissa, unit - v.exponent);
  if (m >> (f.mantissa_bits + 1) != 0) {
    m >>= 1;
    ++unit;
  }
  if (m == 0) return zero;
  if (unit + f.mantissa_bits > f.bias + 1) return overflow;  // keeps the code below from wrapping
  const auto significand = static_cast<uint64_t>(m);
  const bool normal = significand >> f.mantissa_bits != 0;
  const uint64_t code = normal ? (static_cast<uint64_t>(unit + f.mantissa_bits + f.bias) << f.mantissa_bits) +
                                     (significand - (uint64_t{1} << f.mantissa_bits))
                               : significand;
  return code > MaxCode(f) ? overflow : sign | code;
}

uint64_t FlushBits(DType type, uint64_t bits) {
  if (!Flushes(type)) return bits;
  const uint64_t sign = uint64_t{1} << (DTypeBits(type) - 1);
  return (bits & ~sign) >> MantissaBits(type) == 0 ? bits & sign : bits;
}

Real FromInt(int64_t value) {
  const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  return {Real::kFinite, value < 0, 0, magnitude};
}

Real FromUint(uint64_t value) { return {Real::kFinite, false, 0, value}; }

uint64_t ToInt(const Real& v, int bits, bool is_signed) {
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t max = is_signed ? mask >> 1 : mask;
  const uint64_t min_magnitude = is_signed ? max + 1 : 0;
  const uint64_t limit = v.negative ? min_magnitude : max;
  uint64_t magnitude = limit;
  if (v.is_nan()) return 0;
  if (v.is_zero()) return 0;
  if (v.kind == Real::kFinite) {
    const int e = TopBit(v.mantissa) + v.exponent;
    if (e < 0) return 0;
    if (e < 64) {
      const Wide whole = v.exponent >= 0 ? v.mantissa << v.exponent : v.mantissa >> -v.exponent;
      magnitude = static_cast<uint64_t>(std::min<Wide>(whole, limit));
    }
  }
  return (v.negative ? 0 - magnitude : magnitude) & mask;
}

Real Neg(Real a) {
  a.negative = !a.negative;
  return a;
}

Real Add(const Real& a, const Real& b) {
  if (a.is_nan() || b.is_nan()) return Nan();
  if (a.kind == Real::kInfinite) return b.kind == Real::kInfinite && a.negative != b.negative ? Nan() : a;
  if (b.kind == Real::kInfinite) return b;
  if (a.is_zero() && b.is_zero()) return Zero(a.negative && b.negative);
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  // Both tops at bit 125: sums fit, and what shifts out of the smaller one is far below the rounding position.
  Real x = Normalized(a, 125);
  Real y = Normalized(b, 125);
  if (x.exponent < y.exponent) std::swap(x, y);
  y.mantissa = ShiftRightJam(y.mantissa, x.exponent - y.exponent);
  Real sum = {Real::kFinite, x.negative, x.exponent, 0};
  if (x.negative == y.negative) {
    sum.mantissa = x.mantissa + y.mantissa;
  } else if (x.mantissa >= y.mantissa) {
    sum.mantissa = x.mantissa - y.mantissa;
  } else {
    sum.mantissa = y.mantissa - x.mantissa;
    sum.negative = y.negative;
  }
  return sum.mantissa == 0 ? Zero(false) : sum;
}

Real Mul(const Real& a, const Real& b) {
  const bool negative = a.negative != b.negative;
  if (a.is_nan() || b.is_nan()) return Nan();
  if (a.kind == Real::kInfinite || b.kind == Real::kInfinite) {
    return a.is_zero() || b.is_zero() ? Nan() : Infinity(negative);
  }
  return {Real::kFinite, negative, a.exponent + b.exponent, a.mantissa * b.mantissa};
}

Real Div(const Real& a, const Real& b) {
  const bool negative = a.negative != b.negative;
  if (a.is_nan() || b.is_nan()) return Nan();
  if (a.kind == Real::kInfinite) return b.kind == Real::kInfinite ? Nan() : Infinity(negative);
  if (b.kind == Real::kInfinite) return Zero(negative);
  if (b.is_zero()) return a.is_zero() ? Nan() : Infinity(negative);
  if (a.is_zero()) return Zero(negative);
  const Real x = Normalized(a, 127);
  const Real y = Normalized(b, 60);
  const Wide quotient = x.mantissa / y.mantissa;  // 67 bits or more
  return {Real::kFinite, negative, x.exponent - y.exponent, quotient | static_cast<Wide>(x.mantissa % y.mantissa != 0)};
}

Real Rem(const Real& a, const Real& b) {
  if (a.is_nan() || b.is_nan() || a.kind == Real::kInfinite || b.is_zero()) return Nan();
  if (b.kind == Real::kInfinite || a.is_zero()) return a;
  const Real x = Normalized(a, 63);
  const Real y = Normalized(b, 63);
  if (x.exponent < y.exponent) return a;
  Wide r = x.mantissa % y.mantissa;
  for (int e = x.exponent; e > y.exponent && r != 0; --e) r = (r << 1) % y.mantissa;
  return {Real::kFinite, a.negative, y.exponent, r};
}

Real Sqrt(const Real& a) {
  if (a.is_nan() || a.is_zero()) return a;
  if (a.negative) return Nan();
  if (a.kind == Real::kInfinite) return a;
  Real x = Normalized(a, 125);
  if (x.exponent & 1) {
    x.mantissa >>= 1;  // exact: the top is at 125 and no input has so many bits
    ++x.exponent;
  }
  Wide root = 0;
  Wide rest = x.mantissa;
  for (Wide bit = Wide{1} << 124; bit != 0; bit >>= 2) {
    if (rest >= root + bit) {
      rest -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return {Real::kFinite, false, x.exponent / 2 - 1, root << 1 | static_cast<Wide>(rest != 0)};
}

int Order(const Real& a, const Real& b) {
  if (a.is_nan() || b.is_nan()) return 2;
  if (a.is_zero() && b.is_zero()) return 0;
  if (a.kind == Real::kInfinite && b.kind == Real::kInfinite && a.negative == b.negative) return 0;
  const Real difference = Add(a, Neg(b));
  if (difference.is_zero()) return 0;
  return difference.negative ? -1 : 1;
}

Real RoundToIntegral(const Real& a, RoundTo how) {
  if (a.kind != Real::kFinite || a.exponent >= 0) return a;
  const int n = std::min(-a.exponent, 127);
  const Wide whole = a.mantissa >> n;
  const Wide lost = a.mantissa & ((Wide{1} << n) - 1);
  const Wide half = Wide{1} << (n - 1);
  bool up = false;  // away from zero
  switch (how) {
    case RoundTo::kFloor:
      up = a.negative && lost != 0;
      break;
    case RoundTo::kCeil:
      up = !a.negative && lost != 0;
      break;
    case RoundTo::kEven:
      up = lost > half || (lost == half && (whole & 1));
      break;
    case RoundTo::kAway:
      up = lost >= half;
      break;
    case RoundTo::kTrunc:
      break;
  }
  if (-a.exponent > 127) up = up && (how == RoundTo::kFloor || how == RoundTo::kCeil);
  return {Real::kFinite, a.negative, 0, whole + up};
}

}  // namespace tenon::kir::internal
