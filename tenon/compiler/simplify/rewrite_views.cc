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

bool All(const Dims& list, int64_t v) {
  return std::all_of(list.begin(), list.end(), [v](int64_t x) { return x == v; });
}

}  // namespace

std::optional<Ref> Simplifier::RewriteView(Node& node) {
  const Ref source = node.in[0];
  const Shape shape = node.shape();
  const bool same = ShapeOf(source) == shape;
  const Node& def = Def(source);
  // The same value everywhere stays that, whatever moves.
  switch (node.op) {
    case Op::kBroadcast:
    case Op::kReshape:
    case Op::kTranspose:
    case Op::kReverse:
    case Op::kSlice:
    case Op::kDynamicSlice:
    case Op::kGather:
      if (def.op == Op::kConstant && def.literal.splat) return Constant(shape, def.literal);
      break;
    default:
      break;
  }
  switch (node.op) {
    case Op::kBroadcast:
      return RewriteBroadcast(node);
    case Op::kReshape:
      if (same) return source;
      if (def.op == Op::kReshape) return Reshape(def.in[0], shape.dims);
      if (def.op == Op::kConstant) return Constant(shape, def.literal);
      break;
    case Op::kTranspose:
      return RewriteTranspose(node);
    case Op::kReverse: {
      const Dims& dims = node.attrs<ReverseAttrs>().dimensions;
      if (std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return shape.dims[static_cast<size_t>(d)] == 1; }))
        return source;
      break;
    }
    case Op::kConcatenate: {
      const auto along = static_cast<size_t>(node.attrs<ConcatenateAttrs>().dimension);
      SmallVector<Ref, 3> parts;
      for (Ref r : node.in) {
        if (ShapeOf(r).dims[along] != 0) parts.push_back(r);
      }
      if (parts.size() == 1) return parts[0];
      if (parts.size() < node.in.size()) {
        node.in = parts;
        node.origin = nullptr;
      }
      break;
    }
    case Op::kPad:
      return RewritePad(node);
    case Op::kSlice:
      return RewriteSlice(node);
    case Op::kDynamicSlice:
      return RewriteDynamicSlice(node);
    case Op::kDynamicUpdate:
      if (ShapeOf(node.in[1]) == shape) return node.in[1];
      if (NumElements(ShapeOf(node.in[1]).dims) == 0) return source;
      break;
    default:
      break;
  }
  return std::nullopt;
}

std::optional<Ref> Simplifier::RewriteBroadcast(const Node& node) {
  const Ref source = node.in[0];
  const Shape shape = node.shape();
  const Dims& places = node.attrs<BroadcastAttrs>().broadcast_dimensions;
  if (ShapeOf(source) == shape && IsIota(places)) return source;
  const Node& def = Def(source);
  if (def.op == Op::kBroadcast) {
    Dims dims;
    for (int64_t d : def.attrs<BroadcastAttrs>().broadcast_dimensions) dims.push_back(places[static_cast<size_t>(d)]);
    // Extents of one that the first stretched must not be stretched twice to different extents: sizes decide.
    bool ok = true;
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t from = ShapeOf(def.in[0]).dims[i];
      const int64_t to = shape.dims[static_cast<size_t>(dims[i])];
      ok &= from == to || from == 1;
    }
    if (ok) {
      Node merged = node;
      merged.origin = nullptr;
      merged.in[0] = def.in[0];
      merged.attributes = BroadcastAttrs{std::move(dims)};
      return Emit(std::move(merged));
    }
  }
  // Only extents of one are added.
  const bool sorted = std::is_sorted(places.begin(), places.end());
  if (sorted && NumElements(shape.dims) == NumElements(ShapeOf(source).dims)) return Reshape(source, shape.dims);
  return std::nullopt;
}

std::optional<Ref> Simplifier::RewriteTranspose(const Node& node) {
  const Ref source = node.in[0];
  const Dims& permutation = node.attrs<TransposeAttrs>().permutation;
  if (IsIota(permutation)) return source;
  const Node& def = Def(source);
  if (def.op == Op::kTranspose) {
    Node merged = node;
    merged.origin = nullptr;
    merged.in[0] = def.in[0];
    const Dims& inner = def.attrs<TransposeAttrs>().permutation;
    Dims& both = merged.attrs<TransposeAttrs>().permutation;
    for (size_t i = 0; i < both.size(); ++i) both[i] = inner[static_cast<size_t>(permutation[i])];
    return Emit(std::move(merged));
  }
  // Moving extents of one alone reorders nothing.
  int64_t last = -1;
  bool ordered = true;
  for (int64_t d : permutation) {
    if (ShapeOf(source).dims[static_cast<size_t>(d)] == 1) continue;
    ordered &= d > last;
    last = d;
  }
  if (ordered) return Reshape(source, node.shape().dims);
  return std::nullopt;
}

std::optional<Ref> Simplifier::RewritePad(const Node& node) {
  const Ref source = node.in[0], value = node.in[1];
  const Shape shape = node.shape();
  auto [low, high, interior] = node.attrs<PadAttrs>();
  if (ShapeOf(source) == shape && All(low, 0) && All(high, 0)) return source;
  if (NumElements(ShapeOf(source).dims) == 0) return Spread(value, shape);
  // Negative padding is a slice.
  Dims before, after;
  for (size_t i = 0; i < shape.rank(); ++i) {
    before.push_back(std::max<int64_t>(0, -low[i]));
    after.push_back(std::max<int64_t>(0, -high[i]));
    low[i] += before[i];
    high[i] += after[i];
  }
  if (All(before, 0) && All(after, 0)) return std::nullopt;
  const Dims ones(shape.rank(), 1);
  // With holes: the crop may start in one, so it comes last.
  if (!All(interior, 0)) return StridedSlice(Padded(source, value, low, high, interior), before, ones, shape.dims);
  Dims kept = ShapeOf(source).dims;
  for (size_t i = 0; i < shape.rank(); ++i) {
    kept[i] -= before[i] + after[i];
    if (kept[i] < 0) return std::nullopt;
  }
  return Padded(StridedSlice(source, before, ones, kept), value, low, high, interior);
}

/// Known starts: a slice.
std::optional<Ref> Simplifier::RewriteDynamicSlice(const Node& node) {
  const Ref source = node.in[0];
  const Shape shape = node.shape();
  if (ShapeOf(source) == shape) return source;
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

// Through slices and into operands of concatenations, however many there are one behind the other.
std::optional<Ref> Simplifier::RewriteSlice(const Node& node) {
  Ref source = node.in[0];
  SliceAttrs at = node.attrs<SliceAttrs>();
  const Shape shape = node.shape();
  for (;;) {
    if (ShapeOf(source) == shape) return source;
    const Node& def = Def(source);
    if (def.op == Op::kConstant && def.literal.splat) return Constant(shape, def.literal);
    if (def.op == Op::kSlice) {
      const auto& inner = def.attrs<SliceAttrs>();
      for (size_t i = 0; i < shape.rank(); ++i) {
        at.start_indices[i] = inner.start_indices[i] + at.start_indices[i] * inner.strides[i];
        at.strides[i] *= inner.strides[i];
        at.limit_indices[i] = at.start_indices[i] + (shape.dims[i] - 1) * at.strides[i] + 1;
      }
      source = def.in[0];
      continue;
    }
    if (def.op == Op::kConcatenate) {
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
    if (def.op == Op::kBroadcast) {
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
        Node broadcast = def;
        broadcast.origin = nullptr;
        broadcast.out[0] = shape;
        return Emit(std::move(broadcast));
      }
    }
    break;
  }
  if (source == node.in[0]) return std::nullopt;
  Node merged = node;
  merged.origin = nullptr;
  merged.in[0] = source;
  merged.attributes = std::move(at);
  return Emit(std::move(merged));
}

const std::vector<int64_t>& Simplifier::EndsOf(NodeId concatenation) {
  auto [it, fresh] = ends_.try_emplace(concatenation);
  if (fresh) {
    const Node& node = to_[concatenation];
    int64_t end = 0;
    for (Ref part : node.in)
      it->second.push_back(end += ShapeOf(part).dims[static_cast<size_t>(node.attrs<ConcatenateAttrs>().dimension)]);
  }
  return it->second;
}

}  // namespace tenon::compiler
