#include "tenon/compiler/fuse/legality.h"

#include <algorithm>

#include "tenon/compiler/fuse/policy.h"

namespace tenon::compiler {
namespace {

/// Arguments of a graph of kir; a reduction's combiner has two per value.
constexpr size_t kMaxGraphArguments = 255;  // structural: arguments are numbered in a byte

size_t PartsOf(const Program& program, const std::vector<NodeId>& arguments) {
  size_t parts = 0;
  for (NodeId id : arguments) parts += IsComplex(program[id].shape().dtype) ? 2 : 1;
  return parts;
}

}  // namespace

bool MayHold(const KernelContents& c, const target::KernelLimits& limits) {
  return c.members <= limits.members && c.cost <= limits.cost && c.dims <= limits.dims &&
         c.outputs <= limits.buffers / 2;
}

int64_t LoopsOf(const Dims& extents) {
  return std::count_if(extents.begin(), extents.end(), [](int64_t n) { return n != 1; });
}

bool FitsKernels(const Program& program, const GraphNode& node) {
  const auto fits = [&](const Shape& shape) {
    return static_cast<int64_t>(shape.rank()) <= program.target->limits.dims;
  };
  if (!std::all_of(node.out.begin(), node.out.end(), fits)) return false;
  for (Ref r : node.in) {
    if (!fits(program.shape(r))) return false;
  }
  if (node.op == OpCode::kConcatenate && node.in.size() > policy::kMaxParts) return false;
  for (const Block& block : node.blocks) {
    if (PartsOf(program, block.args) > kMaxGraphArguments) return false;
  }
  return true;
}

}  // namespace tenon::compiler
