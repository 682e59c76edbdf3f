#pragma once

#include <vector>

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// Nodes that are computed together, each after its operands, and those of them whose results others use.
struct NodeGroup {
  std::vector<NodeId> members;
  std::vector<NodeId> roots;
};

}  // namespace tenon::compiler
