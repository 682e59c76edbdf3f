#include "tenon/compiler/ir/same.h"

namespace tenon::compiler {

bool SameOperation(const GraphNode& a, const GraphNode& b) {
  return a.op == b.op && a.out == b.out && a.in.size() == b.in.size() && a.attributes == b.attributes &&
         a.name == b.name && a.literal == b.literal && a.blocks.size() == b.blocks.size() &&
         (a.op != OpCode::kOpaque || a.origin == b.origin);
}

}  // namespace tenon::compiler
