// The first few of an order.

#include <algorithm>

#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {
namespace {

using Wanted = std::unordered_map<NodeId, int64_t>;

/// How many elements along its dimension each sort's users look at.
void Count(const Program& p, const Block& block, Wanted& wanted) {
  const auto use = [&](Ref r, int64_t elements) {
    if (p[r.node].op != Op::kSort) return;
    int64_t& most = wanted.try_emplace(r.node, 0).first->second;
    most = std::max(most, elements);
  };
  const auto whole = [&](Ref r) {
    if (p[r.node].op == Op::kSort) use(r, p.shape(r).dims[static_cast<size_t>(p[r.node].imm)]);
  };
  for (NodeId id : block.nodes) {
    const Node& node = p[id];
    const bool is_head = node.op == Op::kSlice && p[node.in[0].node].op == Op::kSort;
    for (Ref r : node.in) {
      if (is_head) {
        use(r, node.lists[1][static_cast<size_t>(p[r.node].imm)]);
      } else {
        whole(r);
      }
    }
    for (const Block& inner : node.blocks) Count(p, inner, wanted);
  }
  for (Ref r : block.results) whole(r);
}

}  // namespace

void TakeFirst(Program& program) {
  Wanted wanted;
  Count(program, program.main, wanted);
  for (const auto& [id, elements] : wanted) {
    Node& node = program[id];
    for (Shape& shape : node.out)
      shape.dims[static_cast<size_t>(node.imm)] = std::min(elements, shape.dims[static_cast<size_t>(node.imm)]);
  }
}

}  // namespace tenon::compiler
