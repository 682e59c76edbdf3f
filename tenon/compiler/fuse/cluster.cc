#include "tenon/compiler/fuse/cluster.h"

#include <algorithm>

#include "tenon/compiler/fuse/combiner.h"
#include "tenon/compiler/fuse/legality.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/scalar_ops.h"

namespace tenon::compiler {

bool IsPureView(const Node& node) {
  switch (node.op) {
    case Op::kTranspose:
    case Op::kReshape:
    case Op::kSlice:
    case Op::kReverse:
    case Op::kBroadcast:
      return true;
    default:
      return false;
  }
}

bool HasInteriorPad(const Program& p, const Node& node) {
  if (node.op != Op::kPad) return false;
  const Dims& interior = node.attrs<PadAttrs>().interior_padding;
  for (size_t i = 0; i < interior.size(); ++i) {
    if (interior[i] != 0 && p.shape(node.in[0]).dims[i] > 1) return true;
  }
  return false;
}

bool IsFusible(const Program& p, NodeId id) {
  const Node& node = p[id];
  if (node.side_effect || !FitsKernels(p, node)) return false;
  switch (node.op) {
    case Op::kParameter:
    case Op::kConstant:
    case Op::kToken:
    case Op::kReduceWindow:
    case Op::kScatter:
    case Op::kDot:
    case Op::kConvolution:
    case Op::kFft:
    case Op::kSelectAndScatter:
    case Op::kLinalg:
    case Op::kSort:
    case Op::kWhile:
    case Op::kCase:
    case Op::kBarrier:
    case Op::kCustomCall:
    case Op::kOpaque:
      return false;
    case Op::kReduce:
      return KernelCanCompute(p, node) && CombinerOf(p, node).ok();
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
