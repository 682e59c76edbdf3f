// Elements taken of few values that were put one behind the other, by places that are computed: a choice between the
// values, each of them where it is wanted.

#include <algorithm>

#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {
namespace {

/// The position of `d` in the list.
std::optional<size_t> Position(const Dims& list, size_t d) {
  const auto it = std::find(list.begin(), list.end(), static_cast<int64_t>(d));
  if (it == list.end()) return std::nullopt;
  return static_cast<size_t>(it - list.begin());
}

/// Dims of extents other than one, in order; of two shapes that differ by extents of one only, they are the same.
std::vector<size_t> WideDims(const Dims& dims) {
  std::vector<size_t> wide;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != 1) wide.push_back(d);
  }
  return wide;
}

/// The dim along which the integers are 0, 1, 2 ..., being the same along all others; also where what would be negative
/// is counted from an end.
std::optional<size_t> CountedAlong(const Program& p, Ref r, int depth = 0) {
  const GraphNode& node = p[r.node];
  // Of narrow types long counts begin anew.
  if (depth > policy::kMaxKnownDepth || ByteWidth(p.shape(r).dtype) < 4) return std::nullopt;
  switch (node.op) {
    case OpCode::kIota:
      return static_cast<size_t>(node.attrs<IotaAttrs>().iota_dimension);
    case OpCode::kConvert:
      return IsInteger(p.shape(node.in[0]).dtype) ? CountedAlong(p, node.in[0], depth + 1) : std::nullopt;
    case OpCode::kBroadcast: {
      const auto inner = CountedAlong(p, node.in[0], depth + 1);
      if (!inner) return std::nullopt;
      const auto along = static_cast<size_t>(node.attrs<BroadcastAttrs>().broadcast_dimensions[*inner]);
      // A count of one that is stretched is the same everywhere.
      return p.shape(node.in[0]).dims[*inner] == node.shape().dims[along] ? std::optional(along) : std::nullopt;
    }
    case OpCode::kReshape: {
      const auto inner = CountedAlong(p, node.in[0], depth + 1);
      const Dims &from = p.shape(node.in[0]).dims, &to = node.shape().dims;
      const std::vector<size_t> wide = WideDims(from), now = WideDims(to);
      if (!inner || wide.size() != now.size()) return std::nullopt;
      std::optional<size_t> found;
      for (size_t i = 0; i < wide.size(); ++i) {
        if (from[wide[i]] != to[now[i]]) return std::nullopt;
        if (wide[i] == *inner) found = now[i];
      }
      return found;
    }
    case OpCode::kSelect: {
      // x < 0 ? _ : x
      const GraphNode& mask = p[node.in[0].node];
      if (mask.op != OpCode::kCompare || mask.attrs<CompareAttrs>().comparison_direction != kir::kLt ||
          mask.in[0] != node.in[2])
        return std::nullopt;
      const std::optional<uint64_t> bound = SplatBits(p, mask.in[1]);
      return bound && *bound == 0 ? CountedAlong(p, node.in[2], depth + 1) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Simplifier::Stack> Simplifier::FewStacked(Ref r) {
  // What was stacked outside of a loop is there, whichever trip asks.
  if (block_->nodes.empty() || r.node < block_->nodes.front()) return std::nullopt;
  const GraphNode node = Def(r);
  if (node.op == OpCode::kTranspose) {
    std::optional<Stack> stack = FewStacked(node.in[0]);
    if (!stack) return std::nullopt;
    const Dims& permutation = node.attrs<TransposeAttrs>().permutation;
    for (Ref& value : stack->values) value = Transposed(value, permutation);
    stack->along = *Position(permutation, stack->along);
    return stack;
  }
  if (node.op != OpCode::kConcatenate || node.in.size() > policy::kMaxChoices) return std::nullopt;
  Stack stack{.values = {}, .along = static_cast<size_t>(node.attrs<ConcatenateAttrs>().dimension)};
  for (const Ref part : node.in) {
    if (ShapeOf(part).dims[stack.along] != 1) return std::nullopt;
    stack.values.push_back(part);
  }
  return stack;
}

Ref Simplifier::ChoiceOf(const std::vector<Ref>& values, Ref place) {
  Ref chosen = values.back();
  for (size_t i = values.size() - 1; i-- > 0;) {
    const Ref here = Splat(ShapeOf(place), kir::LiteralBits(ShapeOf(place).dtype, static_cast<int64_t>(i)));
    chosen = Select(Compare(kir::kLe, place, here), values[i], chosen);
  }
  return chosen;
}

std::optional<Ref> Simplifier::GatherOfStack(const GraphNode& node) {
  const std::optional<Stack> stack = FewStacked(node.in[0]);
  if (!stack) return std::nullopt;
  const size_t along = stack->along;
  const GatherAttrs g = node.attrs<GatherAttrs>();
  const Dims operand = ShapeOf(node.in[0]).dims, indices = ShapeOf(node.in[1]).dims;
  const Shape shape = node.shape();
  const std::optional<size_t> asked = Position(g.start_index_map, along);
  if (!asked || g.slice_sizes[along] != 1) return std::nullopt;

  // Where the dims of the indices, but for the vectors', are in the result, and then those of the operand.
  const auto vector_dim = static_cast<size_t>(g.index_vector_dim);
  Dims index_places(indices.size(), -1);
  for (size_t d = 0, next = 0; d < indices.size(); ++d) {
    if (d == vector_dim) continue;
    while (Position(g.offset_dims, next)) ++next;
    index_places[d] = static_cast<int64_t>(next++);
  }
  const auto component = [&](size_t k) {
    if (vector_dim == indices.size()) return node.in[1];
    const GraphNode& vectors = Def(node.in[1]);
    if (vectors.op == OpCode::kConcatenate && vectors.in.size() == g.start_index_map.size() &&
        vectors.attrs<ConcatenateAttrs>().dimension == g.index_vector_dim)
      return vectors.in[k];
    Dims start(indices.size(), 0), extent = indices;
    start[vector_dim] = static_cast<int64_t>(k);
    extent[vector_dim] = 1;
    return StridedSlice(node.in[1], start, Dims(indices.size(), 1), extent);
  };
  Dims kept, places;  // Of a part without `along`, and where in the result these dims are.
  for (size_t d = 0, offset = 0; d < operand.size(); ++d) {
    const std::optional<size_t> batch = Position(g.operand_batching_dims, d), index = Position(g.start_index_map, d);
    const bool is_offset = !batch && !Position(g.collapsed_slice_dims, d);
    const int64_t offset_place = is_offset ? g.offset_dims[offset++] : -1;
    if (d == along) continue;
    int64_t place = -1;
    if (is_offset) {
      if (g.slice_sizes[d] != operand[d]) return std::nullopt;
      place = offset_place;
    } else if (batch) {
      place = index_places[static_cast<size_t>(g.start_indices_batching_dims[*batch])];
    } else {
      if (!index) return std::nullopt;
      const std::optional<size_t> counted = CountedAlong(to_, component(*index));
      if (!counted || *counted == vector_dim || indices[*counted] != operand[d]) return std::nullopt;
      place = index_places[*counted];
    }
    if (std::find(places.begin(), places.end(), place) != places.end()) return std::nullopt;
    kept.push_back(operand[d]);
    places.push_back(place);
  }
  const auto spread = [&](Ref r, const Dims& dims, const Dims& at) {
    // Broadcasts keep the order of dims.
    Dims order(at.size());
    for (size_t i = 0; i < at.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::sort(order.begin(), order.end(),
              [&](int64_t a, int64_t b) { return at[static_cast<size_t>(a)] < at[static_cast<size_t>(b)]; });
    Dims sorted = at;
    std::sort(sorted.begin(), sorted.end());
    return Broadcast(Transposed(Reshape(r, dims), order), shape.dims, sorted);
  };
  std::vector<Ref> values;
  for (const Ref value : stack->values) values.push_back(spread(value, kept, places));
  Dims index_dims, index_at;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (d == vector_dim) continue;
    index_dims.push_back(indices[d]);
    index_at.push_back(index_places[d]);
  }
  return ChoiceOf(values, spread(component(*asked), index_dims, index_at));
}

std::optional<Ref> Simplifier::DynamicSliceOfStack(const GraphNode& node) {
  const std::optional<Stack> stack = FewStacked(node.in[0]);
  if (!stack) return std::nullopt;
  const size_t along = stack->along;
  const Shape shape = node.shape();
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (shape.dims[d] != (d == along ? 1 : ShapeOf(node.in[0]).dims[d])) return std::nullopt;
  }
  return ChoiceOf(stack->values, Broadcast(node.in[1 + along], shape.dims, {}));
}

}  // namespace tenon::compiler
