#include "tenon/reference/scalar.h"

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tenon::reference {
namespace {

// What a float of at most 8 bits does beyond its finite values.
struct TinyFormat {
  int bits, mantissa_bits, bias;
  int max_code;        // the largest finite value, sign bit clear
  int inf_code;        // -1: no infinity
  int nan_code;        // what NaN becomes, sign bit clear (or the only NaN)
  int overflow_code;   // what too large values become
  bool unsigned_zero;  // "FNUZ": minus zero does not exist, its code is NaN
};

TinyFormat FormatOf(DType type) {
  switch (type) {
    case DType::kF8E5M2:
      return {8, 2, 15, 0x7b, 0x7c, 0x7e, 0x7c, false};
    case DType::kF8E4M3:
      return {8, 3, 7, 0x77, 0x78, 0x7c, 0x78, false};
    case DType::kF8E3M4:
      return {8, 4, 3, 0x6f, 0x70, 0x78, 0x70, false};
    case DType::kF8E4M3FN:
      return {8, 3, 7, 0x7e, -1, 0x7f, 0x7f, false};
    case DType::kF8E4M3FNUZ:
      return {8, 3, 8, 0x7f, -1, 0x80, 0x80, true};
    case DType::kF8E5M2FNUZ:
      return {8, 2, 16, 0x7f, -1, 0x80, 0x80, true};
    case DType::kF8E4M3B11FNUZ:
      return {8, 3, 11, 0x7f, -1, 0x80, 0x80, true};
    case DType::kF6E2M3FN:
      return {6, 3, 1, 0x1f, -1, -1, 0x1f, false};
    case DType::kF6E3M2FN:
      return {6, 2, 3, 0x1f, -1, -1, 0x1f, false};
    case DType::kF4E2M1FN:
      return {4, 1, 1, 0x7, -1, -1, 0x7, false};
    default:
      TENON_CHECK(false);
      return {};
  }
}

// The value that a finite code without its sign bit stands for.
double Magnitude(const TinyFormat& f, int code) {
  const int exponent = code >> f.mantissa_bits;
  const int mantissa = code & ((1 << f.mantissa_bits) - 1);
  if (exponent == 0) return std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  return std::ldexp((1 << f.mantissa_bits) + mantissa, exponent - f.bias - f.mantissa_bits);
}

struct TinyTable {
  TinyFormat format;
  std::array<float, 256> decoded;
  // magnitudes[c] = value of code c, up to one code beyond the largest finite value, as if the format went on.
  std::vector<double> magnitudes;
};

TinyTable MakeTable(DType type) {
  TinyTable t;
  t.format = FormatOf(type);
  const TinyFormat& f = t.format;
  const int sign = 1 << (f.bits - 1);
  for (int code = 0; code < 256; ++code) {
    const int bits = code & (2 * sign - 1);
    const int magnitude = bits & (sign - 1);
    const bool negative = (bits & sign) != 0;
    float v;
    if (f.unsigned_zero && bits == sign) {
      v = std::numeric_limits<float>::quiet_NaN();
    } else if (magnitude <= f.max_code) {
      v = static_cast<float>(Magnitude(f, magnitude));
    } else if (magnitude == f.inf_code) {
      v = std::numeric_limits<float>::infinity();
    } else {
      v = std::numeric_limits<float>::quiet_NaN();
    }
    t.decoded[static_cast<size_t>(code)] = negative ? -v : v;
  }
  for (int code = 0; code <= f.max_code + 1; ++code) t.magnitudes.push_back(Magnitude(f, code));
  return t;
}

const TinyTable& TableOf(DType type) {
  static const auto* tables = [] {
    auto* all = new std::array<TinyTable, kNumDTypes>();
    for (DType t : {DType::kF8E5M2, DType::kF8E4M3, DType::kF8E3M4, DType::kF8E4M3FN, DType::kF8E4M3FNUZ,
                    DType::kF8E5M2FNUZ, DType::kF8E4M3B11FNUZ, DType::kF6E2M3FN, DType::kF6E3M2FN, DType::kF4E2M1FN}) {
      (*all)[static_cast<size_t>(t)] = MakeTable(t);
    }
    return all;
  }();
  return (*tables)[static_cast<size_t>(type)];
}

// f8E8M0FNU: the biased exponent of a power of two; no sign, no zero; 0xff is NaN.
float DecodeE8M0(uint8_t bits) {
  if (bits == 0xff) return std::numeric_limits<float>::quiet_NaN();
  return bits == 0 ? std::bit_cast<float>(0x00400000u) : std::bit_cast<float>(static_cast<uint32_t>(bits) << 23);
}

// Halves go up. Of what lies below the powers of two all that a float has is the smallest one, and all between the two
// smallest ones, which floats have with fewer digits, is the greater.
uint8_t EncodeE8M0(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits >> 31) != 0 || (bits >> 23) == 0xff || bits == 0) return 0xff;
  const uint32_t exponent = bits >> 23;
  const uint32_t mantissa = bits & 0x7fffff;
  if (exponent == 0) return mantissa > 0x400000 ? 1 : 0;
  const bool up = mantissa >= 0x400000;
  return static_cast<uint8_t>(exponent + (up ? 1 : 0));
}

}  // namespace

double DecodePowerOfTwo(uint8_t bits) {
  return bits == 0xff ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
}

uint8_t EncodePowerOfTwo(double value) {
  if (!(value > 0x1p-150) || value > 0x1p128) return 0xff;  // A float would be zero, or none.
  if (value < 0x1p-126) return value > 0x1p-127 ? 1 : 0;
  const auto bits = std::bit_cast<uint64_t>(value) + (uint64_t{1} << 51);
  return static_cast<uint8_t>((bits >> 52) - 1023 + 127);
}

float DecodeTiny(DType type, uint8_t bits) {
  return type == DType::kF8E8M0FNU ? DecodeE8M0(bits) : TableOf(type).decoded[bits];
}

uint8_t EncodeTiny(DType type, float value) {
  if (type == DType::kF8E8M0FNU) return EncodeE8M0(value);
  const TinyTable& t = TableOf(type);
  const TinyFormat& f = t.format;
  const int sign = std::signbit(value) ? 1 << (f.bits - 1) : 0;
  if (std::isnan(value)) {
    if (f.nan_code < 0) return static_cast<uint8_t>(1 << (f.bits - 1));  // no NaN: minus zero
    return static_cast<uint8_t>(f.unsigned_zero ? f.nan_code : f.nan_code | sign);
  }
  const double magnitude = std::fabs(static_cast<double>(value));
  int code = 0;
  if (magnitude >= t.magnitudes.back()) {
    code = f.max_code + 1;
  } else {
    while (t.magnitudes[static_cast<size_t>(code) + 1] <= magnitude) ++code;
    const double below = magnitude - t.magnitudes[static_cast<size_t>(code)];
    const double above = t.magnitudes[static_cast<size_t>(code) + 1] - magnitude;
    if (above < below || (above == below && (code & 1) != 0)) ++code;
  }
  if (code > f.max_code) code = f.overflow_code;
  if (f.unsigned_zero && (code == 0 || code == f.nan_code)) return static_cast<uint8_t>(code);
  return static_cast<uint8_t>(code | sign);
}

float DecodeF16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits >> 15) << 31;
  const uint32_t exponent = (bits >> 10) & 0x1f;
  const uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t EncodeF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 31 << 15);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00);  // 65520 and above
  if (magnitude < 0x38800000u) {                                              // below 2^-14: multiples of 2^-24
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24f;
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(scaled)));
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
}

float DecodeBF16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t EncodeBF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40);  // a NaN stays one
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

#if defined(__x86_64__)
namespace {
constexpr uint64_t kFlushBits = 0x8040;     // flush to zero, denormals are zero
constexpr uint64_t kRoundingBits = 0x6000;  // clear: nearest even
constexpr uint64_t kMasks = 0x1f80;         // no exception traps
}  // namespace
uint64_t FloatEnvironment::Read() { return _mm_getcsr(); }
void FloatEnvironment::Write(uint64_t environment) { _mm_setcsr(static_cast<unsigned>(environment)); }
FloatEnvironment::FloatEnvironment(bool flush_denormals) : saved_(Read()) {
  Write((saved_ & ~(kFlushBits | kRoundingBits)) | kMasks | (flush_denormals ? kFlushBits : 0));
}
#elif defined(__aarch64__)
uint64_t FloatEnvironment::Read() {
  uint64_t v;
  asm volatile("mrs %0, fpcr" : "=r"(v));
  return v;
}
void FloatEnvironment::Write(uint64_t environment) { asm volatile("msr fpcr, %0" : : "r"(environment)); }
FloatEnvironment::FloatEnvironment(bool flush_denormals) : saved_(Read()) {
  constexpr uint64_t kFlush = uint64_t{1} << 24, kRounding = uint64_t{3} << 22;
  Write((saved_ & ~(kFlush | kRounding)) | (flush_denormals ? kFlush : 0));
}
#else
#error "say how this processor flushes subnormals"
#endif
FloatEnvironment::~FloatEnvironment() { Write(saved_); }

}  // namespace tenon::reference
