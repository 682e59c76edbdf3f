#include "tenon/base/dtype.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(DType, HasThePjrtNumbers) {
  EXPECT_EQ(static_cast<int>(DType::kPred), 1);
  EXPECT_EQ(static_cast<int>(DType::kF32), 11);
  EXPECT_EQ(static_cast<int>(DType::kBF16), 13);
  EXPECT_EQ(static_cast<int>(DType::kToken), 23);
  EXPECT_EQ(static_cast<int>(DType::kF6E3M2FN), 33);
}

TEST(DType, NamesParseBack) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    ASSERT_TRUE(ParseDType(DTypeName(type)).ok()) << DTypeName(type);
    EXPECT_EQ(*ParseDType(DTypeName(type)), type);
  }
  EXPECT_EQ(ParseDType("float32").status().code(), Code::kInvalidArgument);
}

TEST(DType, NarrowTypesTakeAWholeByte) {
  EXPECT_EQ(ByteWidth(DType::kS4), 1);
  EXPECT_EQ(ByteWidth(DType::kC128), 16);
  EXPECT_EQ(ByteWidth(DType::kToken), 0);
  EXPECT_EQ(RealPartOf(DType::kC64), DType::kF32);
}

}  // namespace
}  // namespace tenon
