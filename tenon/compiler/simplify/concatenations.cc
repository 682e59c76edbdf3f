// Concatenations of concatenations.

#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {
namespace {

void CountUses(const Program& p, const Block& block, std::vector<uint32_t>& uses) {
  for (NodeId id : block.nodes) {
    for (Ref r : p[id].in) ++uses[r.node];
    for (const Block& inner : p[id].blocks) CountUses(p, inner, uses);
  }
  for (Ref r : block.results) ++uses[r.node];
}

bool Join(Program& p, const Block& block, const std::vector<uint32_t>& uses, RuleLog& log) {
  bool any = false;
  for (NodeId id : block.nodes) {
    for (const Block& inner : p[id].blocks) any |= Join(p, inner, uses, log);
    GraphNode& node = p[id];
    if (node.op != OpCode::kConcatenate) continue;
    SmallVector<Ref, 3> parts;
    for (Ref r : node.in) {
      const GraphNode& part = p[r.node];
      // What others need as well is made anyway.
      const bool joins = part.op == OpCode::kConcatenate && uses[r.node] == 1 &&
                         part.attrs<ConcatenateAttrs>().dimension == node.attrs<ConcatenateAttrs>().dimension &&
                         NumElements(part.shape().dims) > policy::kMinJoinedElements &&
                         part.in.size() + node.in.size() + parts.size() <= policy::kMaxJoinedParts;
      if (joins)
        parts.append(part.in.begin(), part.in.end());
      else
        parts.push_back(r);
    }
    if (parts.size() == node.in.size()) continue;
    const std::string before = log.tracing() ? PrintNode(p, node) : std::string();
    node.in = std::move(parts);
    node.origin = nullptr;
    log.Hit(Rule::join_concatenations, [&] { return before; }, [&] { return PrintNode(p, node); });
    any = true;
  }
  return any;
}

}  // namespace

bool JoinConcatenations(Program& program, RuleLog& log) {
  std::vector<uint32_t> uses(program.nodes.size(), 0);
  CountUses(program, program.main, uses);
  return Join(program, program.main, uses, log);
}

}  // namespace tenon::compiler
