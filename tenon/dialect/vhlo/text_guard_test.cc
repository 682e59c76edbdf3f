#include "tenon/dialect/vhlo/text_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/dialect/vhlo/limits.h"

namespace tenon::dialect {
namespace {

using ::testing::HasSubstr;

TEST(TextGuard, LetsOrdinaryTextPass) {
  EXPECT_TRUE(CheckText("").ok());
  EXPECT_TRUE(
      CheckText("#map = [1]\nmodule attributes {a = #map} { func.func @f(%x: tensor<?x3xf32>) -> () { return } }")
          .ok());
  EXPECT_TRUE(CheckText("// )))) comment\nmodule {}").ok());
  EXPECT_TRUE(CheckText("module attributes {s = \"(((\\\"[[[\"} {}").ok());
  EXPECT_TRUE(CheckText("%0:2 = \"op\"(%x#1) : (tensor<2xi1>)->(tensor<2xi1>, i1)").ok());
  EXPECT_TRUE(CheckText("#stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>").ok());
  EXPECT_TRUE(CheckText("{vector = 1, sparse = 2}").ok());
  EXPECT_TRUE(CheckText("func.func @i1000(%i1000: i64) { ^i1000: }").ok());
}

TEST(TextGuard, NamesLineAndColumn) {
  Status s = CheckText("module {\n  foo)\n}");
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(std::string(s.message()), HasSubstr("line 2, column 6"));
}

TEST(TextGuard, BoundsNesting) {
  const std::string deepest = std::string(kMaxNesting, '(') + std::string(kMaxNesting, ')');
  EXPECT_TRUE(CheckText(deepest).ok());
  EXPECT_FALSE(CheckText("(" + deepest + ")").ok());
}

// An alias counts where it is used as deep as what it stands for.
TEST(TextGuard, BoundsNestingOfAliases) {
  const std::string half(kMaxNesting / 2, '[');
  const std::string close(kMaxNesting / 2, ']');
  const std::string define = "#a = " + half + close + "\n";
  EXPECT_TRUE(CheckText(define + "#b = " + half.substr(1) + "#a" + close.substr(1)).ok());
  EXPECT_FALSE(CheckText(define + "#b = [[" + half + "#a" + close + "]]").ok());
}

TEST(TextGuard, BoundsExpansion) {
  std::string text = "!t0 = i32\n";
  for (int i = 1; i < 18; ++i) {
    const std::string before = "!t" + std::to_string(i - 1);
    text += "!t" + std::to_string(i) + " = tuple<" + before + ", " + before + ">\n";
  }
  EXPECT_TRUE(CheckText(text).ok());
  for (int i = 18; i < 25; ++i) {
    const std::string before = "!t" + std::to_string(i - 1);
    text += "!t" + std::to_string(i) + " = tuple<" + before + ", " + before + ">\n";
  }
  EXPECT_FALSE(CheckText(text).ok());
}

TEST(TextGuard, RefusesFormsThatNoProgramNeeds) {
  for (const char* text :
       {"affine_map<(d0) -> (d0)>", "array<index>", "array // x\n <\nindex: 1>", "vector<4xf32>",
        "dense_resource<a> : tensor<1xi8>", "distinct[0]<1>", "{-# x #-}", "%x#99999", "tensor<4xi1000>", "ui65",
        "%0:99999 = ", "tensor<9223372036854775807x9xf32>", "\"open", "(]", ">"}) {
    EXPECT_FALSE(CheckText(text).ok()) << text;
  }
  EXPECT_FALSE(CheckText(std::string_view("a\0b", 3)).ok());
}

TEST(TextGuard, PacksBooleans) {
  auto packed = PrepareText("dense<\"0x01000001000000000100\"> : tensor<2x5xi1>");
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(*packed, "dense<\"0x0901\"> : tensor<2x5xi1>");
  // Packed already, or of another type: left alone.
  for (const char* text : {"dense<\"0x0901\"> : tensor<2x5xi1>", "dense<\"0x0100\"> : tensor<2xi8>", "\"0x0100\""}) {
    auto same = PrepareText(text);
    ASSERT_TRUE(same.ok());
    EXPECT_EQ(*same, text);
  }
}

}  // namespace
}  // namespace tenon::dialect
