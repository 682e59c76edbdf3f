#include "tenon/base/sub_byte.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tenon {
namespace {

TEST(SubByte, TheFirstElementIsInTheLowestBits) {
  const std::array<uint8_t, 3> fours = {0x1, 0xf, 0xa};
  std::array<uint8_t, 2> packed = {0xff, 0xff};
  ASSERT_EQ(PackedBytes(DType::kU4, fours.size()), packed.size());
  Pack(DType::kU4, fours.data(), fours.size(), packed.data());
  EXPECT_EQ(packed, (std::array<uint8_t, 2>{0xf1, 0x0a}));
  const std::array<uint8_t, 5> twos = {3, 0, 1, 2, 1};
  Pack(DType::kU2, twos.data(), twos.size(), packed.data());
  EXPECT_EQ(packed, (std::array<uint8_t, 2>{0b10'01'00'11, 0b01}));
}

TEST(SubByte, SignsComeBack) {
  for (const DType type : {DType::kS4, DType::kU4, DType::kS2, DType::kU2, DType::kF4E2M1FN}) {
    ASSERT_TRUE(IsSubByte(type));
    const int bits = DTypeBits(type);
    std::vector<uint8_t> elements, packed, back;
    for (int i = 0; i < (1 << bits) + 1; ++i) {
      const int value = i % (1 << bits);
      const bool negative = IsSigned(type) && value >= 1 << (bits - 1);
      elements.push_back(static_cast<uint8_t>(negative ? value - (1 << bits) : value));
    }
    packed.resize(PackedBytes(type, elements.size()));
    back.resize(elements.size());
    Pack(type, elements.data(), elements.size(), packed.data());
    Unpack(type, packed.data(), elements.size(), back.data());
    EXPECT_EQ(back, elements) << DTypeName(type);
  }
}

TEST(SubByte, OthersAreNot) {
  for (const DType type : {DType::kPred, DType::kS8, DType::kF8E5M2, DType::kF32, DType::kToken, DType::kInvalid})
    EXPECT_FALSE(IsSubByte(type)) << static_cast<int>(type);
}

}  // namespace
}  // namespace tenon
