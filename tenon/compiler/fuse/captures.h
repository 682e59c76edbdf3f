#pragma once

/// What the regions of a program's nodes use from outside.

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

class Captures {
 public:
  explicit Captures(const Program& program);

  /// The nodes outside `id`'s regions that these use, each once; none for a node without regions.
  const std::vector<NodeId>& Of(NodeId id) const;

 private:
  std::unordered_map<NodeId, std::vector<NodeId>> of_;
};

/// What somebody sees of a loop: its carries, and the nodes of its blocks and their arguments that these are made of.
struct SeenOfLoop {
  std::vector<bool> carries;
  std::unordered_set<NodeId> nodes;
};
/// Everything but counters of loops that end by themselves: what `used` results of the while node and `roots`, nodes of
/// its blocks, are made of. `used`: as UsedResults gives them.
SeenOfLoop SeenOf(const Program& program, NodeId loop, const Captures& captures,
                  const std::unordered_set<Ref, RefHasher>& used, const std::vector<NodeId>& roots);

}  // namespace tenon::compiler
