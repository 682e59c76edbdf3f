// Making nodes.

#include <algorithm>
#include <cstring>

#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {

Ref Simplifier::Constant(Shape shape, Literal literal) {
  GraphNode node;
  node.op = OpCode::kConstant;
  node.out.push_back(std::move(shape));
  node.literal = std::move(literal);
  return Emit(std::move(node));
}

Ref Simplifier::Splat(const Shape& shape, uint64_t bits) { return Constant(shape, SplatLiteral(shape.dtype, bits)); }

Ref Simplifier::Binary(OpCode op, Ref a, Ref b) {
  GraphNode node;
  node.op = op;
  node.in = {a, b};
  node.out.push_back(ShapeOf(a));
  return Emit(std::move(node));
}

Ref Simplifier::Compare(kir::Cmp how, Ref a, Ref b) {
  GraphNode compare;
  compare.op = OpCode::kCompare;
  compare.in = {a, b};
  compare.out.push_back({DType::kPred, ShapeOf(a).dims});
  compare.attributes = CompareAttrs{how};
  return Emit(std::move(compare));
}

Ref Simplifier::Select(Ref mask, Ref yes, Ref no) {
  GraphNode select;
  select.op = OpCode::kSelect;
  select.in = {mask, yes, no};
  select.out.push_back(ShapeOf(yes));
  return Emit(std::move(select));
}

Ref Simplifier::Reshape(Ref r, Dims dims) {
  if (ShapeOf(r).dims == dims) return r;
  GraphNode node;
  node.op = OpCode::kReshape;
  node.in = {r};
  node.out.push_back({ShapeOf(r).dtype, std::move(dims)});
  return Emit(std::move(node));
}

Ref Simplifier::Spread(Ref scalar, const Shape& shape) {
  GraphNode broadcast;
  broadcast.op = OpCode::kBroadcast;
  broadcast.in = {Converted(scalar, shape.dtype)};
  broadcast.out.push_back(shape);
  broadcast.attributes = BroadcastAttrs{};
  return Emit(std::move(broadcast));
}

Ref Simplifier::Padded(Ref r, Ref value, const Dims& low, const Dims& high, const Dims& interior) {
  const auto none = [](const Dims& d) { return std::all_of(d.begin(), d.end(), [](int64_t n) { return n == 0; }); };
  if (none(low) && none(high) && none(interior)) return r;
  GraphNode pad;
  pad.op = OpCode::kPad;
  pad.in = {r, value};
  Shape shape = ShapeOf(r);
  for (size_t d = 0; d < shape.rank(); ++d) {
    shape.dims[d] =
        std::max<int64_t>(0, low[d] + high[d] + shape.dims[d] + std::max<int64_t>(0, shape.dims[d] - 1) * interior[d]);
  }
  pad.out.push_back(std::move(shape));
  pad.attributes = PadAttrs{low, high, interior};
  return Emit(std::move(pad));
}

GraphNode SliceNode(const Program& program, Ref r, const Dims& start, const Dims& stride, const Dims& extent) {
  GraphNode slice;
  slice.op = OpCode::kSlice;
  slice.in = {r};
  Dims limit = start;
  for (size_t d = 0; d < limit.size(); ++d) limit[d] = start[d] + (extent[d] - 1) * stride[d] + 1;
  slice.out.push_back({program.shape(r).dtype, extent});
  slice.attributes = SliceAttrs{start, limit, stride};
  return slice;
}

Ref Simplifier::StridedSlice(Ref r, const Dims& start, const Dims& stride, const Dims& extent) {
  return Emit(SliceNode(to_, r, start, stride, extent));
}

Ref Simplifier::Concatenated(SmallVector<Ref, 3> parts, size_t dim) {
  GraphNode concatenate;
  concatenate.op = OpCode::kConcatenate;
  Shape shape = ShapeOf(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) shape.dims[dim] += ShapeOf(parts[i]).dims[dim];
  concatenate.in = std::move(parts);
  concatenate.out.push_back(std::move(shape));
  concatenate.attributes = ConcatenateAttrs{static_cast<int64_t>(dim)};
  return Emit(std::move(concatenate));
}

Ref Simplifier::Reversed(Ref r, size_t dim) {
  GraphNode reverse;
  reverse.op = OpCode::kReverse;
  reverse.in = {r};
  reverse.out.push_back(ShapeOf(r));
  reverse.attributes = ReverseAttrs{{static_cast<int64_t>(dim)}};
  return Emit(std::move(reverse));
}

Ref Simplifier::Broadcast(Ref r, Dims dims, Dims places) {
  GraphNode broadcast;
  broadcast.op = OpCode::kBroadcast;
  broadcast.in = {r};
  broadcast.out.push_back({ShapeOf(r).dtype, std::move(dims)});
  broadcast.attributes = BroadcastAttrs{std::move(places)};
  return Emit(std::move(broadcast));
}

Ref Simplifier::Transposed(Ref r, Dims permutation) {
  GraphNode transpose;
  transpose.op = OpCode::kTranspose;
  transpose.in = {r};
  Shape shape{ShapeOf(r).dtype, {}};
  for (int64_t d : permutation) shape.dims.push_back(ShapeOf(r).dims[static_cast<size_t>(d)]);
  transpose.out.push_back(std::move(shape));
  transpose.attributes = TransposeAttrs{std::move(permutation)};
  return Emit(std::move(transpose));
}

Ref Simplifier::Converted(Ref r, DType type) {
  if (ShapeOf(r).dtype == type) return r;
  GraphNode convert;
  convert.op = OpCode::kConvert;
  convert.in = {r};
  convert.out.push_back({type, ShapeOf(r).dims});
  return Emit(std::move(convert));
}

}  // namespace tenon::compiler
