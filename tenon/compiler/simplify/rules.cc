// The table of rules, and the walk through it.

#include "tenon/compiler/simplify/rules.h"

#include <bitset>
#include <initializer_list>

#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {

namespace {

// structural: counted
constexpr size_t kNumOps = 0
#define TENON_IR_OP(enumerator, name, kind, attributes) +1
#include "tenon/compiler/ir/ops.def"
#undef TENON_IR_OP
    ;

/// The ops that a rule looks at.
class OpSet {
 public:
  OpSet(std::initializer_list<OpCode> ops) {
    for (OpCode op : ops) ops_.set(static_cast<size_t>(op));
  }
  OpSet(std::initializer_list<OpKind> kinds) {
    for (size_t op = 0; op < kNumOps; ++op) {
      for (OpKind kind : kinds) {
        if (KindOfOp(static_cast<OpCode>(op)) == kind) ops_.set(op);
      }
    }
  }
  bool Has(size_t op) const { return ops_[op]; }

 private:
  std::bitset<kNumOps> ops_;
};

}  // namespace

std::string_view RuleName(Rule rule) {
  static constexpr std::string_view kNames[] = {
#define TENON_SIMPLIFY_RULE(name, function, text, ...) #name,
#define TENON_SIMPLIFY_PASS(name, text) #name,
#include "tenon/compiler/simplify/rules.def"
#undef TENON_SIMPLIFY_RULE
#undef TENON_SIMPLIFY_PASS
  };
  return kNames[static_cast<size_t>(rule)];
}

std::string_view RuleText(Rule rule) {
  static constexpr std::string_view kTexts[] = {
#define TENON_SIMPLIFY_RULE(name, function, text, ...) text,
#define TENON_SIMPLIFY_PASS(name, text) text,
#include "tenon/compiler/simplify/rules.def"
#undef TENON_SIMPLIFY_RULE
#undef TENON_SIMPLIFY_PASS
  };
  return kTexts[static_cast<size_t>(rule)];
}

std::vector<std::pair<std::string_view, int64_t>> RuleLog::Counts() const {
  std::vector<std::pair<std::string_view, int64_t>> counts;
  for (size_t i = 0; i < kNumRules; ++i) {
    if (hits_[i] != 0) counts.emplace_back(RuleName(static_cast<Rule>(i)), hits_[i]);
  }
  return counts;
}

void RuleLog::Write(Rule rule, const std::string& before, const std::string& after) {
  text_.append(static_cast<size_t>(2 * depth_), ' ');
  text_.append(RuleName(rule)).append(": ").append(before).append(" -> ").append(after).append("\n");
}

struct Simplifier::Row {
  Rule rule;
  std::optional<Ref> (Simplifier::*function)(const GraphNode&);
};

const std::vector<Simplifier::Row>& Simplifier::RulesOf(OpCode op) {
  static const std::vector<std::vector<Row>>* table = [] {
    auto* t = new std::vector<std::vector<Row>>(kNumOps);
    const auto add = [&](Rule rule, std::optional<Ref> (Simplifier::*function)(const GraphNode&), const OpSet& ops) {
      for (size_t i = 0; i < kNumOps; ++i) {
        if (ops.Has(i)) (*t)[i].push_back({rule, function});
      }
    };
#define TENON_SIMPLIFY_RULE(name, function, text, ...) add(Rule::name, &Simplifier::function, OpSet({__VA_ARGS__}));
#define TENON_SIMPLIFY_PASS(name, text)
#include "tenon/compiler/simplify/rules.def"
#undef TENON_SIMPLIFY_RULE
#undef TENON_SIMPLIFY_PASS
    return t;
  }();
  return (*table)[static_cast<size_t>(op)];
}

std::optional<Ref> Simplifier::Rewrite(const GraphNode& node) {
  if (node.op == OpCode::kParameter || node.op == OpCode::kConstant || node.side_effect) return std::nullopt;
  for (const Row& row : RulesOf(node.op)) {
    log_.Enter();
    const std::optional<Ref> simpler = (this->*row.function)(node);
    log_.Leave();
    if (!simpler) continue;
    log_.Hit(row.rule, [&] { return PrintNode(to_, node); }, [&] { return PrintValue(to_, *simpler); });
    return simpler;
  }
  return std::nullopt;
}

}  // namespace tenon::compiler
