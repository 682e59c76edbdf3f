// Windows of many elements that meet by any function: gathered, each a row of an array that a kernel never stores, and
// reduced in their order.

#include <algorithm>
#include <cstdint>

#include "tenon/compiler/ir/scans.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/compiler/simplify/windows.h"

namespace tenon::compiler {
namespace {

/// Windows over an array that is padded already: where their elements lie in it, row by row.
struct Grid {
  Dims dims;     ///< Of the results, then of the window as far as they are not 1.
  Dims steps;    ///< Per such dim, in elements of the padded array.
  Dims of;       ///< The array's dim that each of them is about.
  Dims reduced;  ///< Those of the window.
  DType place = DType::kS32;
};
Grid GridOf(const Dims& results, const Dims& window, const Dims& strides, const Dims& dilation, const Dims& padded) {
  Grid grid;
  const Dims row_major = RowMajorStridesElems(padded);
  for (size_t d = 0; d < results.size(); ++d) {
    grid.dims.push_back(results[d]);
    grid.steps.push_back(strides[d] * row_major[d]);
    grid.of.push_back(static_cast<int64_t>(d));
  }
  for (size_t d = 0; d < window.size(); ++d) {
    if (window[d] == 1) continue;
    grid.reduced.push_back(static_cast<int64_t>(grid.dims.size()));
    grid.dims.push_back(window[d]);
    grid.steps.push_back(dilation[d] * row_major[d]);
    grid.of.push_back(static_cast<int64_t>(d));
  }
  if (NumElements(padded) > INT32_MAX) grid.place = DType::kS64;  // Which is no less than any extent.
  return grid;
}

/// Whether a kernel may compute the region's results from its arguments: elementwise ops on scalars.
bool IsScalarFunction(const Program& p, const Block& block) {
  const auto is_scalar = [&](NodeId id) {
    const GraphNode& node = p[id];
    return node.op == OpCode::kConstant ||
           (KindOfOp(node.op) == OpKind::kElementwise && node.out.size() == 1 && node.shape().rank() == 0);
  };
  return std::all_of(block.nodes.begin(), block.nodes.end(), is_scalar);
}

NodeId AddScalar(Program& p, OpCode op, SmallVector<Ref, 3> in, DType type, Attributes attributes = {}) {
  GraphNode node;
  node.op = op;
  node.in = std::move(in);
  node.out.push_back({type, {}});
  node.attributes = std::move(attributes);
  return p.Add(std::move(node));
}

/// (value, place) of what `keeps` prefers, as a reduction's region; places below zero are those of no element.
Block PreferredOf(Program& p, DType value, DType place, const CompareAttrs& keeps) {
  Block block;
  for (const DType type : {value, place, value, place}) {
    block.args.push_back(AddScalar(p, OpCode::kParameter, {}, type));
  }
  const auto arg = [&](size_t i) { return Ref{block.args[i], 0}; };
  const auto add = [&](OpCode op, SmallVector<Ref, 3> in, DType type, Attributes attributes = {}) {
    block.nodes.push_back(AddScalar(p, op, std::move(in), type, std::move(attributes)));
    return Ref{block.nodes.back(), 0};
  };
  GraphNode none;
  none.op = OpCode::kConstant;
  none.out.push_back({place, {}});
  none.literal = SplatLiteral(place, 0);
  block.nodes.push_back(p.Add(std::move(none)));
  const Ref zero{block.nodes.back(), 0};
  const Ref better = add(OpCode::kCompare, {arg(0), arg(2)}, DType::kPred, keeps);
  const Ref found = add(OpCode::kCompare, {arg(1), zero}, DType::kPred, CompareAttrs{kir::kGe});
  const Ref missing = add(OpCode::kCompare, {arg(3), zero}, DType::kPred, CompareAttrs{kir::kLt});
  const Ref held = add(OpCode::kAnd, {better, found}, DType::kPred);
  const Ref keep = add(OpCode::kOr, {held, missing}, DType::kPred);
  block.results = {add(OpCode::kSelect, {keep, arg(0), arg(2)}, value),
                   add(OpCode::kSelect, {keep, arg(1), arg(3)}, place)};
  return block;
}

/// The region for one more array that says which elements exist: those that do not change nothing.
Block OfExisting(Program& p, const Block& block) {
  Block out;
  const size_t arrays = block.results.size();
  for (size_t half = 0; half < 2; ++half) {
    const auto begin = block.args.begin() + static_cast<std::ptrdiff_t>(half * arrays);
    out.args.insert(out.args.end(), begin, begin + static_cast<std::ptrdiff_t>(arrays));
    out.args.push_back(AddScalar(p, OpCode::kParameter, {}, DType::kPred));
  }
  out.nodes = block.nodes;
  const Ref exists{out.args.back(), 0};
  for (size_t i = 0; i < arrays; ++i) {
    const Ref before{out.args[i], 0};
    const DType type = p.shape(before).dtype;
    out.nodes.push_back(AddScalar(p, OpCode::kSelect, {exists, block.results[i], before}, type));
    out.results.push_back({out.nodes.back(), 0});
  }
  out.results.push_back({out.args[arrays], 0});
  return out;
}

}  // namespace

// The dims' indices times `steps`, plus `offset`, summed.
Ref Simplifier::Places(DType type, const Dims& dims, const Dims& steps, int64_t offset) {
  Ref sum;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1 || steps[d] == 0) continue;
    GraphNode iota;
    iota.op = OpCode::kIota;
    iota.out.push_back({type, dims});
    iota.attributes = IotaAttrs{static_cast<int64_t>(d)};
    Ref part = Emit(std::move(iota));
    if (steps[d] != 1) part = Binary(OpCode::kMultiply, part, Splat({type, dims}, static_cast<uint64_t>(steps[d])));
    sum = sum.valid() ? Binary(OpCode::kAdd, sum, part) : part;
  }
  const Ref start = Splat({type, dims}, static_cast<uint64_t>(offset));
  return !sum.valid() ? start : offset == 0 ? sum : Binary(OpCode::kAdd, sum, start);
}

// Elements of an array by their places in row-major order.
Ref Simplifier::Taken(Ref array, Ref places) {
  const int64_t count = NumElements(ShapeOf(array).dims);
  GraphNode gather;
  gather.op = OpCode::kGather;
  gather.in = {Reshape(array, {count}), places};
  gather.out.push_back({ShapeOf(array).dtype, ShapeOf(places).dims});
  gather.attributes = GatherAttrs{.collapsed_slice_dims = {0},
                                  .start_index_map = {0},
                                  .index_vector_dim = static_cast<int64_t>(ShapeOf(places).rank()),
                                  .slice_sizes = {1}};
  return Emit(std::move(gather));
}

// Which of the windows' elements are the operand's own, neither padding nor holes; nothing where all are.
std::optional<Ref> Simplifier::Existing(const ReduceWindowAttrs& a, const Dims& operand, const Dims& results) {
  const auto [window, strides, base_dilation, dilation, low, high] = a;
  Dims padded;
  for (size_t d = 0; d < window.size(); ++d)
    padded.push_back(std::max<int64_t>(0, operand[d] - 1) * base_dilation[d] + 1 + std::abs(low[d]) +
                     std::abs(high[d]));
  const Grid grid = GridOf(results, window, strides, dilation, padded);
  std::optional<Ref> all;
  for (size_t d = 0; d < window.size(); ++d) {
    if (low[d] <= 0 && high[d] <= 0 && base_dilation[d] == 1) continue;
    Dims along(grid.dims.size(), 0);
    for (size_t i = 0; i < grid.dims.size(); ++i) {
      if (static_cast<size_t>(grid.of[i]) == d) along[i] = i < window.size() ? strides[d] : dilation[d];
    }
    const Ref place = Places(grid.place, grid.dims, along, -low[d]);
    const auto constant = [&](int64_t n) { return Splat({grid.place, grid.dims}, static_cast<uint64_t>(n)); };
    const auto require = [&](Ref r, kir::Cmp how, int64_t n) {
      const Ref holds = Compare(how, r, constant(n));
      all = all ? Binary(OpCode::kAnd, *all, holds) : holds;
    };
    require(place, kir::kGe, 0);
    require(place, kir::kLt, (operand[d] - 1) * base_dilation[d] + 1);
    if (base_dilation[d] != 1) require(Binary(OpCode::kRemainder, place, constant(base_dilation[d])), kir::kEq, 0);
  }
  return all;
}

std::optional<std::vector<Ref>> Simplifier::GatheredWindows(const GraphNode& node) {
  const auto [window, strides, base_dilation, dilation, low, high] = node.attrs<ReduceWindowAttrs>();
  const size_t arrays = node.out.size();
  if (NumElements(node.shape().dims) == 0 || node.in.size() != 2 * arrays || !IsScalarFunction(to_, node.blocks[0]))
    return std::nullopt;
  for (size_t i = 0; i < arrays; ++i) {
    const DType type = node.shape(i).dtype;
    if (ShapeOf(node.in[i]).dtype != type || ShapeOf(node.in[arrays + i]).dtype != type) return std::nullopt;
  }
  GraphNode reduce;
  reduce.op = OpCode::kReduce;
  reduce.out = node.out;
  reduce.blocks = node.blocks;
  Dims reduced;
  for (size_t i = 0; i < arrays; ++i) {
    const Ref padded = Padded(node.in[i], node.in[arrays + i], low, high, HolesOf(base_dilation));
    const Grid grid = GridOf(node.shape().dims, window, strides, dilation, ShapeOf(padded).dims);
    reduce.in.push_back(Taken(padded, Places(grid.place, grid.dims, grid.steps, 0)));
    reduced = grid.reduced;
  }
  const std::optional<Ref> exists =
      Existing(node.attrs<ReduceWindowAttrs>(), ShapeOf(node.in[0]).dims, node.shape().dims);
  if (exists) {
    reduce.in.push_back(*exists);
    reduce.out.push_back({DType::kPred, node.shape().dims});
    reduce.blocks[0] = OfExisting(to_, reduce.blocks[0]);
  }
  for (size_t i = 0; i < arrays; ++i) reduce.in.push_back(node.in[arrays + i]);
  if (exists) reduce.in.push_back(Splat({DType::kPred, {}}, 0));
  reduce.attributes = ReduceAttrs{reduced};
  const Ref all = Emit(std::move(reduce));
  if (arrays == 1 && !exists) return {{all}};
  std::vector<Ref> results;
  for (uint32_t i = 0; i < arrays; ++i) results.push_back({all.node, i});
  return results;
}

std::optional<Ref> Simplifier::GatherWindow(const GraphNode& node) {
  if (node.out.size() != 1 || ScanFormOf(to_, node)) return std::nullopt;
  const std::optional<std::vector<Ref>> values = GatheredWindows(node);
  return values ? std::optional<Ref>((*values)[0]) : std::nullopt;
}

std::optional<Ref> Simplifier::GatherSelectAndScatter(const GraphNode& node) {
  const Shape shape = node.shape();
  const Shape source = ShapeOf(node.in[1]);
  const std::optional<CompareAttrs> keeps = SelectionOf(node);
  if (!keeps || IsComplex(shape.dtype) || !IsScalarFunction(to_, node.blocks[1])) return std::nullopt;
  if (ShapeOf(node.in[0]) != shape || source.dtype != shape.dtype || ShapeOf(node.in[2]).dtype != shape.dtype)
    return std::nullopt;
  const int64_t count = NumElements(shape.dims), windows = NumElements(source.dims);
  if (count == 0) return std::nullopt;
  if (windows == 0) return Spread(node.in[2], shape);
  const auto [window, strides, low, high] = node.attrs<SelectAndScatterAttrs>();
  const Dims ones(window.size(), 1), none(window.size(), 0);
  const Ref padded = Padded(node.in[0], Splat({shape.dtype, {}}, 0), low, high, none);
  const Grid grid = GridOf(source.dims, window, strides, ones, ShapeOf(padded).dims);
  const DType place = count > INT32_MAX ? DType::kS64 : grid.place;
  const Ref values = Taken(padded, Places(place, grid.dims, grid.steps, 0));

  // Each element's place in the operand itself; -1 in its padding.
  const Dims row_major = RowMajorStridesElems(shape.dims);
  Dims steps;
  int64_t offset = 0;
  for (size_t i = 0; i < grid.dims.size(); ++i) {
    const auto d = static_cast<size_t>(grid.of[i]);
    steps.push_back((i < window.size() ? strides[d] : 1) * row_major[d]);
  }
  for (size_t d = 0; d < window.size(); ++d) offset -= low[d] * row_major[d];
  Ref places = Places(place, grid.dims, steps, offset);
  if (const std::optional<Ref> exists = Existing({window, strides, ones, ones, low, high}, shape.dims, source.dims)) {
    places = Select(*exists, places, Splat({place, grid.dims}, ~uint64_t{0}));
  }

  GraphNode reduce;
  reduce.op = OpCode::kReduce;
  reduce.in = {values, places, Splat({shape.dtype, {}}, 0), Splat({place, {}}, ~uint64_t{0})};
  reduce.out = {{shape.dtype, source.dims}, {place, source.dims}};
  reduce.attributes = ReduceAttrs{grid.reduced};
  reduce.blocks = {PreferredOf(to_, shape.dtype, place, *keeps)};
  const Ref selected = Emit(std::move(reduce));

  GraphNode scatter;
  scatter.op = OpCode::kScatter;
  scatter.in = {Spread(node.in[2], {shape.dtype, {count}}), Reshape({selected.node, 1}, {windows}),
                Reshape(node.in[1], {windows})};
  scatter.out.push_back({shape.dtype, {count}});
  scatter.attributes =
      ScatterAttrs{.inserted_window_dims = {0}, .scatter_dims_to_operand_dims = {0}, .index_vector_dim = 1};
  scatter.blocks = {node.blocks[1]};
  return Reshape(Emit(std::move(scatter)), shape.dims);
}

}  // namespace tenon::compiler
