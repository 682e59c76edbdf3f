// Ops that move elements: identities, compositions, canonical forms.

#include <algorithm>

#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {

namespace {

bool IsIota(const Dims& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

std::optional<Ref> Simplifier::EmptyArray(const GraphNode& node) {
  if (node.out.size() != 1 || node.shape().dtype == DType::kToken || NumElements(node.shape().dims) != 0 ||
      node.op == OpCode::kBarrier)
    return std::nullopt;
  return Constant(node.shape(), MakeLiteral("", false));
}

std::optional<Ref> Simplifier::ViewOfSplat(const GraphNode& node) {
  const GraphNode& def = Def(node.in[0]);
  if (def.op == OpCode::kConstant && def.literal.splat) return Constant(node.shape(), def.literal);
  return std::nullopt;
}

std::optional<Ref> Simplifier::BroadcastIdentity(const GraphNode& node) {
  if (ShapeOf(node.in[0]) == node.shape() && IsIota(node.attrs<BroadcastAttrs>().broadcast_dimensions))
    return node.in[0];
  return std::nullopt;
}

std::optional<Ref> Simplifier::BroadcastOfBroadcast(const GraphNode& node) {
  const GraphNode& def = Def(node.in[0]);
  if (def.op != OpCode::kBroadcast) return std::nullopt;
  const Dims& places = node.attrs<BroadcastAttrs>().broadcast_dimensions;
  Dims dims;
  for (int64_t d : def.attrs<BroadcastAttrs>().broadcast_dimensions) dims.push_back(places[static_cast<size_t>(d)]);
  // Extents of one that the first stretched must not be stretched twice to different extents: sizes decide.
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t from = ShapeOf(def.in[0]).dims[i];
    const int64_t to = node.shape().dims[static_cast<size_t>(dims[i])];
    if (from != to && from != 1) return std::nullopt;
  }
  GraphNode merged = node;
  merged.origin = nullptr;
  merged.in[0] = def.in[0];
  merged.attributes = BroadcastAttrs{std::move(dims)};
  return Emit(std::move(merged));
}

std::optional<Ref> Simplifier::BroadcastAsReshape(const GraphNode& node) {
  const Dims& places = node.attrs<BroadcastAttrs>().broadcast_dimensions;
  if (std::is_sorted(places.begin(), places.end()) &&
      NumElements(node.shape().dims) == NumElements(ShapeOf(node.in[0]).dims))
    return Reshape(node.in[0], node.shape().dims);
  return std::nullopt;
}

std::optional<Ref> Simplifier::ReshapeIdentity(const GraphNode& node) {
  if (ShapeOf(node.in[0]) == node.shape()) return node.in[0];
  return std::nullopt;
}

std::optional<Ref> Simplifier::ReshapeOfReshape(const GraphNode& node) {
  const GraphNode& def = Def(node.in[0]);
  if (def.op == OpCode::kReshape) return Reshape(def.in[0], node.shape().dims);
  return std::nullopt;
}

std::optional<Ref> Simplifier::ReshapeOfConstant(const GraphNode& node) {
  const GraphNode& def = Def(node.in[0]);
  if (def.op == OpCode::kConstant) return Constant(node.shape(), def.literal);
  return std::nullopt;
}

std::optional<Ref> Simplifier::TransposeIdentity(const GraphNode& node) {
  if (IsIota(node.attrs<TransposeAttrs>().permutation)) return node.in[0];
  return std::nullopt;
}

std::optional<Ref> Simplifier::TransposeOfTranspose(const GraphNode& node) {
  const GraphNode& def = Def(node.in[0]);
  if (def.op != OpCode::kTranspose) return std::nullopt;
  GraphNode merged = node;
  merged.origin = nullptr;
  merged.in[0] = def.in[0];
  const Dims& inner = def.attrs<TransposeAttrs>().permutation;
  for (int64_t& d : merged.attrs<TransposeAttrs>().permutation) d = inner[static_cast<size_t>(d)];
  return Emit(std::move(merged));
}

std::optional<Ref> Simplifier::TransposeAsReshape(const GraphNode& node) {
  int64_t last = -1;
  for (int64_t d : node.attrs<TransposeAttrs>().permutation) {
    if (ShapeOf(node.in[0]).dims[static_cast<size_t>(d)] == 1) continue;
    if (d <= last) return std::nullopt;
    last = d;
  }
  return Reshape(node.in[0], node.shape().dims);
}

std::optional<Ref> Simplifier::ReverseNothing(const GraphNode& node) {
  const Dims& dims = node.attrs<ReverseAttrs>().dimensions;
  if (std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return node.shape().dims[static_cast<size_t>(d)] == 1; }))
    return node.in[0];
  return std::nullopt;
}

std::optional<Ref> Simplifier::TransposeOfStack(const GraphNode& node) {
  const GraphNode& stack = Def(node.in[0]);
  if (stack.op != OpCode::kConcatenate) return std::nullopt;
  const int64_t along = stack.attrs<ConcatenateAttrs>().dimension;
  const Dims& permutation = node.attrs<TransposeAttrs>().permutation;
  // Where only the stack's own dim moves, no part does.
  Dims others = permutation;
  others.erase(std::ranges::find(others, along));
  const auto is_one = [&](Ref part) { return ShapeOf(part).dims[static_cast<size_t>(along)] == 1; };
  if (!std::ranges::is_sorted(others) || !std::ranges::all_of(stack.in, is_one)) return std::nullopt;
  const SmallVector<Ref, 3> from = stack.in;
  SmallVector<Ref, 3> parts;
  for (const Ref part : from) parts.push_back(Transposed(part, permutation));
  return Concatenated(std::move(parts),
                      static_cast<size_t>(std::ranges::find(permutation, along) - permutation.begin()));
}

std::optional<Ref> Simplifier::ReverseOfPad(const GraphNode& node) {
  const GraphNode& pad = Def(node.in[0]);
  if (pad.op != OpCode::kPad) return std::nullopt;
  PadAttrs sides = pad.attrs<PadAttrs>();
  const Ref value = pad.in[1];
  GraphNode reversed = node;
  reversed.in[0] = pad.in[0];
  reversed.out[0] = ShapeOf(pad.in[0]);
  for (const int64_t d : node.attrs<ReverseAttrs>().dimensions)
    std::swap(sides.edge_padding_low[static_cast<size_t>(d)], sides.edge_padding_high[static_cast<size_t>(d)]);
  return Padded(Emit(std::move(reversed)), value, sides.edge_padding_low, sides.edge_padding_high,
                sides.interior_padding);
}

std::optional<Ref> Simplifier::ConcatenateNothing(const GraphNode& node) {
  const auto along = static_cast<size_t>(node.attrs<ConcatenateAttrs>().dimension);
  SmallVector<Ref, 3> parts;
  for (Ref r : node.in) {
    if (ShapeOf(r).dims[along] != 0) parts.push_back(r);
  }
  if (parts.size() == 1) return parts[0];
  if (parts.size() == node.in.size()) return std::nullopt;
  GraphNode fewer = node;
  fewer.origin = nullptr;
  fewer.in = std::move(parts);
  return Emit(std::move(fewer));
}

std::optional<Ref> Simplifier::DynamicUpdateWhole(const GraphNode& node) {
  if (ShapeOf(node.in[1]) == node.shape()) return node.in[1];
  return std::nullopt;
}

std::optional<Ref> Simplifier::DynamicUpdateNothing(const GraphNode& node) {
  if (NumElements(ShapeOf(node.in[1]).dims) == 0) return node.in[0];
  return std::nullopt;
}

std::optional<Ref> Simplifier::DynamicSliceWhole(const GraphNode& node) {
  if (ShapeOf(node.in[0]) == node.shape()) return node.in[0];
  return std::nullopt;
}

std::optional<Ref> Simplifier::DynamicSliceKnown(const GraphNode& node) {
  const Ref source = node.in[0];
  const Shape shape = node.shape();
  Dims starts;
  for (size_t i = 0; i < shape.rank(); ++i) {
    const std::optional<uint64_t> bits = SplatBits(to_, node.in[1 + i]);
    const int64_t limit = ShapeOf(source).dims[i] - shape.dims[i];
    if (!bits && limit != 0) return std::nullopt;
    int64_t start = 0;
    if (limit != 0) {
      const DType type = ShapeOf(node.in[1 + i]).dtype;
      const int shift = 64 - DTypeBits(type);
      if (IsSigned(type)) {
        start = std::clamp<int64_t>(static_cast<int64_t>(*bits << shift) >> shift, 0, limit);
      } else {
        start = *bits > static_cast<uint64_t>(limit) ? limit : static_cast<int64_t>(*bits);
      }
    }
    starts.push_back(start);
  }
  return StridedSlice(source, starts, Dims(shape.rank(), 1), shape.dims);
}

std::optional<Ref> Simplifier::SliceWhole(const GraphNode& node) {
  if (ShapeOf(node.in[0]) == node.shape()) return node.in[0];
  return std::nullopt;
}

// Through slices and into operands of concatenations, however many there are one behind the other.
std::optional<Ref> Simplifier::SliceOfView(const GraphNode& node) {
  Ref source = node.in[0];
  SliceAttrs at = node.attrs<SliceAttrs>();
  const Shape shape = node.shape();
  for (;;) {
    if (ShapeOf(source) == shape) return source;
    const GraphNode& def = Def(source);
    if (def.op == OpCode::kConstant && def.literal.splat) return Constant(shape, def.literal);
    if (def.op == OpCode::kSlice) {
      const auto& inner = def.attrs<SliceAttrs>();
      for (size_t i = 0; i < shape.rank(); ++i) {
        at.start_indices[i] = inner.start_indices[i] + at.start_indices[i] * inner.strides[i];
        at.strides[i] = shape.dims[i] == 1 ? 1 : at.strides[i] * inner.strides[i];
        at.limit_indices[i] = at.start_indices[i] + (shape.dims[i] - 1) * at.strides[i] + 1;
      }
      source = def.in[0];
      continue;
    }
    if (def.op == OpCode::kConcatenate) {
      const auto along = static_cast<size_t>(def.attrs<ConcatenateAttrs>().dimension);
      const std::vector<int64_t>& ends = EndsOf(source.node);
      const auto end = std::upper_bound(ends.begin(), ends.end(), at.start_indices[along]);
      if (end != ends.end() && at.limit_indices[along] <= *end) {
        const int64_t begin = end == ends.begin() ? 0 : end[-1];
        at.start_indices[along] -= begin;
        at.limit_indices[along] -= begin;
        source = def.in[static_cast<size_t>(end - ends.begin())];
        continue;
      }
    }
    if (def.op == OpCode::kBroadcast) {
      // Slicing only what was stretched or added.
      const Dims& places = def.attrs<BroadcastAttrs>().broadcast_dimensions;
      bool only_stretched = true;
      for (size_t i = 0; i < shape.rank(); ++i) {
        const bool cut = shape.dims[i] != ShapeOf(source).dims[i] || at.start_indices[i] != 0;
        if (!cut) continue;
        for (size_t d = 0; d < places.size(); ++d) {
          if (places[d] == static_cast<int64_t>(i) && ShapeOf(def.in[0]).dims[d] != 1) only_stretched = false;
        }
      }
      if (only_stretched) {
        GraphNode broadcast = def;
        broadcast.origin = nullptr;
        broadcast.out[0] = shape;
        return Emit(std::move(broadcast));
      }
    }
    break;
  }
  if (source == node.in[0]) return std::nullopt;
  GraphNode merged = node;
  merged.origin = nullptr;
  merged.in[0] = source;
  merged.attributes = std::move(at);
  return Emit(std::move(merged));
}

const std::vector<int64_t>& Simplifier::EndsOf(NodeId concatenation) {
  auto [it, fresh] = ends_.try_emplace(concatenation);
  if (fresh) {
    const GraphNode& node = to_[concatenation];
    int64_t end = 0;
    for (Ref part : node.in)
      it->second.push_back(end += ShapeOf(part).dims[static_cast<size_t>(node.attrs<ConcatenateAttrs>().dimension)]);
  }
  return it->second;
}

}  // namespace tenon::compiler
