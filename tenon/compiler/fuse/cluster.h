#pragma once

/// Which nodes become one kernel.

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "tenon/compiler/fuse/captures.h"
#include "tenon/compiler/ir/combiner.h"
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
  std::vector<NodeId> roots;           ///< Nodes whose results are stored, in the order of the block.
  std::unordered_set<NodeId> members;  ///< Nodes computed inside; roots are among them.
  std::vector<NodeId> order;           ///< The members, each after its operands.
  int64_t cost = 0;                    ///< Sum of the members' costs.
};

/// A cluster, or what is not computed in a kernel but stands alone: a product, a loop, a call ...
struct Unit {
  int32_t cluster = -1;   ///< >= 0: index of a cluster.
  NodeId node = kNoNode;  ///< Otherwise the node.
};

/// Nodes dealt out: units in an order that respects their operands. Nodes in no unit are views of stored values, or
/// computed where they are used.
struct Clustering {
  std::vector<Cluster> clusters;
  std::vector<Unit> units;
};

/// Whether a node can be computed inside a kernel at all.
bool IsFusible(const Program& program, NodeId id);
/// Whether the node only renames the elements of its first operand (a strided view of it), or their
/// bits where kernels hold none of its type.
bool IsPureView(const Program& p, const GraphNode& node);
/// A pad with padding between elements.
bool HasInteriorPad(const Program& program, const GraphNode& node);

/// What is to be dealt out: a block, or the members of a cluster that cannot be one kernel.
struct Deal {
  std::span<const NodeId> nodes;      ///< Each after its operands.
  std::unordered_set<NodeId> wanted;  ///< Needed in memory by what is not among the nodes.
  std::unordered_set<NodeId> stored;  ///< Kept out of their users' kernels.
  std::unordered_set<NodeId> alone;   ///< In no kernel at all.
};

/// Deals out the nodes: each either computed in one kernel or several, alone, or a view of memory.
Clustering FormClusters(const Program& program, const Deal& deal, const Captures& captures);

/// Takes out of the cluster what `stored` names, roots apart, and what only that needed.
void LeaveOut(const Program& program, const std::unordered_set<NodeId>& stored, Cluster& cluster);

}  // namespace tenon::compiler
