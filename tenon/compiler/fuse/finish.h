#pragma once

/// Which products' results only one kernel needs, so that the product's driver may finish with that kernel as its hook.

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tenon/compiler/fuse/captures.h"
#include "tenon/compiler/fuse/cluster.h"

namespace tenon::compiler {

class Finishes {
 public:
  Finishes(const Program& program, const Block& block, const Captures& captures);

  /// Nodes that use the product's result, views of it and their users included; empty for a node that is no product,
  /// and for one that is needed in memory.
  std::vector<NodeId> UsersOf(NodeId product) const;
  /// A cluster that computes some of the block's nodes has come up, or was taken apart (by = -1).
  void Count(const Cluster& cluster, int by);
  /// Whether the cluster, and no other, computes all of these, and stores one array.
  bool IsOnlyOne(const Cluster& cluster, const std::vector<NodeId>& users) const;

 private:
  const Program& p_;
  std::unordered_map<NodeId, std::vector<NodeId>> users_;  ///< Of products, and of views.
  std::unordered_set<NodeId> in_memory_;
  std::unordered_map<NodeId, int> clusters_;  ///< That compute the node.
};

}  // namespace tenon::compiler
