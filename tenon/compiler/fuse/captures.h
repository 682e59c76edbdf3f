#pragma once

/// What the regions of a program's nodes use from outside.

#include <unordered_map>
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

}  // namespace tenon::compiler
