#include "tenon/base/neutral.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/base/float_bits.h"

namespace tenon {
namespace {

bool Meets(DType type) { return IsFloat(type) || IsInteger(type) || type == DType::kPred; }

// All types of at most 16 bits, with all their numbers.
template <class F>
void ForEachNumber(const F& f) {
  for (int t = 1; t < kNumDTypes; ++t) {
    const auto type = static_cast<DType>(t);
    if (!Meets(type) || DTypeBits(type) > 16) continue;
    SCOPED_TRACE(DTypeName(type));
    const uint64_t codes = type == DType::kPred ? 2 : uint64_t{1} << DTypeBits(type);
    for (uint64_t bits = 0; bits < codes; ++bits) {
      double value = static_cast<double>(bits);
      if (IsFloat(type)) value = FloatFromBits(type, bits);
      if (IsSigned(type) && bits >= codes / 2) value -= static_cast<double>(codes);
      if (!std::isnan(value)) f(type, bits, value);
    }
  }
}

double ValueOf(DType type, uint64_t bits) {
  if (IsFloat(type)) return FloatFromBits(type, bits);
  const bool negative = IsSigned(type) && (bits >> (DTypeBits(type) - 1)) != 0;
  return static_cast<double>(bits) - (negative ? std::ldexp(1.0, DTypeBits(type)) : 0);
}

TEST(Neutral, ExtremesAreExtreme) {
  ForEachNumber([](DType type, uint64_t, double value) {
    EXPECT_LE(ValueOf(type, LowestBits(type)), value);
    EXPECT_GE(ValueOf(type, HighestBits(type)), value);
  });
  EXPECT_EQ(HighestBits(DType::kF8E8M0FNU), 0xfeu);
  EXPECT_EQ(LowestBits(DType::kF8E8M0FNU), 0u);
  EXPECT_EQ(HighestBits(DType::kF8E4M3FN), 0x7eu);
  EXPECT_EQ(LowestBits(DType::kF4E2M1FN), 0xfu);
  EXPECT_EQ(LowestBits(DType::kS64), 0x8000000000000000u);
  EXPECT_EQ(HighestBits(DType::kU64), ~uint64_t{0});
  EXPECT_EQ(HighestBits(DType::kF64), 0x7ff0000000000000u);
}

TEST(Neutral, ChangesNoNumber) {
  ForEachNumber([](DType type, uint64_t bits, double value) {
    if (const auto e = NeutralBits(Meeting::kAdd, type)) {
      const double sum = ValueOf(type, *e) + value;
      EXPECT_EQ(IsFloat(type) ? FloatBits(type, sum) : bits, bits);
      EXPECT_EQ(sum, value);
    }
    const auto one = NeutralBits(Meeting::kMultiply, type);
    ASSERT_TRUE(one);
    EXPECT_EQ(IsFloat(type) ? FloatBits(type, ValueOf(type, *one) * value) : *one * bits, bits);
    EXPECT_EQ(std::max(ValueOf(type, *NeutralBits(Meeting::kMaximum, type)), value), value);
    EXPECT_EQ(std::min(ValueOf(type, *NeutralBits(Meeting::kMinimum, type)), value), value);
    EXPECT_EQ(NeutralBits(Meeting::kAnd, type).has_value(), !IsFloat(type));
    if (IsFloat(type)) return;
    EXPECT_EQ(*NeutralBits(Meeting::kAnd, type) & bits, bits);
    EXPECT_EQ(*NeutralBits(Meeting::kOr, type) | bits, bits);
    EXPECT_EQ(*NeutralBits(Meeting::kXor, type) ^ bits, bits);
  });
}

TEST(Neutral, IsNotThereForAll) {
  for (const Meeting op : {Meeting::kMultiply, Meeting::kMaximum, Meeting::kMinimum, Meeting::kAnd})
    EXPECT_FALSE(NeutralBits(op, DType::kC64));
  EXPECT_EQ(NeutralBits(Meeting::kAdd, DType::kC64), 0x80000000u);
  EXPECT_EQ(NeutralBits(Meeting::kAdd, DType::kC128), 0x8000000000000000u);
  EXPECT_FALSE(NeutralBits(Meeting::kAdd, DType::kF8E8M0FNU));
  EXPECT_FALSE(NeutralBits(Meeting::kAdd, DType::kToken));
}

}  // namespace
}  // namespace tenon
