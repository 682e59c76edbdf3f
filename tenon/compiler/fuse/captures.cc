#include "tenon/compiler/fuse/captures.h"

#include <unordered_set>

namespace tenon::compiler {

Captures::Captures(const Program& program) {
  // How many regions a node stands in: what a region uses lies outside when that is fewer.
  std::vector<uint32_t> depth(program.nodes.size(), 0);
  struct Open {
    const Block* block;
    NodeId owner;
    uint32_t depth;
  };
  std::vector<Open> open = {{&program.main, kNoNode, 0}};
  std::vector<Open> blocks;  // Outer ones before those inside.
  while (!open.empty()) {
    const Open at = open.back();
    open.pop_back();
    blocks.push_back(at);
    for (NodeId id : at.block->args) depth[id] = at.depth;
    for (NodeId id : at.block->nodes) {
      depth[id] = at.depth;
      for (const Block& inner : program[id].blocks) open.push_back({&inner, id, at.depth + 1});
    }
  }
  std::unordered_map<NodeId, std::unordered_set<NodeId>> known;
  for (size_t i = blocks.size(); i-- > 0;) {
    const auto& [block, owner, level] = blocks[i];
    if (owner == kNoNode) continue;
    std::vector<NodeId>& found = of_[owner];
    std::unordered_set<NodeId>& seen = known[owner];
    const auto use = [&](NodeId id) {
      if (depth[id] < level && seen.insert(id).second) found.push_back(id);
    };
    for (NodeId id : block->nodes) {
      for (Ref r : program[id].in) use(r.node);
      if (program[id].blocks.empty()) continue;
      for (NodeId inner : Of(id)) use(inner);
      known.erase(id);
    }
    for (Ref r : block->results) use(r.node);
  }
}

const std::vector<NodeId>& Captures::Of(NodeId id) const {
  static const std::vector<NodeId> none;
  const auto it = of_.find(id);
  return it == of_.end() ? none : it->second;
}

SeenOfLoop SeenOf(const Program& program, NodeId loop, const Captures& captures,
                  const std::unordered_set<Ref, RefHasher>& used, const std::vector<NodeId>& roots) {
  const GraphNode& node = program[loop];
  std::unordered_set<NodeId> inside;
  std::unordered_map<NodeId, size_t> carry_of;
  for (const Block& block : node.blocks) {
    inside.insert(block.nodes.begin(), block.nodes.end());
    for (size_t i = 0; i < block.args.size(); ++i) carry_of.emplace(block.args[i], i);
  }
  SeenOfLoop seen{std::vector<bool>(node.in.size(), false), {}};
  std::vector<NodeId> open = roots;
  const auto see = [&](size_t i) {
    if (seen.carries[i]) return;
    seen.carries[i] = true;
    open.push_back(node.blocks[1].results[i].node);
  };
  for (size_t i = 0; i < seen.carries.size(); ++i) {
    if (node.in.size() == 1 || used.contains({loop, static_cast<uint32_t>(i)})) see(i);
  }
  while (!open.empty()) {
    const NodeId n = open.back();
    open.pop_back();
    const auto carry = carry_of.find(n);
    if ((carry == carry_of.end() && !inside.contains(n)) || !seen.nodes.insert(n).second) continue;
    if (carry != carry_of.end()) {
      see(carry->second);
      continue;
    }
    for (Ref r : program[n].in) open.push_back(r.node);
    for (NodeId captured : captures.Of(n)) open.push_back(captured);
  }
  return seen;
}

}  // namespace tenon::compiler
