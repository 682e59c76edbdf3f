// Windows that are not a slice per element: large ones, in passes along one dim after the other; those of any combiner
// and of several arrays, with the combiner's operations on whole slices; sums of narrow floats, in a wider type.

#include <algorithm>
#include <unordered_map>

#include "tenon/compiler/ir/scans.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/compiler/simplify/windows.h"

namespace tenon::compiler {

std::optional<Ref> Simplifier::WidenWindow(const GraphNode& node) {
  const DType type = node.shape().dtype;
  if (!IsNarrowFloat(type) || node.out.size() != 1) return std::nullopt;
  for (Ref r : node.in) {
    if (ShapeOf(r).dtype != type) return std::nullopt;
  }
  GraphNode wide = node;
  wide.origin = nullptr;
  if (node.op == OpCode::kReduceWindow) {
    const OpCode op = CombinerOp(to_, node.blocks[0]);
    if (op != OpCode::kAdd && op != OpCode::kMultiply) return std::nullopt;
    // Few elements are added one by one, as they stand in the program.
    const std::optional<ScanForm> scan = ScanFormOf(to_, node);
    if (scan && node.shape().dims[scan->dim] <= numerics().written_out_reduce) return std::nullopt;
    wide.blocks = {MakeCombiner(to_, op, DType::kF32)};
  } else {
    const Block& select = node.blocks[0];
    if (CombinerOp(to_, select) != OpCode::kCompare || CombinerOp(to_, node.blocks[1]) != OpCode::kAdd)
      return std::nullopt;
    const GraphNode& order = to_[select.nodes[0]];
    if (order.in[0] != Ref{select.args[0], 0}) return std::nullopt;
    const CompareAttrs keeps = order.attrs<CompareAttrs>();
    Block compare = MakeCombiner(to_, OpCode::kCompare, DType::kF32);
    to_[compare.nodes[0]].attributes = keeps;
    to_[compare.nodes[0]].out[0].dtype = DType::kPred;
    wide.blocks = {std::move(compare), MakeCombiner(to_, OpCode::kAdd, DType::kF32)};
  }
  for (Ref& r : wide.in) r = Converted(r, DType::kF32);
  wide.out[0].dtype = DType::kF32;
  return Converted(Emit(std::move(wide)), type);
}

// `n` windows of `window` elements, `dilation` apart, along one dim, each `stride` after the one before; the dim is
// long enough for the last.
Ref Simplifier::WindowsAlong(Ref r, size_t dim, OpCode op, const WindowOfDim& w) {
  const DType type = ShapeOf(r).dtype;
  const Dims ones(ShapeOf(r).rank(), 1), zeros(ShapeOf(r).rank(), 0);
  const auto part = [&](Ref of, int64_t start, int64_t stride, int64_t extent) {
    Dims starts = zeros, strides = ones, extents = ShapeOf(of).dims;
    starts[dim] = start;
    strides[dim] = stride;
    extents[dim] = extent;
    return extents == ShapeOf(of).dims ? of : StridedSlice(of, starts, strides, extents);
  };
  if (w.window == 1) return part(r, 0, w.stride, w.n);
  if (w.stride >= w.window && w.dilation == 1) {
    // Windows that do not meet are rows.
    Dims more = zeros;
    more[dim] = std::max<int64_t>(0, w.n * w.stride - ShapeOf(r).dims[dim]);
    const Ref identity = Splat({type, {}}, *IdentityBits(op, type));
    const Ref whole = part(Padded(r, identity, zeros, more, zeros), 0, 1, w.n * w.stride);
    Dims rows = ShapeOf(whole).dims;
    rows[dim] = w.n;
    rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(dim) + 1, w.stride);
    Dims kept = rows;
    kept[dim + 1] = w.window;
    const Ref cut = kept == rows ? Reshape(whole, rows)
                                 : StridedSlice(Reshape(whole, rows), Dims(rows.size(), 0), Dims(rows.size(), 1), kept);
    GraphNode reduce;
    reduce.op = OpCode::kReduce;
    reduce.in = {cut, identity};
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(dim) + 1);
    reduce.out.push_back({type, kept});
    reduce.attributes = ReduceAttrs{{static_cast<int64_t>(dim) + 1}};
    reduce.blocks.push_back(MakeCombiner(to_, op, type));
    return Emit(std::move(reduce));
  }
  // Windows of 1, 2, 4 ... elements at every place, of which the window is put together.
  Ref sum, power = r;
  int64_t size = 1, covered = 0;
  while (covered < w.window) {
    if ((w.window & size) != 0) {
      const Ref next = part(power, covered * w.dilation, w.stride, w.n);
      sum = sum.valid() ? Binary(op, sum, next) : next;
      covered += size;
    }
    if (covered == w.window) break;
    const int64_t extent = ShapeOf(power).dims[dim] - size * w.dilation;
    power = Binary(op, part(power, 0, 1, extent), part(power, size * w.dilation, 1, extent));
    size *= 2;
  }
  return sum;
}

std::optional<Ref> Simplifier::WindowInPasses(const GraphNode& node) {
  const OpCode op = WindowOp(node);
  if (op == OpCode::kOpaque || ScanFormOf(to_, node)) return std::nullopt;
  const auto [window, strides, base_dilation, dilation, low, high] = node.attrs<ReduceWindowAttrs>();
  if (NumElements(window) <= numerics().window_in_passes) return std::nullopt;
  const Shape shape = node.shape();
  const Ref init = node.in[1];
  const uint64_t identity = *IdentityBits(op, shape.dtype);
  Ref r = Padded(node.in[0], Splat({shape.dtype, {}}, identity), low, high, HolesOf(base_dilation));
  for (size_t d = 0; d < shape.rank(); ++d)
    r = WindowsAlong(r, d, op, {shape.dims[d], window[d], strides[d], dilation[d]});
  return IsSplat(init, identity) ? r : Binary(op, Spread(init, shape), r);
}

std::optional<std::vector<Ref>> Simplifier::Spelled(const Block& block, const std::vector<Ref>& arguments) {
  const Dims dims = ShapeOf(arguments[0]).dims;
  std::unordered_map<NodeId, Ref> arrays;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (to_[block.args[i]].shape() != Shape{ShapeOf(arguments[i]).dtype, {}}) return std::nullopt;
    arrays[block.args[i]] = arguments[i];
  }
  const auto array_of = [&](Ref r) -> std::optional<Ref> {
    if (const auto it = arrays.find(r.node); it != arrays.end()) return it->second;
    const std::optional<uint64_t> bits = SplatBits(to_, r);
    if (!bits || IsComplex(ShapeOf(r).dtype)) return std::nullopt;
    return Splat({ShapeOf(r).dtype, dims}, *bits);
  };
  for (NodeId id : block.nodes) {
    GraphNode node = to_[id];
    if (node.op == OpCode::kConstant) continue;
    if (KindOfOp(node.op) != OpKind::kElementwise || node.out.size() != 1 || node.shape().rank() != 0)
      return std::nullopt;
    for (Ref& r : node.in) {
      const std::optional<Ref> array = array_of(r);
      if (!array) return std::nullopt;
      r = *array;
    }
    node.origin = nullptr;
    node.out[0].dims = dims;
    arrays[id] = Emit(std::move(node));
  }
  std::vector<Ref> results;
  for (Ref r : block.results) {
    const std::optional<Ref> array = array_of(r);
    if (!array) return std::nullopt;
    results.push_back(*array);
  }
  return results;
}

std::optional<std::vector<Ref>> Simplifier::SpelledWindows(const GraphNode& node) {
  const auto [window, strides, base_dilation, dilation, low, high] = node.attrs<ReduceWindowAttrs>();
  const int64_t count = NumElements(window);
  const size_t arrays = node.out.size();
  if (count < 1 || count > numerics().written_out_window || node.in.size() != 2 * arrays) return std::nullopt;
  std::vector<Ref> padded, both;
  for (size_t i = 0; i < arrays; ++i) {
    const Ref init = node.in[arrays + i];
    if (ShapeOf(node.in[i]).dtype != node.shape(i).dtype || ShapeOf(init).dtype != node.shape(i).dtype)
      return std::nullopt;
    padded.push_back(Padded(node.in[i], init, low, high, HolesOf(base_dilation)));
    both.push_back(Spread(init, node.shape(i)));
  }
  both.resize(2 * arrays);
  // Padding and holes take no part: with any function they would.
  const Ref zero = Splat({DType::kPred, {}}, 0);
  const Ref every = Splat({DType::kPred, ShapeOf(node.in[0]).dims}, 1);
  const Ref own = Padded(every, zero, low, high, HolesOf(base_dilation));
  for (int64_t element = 0; element < count; ++element) {
    const Dims start = PlaceInWindow(window, dilation, element);
    for (size_t i = 0; i < arrays; ++i) both[arrays + i] = StridedSlice(padded[i], start, strides, node.shape(i).dims);
    const std::optional<std::vector<Ref>> met = Spelled(node.blocks[0], both);
    if (!met) return std::nullopt;
    for (size_t i = 0; i < arrays; ++i) {
      if (own == every) {
        both[i] = (*met)[i];
        continue;
      }
      both[i] = Select(StridedSlice(own, start, strides, node.shape(i).dims), (*met)[i], both[i]);
    }
  }
  both.resize(arrays);
  return both;
}

std::optional<Ref> Simplifier::SpellWindow(const GraphNode& node) {
  if (node.out.size() != 1 || ScanFormOf(to_, node)) return std::nullopt;
  const std::optional<std::vector<Ref>> values = SpelledWindows(node);
  return values ? std::optional<Ref>((*values)[0]) : std::nullopt;
}

bool Simplifier::BindWindows(NodeId id, const GraphNode& node) {
  if (node.op != OpCode::kReduceWindow) return false;
  std::optional<std::vector<Ref>> values = SpelledWindows(node);
  if (!values) values = GatheredWindows(node);
  if (!values) return false;
  for (uint32_t i = 0; i < values->size(); ++i) Bind(id, i, (*values)[i]);
  log_.Hit(
      Rule::windows_of_several, [&] { return PrintNode(to_, node); }, [&] { return PrintValue(to_, (*values)[0]); });
  return true;
}

}  // namespace tenon::compiler
