#include <algorithm>
#include <cstring>

#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {

Ref Simplifier::Constant(Shape shape, Literal literal) {
  Node node;
  node.op = Op::kConstant;
  node.out.push_back(std::move(shape));
  node.literal = std::move(literal);
  return Emit(std::move(node));
}

Ref Simplifier::Splat(const Shape& shape, uint64_t bits) {
  return Constant(
      shape, MakeLiteral(std::string(reinterpret_cast<const char*>(&bits), static_cast<size_t>(ByteWidth(shape.dtype))),
                         true));
}

Ref Simplifier::Binary(Op op, Ref a, Ref b) {
  Node node;
  node.op = op;
  node.in = {a, b};
  node.out.push_back(ShapeOf(a));
  return Emit(std::move(node));
}

Ref Simplifier::Reshape(Ref r, Dims dims) {
  if (ShapeOf(r).dims == dims) return r;
  Node node;
  node.op = Op::kReshape;
  node.in = {r};
  node.out.push_back({ShapeOf(r).dtype, std::move(dims)});
  return Emit(std::move(node));
}

Ref Simplifier::Spread(Ref scalar, const Shape& shape) {
  Node broadcast;
  broadcast.op = Op::kBroadcast;
  broadcast.in = {Converted(scalar, shape.dtype)};
  broadcast.out.push_back(shape);
  broadcast.attributes = BroadcastAttrs{};
  return Emit(std::move(broadcast));
}

std::optional<Ref> Simplifier::Rewrite(Node& node) {
  if (node.op == Op::kParameter || node.op == Op::kConstant || node.side_effect) return std::nullopt;
  // Nothing to compute: an empty array.
  if (node.out.size() == 1 && node.shape().dtype != DType::kToken && NumElements(node.shape().dims) == 0 &&
      node.op != Op::kBarrier) {
    return Constant(node.shape(), MakeLiteral("", false));
  }
  if (node.op == Op::kDot) {
    if (std::optional<Ref> sum = RewriteDot(node)) return sum;
  }
  if (std::optional<Ref> parts = RewriteComplex(node)) return parts;
  if (node.op == Op::kReduce) return RewriteReduce(node);
  if (node.op == Op::kReduceWindow) return RewriteReduceWindow(node);
  if (node.op == Op::kConvolution) return RewriteConvolution(node);
  if (node.op == Op::kSelectAndScatter) return RewriteSelectAndScatter(node);
  if (std::optional<Ref> folded = Fold(node)) return folded;
  switch (KindOfOp(node.op)) {
    case OpKind::kElementwise:
      return RewriteElementwise(node);
    case OpKind::kView:
      return RewriteView(node);
    default:
      return std::nullopt;
  }
}

std::optional<Ref> Simplifier::RewriteElementwise(Node& node) {
  const Shape& shape = node.shape();
  const DType type = shape.dtype;
  const bool is_float = IsFloat(type);
  const bool is_int = IsInteger(type);
  auto same_shape = [&](Ref r) { return ShapeOf(r) == shape; };
  switch (node.op) {
    case Op::kConvert:
    case Op::kBitcast:
      if (same_shape(node.in[0])) return node.in[0];
      break;
    case Op::kReal:
    case Op::kImag:
      return RewritePart(node);
    case Op::kAdd:
      for (int i : {0, 1}) {
        if (is_int && IsSplat(node.in[static_cast<size_t>(i)], 0)) return node.in[static_cast<size_t>(1 - i)];
        if (is_float && IsSplat(node.in[static_cast<size_t>(i)], kir::LiteralBits(type, -0.0)))
          return node.in[static_cast<size_t>(1 - i)];
      }
      break;
    case Op::kSubtract:
      if ((is_int || is_float) && IsSplat(node.in[1], 0)) return node.in[0];
      break;
    case Op::kMultiply:
      for (int i : {0, 1}) {
        if ((is_int || is_float) && IsSplat(node.in[static_cast<size_t>(i)], kir::LiteralBits(type, 1)))
          return node.in[static_cast<size_t>(1 - i)];
      }
      break;
    case Op::kDivide:
      if ((is_int || is_float) && IsSplat(node.in[1], kir::LiteralBits(type, 1))) return node.in[0];
      // By a power of two: its reciprocal is exact.
      if (type == DType::kF32 || type == DType::kF64) {
        if (const std::optional<uint64_t> bits = SplatBits(to_, node.in[1])) {
          const int mantissa = type == DType::kF32 ? 23 : 52;
          const uint64_t exponent = (*bits >> mantissa) & (type == DType::kF32 ? 0xff : 0x7ff);
          const uint64_t top = type == DType::kF32 ? 0xff : 0x7ff;
          const double value = kir::LiteralValue(type, *bits);
          if ((*bits & ((uint64_t{1} << mantissa) - 1)) == 0 && exponent > 2 && exponent < top - 2) {
            return Binary(Op::kMultiply, node.in[0], Splat(ShapeOf(node.in[1]), kir::LiteralBits(type, 1.0 / value)));
          }
        }
      }
      break;
    case Op::kMaximum:
    case Op::kMinimum:
      if (node.in[0] == node.in[1]) return node.in[0];
      for (int i : {0, 1}) {
        if ((is_int || is_float) && IsSplat(node.in[static_cast<size_t>(i)],
                                            node.op == Op::kMaximum ? kir::LowestBits(type) : kir::HighestBits(type))) {
          return node.in[static_cast<size_t>(1 - i)];
        }
      }
      break;
    case Op::kAnd:
    case Op::kOr: {
      if (node.in[0] == node.in[1]) return node.in[0];
      const uint64_t ones = type == DType::kPred ? 1 : kir::LiteralBits(type, int64_t{-1});
      for (int i : {0, 1}) {
        const Ref here = node.in[static_cast<size_t>(i)];
        const Ref there = node.in[static_cast<size_t>(1 - i)];
        if (IsSplat(here, 0)) return node.op == Op::kOr ? there : here;
        if (IsSplat(here, ones)) return node.op == Op::kOr ? here : there;
      }
      break;
    }
    case Op::kXor:
      for (int i : {0, 1}) {
        if (IsSplat(node.in[static_cast<size_t>(i)], 0)) return node.in[static_cast<size_t>(1 - i)];
      }
      break;
    case Op::kShl:
    case Op::kShr:
    case Op::kSar:
      if (IsSplat(node.in[1], 0)) return node.in[0];
      break;
    case Op::kNegate:
    case Op::kNot:
      if (Def(node.in[0]).op == node.op) return Def(node.in[0]).in[0];
      break;
    case Op::kSelect:
      if (node.in[1] == node.in[2]) return node.in[1];
      if (const std::optional<uint64_t> bits = SplatBits(to_, node.in[0])) return node.in[*bits != 0 ? 1 : 2];
      break;
    case Op::kPower:
      if (!is_float) break;
      if (IsSplat(node.in[1], kir::LiteralBits(type, 1))) return node.in[0];
      if (IsSplat(node.in[1], kir::LiteralBits(type, 2))) return Binary(Op::kMultiply, node.in[0], node.in[0]);
      if (IsSplat(node.in[1], kir::LiteralBits(type, 3))) {
        return Binary(Op::kMultiply, Binary(Op::kMultiply, node.in[0], node.in[0]), node.in[0]);
      }
      break;
    default:
      break;
  }
  return std::nullopt;
}

Op CombinerOp(const Program& program, const Block& block) {
  if (block.args.size() != 2 || block.nodes.size() != 1 || block.results.size() != 1 ||
      block.results[0].node != block.nodes[0]) {
    return Op::kOpaque;
  }
  const Node& node = program[block.nodes[0]];
  const Ref a{block.args[0], 0};
  const Ref b{block.args[1], 0};
  if (node.in.size() != 2 || !((node.in[0] == a && node.in[1] == b) || (node.in[0] == b && node.in[1] == a)))
    return Op::kOpaque;
  return node.op;
}

std::optional<uint64_t> IdentityBits(Op op, DType type) {
  if (IsComplex(type) || type == DType::kToken) return std::nullopt;
  switch (op) {
    case Op::kAdd:
      return IsFloat(type) ? kir::LiteralBits(type, -0.0) : uint64_t{0};
    case Op::kMultiply:
      return kir::LiteralBits(type, 1);
    case Op::kMaximum:
      return kir::LowestBits(type);
    case Op::kMinimum:
      return kir::HighestBits(type);
    case Op::kAnd:
      return type == DType::kPred ? uint64_t{1} : kir::LiteralBits(type, int64_t{-1});
    case Op::kOr:
      return uint64_t{0};
    default:
      return std::nullopt;
  }
}

std::optional<Ref> Simplifier::RewriteReduce(Node& node) {
  const Shape& operand = ShapeOf(node.in[0]);
  const size_t n = node.in.size() / 2;
  // Over nothing: the initial value everywhere.
  if (NumElements(operand.dims) == 0 && n == 1) return Spread(node.in[1], node.shape());
  const Op op = n == 1 ? CombinerOp(to_, node.blocks[0]) : Op::kOpaque;
  // Of a transposed value: of the value itself, when the order of elements does not matter.
  if (op != Op::kOpaque && IdentityBits(op, node.shape().dtype) && Def(node.in[0]).op == Op::kTranspose) {
    const Node& transpose = Def(node.in[0]);
    const Dims& over = node.attrs<ReduceAttrs>().dimensions;
    Node inner = node;
    inner.origin = nullptr;
    inner.in[0] = transpose.in[0];
    SmallVector<int64_t, 6> kept;  // Source dims of the result, in the result's order.
    Dims reduced;
    for (size_t i = 0; i < operand.rank(); ++i) {
      const int64_t source = transpose.attrs<TransposeAttrs>().permutation[i];
      const bool is_reduced = std::find(over.begin(), over.end(), static_cast<int64_t>(i)) != over.end();
      if (is_reduced) {
        reduced.push_back(source);
      } else {
        kept.push_back(source);
      }
    }
    std::sort(reduced.begin(), reduced.end());
    SmallVector<int64_t, 6> sorted = kept;
    std::sort(sorted.begin(), sorted.end());
    inner.attributes = ReduceAttrs{reduced};
    inner.out[0].dims.clear();
    for (int64_t d : sorted) inner.out[0].dims.push_back(ShapeOf(transpose.in[0]).dims[static_cast<size_t>(d)]);
    const Ref r = Emit(std::move(inner));
    Node back;
    back.op = Op::kTranspose;
    back.in = {r};
    back.out.push_back(node.shape());
    Dims permutation;
    for (int64_t d : kept) permutation.push_back(std::find(sorted.begin(), sorted.end(), d) - sorted.begin());
    back.attributes = TransposeAttrs{permutation};
    return Emit(std::move(back));
  }
  if (op != Op::kOpaque) return SplitLongReduce(node);
  return std::nullopt;
}

namespace {

int64_t CountOf(const Dims& dims, size_t from, size_t to) {
  int64_t n = 1;
  for (size_t d = from; d < to; ++d) n *= dims[d];
  return n;
}

}  // namespace

std::optional<Ref> Simplifier::SplitLongReduce(Node& node) {
  const target::Numerics& cuts = numerics();
  const Shape operand = ShapeOf(node.in[0]);
  const DType type = node.shape().dtype;
  if (operand.dtype != type || (DTypeBits(type) < 32 && IsFloat(type)))
    return std::nullopt;  // Narrow floats round once per element.
  const Op op = CombinerOp(to_, node.blocks[0]);
  const std::optional<uint64_t> identity = IdentityBits(op, type);
  if (!identity) return std::nullopt;
  const Dims& dims = node.attrs<ReduceAttrs>().dimensions;  // Ascending.
  int64_t count = 1;
  for (int64_t d : dims) count *= operand.dims[static_cast<size_t>(d)];
  const int64_t results = NumElements(node.shape().dims);
  const int64_t columns =
      dims.size() == 1 ? CountOf(operand.dims, static_cast<size_t>(dims[0]) + 1, operand.rank()) : 1;
  const bool tall = columns >= cuts.tall_columns && count >= cuts.tall_rows && count * columns >= cuts.tall_elements &&
                    results / columns < cuts.tall_blocks;
  if (!tall && (count <= cuts.long_sum || results > cuts.long_sum_results)) return std::nullopt;
  const Ref neutral = Splat({type, {}}, *identity);
  auto reduce = [&](Ref r, Dims over, Ref init) {
    Node part;
    part.op = Op::kReduce;
    part.in = {r, init};
    part.blocks = node.blocks;
    Shape shape{type, {}};
    for (size_t i = 0; i < ShapeOf(r).rank(); ++i) {
      if (std::find(over.begin(), over.end(), static_cast<int64_t>(i)) == over.end())
        shape.dims.push_back(ShapeOf(r).dims[i]);
    }
    part.attributes = ReduceAttrs{std::move(over)};
    part.out.push_back(std::move(shape));
    return part;
  };
  if (tall) {
    // Sums of columns: blocks of whole rows, so that memory is read as it lies however many run side by side.
    const size_t d = static_cast<size_t>(dims[0]);
    int64_t blocks = cuts.tall_blocks;
    while (blocks < 4 * cuts.tall_blocks && count % blocks != 0) ++blocks;
    if (count % blocks != 0) return std::nullopt;
    Dims cut;
    for (size_t i = 0; i < operand.rank(); ++i) {
      cut.push_back(i == d ? blocks : operand.dims[i]);
      if (i == d) cut.push_back(count / blocks);
    }
    const Ref partial = {Append(reduce(Reshape(node.in[0], cut), Dims{static_cast<int64_t>(d) + 1}, neutral)), 0};
    return Emit(reduce(partial, Dims{static_cast<int64_t>(d)}, node.in[1]));
  }
  // Several dims: the inner ones first, if enough is left to share out.
  if (dims.size() > 1) {
    int64_t inner = 1;
    for (size_t k = dims.size(); k-- > 1;) {
      inner *= operand.dims[static_cast<size_t>(dims[k])];
      const int64_t left = count / inner;
      if (inner >= cuts.long_sum_min_block && inner <= cuts.long_sum && left >= cuts.long_sum_rest) {
        Dims first(dims.begin() + k, dims.end());
        const Ref partial = {Append(reduce(node.in[0], first, neutral)), 0};
        Dims rest(dims.begin(), dims.begin() + k);
        return Emit(reduce(partial, rest, node.in[1]));
      }
    }
  }
  // One dim alone, or dims that follow one another: cut the flat range into blocks.
  for (size_t k = 1; k < dims.size(); ++k) {
    if (dims[k] != dims[k - 1] + 1) return std::nullopt;
  }
  const size_t first = static_cast<size_t>(dims[0]);
  int64_t block = 1;
  while (block < cuts.long_sum_block && count % (2 * block) == 0) block *= 2;
  Ref source = node.in[0];
  Dims flat;
  for (size_t i = 0; i < operand.rank(); ++i) {
    if (i == first) flat.push_back(count);
    if (i < first || i >= first + dims.size()) flat.push_back(operand.dims[i]);
  }
  int64_t padded = count;
  if (block < cuts.long_sum_min_block) {
    if (dims.size() > 1) return std::nullopt;
    block = cuts.long_sum_padded_block;
    padded = (count + block - 1) / block * block;
    Node pad;
    pad.op = Op::kPad;
    pad.in = {source, neutral};
    const Dims none(flat.size(), 0);
    Dims more = none;
    more[first] = padded - count;
    pad.attributes = PadAttrs{none, more, none};
    Dims wide = flat;
    wide[first] = padded;
    pad.out.push_back({type, wide});
    source = Emit(std::move(pad));
    flat = wide;
  }
  Dims blocks;
  for (size_t i = 0; i < flat.size(); ++i) {
    if (i == first) {
      blocks.push_back(padded / block);
      blocks.push_back(block);
    } else {
      blocks.push_back(flat[i]);
    }
  }
  const Ref cut = Reshape(source, blocks);
  const Ref partial = {Append(reduce(cut, Dims{static_cast<int64_t>(first) + 1}, neutral)), 0};
  return Emit(reduce(partial, Dims{static_cast<int64_t>(first)}, node.in[1]));
}

}  // namespace tenon::compiler
