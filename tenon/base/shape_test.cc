#include "tenon/base/shape.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(Shape, CountsElementsAndBytes) {
  EXPECT_EQ(*CheckedNumElements(Dims{}), 1);
  EXPECT_EQ(*CheckedNumElements(Dims{2, 0, 3}), 0);
  EXPECT_EQ(*CheckedSizeBytes({DType::kF32, {2, 3}}), 24);
  EXPECT_EQ(*CheckedSizeBytes({DType::kS4, {5}}), 5);
  EXPECT_EQ(CheckedNumElements(Dims{-1}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckedNumElements(Dims{int64_t{1} << 40, int64_t{1} << 40}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckedSizeBytes({DType::kF64, {int64_t{1} << 61}}).status().code(), Code::kInvalidArgument);
  // An empty array is empty however large its other extents are.
  EXPECT_EQ(*CheckedNumElements(Dims{int64_t{1} << 40, int64_t{1} << 40, 0}), 0);
  EXPECT_EQ(NumElements(Dims{INT64_MAX, INT64_MAX, 0}), 0);
}

TEST(Shape, RowMajorStrides) {
  EXPECT_EQ(RowMajorStridesElems(Dims{2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(RowMajorStridesElems(Dims{2, 0, 4}), (Dims{4, 4, 1}));
  EXPECT_EQ(RowMajorStridesElems(Dims{}), Dims{});
}

TEST(Shape, Prints) {
  EXPECT_EQ(ToString(Shape{DType::kBF16, {2, 3}}), "bf16[2,3]");
  EXPECT_EQ(ToString(Shape{DType::kPred, {}}), "pred[]");
}

TEST(SmallVector, GrowsMovesAndCompares) {
  SmallVector<std::string, 2> v{"a", "b"};
  v.push_back("c");
  v.insert(v.begin(), "z");
  EXPECT_EQ(v, (SmallVector<std::string, 2>{"z", "a", "b", "c"}));
  SmallVector<std::string, 2> moved = std::move(v);
  EXPECT_EQ(moved.size(), 4u);
  EXPECT_TRUE(v.empty());  // NOLINT(bugprone-use-after-move): the contract says so.
  moved.erase(moved.begin());
  EXPECT_EQ(moved.front(), "a");
  SmallVector<std::string, 2> small{"x"};
  moved = std::move(small);
  EXPECT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0], "x");
}

}  // namespace
}  // namespace tenon
