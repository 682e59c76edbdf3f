#include "tenon/compiler/fuse/finish.h"

#include <algorithm>

namespace tenon::compiler {
namespace {

bool IsProduct(const GraphNode& node) {
  return (node.op == OpCode::kDot || node.op == OpCode::kConvolution) && node.out.size() == 1;
}

}  // namespace

Finishes::Finishes(const Program& program, const Block& block, const Captures& captures) : p_(program) {
  if (std::none_of(block.nodes.begin(), block.nodes.end(), [&](NodeId id) { return IsProduct(p_[id]); })) return;
  for (NodeId id : block.nodes) {
    for (Ref r : p_[id].in) {
      if (IsProduct(p_[r.node]) || IsPureView(p_, p_[r.node])) users_[r.node].push_back(id);
    }
    for (NodeId captured : captures.Of(id)) in_memory_.insert(captured);
  }
  for (Ref r : block.results) in_memory_.insert(r.node);
}

std::vector<NodeId> Finishes::UsersOf(NodeId product) const {
  if (!IsProduct(p_[product])) return {};
  std::vector<NodeId> users;
  std::vector<NodeId> open = {product};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    // What only looks at the product's elements shares their memory.
    if (in_memory_.contains(id)) return {};
    const auto found = users_.find(id);
    if (found == users_.end()) return {};
    for (NodeId user : found->second) {
      if (std::find(users.begin(), users.end(), user) != users.end()) continue;
      users.push_back(user);
      if (IsPureView(p_, p_[user])) open.push_back(user);
    }
  }
  return users;
}

void Finishes::Count(const Cluster& cluster, int by) {
  if (users_.empty()) return;
  for (NodeId id : cluster.members) clusters_[id] += by;
}

bool Finishes::IsOnlyOne(const Cluster& cluster, const std::vector<NodeId>& users) const {
  return cluster.kind == ClusterKind::kMap && cluster.roots.size() == 1 &&
         std::all_of(users.begin(), users.end(), [&](NodeId id) {
           const auto found = clusters_.find(id);
           return cluster.members.contains(id) && found != clusters_.end() && found->second == 1;
         });
}

}  // namespace tenon::compiler
