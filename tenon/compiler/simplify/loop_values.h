#pragma once

/// What changes from trip to trip of a loop, and what does not and may leave it.

#include <unordered_set>
#include <vector>

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// Whether it may be computed where nobody asks for it. A loop may not: it could run for ever.
bool IsPure(const Program& program, const GraphNode& node);

/// What the nodes of a block and of those inside it use, and its results.
std::unordered_set<NodeId> UsesIn(const Program& program, const Block& block);

/// The values of one loop's body.
class LoopValues {
 public:
  LoopValues(const Program& program, const Block& body);

  /// Whether the node's value may be another one in each trip, or must not be computed but where it is.
  bool Varies(NodeId id) const { return variant_.contains(id); }
  /// Tells of a node that was added to the body.
  void AddVariant(NodeId id) { variant_.insert(id); }
  /// Whether the node, or a block inside it, uses a value that varies.
  bool UsesVariant(const GraphNode& node) const;
  bool UsesVariant(const Block& block) const;

  /// Marks a value that does not vary, with what it is made of, for leaving the body.
  void Want(Ref r);
  /// Marks what of all that the node uses, its blocks included, does not vary.
  void WantUsesOf(const GraphNode& node);
  /// Takes what is marked out of the body; in order.
  std::vector<NodeId> TakeWanted(Block& body) const;

 private:
  const Program& p_;
  std::unordered_set<NodeId> variant_, invariant_, wanted_;
};

}  // namespace tenon::compiler
