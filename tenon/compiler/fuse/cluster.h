#pragma once

/// Which nodes become one kernel.

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// The form of a cluster's kernel.
enum class ClusterKind : uint8_t {
  kMap,      ///< One loop nest over the space; every stored value has its shape.
  kRow,      ///< Rows: the first `outer` dims of the space are shared by all stages, reductions run over the rest.
  kColumn,   ///< Reductions over outer dims of their operands, for each point of the space; what follows them in the
             ///< same nest.
  kConcat,   ///< One root, a concatenation or an interior pad: one stage per part.
  kUpdate,   ///< One root, a dynamic_update_slice: a stage over the update alone.
  kScatter,  ///< One root, a scatter: a stage over the updates alone.
};

/// Nodes that become one kernel.
struct Cluster {
  ClusterKind kind = ClusterKind::kMap;
  Dims space;
  uint32_t outer = 0;                  ///< kRow: how many dims of the space.
  std::vector<NodeId> roots;           ///< Nodes whose results are stored.
  std::unordered_set<NodeId> members;  ///< Nodes computed inside; roots are among them.
  int64_t cost = 0;                    ///< Sum of the members' costs.
};

/// What is not computed in a kernel but stands alone: a product, a loop, a call ...
struct Unit {
  int32_t cluster = -1;   ///< >= 0: index of a cluster.
  NodeId node = kNoNode;  ///< Otherwise the node.
};

/// The block's nodes dealt out: units in an order that respects their operands. Nodes in no unit are views of stored
/// values, or computed where they are used.
struct Clustering {
  std::vector<Cluster> clusters;
  std::vector<Unit> units;
};

/// Whether a node can be computed inside a kernel at all.
bool IsFusible(const Program& program, NodeId id);
/// Whether the node only renames the elements of its first operand (a strided view of it).
bool IsPureView(const Node& node);

/// Deals out the nodes of `block`. Nodes in `stored` are kept out of their users' kernels; nodes in `alone` are in no
/// kernel at all.
Clustering FormClusters(const Program& program, const Block& block, const std::unordered_set<NodeId>& stored,
                        const std::unordered_set<NodeId>& alone);

}  // namespace tenon::compiler
