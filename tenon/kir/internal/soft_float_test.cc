#include "tenon/kir/internal/soft_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace tenon::kir::internal {
namespace {

// The hardware is the oracle: it shares nothing with the integer code.
template <class F>
struct Traits;
template <>
struct Traits<float> {
  using Bits = uint32_t;
  static constexpr DType kType = DType::kF32;
  static constexpr int kMantissa = 23, kMaxExponent = 255;
};
template <>
struct Traits<double> {
  using Bits = uint64_t;
  static constexpr DType kType = DType::kF64;
  static constexpr int kMantissa = 52, kMaxExponent = 2047;
};

// Random bits, with exponents near each other and near the ends of the range more often than chance has them.
template <class F>
F RandomFloat(std::mt19937_64& random) {
  using T = Traits<F>;
  using B = typename T::Bits;
  const uint64_t r = random();
  uint64_t mantissa = r & ((uint64_t{1} << T::kMantissa) - 1);
  if (random() % 4 == 0) mantissa = 0;
  if (random() % 4 == 0) mantissa |= ((uint64_t{1} << T::kMantissa) - 1) & ~uint64_t{3};
  const uint64_t middle = T::kMaxExponent / 2;
  uint64_t exponent;
  switch (random() % 6) {
    case 0:
      exponent = random() % (T::kMaxExponent + 1);
      break;
    case 1:
      exponent = random() % 3;
      break;
    case 2:
      exponent = T::kMaxExponent - random() % 3;
      break;
    case 3:
      exponent = middle / 2 + random() % 30;
      break;
    default:
      exponent = middle - 30 + random() % 60;
      break;
  }
  const uint64_t sign = r >> 63;
  return std::bit_cast<F>(static_cast<B>(sign << (sizeof(B) * 8 - 1) | exponent << T::kMantissa | mantissa));
}

template <class F>
class SoftFloat : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(SoftFloat, Floats);

template <class F>
void ExpectSame(F wanted, uint64_t got_bits, const char* what, F a, F b, F c) {
  const F got = std::bit_cast<F>(static_cast<typename Traits<F>::Bits>(got_bits));
  if (std::isnan(wanted)) {
    ASSERT_TRUE(std::isnan(got)) << what << " " << a << " " << b << " " << c;
    return;
  }
  ASSERT_EQ(std::bit_cast<typename Traits<F>::Bits>(wanted), std::bit_cast<typename Traits<F>::Bits>(got))
      << what << std::hexfloat << " " << a << " " << b << " " << c << " wanted " << wanted << " got " << got;
}

template <class F>
void Compare(bool flush) {
  constexpr DType type = Traits<F>::kType;
  std::mt19937_64 random(flush ? 1 : 2);
  const auto bits = [](F x) { return static_cast<uint64_t>(std::bit_cast<typename Traits<F>::Bits>(x)); };
  for (int i = 0; i < 400000; ++i) {
    volatile F va = RandomFloat<F>(random), vb = RandomFloat<F>(random), vc = RandomFloat<F>(random);
    if (i % 5 == 0) vc = -va * vb;  // cancels
    const F a = va, b = vb, c = vc;
    const Real x = Decode(type, bits(a), flush), y = Decode(type, bits(b), flush), z = Decode(type, bits(c), flush);
    volatile F r;
    r = a + b;
    ExpectSame<F>(r, Encode(type, Add(x, y), flush), "add", a, b, c);
    r = a - b;
    ExpectSame<F>(r, Encode(type, Add(x, Neg(y)), flush), "sub", a, b, c);
    r = a * b;
    ExpectSame<F>(r, Encode(type, Mul(x, y), flush), "mul", a, b, c);
    r = a / b;
    ExpectSame<F>(r, Encode(type, Div(x, y), flush), "div", a, b, c);
    r = std::sqrt(a);
    ExpectSame<F>(r, Encode(type, Sqrt(x), flush), "sqrt", a, b, c);
    if (!flush) {
      // Library functions know nothing of flushing.
      r = std::fma(a, b, c);
      ExpectSame<F>(r, Encode(type, Add(Mul(x, y), z)), "fma", a, b, c);
      r = std::fmod(a, b);
      ExpectSame<F>(r, Encode(type, Rem(x, y)), "rem", a, b, c);
      r = std::floor(a);
      ExpectSame<F>(r, Encode(type, RoundToIntegral(x, RoundTo::kFloor)), "floor", a, b, c);
      r = std::ceil(a);
      ExpectSame<F>(r, Encode(type, RoundToIntegral(x, RoundTo::kCeil)), "ceil", a, b, c);
      r = std::nearbyint(a);
      ExpectSame<F>(r, Encode(type, RoundToIntegral(x, RoundTo::kEven)), "round_even", a, b, c);
      r = std::round(a);
      ExpectSame<F>(r, Encode(type, RoundToIntegral(x, RoundTo::kAway)), "round_away", a, b, c);
      r = std::trunc(a);
      ExpectSame<F>(r, Encode(type, RoundToIntegral(x, RoundTo::kTrunc)), "trunc", a, b, c);
    }
    const int order = a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
    ASSERT_EQ(order, Order(x, y)) << a << " " << b;
    if (type == DType::kF64) {
      volatile float narrow = static_cast<float>(a);
      ExpectSame<float>(narrow, Encode(DType::kF32, x, flush), "narrow", static_cast<float>(a), 0, 0);
    }
    if (std::fabs(a) < F(0x1p63)) {
      ASSERT_EQ(static_cast<uint64_t>(static_cast<int64_t>(a)), ToInt(x, 64, true)) << a;
    }
  }
}

TYPED_TEST(SoftFloat, EqualsTheHardware) { Compare<TypeParam>(false); }

#ifdef __x86_64__
TYPED_TEST(SoftFloat, EqualsTheHardwareThatFlushes) {
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040);
  Compare<TypeParam>(true);
  _mm_setcsr(saved);
}
#endif

TEST(SoftFloatFormats, NarrowCodesDecodeAsTheirDefinitionsSay) {
  const auto value = [](DType t, uint64_t bits) { return std::bit_cast<double>(Encode(DType::kF64, Decode(t, bits))); };
  EXPECT_EQ(value(DType::kF16, 0x7bff), 65504);
  EXPECT_EQ(value(DType::kF16, 0x0001), 0x1p-24);
  EXPECT_EQ(value(DType::kBF16, 0x3fc0), 1.5);
  EXPECT_EQ(value(DType::kF8E4M3FN, 0x7e), 448);
  EXPECT_TRUE(std::isnan(value(DType::kF8E4M3FN, 0x7f)));
  EXPECT_EQ(value(DType::kF8E5M2, 0x7b), 57344);
  EXPECT_EQ(value(DType::kF8E5M2, 0xfc), -INFINITY);
  EXPECT_EQ(value(DType::kF8E4M3FNUZ, 0x7f), 240);
  EXPECT_TRUE(std::isnan(value(DType::kF8E4M3FNUZ, 0x80)));
  EXPECT_EQ(value(DType::kF8E5M2FNUZ, 0x7f), 57344);
  EXPECT_EQ(value(DType::kF8E4M3B11FNUZ, 0x7f), 30);
  EXPECT_EQ(value(DType::kF8E4M3, 0x77), 240);
  EXPECT_EQ(value(DType::kF8E3M4, 0x6f), 15.5);
  EXPECT_EQ(value(DType::kF8E8M0FNU, 0x7f), 1);
  EXPECT_EQ(value(DType::kF4E2M1FN, 0x7), 6);
  EXPECT_EQ(value(DType::kF4E2M1FN, 0x9), -0.5);
  EXPECT_EQ(value(DType::kF6E2M3FN, 0x1f), 7.5);
  EXPECT_EQ(value(DType::kF6E3M2FN, 0x1f), 28);
}

TEST(SoftFloatFormats, OverflowFollowsTheFormat) {
  const auto code = [](DType t, double v) { return Encode(t, Decode(DType::kF64, std::bit_cast<uint64_t>(v))); };
  EXPECT_EQ(code(DType::kF16, 65519.99), 0x7bffu);
  EXPECT_EQ(code(DType::kF16, 65520), 0x7c00u);
  EXPECT_EQ(code(DType::kF8E4M3FN, 464), 0x7eu);
  EXPECT_EQ(code(DType::kF8E4M3FN, 465), 0x7fu);
  EXPECT_EQ(code(DType::kF8E4M3FN, -INFINITY), 0xffu);
  EXPECT_EQ(code(DType::kF8E5M2, 1e6), 0x7cu);
  EXPECT_EQ(code(DType::kF8E4M3FNUZ, 1e6), 0x80u);
  EXPECT_EQ(code(DType::kF8E4M3FNUZ, -0.0), 0u);
  EXPECT_EQ(code(DType::kF4E2M1FN, -1e6), 0xfu);
  EXPECT_EQ(code(DType::kF8E8M0FNU, -1.0), 0xffu);
  EXPECT_EQ(code(DType::kF8E8M0FNU, 4.0), 0x81u);
  EXPECT_EQ(code(DType::kF8E8M0FNU, 6.0), 0x82u);
  EXPECT_EQ(code(DType::kF8E8M0FNU, 3.0), 0x81u);
  EXPECT_EQ(code(DType::kF8E8M0FNU, 0x1.8p127), 0xffu);
  EXPECT_EQ(code(DType::kF8E8M0FNU, 0x1.8p-126), 2u);
  EXPECT_EQ(code(DType::kF8E8M0FNU, 0x1.1p-127), 1u);
  EXPECT_EQ(code(DType::kF8E8M0FNU, 0x1p-127), 0u);
  EXPECT_EQ(code(DType::kF8E8M0FNU, 0x1p-149), 0u);
  EXPECT_EQ(code(DType::kF8E8M0FNU, 0x1p-150), 0xffu);
  EXPECT_EQ(code(DType::kF8E8M0FNU, 0), 0xffu);
}

TEST(SoftFloatFormats, EveryNarrowCodeSurvivesTheRoundTrip) {
  for (DType t : {DType::kF16, DType::kBF16, DType::kF8E5M2, DType::kF8E4M3FN, DType::kF8E4M3B11FNUZ,
                  DType::kF8E5M2FNUZ, DType::kF8E4M3FNUZ, DType::kF8E4M3, DType::kF8E3M4, DType::kF8E8M0FNU,
                  DType::kF4E2M1FN, DType::kF6E2M3FN, DType::kF6E3M2FN}) {
    for (uint64_t code = 0; code < uint64_t{1} << DTypeBits(t); ++code) {
      const Real v = Decode(t, code);
      if (v.is_nan()) continue;
      ASSERT_EQ(Encode(t, v), code) << DTypeName(t);
      ASSERT_EQ(Encode(t, Decode(DType::kF32, Encode(DType::kF32, v))), code) << DTypeName(t);
    }
  }
}

TEST(SoftFloatIntegers, Saturate) {
  const auto to = [](double v, int bits, bool is_signed) {
    return ToInt(Decode(DType::kF64, std::bit_cast<uint64_t>(v)), bits, is_signed);
  };
  EXPECT_EQ(to(100, 4, true), 7u);
  EXPECT_EQ(to(-100, 4, true), 8u);
  EXPECT_EQ(to(-1.9, 8, true), 0xffu);
  EXPECT_EQ(to(-0.9, 8, true), 0u);
  EXPECT_EQ(to(-5, 8, false), 0u);
  EXPECT_EQ(to(1e30, 64, false), ~uint64_t{0});
  EXPECT_EQ(to(-INFINITY, 32, true), 0x80000000u);
  EXPECT_EQ(to(NAN, 32, true), 0u);
}

}  // namespace
}  // namespace tenon::kir::internal
