// Gathers and scatters of which the places are known now: slices, reversals, and few parts one behind the other.

#include <algorithm>
#include <cstdlib>

#include "tenon/compiler/simplify/known_numbers.h"
#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {
namespace {

bool Has(const Dims& list, int64_t d) { return std::find(list.begin(), list.end(), d) != list.end(); }

/// first, first + step, ...
struct Stretch {
  int64_t first = 0, step = 1, count = 1;
};

/// The list as runs, each as long as it can be from where the one before it ends; nothing when there are more than
/// `most`.
std::vector<Stretch> StretchesOf(const std::vector<int64_t>& list, size_t most) {
  std::vector<Stretch> runs;
  for (size_t i = 0; i < list.size();) {
    if (runs.size() == most) return {};
    Stretch run{list[i], 1, 1};
    size_t end = i + 1;
    if (end < list.size()) run.step = list[end] - list[i];
    while (end < list.size() && list[end] - list[end - 1] == run.step) ++end;
    run.count = static_cast<int64_t>(end - i);
    // A neighbour that begins a run of its own is not the end of a pair.
    if (run.count == 2 && run.step != 1 && end + 1 < list.size() &&
        list[end + 1] - list[end] == list[end] - list[i + 1])
      run = {list[i], 1, 1};
    runs.push_back(run);
    i += static_cast<size_t>(run.count);
  }
  return runs;
}

/// first + row * outer + column * inner: `rows` times `columns` of them.
struct Grid {
  int64_t first = 0, outer = 0, inner = 0, rows = 1, columns = 1;
};

std::optional<Grid> GridOf(const std::vector<int64_t>& list) {
  const auto n = static_cast<int64_t>(list.size());
  if (n < 4) return std::nullopt;
  Grid grid{list[0], 0, list[1] - list[0]};
  while (grid.columns < n && list[static_cast<size_t>(grid.columns)] == grid.first + grid.columns * grid.inner)
    ++grid.columns;
  if (grid.columns == n || grid.columns < 2 || n % grid.columns != 0) return std::nullopt;
  grid.rows = n / grid.columns;
  grid.outer = list[static_cast<size_t>(grid.columns)] - grid.first;
  for (int64_t i = 0; i < n; ++i) {
    if (list[static_cast<size_t>(i)] != grid.first + i / grid.columns * grid.outer + i % grid.columns * grid.inner)
      return std::nullopt;
  }
  return grid;
}

/// Where the index vectors of a gather or scatter lead.
struct PlaceList {
  std::vector<std::vector<int64_t>> of;  ///< By component of a vector, then by vector.
  int64_t count = 1;
};

/// The places that `indices` name, by component; nothing where they are not known.
std::optional<PlaceList> PlacesOf(KnownNumbers& known, const Shape& shape, Ref indices, int64_t vector_dim) {
  const std::vector<int64_t>* const numbers = known.Of(indices);
  if (numbers == nullptr) return std::nullopt;
  int64_t components = 1, inner = 1;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (static_cast<int64_t>(d) == vector_dim) components = shape.dims[d];
    if (static_cast<int64_t>(d) > vector_dim) inner *= shape.dims[d];
  }
  PlaceList places;
  places.count = static_cast<int64_t>(numbers->size()) / components;
  for (int64_t k = 0; k < components; ++k) {
    std::vector<int64_t>& list = places.of.emplace_back();
    for (int64_t i = 0; i < places.count; ++i)
      list.push_back((*numbers)[static_cast<size_t>((i / inner * components + k) * inner + i % inner)]);
  }
  return places;
}

bool AllEqual(const std::vector<int64_t>& list) {
  return std::all_of(list.begin(), list.end(), [&](int64_t v) { return v == list[0]; });
}

/// What a gather starts at, known: along dims [first, end) of the operand its places differ, elsewhere all start alike.
struct KnownStarts {
  Dims start;
  std::vector<const std::vector<int64_t>*> list;  ///< By dim; null where all start alike.
  size_t first, end = 0;

  KnownStarts(const GatherAttrs& g, const Dims& operand, PlaceList& places)
      : start(operand.size(), 0), list(operand.size(), nullptr), first(operand.size()) {
    for (size_t k = 0; k < g.start_index_map.size(); ++k) {
      const auto d = static_cast<size_t>(g.start_index_map[k]);
      for (int64_t& at : places.of[k]) at = std::clamp<int64_t>(at, 0, operand[d] - g.slice_sizes[d]);
      start[d] = places.of[k][0];
      if (AllEqual(places.of[k])) continue;
      list[d] = &places.of[k];
      first = std::min(first, d);
      end = std::max(end, d + 1);
    }
  }
  /// The places in dims [first, end), read as one.
  std::vector<int64_t> Flat(const Dims& operand, int64_t count) const {
    std::vector<int64_t> flat(static_cast<size_t>(count), 0);
    for (size_t d = first; d < end; ++d) {
      for (size_t i = 0; i < flat.size(); ++i)
        flat[i] = flat[i] * operand[d] + (list[d] != nullptr ? (*list[d])[i] : start[d]);
    }
    return flat;
  }
};

/// Dims of what a gather takes, without those that it collapses; the taken ones are one dim, which is at `at` and is
/// wanted at `to`.
struct TakenDims {
  Dims dims;
  int64_t at = 0, to = 0;
};

/// `before`: how many dims of the result stand before those of the indices.
TakenDims TakenDimsOf(const GatherAttrs& g, const KnownStarts& known, int64_t before, int64_t count) {
  TakenDims taken;
  int64_t next = 0;
  for (size_t d = 0; d < g.slice_sizes.size(); ++d) {
    const bool is_kept = !Has(g.collapsed_slice_dims, static_cast<int64_t>(d));
    if (d == known.first) {
      taken.at = static_cast<int64_t>(taken.dims.size());
      taken.dims.push_back(count);
    }
    if (!is_kept) continue;
    const bool is_before = next++ < before;
    if (d >= known.first && d < known.end) continue;
    taken.dims.push_back(g.slice_sizes[d]);
    taken.to += is_before ? 1 : 0;
  }
  return taken;
}

}  // namespace

// Elements first, first + step, ... along `dim`.
Ref Simplifier::TakenRun(Ref r, size_t dim, int64_t first, int64_t step, int64_t count) {
  Dims extent = ShapeOf(r).dims, start(extent.size(), 0), stride(extent.size(), 1);
  extent[dim] = step == 0 ? 1 : count;
  start[dim] = step < 0 ? first + (count - 1) * step : first;
  stride[dim] = count == 1 || step == 0 ? 1 : std::abs(step);
  const Ref part = StridedSlice(r, start, stride, extent);
  if (count == 1 || step > 0) return part;
  if (step < 0) return Reversed(part, dim);
  Dims places;
  for (size_t d = 0; d < extent.size(); ++d) places.push_back(static_cast<int64_t>(d));
  extent[dim] = count;
  return Broadcast(part, extent, places);
}

// The elements of `list` along `dim`, where few views give them.
std::optional<Ref> Simplifier::Taken(Ref r, size_t dim, const std::vector<int64_t>& list) {
  const Dims dims = ShapeOf(r).dims;
  std::vector<Stretch> runs = StretchesOf(list, policy::kMaxLongKnownRuns);
  int64_t beside = static_cast<int64_t>(list.size());
  for (size_t d = dim + 1; d < dims.size(); ++d) beside *= dims[d];
  if (runs.size() > policy::kMaxKnownRuns && beside < static_cast<int64_t>(runs.size()) * policy::kLongKnownRun)
    runs.clear();
  if (runs.size() == 1) return TakenRun(r, dim, runs[0].first, runs[0].step, runs[0].count);
  if (const std::optional<Grid> grid = GridOf(list)) {
    // Rows of the larger step, columns of the smaller one: a slice cut into rows, if so much is there.
    const bool turned = std::abs(grid->inner) > std::abs(grid->outer);
    const int64_t large = turned ? grid->inner : grid->outer, small = turned ? grid->outer : grid->inner;
    const int64_t rows = turned ? grid->columns : grid->rows, columns = turned ? grid->rows : grid->columns;
    const int64_t width = std::abs(large), reach = (columns - 1) * std::abs(small) + 1;
    const int64_t lowest =
        grid->first + std::min<int64_t>(0, large * (rows - 1)) + std::min<int64_t>(0, small * (columns - 1));
    const int64_t begin = std::min(lowest, dims[dim] - rows * width);
    if (large != 0 && begin >= 0 && lowest - begin + reach <= width) {
      Ref part = TakenRun(r, dim, begin, 1, rows * width);
      Dims cut = dims;
      cut[dim] = rows;
      cut.insert(cut.begin() + static_cast<std::ptrdiff_t>(dim) + 1, width);
      part = TakenRun(Reshape(part, cut), dim, large < 0 ? rows - 1 : 0, large < 0 ? -1 : 1, rows);
      const int64_t offset = lowest - begin;
      part = TakenRun(part, dim + 1, small < 0 ? offset + reach - 1 : offset, small, columns);
      if (turned) {
        Dims order;
        for (size_t d = 0; d <= dims.size(); ++d) order.push_back(static_cast<int64_t>(d));
        std::swap(order[dim], order[dim + 1]);
        part = Transposed(part, std::move(order));
      }
      Dims whole = dims;
      whole[dim] = rows * columns;
      return Reshape(part, whole);
    }
  }
  if (runs.empty()) return std::nullopt;
  SmallVector<Ref, 3> parts;
  for (const Stretch& run : runs) parts.push_back(TakenRun(r, dim, run.first, run.step, run.count));
  return Concatenated(std::move(parts), dim);
}

std::optional<Ref> Simplifier::KnownGather(const GraphNode& node) {
  const GatherAttrs g = node.attrs<GatherAttrs>();
  const Shape operand = ShapeOf(node.in[0]), shape = node.shape();
  if (!g.operand_batching_dims.empty() || NumElements(shape.dims) == 0 || NumElements(operand.dims) == 0)
    return std::nullopt;
  std::optional<PlaceList> places = PlacesOf(known_numbers_, ShapeOf(node.in[1]), node.in[1], g.index_vector_dim);
  if (!places) return std::nullopt;
  // Dims of the operand along which the place differs, neighbours all of them, are read as one.
  const KnownStarts starts(g, operand.dims, *places);
  const size_t first = starts.first, end = starts.end;
  for (size_t d = first; d < end; ++d) {
    if (g.slice_sizes[d] != 1) return std::nullopt;
  }
  // Which dims of the result go along with the indices: those from `before` on.
  const auto rank = static_cast<int64_t>(shape.rank());
  int64_t before = 0;
  while (before < rank && Has(g.offset_dims, before)) ++before;
  const auto batch_dims = rank - static_cast<int64_t>(g.offset_dims.size());
  for (int64_t d = before; d < before + batch_dims; ++d) {
    if (Has(g.offset_dims, d)) return std::nullopt;
  }
  Dims ones(operand.rank(), 1), extent = g.slice_sizes, from = starts.start;
  for (size_t d = first; d < end; ++d) {
    from[d] = 0;
    extent[d] = operand.dims[d];
  }
  Ref part = StridedSlice(node.in[0], from, ones, extent);
  Dims kept;  // Of the slice, by dim of the result that does not go along with the indices.
  for (size_t d = 0; d < operand.rank(); ++d) {
    if (!Has(g.collapsed_slice_dims, static_cast<int64_t>(d))) kept.push_back(g.slice_sizes[d]);
  }
  if (first >= end) {
    part = Reshape(part, kept);
    return places->count == 1 ? Reshape(part, shape.dims) : Broadcast(part, shape.dims, g.offset_dims);
  }
  Dims merged(extent.begin(), extent.begin() + static_cast<std::ptrdiff_t>(first));
  merged.push_back(1);
  for (size_t d = first; d < end; ++d) merged[first] *= operand.dims[d];
  for (size_t d = end; d < extent.size(); ++d) merged.push_back(extent[d]);
  const std::optional<Ref> taken = Taken(Reshape(part, merged), first, starts.Flat(operand.dims, places->count));
  if (!taken) return std::nullopt;
  const auto [dims, at, to] = TakenDimsOf(g, starts, before, places->count);
  Ref result = Reshape(*taken, dims);
  if (at != to) {
    Dims order;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (static_cast<int64_t>(d) != at) order.push_back(static_cast<int64_t>(d));
    }
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), at);
    result = Transposed(result, std::move(order));
  }
  return Reshape(result, shape.dims);
}

namespace {

/// Whether a kernel computes the value anyway: what comes from elsewhere may be changed in place.
bool IsComputed(const Program& p, Ref r) {
  const GraphNode* node = &p[r.node];
  while (KindOfOp(node->op) == OpKind::kView && node->op != OpCode::kDynamicUpdate) node = &p[node->in[0].node];
  return KindOfOp(node->op) == OpKind::kElementwise || node->op == OpCode::kIota || node->op == OpCode::kConstant;
}

}  // namespace

// Elements lo, lo + 1 ... hi - 1 of dim `d`, everywhere else no: nothing when these are all.
Ref Simplifier::WithinAlong(const Shape& shape, size_t d, int64_t lo, int64_t hi) {
  const Shape places{DType::kS32, {shape.dims[d]}};
  GraphNode iota;
  iota.op = OpCode::kIota;
  iota.out.push_back(places);
  iota.attributes = IotaAttrs{0};
  const Ref place = Emit(std::move(iota));
  const auto asked = [&](kir::Cmp how, int64_t limit) {
    return Compare(how, place, Splat(places, kir::LiteralBits(DType::kS32, limit)));
  };
  Ref within;
  if (hi == lo + 1) {
    within = asked(kir::kEq, lo);
  } else {
    if (lo > 0) within = asked(kir::kGe, lo);
    if (hi < shape.dims[d]) {
      const Ref below = asked(kir::kLt, hi);
      within = within.valid() ? Binary(OpCode::kAnd, within, below) : below;
    }
  }
  return Broadcast(within, shape.dims, {static_cast<int64_t>(d)});
}

std::optional<Ref> Simplifier::KnownScatter(const GraphNode& node) {
  if (node.in.size() != 3 || node.blocks.size() != 1) return std::nullopt;
  const ScatterAttrs s = node.attrs<ScatterAttrs>();
  const Shape shape = node.shape(), updates = ShapeOf(node.in[2]);
  const Block& block = node.blocks[0];
  const bool overwrite = block.results[0] == Ref{block.args[1], 0};
  const OpCode op = overwrite ? OpCode::kOpaque : CombinerOp(to_, block);
  if ((!overwrite && !IdentityBits(op, shape.dtype)) || !s.input_batching_dims.empty() ||
      ShapeOf(node.in[0]) != shape || updates.dtype != shape.dtype || NumElements(shape.dims) == 0 ||
      NumElements(updates.dims) == 0 || IsComplex(shape.dtype))
    return std::nullopt;
  const std::optional<PlaceList> places = PlacesOf(known_numbers_, ShapeOf(node.in[1]), node.in[1], s.index_vector_dim);
  if (!places || places->count != 1 || NumElements(shape.dims) > INT32_MAX) return std::nullopt;
  // One window: where it lies, and whether all of it is inside.
  Dims start(shape.rank(), 0), span, end = shape.dims;
  for (size_t k = 0; k < places->of.size(); ++k)
    start[static_cast<size_t>(s.scatter_dims_to_operand_dims[k])] = places->of[k][0];
  bool whole = true;
  for (size_t d = 0, next = 0; d < shape.rank(); ++d) {
    const bool inserted = Has(s.inserted_window_dims, static_cast<int64_t>(d));
    span.push_back(inserted ? 1 : updates.dims[static_cast<size_t>(s.update_window_dims[next++])]);
    const int64_t last = shape.dims[d] - span[d];
    if (start[d] < 0 || start[d] > last) return node.in[0];
    end[d] = last - start[d];
    whole &= span[d] == shape.dims[d];
  }
  const Ref before = node.in[0];
  const Ref update = Reshape(node.in[2], span);
  const Dims none(shape.rank(), 0);
  if (whole) return overwrite ? update : Binary(op, before, update);
  // A small part of what lies in memory is better changed in place.
  if (!IsComputed(to_, before) && 2 * NumElements(span) < NumElements(shape.dims)) return std::nullopt;
  if (const std::optional<uint64_t> bits = SplatBits(to_, before); bits && overwrite)
    return Padded(update, Splat({shape.dtype, {}}, *bits), start, end, none);
  // A choice between both, at each place.
  Ref within;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (span[d] == shape.dims[d]) continue;
    const Ref here = WithinAlong(shape, d, start[d], start[d] + span[d]);
    within = within.valid() ? Binary(OpCode::kAnd, within, here) : here;
  }
  const std::optional<uint64_t> same = SplatBits(to_, update);
  Ref now = same ? Splat(shape, *same) : Padded(update, Splat({shape.dtype, {}}, 0), start, end, none);
  if (!overwrite) now = Binary(op, before, now);
  return Select(within, now, before);
}

// Reductions over numbers that are known: whether all places of an array are inside, above all.
std::optional<Ref> Simplifier::KnownReduce(const GraphNode& node) {
  const std::optional<std::vector<int64_t>> values = known_numbers_.Of(node);
  if (!values) return std::nullopt;
  const Shape& shape = node.shape();
  const auto bits = [&](int64_t v) { return kir::LiteralBits(shape.dtype, v); };
  if (AllEqual(*values)) return Splat(shape, bits((*values)[0]));
  std::string bytes;
  for (int64_t v : *values) {
    const uint64_t word = bits(v);
    bytes.append(reinterpret_cast<const char*>(&word), static_cast<size_t>(ByteWidth(shape.dtype)));
  }
  return Constant(shape, MakeLiteral(std::move(bytes), false));
}

}  // namespace tenon::compiler
