#include "tenon/compiler/simplify/rules.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace tenon::compiler {
namespace {

// test/lit/simplify_rules.mlir shows of every rule what it does.
TEST(Rules, EachHasATest) {
  std::ifstream file(TENON_RULES_MLIR);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(text.empty());
  for (size_t i = 0; i < kNumRules; ++i) {
    const std::string name(RuleName(static_cast<Rule>(i)));
    EXPECT_NE(text.find("// CHECK-DAG: " + name + ": "), std::string::npos)
        << name << ": " << RuleText(static_cast<Rule>(i));
  }
}

TEST(Rules, AreCounted) {
  RuleLog log;
  EXPECT_TRUE(log.Counts().empty());
  log.Hit(Rule::share);
  log.Hit(Rule::fold);
  log.Hit(Rule::share);
  const std::vector<std::pair<std::string_view, int64_t>> wanted = {{"fold", 1}, {"share", 2}};
  EXPECT_EQ(log.Counts(), wanted);
  EXPECT_TRUE(log.text().empty());
}

TEST(Rules, AreTracedWithWhatTheyCaused) {
  RuleLog log(true);
  log.Enter();
  log.Hit(Rule::fold, [] { return std::string("a"); }, [] { return std::string("b"); });
  log.Leave();
  log.Hit(Rule::share, [] { return std::string("c"); }, [] { return std::string("d"); });
  EXPECT_EQ(log.text(), "  fold: a -> b\nshare: c -> d\n");
}

}  // namespace
}  // namespace tenon::compiler
