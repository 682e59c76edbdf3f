#include "tenon/compiler/ir/uses.h"

namespace tenon::compiler {
namespace {

void CountUsesIn(const Program& p, const Block& block, std::vector<uint32_t>& uses) {
  for (NodeId id : block.nodes) {
    for (Ref r : p[id].in) ++uses[r.node];
    for (const Block& inner : p[id].blocks) CountUsesIn(p, inner, uses);
  }
  for (Ref r : block.results) ++uses[r.node];
}

}  // namespace

std::vector<uint32_t> CountUses(const Program& program) {
  std::vector<uint32_t> uses(program.nodes.size(), 0);
  CountUsesIn(program, program.main, uses);
  return uses;
}

}  // namespace tenon::compiler
