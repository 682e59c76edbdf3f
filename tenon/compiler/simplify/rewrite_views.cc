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
  // The same value everywhere stays that, whatever moves.
  switch (node.op) {
    case Op::kBroadcast:
    case Op::kReshape:
    case Op::kTranspose:
    case Op::kReverse:
    case Op::kSlice:
    case Op::kDynamicSlice:
    case Op::kGather: {
      const Node& def = Def(source);
      if (def.op == Op::kConstant && def.literal.splat) return Constant(shape, def.literal);
      break;
    }
    default:
      break;
  }
  switch (node.op) {
    case Op::kBroadcast: {
      if (same && IsIota(node.lists[0])) return source;
      const Node& def = Def(source);
      if (def.op == Op::kBroadcast) {
        Node merged = node;
        merged.origin = nullptr;
        merged.in[0] = def.in[0];
        Dims dims;
        for (int64_t d : def.lists[0]) dims.push_back(node.lists[0][static_cast<size_t>(d)]);
        // Extents of one that the first stretched must not be stretched twice to different extents: sizes decide.
        bool ok = true;
        for (size_t i = 0; i < dims.size(); ++i) {
          const int64_t from = ShapeOf(def.in[0]).dims[i];
          const int64_t to = shape.dims[static_cast<size_t>(dims[i])];
          ok &= from == to || from == 1;
        }
        if (ok) {
          merged.lists[0] = dims;
          return Emit(std::move(merged));
        }
      }
      // Only extents of one are added.
      const int64_t elements = NumElements(std::span<const int64_t>(shape.dims.data(), shape.dims.size()));
      const Dims& from = ShapeOf(source).dims;
      const bool sorted = std::is_sorted(node.lists[0].begin(), node.lists[0].end());
      if (sorted && elements == NumElements(std::span<const int64_t>(from.data(), from.size())))
        return Reshape(source, shape.dims);
      break;
    }
    case Op::kReshape: {
      if (same) return source;
      const Node& def = Def(source);
      if (def.op == Op::kReshape) return Reshape(def.in[0], shape.dims);
      if (def.op == Op::kConstant) return Constant(shape, def.literal);
      break;
    }
    case Op::kTranspose: {
      if (IsIota(node.lists[0])) return source;
      const Node& def = Def(source);
      if (def.op == Op::kTranspose) {
        Node merged = node;
        merged.origin = nullptr;
        merged.in[0] = def.in[0];
        for (size_t i = 0; i < node.lists[0].size(); ++i)
          merged.lists[0][i] = def.lists[0][static_cast<size_t>(node.lists[0][i])];
        return Emit(std::move(merged));
      }
      // Moving extents of one alone reorders nothing.
      int64_t last = -1;
      bool ordered = true;
      for (int64_t d : node.lists[0]) {
        if (ShapeOf(source).dims[static_cast<size_t>(d)] == 1) continue;
        ordered &= d > last;
        last = d;
      }
      if (ordered) return Reshape(source, shape.dims);
      break;
    }
    case Op::kReverse: {
      Dims kept;
      for (int64_t d : node.lists[0]) {
        if (shape.dims[static_cast<size_t>(d)] != 1) kept.push_back(d);
      }
      if (kept.empty()) return source;
      break;
    }
    case Op::kConcatenate: {
      SmallVector<Ref, 3> parts;
      for (Ref r : node.in) {
        if (ShapeOf(r).dims[static_cast<size_t>(node.imm)] != 0) parts.push_back(r);
      }
      if (parts.size() == 1) return parts[0];
      if (parts.size() < node.in.size()) {
        node.in = parts;
        node.origin = nullptr;
      }
      break;
    }
    case Op::kPad:
      if (same && All(node.lists[0], 0) && All(node.lists[1], 0)) return source;
      if (NumElements(std::span<const int64_t>(ShapeOf(source).dims.data(), ShapeOf(source).rank())) == 0) {
        Node fill;
        fill.op = Op::kBroadcast;
        fill.in = {node.in[1]};
        fill.lists.push_back({});
        fill.out.push_back(shape);
        return Emit(std::move(fill));
      }
      // Negative padding is a slice of what is left.
      if (All(node.lists[2], 0)) {
        bool crops = false;
        for (size_t i = 0; i < shape.rank(); ++i) crops |= node.lists[0][i] < 0 || node.lists[1][i] < 0;
        if (crops) {
          Node slice;
          slice.op = Op::kSlice;
          slice.in = {source};
          slice.lists.resize(3);
          Shape cropped = ShapeOf(source);
          for (size_t i = 0; i < shape.rank(); ++i) {
            const int64_t begin = std::max<int64_t>(0, -node.lists[0][i]);
            const int64_t end = cropped.dims[i] - std::max<int64_t>(0, -node.lists[1][i]);
            if (end < begin) return std::nullopt;
            slice.lists[0].push_back(begin);
            slice.lists[1].push_back(end);
            slice.lists[2].push_back(1);
            cropped.dims[i] = end - begin;
          }
          slice.out.push_back(cropped);
          Node rest = node;
          rest.origin = nullptr;
          rest.in[0] = Emit(std::move(slice));
          for (size_t i = 0; i < shape.rank(); ++i) {
            rest.lists[0][i] = std::max<int64_t>(0, node.lists[0][i]);
            rest.lists[1][i] = std::max<int64_t>(0, node.lists[1][i]);
          }
          return Emit(std::move(rest));
        }
      } else if (std::any_of(node.lists[0].begin(), node.lists[0].end(), [](int64_t v) { return v < 0; }) ||
                 std::any_of(node.lists[1].begin(), node.lists[1].end(), [](int64_t v) { return v < 0; })) {
        // With holes: the crop may start in one, so it comes last.
        Node full = node;
        full.origin = nullptr;
        Node slice;
        slice.op = Op::kSlice;
        slice.lists.resize(3);
        slice.out.push_back(shape);
        for (size_t i = 0; i < shape.rank(); ++i) {
          const int64_t before = std::max<int64_t>(0, -node.lists[0][i]);
          full.lists[0][i] += before;
          full.lists[1][i] += std::max<int64_t>(0, -node.lists[1][i]);
          full.out[0].dims[i] = full.lists[0][i] + full.lists[1][i] + ShapeOf(source).dims[i] +
                                (ShapeOf(source).dims[i] - 1) * node.lists[2][i];
          slice.lists[0].push_back(before);
          slice.lists[1].push_back(before + shape.dims[i]);
          slice.lists[2].push_back(1);
        }
        slice.in = {Emit(std::move(full))};
        return Emit(std::move(slice));
      }
      break;
    case Op::kSlice:
      return RewriteSlice(node);
    case Op::kDynamicSlice: {
      if (same) return source;
      // Known starts: a slice.
      Node slice;
      slice.op = Op::kSlice;
      slice.in = {source};
      slice.lists.resize(3);
      slice.out.push_back(shape);
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
        slice.lists[0].push_back(start);
        slice.lists[1].push_back(start + shape.dims[i]);
        slice.lists[2].push_back(1);
      }
      return Emit(std::move(slice));
    }
    case Op::kDynamicUpdate:
      if (ShapeOf(node.in[1]) == shape) return node.in[1];
      if (NumElements(std::span<const int64_t>(ShapeOf(node.in[1]).dims.data(), ShapeOf(node.in[1]).rank())) == 0)
        return source;
      break;
    default:
      break;
  }
  return std::nullopt;
}

std::optional<Ref> Simplifier::RewriteSlice(Node& node) {
  const Ref source = node.in[0];
  const Shape shape = node.shape();
  if (ShapeOf(source) == shape) return source;
  const Node& def = Def(source);
  if (def.op == Op::kSlice) {
    Node merged = node;
    merged.origin = nullptr;
    merged.in[0] = def.in[0];
    for (size_t i = 0; i < shape.rank(); ++i) {
      const int64_t step = def.lists[2][i];
      merged.lists[0][i] = def.lists[0][i] + node.lists[0][i] * step;
      merged.lists[2][i] = node.lists[2][i] * step;
      merged.lists[1][i] = merged.lists[0][i] + (shape.dims[i] - 1) * merged.lists[2][i] + 1;
    }
    return Emit(std::move(merged));
  }
  if (def.op == Op::kConcatenate) {
    const size_t along = static_cast<size_t>(def.imm);
    int64_t begin = 0;
    for (Ref part : def.in) {
      const int64_t end = begin + ShapeOf(part).dims[along];
      if (node.lists[0][along] >= begin && node.lists[1][along] <= end) {
        Node inner = node;
        inner.origin = nullptr;
        inner.in[0] = part;
        inner.lists[0][along] -= begin;
        inner.lists[1][along] -= begin;
        return Emit(std::move(inner));
      }
      begin = end;
    }
  }
  if (def.op == Op::kBroadcast) {
    // Slicing only what was stretched or added.
    bool only_stretched = true;
    for (size_t i = 0; i < shape.rank(); ++i) {
      const bool cut = shape.dims[i] != ShapeOf(source).dims[i] || node.lists[0][i] != 0;
      if (!cut) continue;
      for (size_t d = 0; d < def.lists[0].size(); ++d) {
        if (def.lists[0][d] == static_cast<int64_t>(i) && ShapeOf(def.in[0]).dims[d] != 1) only_stretched = false;
      }
    }
    if (only_stretched) {
      Node broadcast = def;
      broadcast.origin = nullptr;
      broadcast.out[0] = shape;
      return Emit(std::move(broadcast));
    }
  }
  return std::nullopt;
}

}  // namespace tenon::compiler
