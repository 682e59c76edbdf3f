// The first few of an order.

#include <algorithm>

#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {
namespace {

using Wanted = std::unordered_map<NodeId, int64_t>;

size_t DimensionOf(const GraphNode& sort) { return static_cast<size_t>(sort.attrs<SortAttrs>().dimension); }

/// How many elements along its dimension each sort's users look at.
void Count(const Program& p, const Block& block, Wanted& wanted) {
  const auto use = [&](Ref r, int64_t elements) {
    if (p[r.node].op != OpCode::kSort) return;
    int64_t& most = wanted.try_emplace(r.node, 0).first->second;
    most = std::max(most, elements);
  };
  const auto whole = [&](Ref r) {
    if (p[r.node].op == OpCode::kSort) use(r, p.shape(r).dims[DimensionOf(p[r.node])]);
  };
  for (NodeId id : block.nodes) {
    const GraphNode& node = p[id];
    const bool is_head = node.op == OpCode::kSlice && p[node.in[0].node].op == OpCode::kSort;
    for (Ref r : node.in) {
      if (is_head) {
        use(r, node.attrs<SliceAttrs>().limit_indices[DimensionOf(p[r.node])]);
      } else {
        whole(r);
      }
    }
    for (const Block& inner : node.blocks) Count(p, inner, wanted);
  }
  for (Ref r : block.results) whole(r);
}

}  // namespace

void TakeFirst(Program& program, RuleLog& log) {
  Wanted wanted;
  Count(program, program.main, wanted);
  for (const auto& [id, elements] : wanted) {
    GraphNode& node = program[id];
    const size_t along = DimensionOf(node);
    if (elements >= node.shape().dims[along]) continue;
    const std::string before = log.tracing() ? PrintNode(program, node) : std::string();
    for (Shape& shape : node.out) shape.dims[along] = elements;
    log.Hit(Rule::take_first, [&] { return before; }, [&] { return PrintNode(program, node); });
  }
}

}  // namespace tenon::compiler
