#pragma once

/// The rules of simplify by name, and what they did to a program.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::compiler {

enum class Rule : uint8_t {
#define TENON_SIMPLIFY_RULE(name, function, text, ...) name,
#define TENON_SIMPLIFY_PASS(name, text) name,
#include "tenon/compiler/simplify/rules.def"
#undef TENON_SIMPLIFY_RULE
#undef TENON_SIMPLIFY_PASS
};
// structural: counted
inline constexpr size_t kNumRules = 0
#define TENON_SIMPLIFY_RULE(name, function, text, ...) +1
#define TENON_SIMPLIFY_PASS(name, text) +1
#include "tenon/compiler/simplify/rules.def"
#undef TENON_SIMPLIFY_RULE
#undef TENON_SIMPLIFY_PASS
    ;
std::string_view RuleName(Rule rule);
/// One line of what it does.
std::string_view RuleText(Rule rule);

/// How often each rule did something to a program and, if asked for, to what.
class RuleLog {
 public:
  explicit RuleLog(bool tracing = false) : tracing_(tracing) {}

  void Hit(Rule rule, int64_t times = 1) { hits_[static_cast<size_t>(rule)] += times; }
  bool tracing() const { return tracing_; }
  /// Counts a hit and, when tracing, writes "rule: before -> after"; what a rule did for another one stands above it,
  /// further in. `before` and `after` are only called when tracing.
  template <class Before, class After>
  void Hit(Rule rule, const Before& before, const After& after) {
    Hit(rule);
    if (tracing_) Write(rule, before(), after());
  }
  void Enter() { ++depth_; }
  void Leave() { --depth_; }

  /// Rules that did something, in the order of rules.def.
  std::vector<std::pair<std::string_view, int64_t>> Counts() const;
  const std::string& text() const { return text_; }

 private:
  void Write(Rule rule, const std::string& before, const std::string& after);

  std::array<int64_t, kNumRules> hits_{};
  bool tracing_;
  int depth_ = 0;
  std::string text_;
};

}  // namespace tenon::compiler
