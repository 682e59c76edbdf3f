#include "tenon/conformance/profile.h"

#include <gtest/gtest.h>

#include <set>

#include "tenon/conformance/test.h"

namespace tenon::conformance {
namespace {

TEST(GlobTest, Matches) {
  EXPECT_TRUE(GlobMatch("a.*", "a.b"));
  EXPECT_TRUE(GlobMatch("*", ""));
  EXPECT_TRUE(GlobMatch("a*b*c", "aXbYbZc"));
  EXPECT_TRUE(GlobMatch("a?c", "abc"));
  EXPECT_FALSE(GlobMatch("a?c", "ac"));
  EXPECT_FALSE(GlobMatch("a.*", "b.a"));
  EXPECT_FALSE(GlobMatch("abc", "abcd"));
}

TEST(ProfileTest, Reads) {
  Result<Profile> profile = ParseProfile(
      "# c\nname p\nmatch file *x.so\nmatch version V*\noption n int 4\nenv A=b\n"
      "known a.* : not there\nknown b.c : broken : now\n");
  ASSERT_TRUE(profile.ok()) << profile.status().ToString();
  EXPECT_EQ(profile->name, "p");
  EXPECT_EQ(profile->options.at(0).value, "4");
  ASSERT_NE(profile->Find("a.b"), nullptr);
  ASSERT_NE(profile->Find("b.c"), nullptr);
  EXPECT_EQ(profile->Find("b.c")->reason, "broken : now");
  EXPECT_EQ(profile->Find("c"), nullptr);
}

TEST(ProfileTest, RefusesWithLine) {
  for (const char* text : {"name p\nnonsense x\n", "name p\noption a long 4\n", "name p\nknown x\n", "name p\nenv A\n",
                           "name p\nmatch x y\n"}) {
    Result<Profile> profile = ParseProfile(text);
    ASSERT_FALSE(profile.ok()) << text;
    EXPECT_NE(profile.status().message().find("line 2"), std::string_view::npos) << profile.status().ToString();
  }
}

// An entry that matches no test is a slip of the pen.
TEST(ProfileTest, BuiltInEntriesMatchTests) {
  EXPECT_EQ(BuiltInProfiles().size(), 8u);
  for (const Profile& profile : BuiltInProfiles()) {
    EXPECT_FALSE(profile.files.empty() && profile.versions.empty()) << profile.name;
    for (const Profile::Entry& entry : profile.entries) {
      bool used = false;
      for (const auto& test : AllTests().tests()) used = used || profile.Find(test.name) == &entry;
      EXPECT_TRUE(used) << profile.name << ": " << entry.glob;
      EXPECT_GE(entry.reason.size(), 10u) << profile.name << ": " << entry.glob;
    }
  }
}

TEST(SuiteTest, NamesAndRules) {
  std::set<std::string> names;
  for (const auto& test : AllTests().tests()) {
    EXPECT_TRUE(names.insert(test.name).second) << test.name;
    EXPECT_NE(test.name.find('.'), std::string::npos) << test.name;
    EXPECT_GE(test.rule.size(), 10u) << test.name;
    EXPECT_FALSE(test.source.empty()) << test.name;
  }
  EXPECT_GE(names.size(), 250u);
}

}  // namespace
}  // namespace tenon::conformance
