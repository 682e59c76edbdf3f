// Windows of few elements, written out: each element is a strided slice of the padded operand. Long scans in blocks.
#include "tenon/compiler/simplify/windows.h"

#include <algorithm>

#include "tenon/compiler/ir/scans.h"
#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {

Dims HolesOf(const Dims& base_dilation) {
  Dims holes = base_dilation;
  for (int64_t& n : holes) --n;
  return holes;
}

Dims PlaceInWindow(const Dims& window, const Dims& dilation, int64_t element) {
  Dims place(window.size(), 0);
  for (size_t d = window.size(); d-- > 0; element /= window[d]) place[d] = element % window[d] * dilation[d];
  return place;
}

// The op by which a window's elements meet, where it may be applied to whole arrays; kOpaque elsewhere.
OpCode Simplifier::WindowOp(const GraphNode& node) const {
  if (node.in.size() != 2 || node.blocks.size() != 1) return OpCode::kOpaque;
  const OpCode op = CombinerOp(to_, node.blocks[0]);
  const DType type = node.shape().dtype;
  if (!IdentityBits(op, type) || ShapeOf(node.in[0]).dtype != type || ShapeOf(node.in[1]).dtype != type)
    return OpCode::kOpaque;
  // Sums of narrow floats do not round once per element.
  const bool rounds = op == OpCode::kAdd || op == OpCode::kMultiply;
  return rounds && IsNarrowFloat(type) ? OpCode::kOpaque : op;
}

// Rows run in lanes, so elements of one place of all rows should lie side by side: to turn the array around before and
// after, in tiles, is less than to gather each element from its row and to scatter it there.
std::optional<Ref> Simplifier::TurnScan(const GraphNode& node) {
  const std::optional<ScanForm> form = ScanFormOf(to_, node);
  const Shape shape = node.shape();
  if (!form || form->dim == 0 || shape.dims[form->dim] < policy::kMinTurnedScan) return std::nullopt;
  int64_t rows = 1, row_bytes = ByteWidth(shape.dtype);
  for (size_t d = 0; d < shape.rank(); ++d) (d < form->dim ? rows : row_bytes) *= shape.dims[d];
  if (row_bytes != shape.dims[form->dim] * ByteWidth(shape.dtype) || rows < policy::kMinTurnedRows) return std::nullopt;
  if (rows * row_bytes > policy::kMaxTurnedBytes && row_bytes % policy::kSetBytes != 0) return std::nullopt;
  const auto turned = [&](const Dims& of) {
    Dims result{of[form->dim]};
    for (size_t d = 0; d < of.size(); ++d) {
      if (d != form->dim) result.push_back(of[d]);
    }
    return result;
  };
  Dims order, back(shape.rank());
  for (size_t d = 0; d < shape.rank(); ++d) order.push_back(static_cast<int64_t>(d));
  order = turned(order);
  for (size_t d = 0; d < shape.rank(); ++d) back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  const auto& a = node.attrs<ReduceWindowAttrs>();
  GraphNode scan = node;
  scan.in[0] = Transposed(node.in[0], order);
  scan.attributes = ReduceWindowAttrs{turned(a.window_dimensions), turned(a.window_strides), turned(a.base_dilations),
                                      turned(a.window_dilations),  turned(a.padding_low),    turned(a.padding_high)};
  scan.out[0].dims = turned(shape.dims);
  return Transposed(Emit(std::move(scan)), back);
}

// The gradient of a pooling whose windows do not overlap: what the operand's holes leave in a window is one element.
std::optional<Ref> Simplifier::RepeatDilatedWindow(const GraphNode& node) {
  const OpCode op = WindowOp(node);
  if (op == OpCode::kOpaque) return std::nullopt;
  auto [window, strides, base_dilation, dilation, low, high] = node.attrs<ReduceWindowAttrs>();
  const Shape shape = node.shape();
  const DType type = shape.dtype;
  const uint64_t identity = *IdentityBits(op, type);
  // Holes may be the operand's or the window's own; padding and holes must not show in the result. Zeros do not in sums
  // that begin with one.
  Ref x = node.in[0];
  PadAttrs pad{Dims(shape.rank(), 0), Dims(shape.rank(), 0), Dims(shape.rank(), 0)};
  if (const GraphNode& operand = to_[x.node]; operand.op == OpCode::kPad) {
    const bool unseen =
        IsSplat(operand.in[1], identity) || (op == OpCode::kAdd && IsSplat(operand.in[1], 0) && IsSplat(node.in[1], 0));
    if (unseen) {
      pad = operand.attrs<PadAttrs>();
      x = operand.in[0];
    }
  }
  Dims repeats(shape.rank(), 1), skipped(shape.rank(), 0);
  bool any = false;
  for (size_t d = 0; d < shape.rank(); ++d) {
    const int64_t step = (pad.interior_padding[d] + 1) * base_dilation[d];
    if (step < 2 || window[d] != step || strides[d] != 1 || dilation[d] != 1) continue;
    // Both kinds of holes in one dim, or padding between them, would be another pattern.
    if (pad.interior_padding[d] != 0 && base_dilation[d] != 1) continue;
    if (base_dilation[d] != 1 && (pad.edge_padding_low[d] != 0 || pad.edge_padding_high[d] != 0)) continue;
    // Result o sees element ceil((o - before) / step), and that step results from o = -skipped on.
    const int64_t before = pad.edge_padding_low[d] + low[d];
    skipped[d] = ((step - 1 - before) % step + step) % step;
    const int64_t first = -(before + skipped[d] - (step - 1)) / step;
    const int64_t count = (shape.dims[d] + skipped[d] + step - 1) / step;
    repeats[d] = step;
    pad.edge_padding_low[d] = -first;
    pad.edge_padding_high[d] = count + first - ShapeOf(x).dims[d];
    pad.interior_padding[d] = 0;
    window[d] = base_dilation[d] = 1;
    low[d] = high[d] = 0;
    any = true;
  }
  if (!any || NumElements(shape.dims) == 0 || NumElements(ShapeOf(x).dims) == 0) return std::nullopt;
  const Ref value = x == node.in[0] ? Splat({type, {}}, identity) : to_[node.in[0].node].in[1];
  GraphNode once = node;
  once.in[0] = Padded(x, value, pad.edge_padding_low, pad.edge_padding_high, pad.interior_padding);
  once.attributes = ReduceWindowAttrs{window, strides, base_dilation, dilation, low, high};
  Dims kept = shape.dims, split, whole = shape.dims;
  BroadcastAttrs places;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (repeats[d] != 1) kept[d] = ShapeOf(once.in[0]).dims[d];
    places.broadcast_dimensions.push_back(static_cast<int64_t>(split.size()));
    split.push_back(kept[d]);
    if (repeats[d] != 1) split.push_back(repeats[d]);
    whole[d] = kept[d] * repeats[d];
  }
  once.out[0].dims = kept;
  GraphNode broadcast;
  broadcast.op = OpCode::kBroadcast;
  broadcast.in = {Emit(std::move(once))};
  broadcast.out.push_back({type, split});
  broadcast.attributes = std::move(places);
  const Ref repeated = Reshape(Emit(std::move(broadcast)), whole);
  return whole == shape.dims ? repeated : StridedSlice(repeated, skipped, Dims(shape.rank(), 1), shape.dims);
}

std::optional<Ref> Simplifier::WriteOutWindow(const GraphNode& node) {
  const OpCode op = WindowOp(node);
  if (op == OpCode::kOpaque) return std::nullopt;
  if (std::optional<ScanForm> form = ScanFormOf(to_, node);
      form && node.shape().dims[form->dim] > numerics().short_scan)
    return std::nullopt;
  const DType type = node.shape().dtype;
  const Ref init = node.in[1];
  const auto [window, strides, base_dilation, dilation, low, high] = node.attrs<ReduceWindowAttrs>();
  const int64_t count = NumElements(window);
  if (count < 1 || count > numerics().window_in_passes) return std::nullopt;
  const Shape shape = node.shape();
  const uint64_t identity = *IdentityBits(op, type);
  // Padding and holes take no part, whatever the initial value is.
  const Ref padded = Padded(node.in[0], Splat({type, {}}, identity), low, high, HolesOf(base_dilation));
  Ref sum;
  if (!IsSplat(init, identity)) sum = Spread(init, shape);
  for (int64_t element = 0; element < count; ++element) {
    const Ref part = StridedSlice(padded, PlaceInWindow(window, dilation, element), strides, shape.dims);
    sum = sum.valid() ? Binary(op, sum, part) : part;
  }
  return sum;
}

std::optional<Ref> Simplifier::SplitLongScan(const GraphNode& node) {
  const std::optional<ScanForm> found = ScanFormOf(to_, node);
  const OpCode op = WindowOp(node);
  if (!found || op == OpCode::kOpaque) return std::nullopt;
  const ScanForm form = *found;
  const Shape shape = node.shape();
  const int64_t n = shape.dims[form.dim];
  const std::optional<uint64_t> identity = IdentityBits(op, shape.dtype);
  // Where a vector goes through many of them together, they are not slow, and exact enough for longer.
  const bool in_lanes = NumElements(shape.dims) >= policy::kScansInLanes * n;
  if (n <= std::max(numerics().long_scan, in_lanes ? policy::kLongScanInLanes : 0) || !identity) return std::nullopt;
  const Ref neutral = Splat({shape.dtype, {}}, *identity);
  const auto scan = [&](Ref r, size_t dim, Ref init) {
    GraphNode part;
    part.op = OpCode::kReduceWindow;
    part.in = {r, init};
    part.blocks = {MakeCombiner(to_, op, shape.dtype)};
    const Shape of = ShapeOf(r);
    const Dims ones(of.rank(), 1);
    Dims window = ones, low(of.rank(), 0), high(of.rank(), 0);
    window[dim] = of.dims[dim];
    (form.reverse ? high : low)[dim] = of.dims[dim] - 1;
    part.attributes = ReduceWindowAttrs{window, ones, ones, ones, low, high};
    part.out.push_back(of);
    return Emit(std::move(part));
  };
  // About as many blocks as elements in one; where they can be alike, no element is added and left out again.
  int64_t most = 2;
  while (most < numerics().scan_block && most * most < n) most *= 2;
  int64_t block = most;
  while (n % block != 0 && block > most / 2) --block;
  if (n % block != 0) block = most;
  const int64_t rows = (n + block - 1) / block;
  // Blocks, each by itself; then what comes before each.
  Dims zero(shape.rank(), 0), more(shape.rank(), 0);
  more[form.dim] = rows * block - n;
  Dims cut;
  for (size_t d = 0; d < shape.rank(); ++d) {
    cut.push_back(d == form.dim ? rows : shape.dims[d]);
    if (d == form.dim) cut.push_back(block);
  }
  // Blocks run in lanes, so their elements of one place lie side by side: turned around once before and once after is
  // less than each element gathered from its block and scattered there.
  const bool turned = NumElements(Dims(cut.begin() + static_cast<std::ptrdiff_t>(form.dim) + 2, cut.end())) == 1;
  Dims swap;
  for (size_t d = 0; d < cut.size(); ++d) swap.push_back(static_cast<int64_t>(d));
  if (turned) std::swap(swap[form.dim], swap[form.dim + 1]);
  const size_t along = form.dim + (turned ? 0 : 1);  // The dim of a block's elements.
  const Ref blocks = Reshape(Padded(node.in[0], neutral, zero, more, zero), cut);
  const Ref inner = scan(Transposed(blocks, swap), along, neutral);
  Dims start(cut.size(), 0), extent = ShapeOf(inner).dims;
  start[along] = form.reverse ? 0 : block - 1;
  extent[along] = 1;
  const Ref totals = Transposed(StridedSlice(inner, start, Dims(cut.size(), 1), extent), swap);
  Dims low(cut.size(), 0), high(cut.size(), 0);
  low[form.dim] = form.reverse ? -1 : 1;
  high[form.dim] = -low[form.dim];
  const Ref before = scan(Padded(totals, neutral, low, high, Dims(cut.size(), 0)), form.dim, node.in[1]);
  Dims flat = cut;
  flat.erase(flat.begin() + form.dim + 1);
  GraphNode broadcast;
  broadcast.op = OpCode::kBroadcast;
  broadcast.in = {Reshape(before, flat)};
  broadcast.out.push_back({shape.dtype, cut});
  BroadcastAttrs rows_of;
  for (size_t d = 0; d < cut.size(); ++d) {
    if (d != form.dim + 1) rows_of.broadcast_dimensions.push_back(static_cast<int64_t>(d));
  }
  broadcast.attributes = std::move(rows_of);
  const Ref whole = Binary(op, Emit(std::move(broadcast)), Transposed(inner, swap));
  Dims padded = shape.dims;
  padded[form.dim] = rows * block;
  return StridedSlice(Reshape(whole, padded), Dims(shape.rank(), 0), Dims(shape.rank(), 1), shape.dims);
}

std::optional<CompareAttrs> Simplifier::SelectionOf(const GraphNode& node) const {
  const Block& select = node.blocks[0];
  if (select.nodes.size() != 1 || select.args.size() != 2 || select.results[0].node != select.nodes[0])
    return std::nullopt;
  const GraphNode& order = to_[select.nodes[0]];
  if (order.op != OpCode::kCompare || order.in[0] != Ref{select.args[0], 0} || order.in[1] != Ref{select.args[1], 0})
    return std::nullopt;
  return order.attrs<CompareAttrs>();
}

std::optional<Ref> Simplifier::WriteOutSelectAndScatter(const GraphNode& node) {
  // First which element every window selects, then, for each element of a window, what comes back through it.
  const Shape shape = node.shape();
  const Shape source = ShapeOf(node.in[1]);
  const std::optional<CompareAttrs> keeps = SelectionOf(node);
  if (!keeps) return std::nullopt;
  // Sums of narrow floats are those of a wider type.
  if (CombinerOp(to_, node.blocks[1]) != OpCode::kAdd || IsComplex(shape.dtype) || IsNarrowFloat(shape.dtype))
    return std::nullopt;
  if (ShapeOf(node.in[0]) != shape || source.dtype != shape.dtype || ShapeOf(node.in[2]).dtype != shape.dtype)
    return std::nullopt;
  if (NumElements(source.dims) == 0) return Spread(node.in[2], shape);  // There are no windows.
  const auto [window, strides, low, high] = node.attrs<SelectAndScatterAttrs>();
  const int64_t count = NumElements(window);
  if (count < 1 || count > numerics().written_out_window) return std::nullopt;
  const auto start_of = [&](int64_t element) { return PlaceInWindow(window, Dims(window.size(), 1), element); };
  const auto make = [&](OpCode op, SmallVector<Ref, 3> in, DType type, Attributes attributes = {}) {
    GraphNode made;
    made.op = op;
    made.in = std::move(in);
    made.out.push_back({type, source.dims});
    made.attributes = std::move(attributes);
    return Emit(std::move(made));
  };
  const Dims none(window.size(), 0);
  const Ref zero = Splat({shape.dtype, {}}, 0);
  const Ref padded = Padded(node.in[0], zero, low, high, none);
  // Padding is never selected.
  const auto adds = [](const Dims& edge) {
    return std::any_of(edge.begin(), edge.end(), [](int64_t n) { return n > 0; });
  };
  const bool pads = adds(low) || adds(high);
  const Ref inside = Padded(Splat({DType::kPred, shape.dims}, 1), Splat({DType::kPred, {}}, 0), low, high, none);
  const Shape places{DType::kS32, source.dims};
  Ref best = StridedSlice(padded, none, strides, source.dims);
  Ref place = Splat(places, 0);
  Ref any = StridedSlice(inside, none, strides, source.dims);
  for (int64_t element = 1; element < count; ++element) {
    const Ref next = StridedSlice(padded, start_of(element), strides, source.dims);
    Ref keep = make(OpCode::kCompare, {best, next}, DType::kPred, *keeps);
    if (pads) {
      const Ref exists = StridedSlice(inside, start_of(element), strides, source.dims);
      keep = Binary(OpCode::kOr, Binary(OpCode::kAnd, keep, any), make(OpCode::kNot, {exists}, DType::kPred));
      any = Binary(OpCode::kOr, any, exists);
    }
    best = make(OpCode::kSelect, {keep, best, next}, shape.dtype);
    place = make(OpCode::kSelect, {keep, place, Splat(places, static_cast<uint64_t>(element))}, DType::kS32);
  }
  Ref sum = Spread(node.in[2], shape);
  const Ref nothing = Splat({shape.dtype, {}}, *IdentityBits(OpCode::kAdd, shape.dtype));
  for (int64_t element = 0; element < count; ++element) {
    const Ref here = make(OpCode::kCompare, {place, Splat(places, static_cast<uint64_t>(element))}, DType::kPred,
                          CompareAttrs{kir::kEq});
    const Ref part = make(OpCode::kSelect, {here, node.in[1], Spread(nothing, source)}, shape.dtype);
    Dims before = start_of(element);
    Dims after(window.size(), 0);
    Dims between(window.size(), 0);
    for (size_t d = 0; d < window.size(); ++d) {
      before[d] -= low[d];
      between[d] = strides[d] - 1;
      after[d] = shape.dims[d] - (before[d] + (source.dims[d] - 1) * strides[d] + 1);
    }
    sum = Binary(OpCode::kAdd, sum, Padded(part, nothing, before, after, between));
  }
  return sum;
}

std::optional<Ref> Simplifier::WholeWindow(const GraphNode& node) {
  const Shape in = ShapeOf(node.in[0]), weights = ShapeOf(node.in[1]), out = node.shape();
  const ConvolutionAttrs a = node.attrs<ConvolutionAttrs>();
  const auto extent = [](const Shape& s, int64_t d) { return s.dims[static_cast<size_t>(d)]; };
  if (a.feature_group_count != 1 || a.batch_group_count != 1 || in.dtype != weights.dtype) return std::nullopt;
  DotAttrs product{.lhs_contracting_dimensions = {a.input_feature_dimension},
                   .rhs_contracting_dimensions = {a.kernel_input_feature_dimension}};
  for (size_t d = 0; d < a.input_spatial_dimensions.size(); ++d) {
    const int64_t n = extent(in, a.input_spatial_dimensions[d]);
    if (extent(out, a.output_spatial_dimensions[d]) != 1 || extent(weights, a.kernel_spatial_dimensions[d]) != n ||
        a.padding_low[d] != 0 || a.padding_high[d] != 0 ||
        (n > 1 && (a.lhs_dilation[d] != 1 || a.rhs_dilation[d] != 1 || a.window_reversal[d] != 0)))
      return std::nullopt;
    product.lhs_contracting_dimensions.push_back(a.input_spatial_dimensions[d]);
    product.rhs_contracting_dimensions.push_back(a.kernel_spatial_dimensions[d]);
  }
  const int64_t images = extent(out, a.output_batch_dimension), results = extent(out, a.output_feature_dimension);
  GraphNode dot;
  dot.op = OpCode::kDot;
  dot.in = node.in;
  dot.attributes = std::move(product);
  dot.out.push_back({out.dtype, {images, results}});
  Ref matrix = Emit(std::move(dot));
  if (a.output_feature_dimension < a.output_batch_dimension) matrix = Transposed(matrix, {1, 0});
  return Reshape(matrix, out.dims);
}

std::optional<Ref> Simplifier::PointwiseConvolution(const GraphNode& node) {
  const Shape in = ShapeOf(node.in[0]), weights = ShapeOf(node.in[1]), out = node.shape();
  const ConvolutionAttrs a = node.attrs<ConvolutionAttrs>();
  // Elsewhere the product's dims would have to change places.
  const auto last = static_cast<int64_t>(in.dims.size()) - 1;
  if (a.feature_group_count != 1 || a.batch_group_count != 1 || in.dtype != weights.dtype ||
      a.input_feature_dimension != last || a.output_feature_dimension != last ||
      a.input_batch_dimension != a.output_batch_dimension || a.input_spatial_dimensions != a.output_spatial_dimensions)
    return std::nullopt;
  for (size_t d = 0; d < a.input_spatial_dimensions.size(); ++d) {
    if (weights.dims[static_cast<size_t>(a.kernel_spatial_dimensions[d])] != 1 || a.window_strides[d] != 1 ||
        a.padding_low[d] != 0 || a.padding_high[d] != 0 || a.lhs_dilation[d] != 1)
      return std::nullopt;
  }
  const int64_t channels = in.dims.back(), results = out.dims.back();
  const bool turned = a.kernel_input_feature_dimension > a.kernel_output_feature_dimension;
  GraphNode dot;
  dot.op = OpCode::kDot;
  dot.in = {node.in[0], Reshape(node.in[1], turned ? Dims{results, channels} : Dims{channels, results})};
  dot.attributes = DotAttrs{.lhs_contracting_dimensions = {last}, .rhs_contracting_dimensions = {turned ? 1 : 0}};
  dot.out.push_back(out);
  return Emit(std::move(dot));
}

std::optional<Ref> Simplifier::WriteOutConvolution(const GraphNode& node) {
  // One input channel per group and few results, or few channels and one result: little that a matrix product could
  // share.
  const Shape weights = ShapeOf(node.in[1]);
  const Shape out = node.shape();
  const ConvolutionAttrs a = node.attrs<ConvolutionAttrs>();
  const auto extent = [](const Shape& s, int64_t d) { return s.dims[static_cast<size_t>(d)]; };
  const int64_t groups = a.feature_group_count;
  const size_t spatial = a.input_spatial_dimensions.size();
  const int64_t per_group = extent(weights, a.kernel_output_feature_dimension) / std::max<int64_t>(groups, 1);
  if (a.batch_group_count != 1) return WriteOutWeightGradient(node);
  const int64_t channels = extent(weights, a.kernel_input_feature_dimension);
  if (per_group < 1 || (per_group > 1 && (groups == 1 || per_group > policy::kMaxResultsPerTap)) ||
      (channels != 1 && (groups != 1 || per_group != 1)))
    return std::nullopt;
  int64_t count = channels;
  for (int64_t d : a.kernel_spatial_dimensions) count *= extent(weights, d);
  if (count < 1 || count > numerics().written_out_taps || IsComplex(out.dtype) ||
      !(IsFloat(out.dtype) || IsInteger(out.dtype)))
    return std::nullopt;
  const DType type = IsNarrowFloat(out.dtype) ? DType::kF32 : out.dtype;
  // The operand with its dims in the result's order.
  Dims permutation(out.rank(), 0);
  Dims low(out.rank(), 0), high(out.rank(), 0), interior(out.rank(), 0), strides(out.rank(), 1);
  permutation[static_cast<size_t>(a.output_batch_dimension)] = a.input_batch_dimension;
  permutation[static_cast<size_t>(a.output_feature_dimension)] = a.input_feature_dimension;
  for (size_t d = 0; d < spatial; ++d) {
    const auto at = static_cast<size_t>(a.output_spatial_dimensions[d]);
    permutation[at] = a.input_spatial_dimensions[d];
    strides[at] = a.window_strides[d];
    low[at] = a.padding_low[d];
    high[at] = a.padding_high[d];
    interior[at] = a.lhs_dilation[d] - 1;
  }
  const bool in_order = std::is_sorted(permutation.begin(), permutation.end());
  const Ref source = in_order ? node.in[0] : Transposed(node.in[0], permutation);
  const Ref padded = Padded(Converted(source, type), Splat({type, {}}, 0), low, high, interior);
  // Several results per group are one more dim, inside of the groups.
  const bool several = per_group > 1;
  const auto feature = static_cast<size_t>(a.output_feature_dimension);
  Dims taken = out.dims, split = out.dims;
  taken[feature] = split[feature] = groups;
  if (several) split.insert(split.begin() + static_cast<std::ptrdiff_t>(feature) + 1, per_group);
  const auto spread = [&](Ref r, Dims places) {
    GraphNode broadcast;
    broadcast.op = OpCode::kBroadcast;
    broadcast.in = {r};
    broadcast.out.push_back({type, split});
    broadcast.attributes = BroadcastAttrs{std::move(places)};
    return Emit(std::move(broadcast));
  };
  Dims places;
  for (size_t d = 0; d < out.rank(); ++d) places.push_back(static_cast<int64_t>(d + (several && d > feature ? 1 : 0)));
  Dims weight_shape = {groups};
  Dims weight_places = {a.output_feature_dimension};
  if (several) {
    weight_shape.push_back(per_group);
    weight_places.push_back(a.output_feature_dimension + 1);
  }
  // Sums begin at zero, as drivers' do: of zeros alone they have its sign.
  Ref sum = Splat({type, split}, 0);
  for (int64_t element = 0; element < count; ++element) {
    Dims start(out.rank(), 0);
    Dims weight_start(weights.rank(), 0);
    Dims weight_extent(weights.rank(), 1);
    weight_extent[static_cast<size_t>(a.kernel_output_feature_dimension)] = groups * per_group;
    const int64_t channel = element % channels;
    start[feature] = channel;
    weight_start[static_cast<size_t>(a.kernel_input_feature_dimension)] = channel;
    int64_t rest = element / channels;
    for (size_t d = spatial; d-- > 0;) {
      const int64_t n = extent(weights, a.kernel_spatial_dimensions[d]);
      const int64_t k = rest % n;
      rest /= n;
      weight_start[static_cast<size_t>(a.kernel_spatial_dimensions[d])] = k;
      start[static_cast<size_t>(a.output_spatial_dimensions[d])] =
          (a.window_reversal[d] != 0 ? n - 1 - k : k) * a.rhs_dilation[d];
    }
    const Ref x = StridedSlice(padded, start, strides, taken);
    const Ref tap =
        Reshape(StridedSlice(node.in[1], weight_start, Dims(weights.rank(), 1), weight_extent), weight_shape);
    const Ref product =
        Binary(OpCode::kMultiply, several ? spread(x, places) : x, spread(Converted(tap, type), weight_places));
    sum = Binary(OpCode::kAdd, sum, product);
  }
  return Converted(several ? Reshape(sum, out.dims) : sum, out.dtype);
}

}  // namespace tenon::compiler
