// Sums with arrays that are zero but for what an update puts there: what derivatives of slices and gathers are added up
// from.

#include "tenon/compiler/ir/combiner.h"
#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {

std::optional<Ref> Simplifier::AddUpdated(const GraphNode& node) {
  for (const size_t side : {0, 1}) {
    const GraphNode update = Def(node.in[side]);
    const Ref sum = node.in[1 - side];
    // What a loop carries and what was updated before lie in memory that the update can go to; zeros have to be put
    // somewhere as it is.
    const GraphNode& to = Def(sum);
    const bool carried = to.op == OpCode::kParameter && loops_ > 0 && sum.node >= lasting_end_;
    if (!carried && to.op != OpCode::kDynamicUpdate && to.op != OpCode::kScatter && !IsZero(to_, sum)) continue;
    if (update.op == OpCode::kDynamicUpdate && IsZero(to_, update.in[0])) {
      const Shape part = ShapeOf(update.in[1]);
      if (policy::kMinMaskedShare * NumElements(part.dims) > NumElements(update.shape().dims)) continue;
      GraphNode slice;
      slice.op = OpCode::kDynamicSlice;
      slice.in = update.in;
      slice.in.erase(slice.in.begin() + 1);
      slice.in[0] = sum;
      slice.out.push_back(part);
      GraphNode made = update;
      made.in[0] = sum;
      made.in[1] = Binary(OpCode::kAdd, Emit(std::move(slice)), update.in[1]);
      return Emit(std::move(made));
    }
    if (update.op == OpCode::kScatter && carried && update.in.size() == 3 && IsZero(to_, update.in[0]) &&
        CombinerOp(to_, update.blocks[0]) == OpCode::kAdd && ShapeOf(update.in[2]).dtype == update.shape().dtype &&
        policy::kMinMaskedShare * NumElements(ShapeOf(update.in[2]).dims) <= NumElements(update.shape().dims)) {
      GraphNode made = update;
      std::unordered_map<NodeId, NodeId> copies;
      made.blocks[0] = CopyOf(to_, update.blocks[0], copies);
      made.in[0] = sum;
      return Emit(std::move(made));
    }
  }
  return std::nullopt;
}

}  // namespace tenon::compiler
