#include "tenon/compiler/simplify/loop_values.h"

#include <algorithm>

namespace tenon::compiler {

bool IsPure(const Program& p, const GraphNode& node) {
  if (node.side_effect) return false;
  switch (node.op) {
    case OpCode::kWhile:
    case OpCode::kParameter:
    case OpCode::kToken:
    case OpCode::kBarrier:
    case OpCode::kOpaque:
      return false;
    case OpCode::kCustomCall:
      // Of others nobody knows whether they may run when no trip does.
      return node.name.starts_with("lapack_") || node.name.starts_with("blas_");
    default:
      break;
  }
  return std::all_of(node.blocks.begin(), node.blocks.end(), [&](const Block& block) {
    return std::all_of(block.nodes.begin(), block.nodes.end(), [&](NodeId id) { return IsPure(p, p[id]); });
  });
}

namespace {

/// What the node and its blocks use.
void AddUses(const Program& p, const GraphNode& node, std::vector<NodeId>& uses) {
  for (Ref r : node.in) uses.push_back(r.node);
  for (const Block& block : node.blocks) {
    for (NodeId inner : block.nodes) AddUses(p, p[inner], uses);
    for (Ref r : block.results) uses.push_back(r.node);
  }
}

}  // namespace

std::unordered_set<NodeId> UsesIn(const Program& p, const Block& block) {
  std::vector<NodeId> uses;
  for (NodeId id : block.nodes) AddUses(p, p[id], uses);
  for (Ref r : block.results) uses.push_back(r.node);
  return {uses.begin(), uses.end()};
}

LoopValues::LoopValues(const Program& program, const Block& body) : p_(program) {
  variant_.insert(body.args.begin(), body.args.end());
  for (NodeId id : body.nodes) (!IsPure(p_, p_[id]) || UsesVariant(p_[id]) ? variant_ : invariant_).insert(id);
}

bool LoopValues::UsesVariant(const GraphNode& node) const {
  return std::any_of(node.in.begin(), node.in.end(), [&](Ref r) { return Varies(r.node); }) ||
         std::any_of(node.blocks.begin(), node.blocks.end(), [&](const Block& block) { return UsesVariant(block); });
}

bool LoopValues::UsesVariant(const Block& block) const {
  return std::any_of(block.results.begin(), block.results.end(), [&](Ref r) { return Varies(r.node); }) ||
         std::any_of(block.nodes.begin(), block.nodes.end(), [&](NodeId id) { return UsesVariant(p_[id]); });
}

void LoopValues::Want(Ref r) {
  std::vector<NodeId> next = {r.node};
  while (!next.empty()) {
    const NodeId id = next.back();
    next.pop_back();
    if (invariant_.contains(id) && wanted_.insert(id).second) AddUses(p_, p_[id], next);
  }
}

void LoopValues::WantUsesOf(const GraphNode& node) {
  std::vector<NodeId> uses;
  AddUses(p_, node, uses);
  for (NodeId id : uses) Want({id, 0});
}

std::vector<NodeId> LoopValues::TakeWanted(Block& body) const {
  std::vector<NodeId> taken;
  std::erase_if(body.nodes, [&](NodeId id) {
    if (!wanted_.contains(id)) return false;
    taken.push_back(id);
    return true;
  });
  return taken;
}

}  // namespace tenon::compiler
