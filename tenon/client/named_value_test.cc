#include "tenon/client/named_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::client {
namespace {

TEST(NamedValue, EveryKindGoesToCAndBack) {
  const Options options =
      Options().Set("s", "text").Set("i", 5).Set("l", std::vector<int64_t>{1, -2}).Set("f", 1.5f).Set("b", true);
  const std::vector<PJRT_NamedValue> c = ToC(options.values());
  ASSERT_EQ(c.size(), 5u);
  EXPECT_EQ(c[0].value_size, 4u);
  EXPECT_EQ(c[2].value_size, 2u);
  EXPECT_EQ(c[3].value_size, 1u);
  for (const PJRT_NamedValue& v : c) EXPECT_EQ(v.struct_size, size_t{PJRT_NamedValue_STRUCT_SIZE});
  EXPECT_EQ(FromC(c.data(), c.size()), options.values());
  EXPECT_TRUE(FromC(nullptr, 3).empty());
}

TEST(NamedValue, SettingAgainReplaces) {
  Options options{{"a", int64_t{1}}, {"b", true}, {"a", std::string("x")}};
  ASSERT_EQ(options.values().size(), 2u);
  EXPECT_EQ(ToString(*Find(options.values(), "a")), "x");
  EXPECT_EQ(Find(options.values(), "c"), nullptr);
}

TEST(NamedValue, Parses) {
  const auto options = Options::Parse("n=4,name=some thing,flag=true,ratio=0.25,list=[1;2;3],empty=");
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  const auto& values = options->values();
  EXPECT_EQ(*Find(values, "n"), Value(int64_t{4}));
  EXPECT_EQ(*Find(values, "name"), Value(std::string("some thing")));
  EXPECT_EQ(*Find(values, "flag"), Value(true));
  EXPECT_EQ(*Find(values, "ratio"), Value(0.25f));
  EXPECT_EQ(*Find(values, "list"), Value(std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(*Find(values, "empty"), Value(std::string()));
  EXPECT_TRUE(Options::Parse("")->values().empty());
  EXPECT_FALSE(Options::Parse("novalue").ok());
  EXPECT_FALSE(Options::Parse("=3").ok());
  EXPECT_FALSE(Options::Parse("l=[1;x]").ok());
}

}  // namespace
}  // namespace tenon::client
