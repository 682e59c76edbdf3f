// Updates that happen or not: `where(mask, x with some of its elements replaced, x)`, as loops write them of which each
// of many runs ends on its own.

#include <algorithm>

#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {

Simplifier::Spreading Simplifier::SpreadingOf(Ref r) {
  const GraphNode& node = Def(r);
  Ref of = r;
  Dims to;
  if (node.op == OpCode::kBroadcast) {
    of = node.in[0];
    to = node.attrs<BroadcastAttrs>().broadcast_dimensions;
  } else {
    for (size_t d = 0; d < ShapeOf(r).rank(); ++d) to.push_back(static_cast<int64_t>(d));
  }
  Spreading spreading;
  const Dims extents = ShapeOf(of).dims;
  Dims kept;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 1) continue;
    kept.push_back(extents[i]);
    spreading.dims.push_back(to[i]);
  }
  spreading.of = Reshape(of, kept);
  return spreading;
}

std::optional<Ref> Simplifier::MaskedSlice(const GraphNode& update, Ref mask, bool when, Ref operand) {
  const Shape part = ShapeOf(update.in[1]);
  if (policy::kMinMaskedShare * NumElements(part.dims) > NumElements(update.shape().dims)) return std::nullopt;
  const auto slice = [&](Ref from) {
    GraphNode node;
    node.op = OpCode::kDynamicSlice;
    node.in = update.in;
    node.in.erase(node.in.begin() + 1);
    node.in[0] = from;
    node.out.push_back({ShapeOf(from).dtype, part.dims});
    return Emit(std::move(node));
  };
  const Spreading spread = SpreadingOf(mask);
  const Ref here = spread.dims.empty() ? Broadcast(spread.of, part.dims, {}) : slice(mask);
  const Ref before = slice(operand);
  GraphNode made = update;
  made.in[0] = operand;
  made.in[1] = when ? Select(here, update.in[1], before) : Select(here, before, update.in[1]);
  return Emit(std::move(made));
}

// An update that is not to happen has a place outside: nothing is written there.
std::optional<Ref> Simplifier::MaskedScatter(const GraphNode& update, Ref mask, bool when, Ref operand) {
  const Shape indices = ShapeOf(update.in[1]);
  if (update.in.size() != 3 || update.blocks.size() != 1 || ShapeOf(update.in[0]) != update.shape() ||
      !IsSigned(indices.dtype) || DTypeBits(indices.dtype) < 32 ||
      std::ranges::any_of(update.shape().dims, [](int64_t n) { return n > INT32_MAX; }))
    return std::nullopt;
  const ScatterAttrs s = update.attrs<ScatterAttrs>();
  const Spreading spread = SpreadingOf(mask);
  Dims along;  // Of the indices, per dim of what the mask was spread from.
  for (const int64_t d : spread.dims) {
    const auto k = std::find(s.input_batching_dims.begin(), s.input_batching_dims.end(), d);
    if (k == s.input_batching_dims.end()) return std::nullopt;
    along.push_back(s.scatter_indices_batching_dims[static_cast<size_t>(k - s.input_batching_dims.begin())]);
  }
  // Broadcasts have ascending dims.
  if (!std::is_sorted(along.begin(), along.end()) || s.scatter_dims_to_operand_dims.empty()) return std::nullopt;
  const Ref here = Broadcast(spread.of, indices.dims, along);
  const Ref outside = Splat(indices, kir::LiteralBits(indices.dtype, INT32_MIN));
  GraphNode made = update;
  std::unordered_map<NodeId, NodeId> copies;
  made.blocks[0] = CopyOf(to_, update.blocks[0], copies);
  made.in[0] = operand;
  made.in[1] = when ? Select(here, update.in[1], outside) : Select(here, outside, update.in[1]);
  return Emit(std::move(made));
}

std::optional<Ref> Simplifier::MaskedUpdate(const GraphNode& node) {
  const Dims mask = ShapeOf(node.in[0]).dims;
  if (!mask.empty() && mask != node.shape().dims) return std::nullopt;
  for (const size_t side : {1, 2}) {
    const Ref kept = node.in[3 - side];
    std::vector<GraphNode> updates;  // The last one first.
    Ref at = node.in[side];
    while (!(at == kept) && updates.size() < policy::kMaxMaskedUpdates) {
      const GraphNode& update = Def(at);
      if (update.op != OpCode::kDynamicUpdate && update.op != OpCode::kScatter) break;
      updates.push_back(update);
      at = update.in[0];
    }
    if (updates.empty() || !(at == kept)) continue;
    while (!updates.empty()) {
      const GraphNode& update = updates.back();
      const std::optional<Ref> made = update.op == OpCode::kScatter ? MaskedScatter(update, node.in[0], side == 1, at)
                                                                    : MaskedSlice(update, node.in[0], side == 1, at);
      if (!made) return std::nullopt;
      at = *made;
      updates.pop_back();
    }
    return at;
  }
  return std::nullopt;
}

}  // namespace tenon::compiler
