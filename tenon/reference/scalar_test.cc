#include "tenon/reference/scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tenon::reference {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(ScalarTest, EveryHalfSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = DecodeF16(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(DecodeF16(EncodeF16(value)))) << bits;
    } else {
      EXPECT_EQ(EncodeF16(value), bits);
    }
  }
}

TEST(ScalarTest, HalfRoundsToNearestEven) {
  EXPECT_EQ(EncodeF16(65519.0f), 0x7bff);
  EXPECT_EQ(EncodeF16(65520.0f), 0x7c00);
  EXPECT_EQ(EncodeF16(2049.0f), EncodeF16(2048.0f));
  EXPECT_EQ(EncodeF16(2051.0f), EncodeF16(2052.0f));
  EXPECT_EQ(EncodeF16(0x1p-25f), 0);  // half of the smallest: to even
  EXPECT_EQ(EncodeF16(0x1.8p-25f), 1);
  EXPECT_EQ(EncodeF16(-0.0f), 0x8000);
}

TEST(ScalarTest, Bfloat16RoundsAndKeepsNan) {
  EXPECT_EQ(DecodeBF16(EncodeBF16(257.0f)), 256.0f);
  EXPECT_EQ(DecodeBF16(EncodeBF16(259.0f)), 260.0f);
  EXPECT_TRUE(std::isnan(DecodeBF16(EncodeBF16(std::bit_cast<float>(0x7f80ffffu)))));
  EXPECT_EQ(DecodeBF16(EncodeBF16(3.4e38f)), kInf);
}

TEST(ScalarTest, EveryTinyFloatSurvives) {
  for (DType type :
       {DType::kF8E5M2, DType::kF8E4M3, DType::kF8E3M4, DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2FNUZ,
        DType::kF8E4M3B11FNUZ, DType::kF8E8M0FNU, DType::kF6E2M3FN, DType::kF6E3M2FN, DType::kF4E2M1FN}) {
    const int codes = 1 << DTypeBits(type);
    for (int code = 0; code < codes; ++code) {
      const float value = DecodeTiny(type, static_cast<uint8_t>(code));
      if (std::isnan(value)) continue;
      EXPECT_EQ(EncodeTiny(type, value), code) << DTypeName(type) << " " << value;
    }
  }
}

TEST(ScalarTest, TinyFloatsOverflowAsTheirFormatSays) {
  const auto through = [](DType type, float v) { return DecodeTiny(type, EncodeTiny(type, v)); };
  EXPECT_EQ(through(DType::kF8E4M3FN, 448.0f), 448.0f);
  EXPECT_EQ(through(DType::kF8E4M3FN, 463.0f), 448.0f);
  EXPECT_TRUE(std::isnan(through(DType::kF8E4M3FN, 465.0f)));
  EXPECT_TRUE(std::isnan(through(DType::kF8E4M3FN, kInf)));
  EXPECT_EQ(through(DType::kF8E5M2, 1e6f), kInf);
  EXPECT_EQ(through(DType::kF8E5M2, -1e6f), -kInf);
  EXPECT_TRUE(std::isnan(through(DType::kF8E4M3FNUZ, 1e6f)));
  EXPECT_EQ(EncodeTiny(DType::kF8E4M3FNUZ, -0.0f), 0);
  EXPECT_EQ(through(DType::kF4E2M1FN, 1e6f), 6.0f);
  EXPECT_EQ(through(DType::kF4E2M1FN, -kInf), -6.0f);
  EXPECT_EQ(EncodeTiny(DType::kF4E2M1FN, kNan), 0x8);
  EXPECT_EQ(through(DType::kF4E2M1FN, 2.5f), 2.0f);  // half to the even code
  EXPECT_TRUE(std::isnan(through(DType::kF8E8M0FNU, -1.0f)));
  EXPECT_EQ(through(DType::kF8E8M0FNU, 3.0f), 4.0f);
}

TEST(ScalarTest, PowersOfTwo) {
  // As ml_dtypes has them.
  const std::pair<double, int> cases[] = {{0, 255},          {-1, 255},        {0x1p-149, 0},   {1e-40, 0},
                                          {0x1p-127, 0},     {0x1.1p-127, 1},  {0x1p-126, 1},   {0x1.8p-126, 2},
                                          {3, 129},          {6, 130},         {0x1.7fp0, 127}, {0x1p127, 254},
                                          {0x1.7fp127, 254}, {0x1.8p127, 255}, {kInf, 255},     {kNan, 255}};
  for (const auto& [value, code] : cases) {
    EXPECT_EQ(EncodeTiny(DType::kF8E8M0FNU, static_cast<float>(value)), code) << value;
    EXPECT_EQ(EncodePowerOfTwo(value), code) << value;
  }
  EXPECT_EQ(EncodePowerOfTwo(1e-300), 255);
  for (int code = 0; code < 255; ++code)
    EXPECT_EQ(EncodePowerOfTwo(DecodePowerOfTwo(static_cast<uint8_t>(code))), code);
  EXPECT_EQ(DecodePowerOfTwo(0), 0x1p-127);
}

TEST(ScalarTest, NarrowIntegersWrap) {
  EXPECT_EQ((Store<TinyInt<4, true>>(100).value), 4);
  EXPECT_EQ((Store<TinyInt<4, true>>(-9).value), 7);
  EXPECT_EQ((Store<TinyInt<2, true>>(2).value), -2);
  EXPECT_EQ((Store<TinyInt<4, false>>(17).value), 1);
}

TEST(ScalarTest, TheFloatEnvironmentFlushesAndComesBack) {
  volatile float tiny = 1e-40f;
  const uint64_t before = FloatEnvironment::Read();
  {
    FloatEnvironment flush(true);
    EXPECT_EQ(tiny * 1.0f, 0.0f);
  }
  {
    FloatEnvironment keep(false);
    EXPECT_NE(std::bit_cast<uint32_t>(tiny * 1.0f), 0u);
  }
  EXPECT_EQ(FloatEnvironment::Read(), before);
}

}  // namespace
}  // namespace tenon::reference
