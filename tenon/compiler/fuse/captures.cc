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

}  // namespace tenon::compiler
