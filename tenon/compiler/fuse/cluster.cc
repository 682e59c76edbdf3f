#include "tenon/compiler/fuse/cluster.h"

#include <algorithm>

#include "tenon/compiler/fuse/legality.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/scalar_ops.h"
#include "tenon/compiler/fuse/tracer.h"

namespace tenon::compiler {

bool IsPureView(const Program& p, const GraphNode& node) {
  switch (node.op) {
    case OpCode::kTranspose:
    case OpCode::kReshape:
    case OpCode::kSlice:
    case OpCode::kReverse:
    case OpCode::kBroadcast:
      return true;
    case OpCode::kBitcast: {
      // Bits that fill no byte lie in it as their type wants.
      const DType to = node.shape().dtype, from = p.shape(node.in[0]).dtype;
      return DTypeBits(to) == 8 * ByteWidth(to) && (!KernelCanHold(to) || !KernelCanHold(from));
    }
    default:
      return false;
  }
}

bool HasInteriorPad(const Program& p, const GraphNode& node) {
  if (node.op != OpCode::kPad) return false;
  const Dims& interior = node.attrs<PadAttrs>().interior_padding;
  for (size_t i = 0; i < interior.size(); ++i) {
    if (interior[i] != 0 && p.shape(node.in[0]).dims[i] > 1) return true;
  }
  return false;
}

bool IsFusible(const Program& p, NodeId id) {
  const GraphNode& node = p[id];
  if (node.side_effect || !FitsKernels(p, node)) return false;
  switch (node.op) {
    case OpCode::kParameter:
    case OpCode::kConstant:
    case OpCode::kToken:
    case OpCode::kReduceWindow:
    case OpCode::kScatter:
    case OpCode::kDot:
    case OpCode::kConvolution:
    case OpCode::kFft:
    case OpCode::kSelectAndScatter:
    case OpCode::kLinalg:
    case OpCode::kSort:
    case OpCode::kWhile:
    case OpCode::kCase:
    case OpCode::kBarrier:
    case OpCode::kCustomCall:
    case OpCode::kOpaque:
      return false;
    case OpCode::kReduce:
      return KernelCanCompute(p, node) && GraphOfBlock(p, node.blocks[0]).ok();
    default:
      return KernelCanCompute(p, node);
  }
}

void LeaveOut(const Program& p, const std::unordered_set<NodeId>& stored, Cluster& cluster) {
  const auto out = [&](NodeId id) {
    return stored.contains(id) && std::find(cluster.roots.begin(), cluster.roots.end(), id) == cluster.roots.end();
  };
  if (std::none_of(cluster.order.begin(), cluster.order.end(), out)) return;
  std::unordered_set<NodeId> needed(cluster.roots.begin(), cluster.roots.end());
  std::vector<NodeId> order;
  for (size_t i = cluster.order.size(); i-- > 0;) {
    const NodeId id = cluster.order[i];
    if (!needed.contains(id) || out(id)) {
      cluster.members.erase(id);
      cluster.cost -= CostOf(p, p[id]);
      continue;
    }
    for (Ref r : p[id].in) needed.insert(r.node);
    order.push_back(id);
  }
  std::reverse(order.begin(), order.end());
  cluster.order = std::move(order);
}

}  // namespace tenon::compiler
