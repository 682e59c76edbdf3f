// Concatenations of concatenations.

#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {
namespace {

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

bool JoinConcatenations(Program& program, RuleLog& log) { return Join(program, program.main, CountUses(program), log); }

}  // namespace tenon::compiler
