// Reductions: over nothing, of transposed values, long ones.

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "tenon/compiler/ir/kir_op.h"
#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/compiler/simplify/windows.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {

std::optional<Ref> Simplifier::ReduceNothing(const GraphNode& node) {
  if (node.in.size() == 2 && NumElements(ShapeOf(node.in[0]).dims) == 0) return Spread(node.in[1], node.shape());
  return std::nullopt;
}

namespace {

bool IsPointwise(const Program& p, const GraphNode& node) {
  return KindOfOp(node.op) == OpKind::kElementwise && node.out.size() == 1 && std::ranges::all_of(node.in, [&](Ref r) {
           return p.shape(r).rank() == 0 || p.shape(r).dims == node.shape().dims;
         });
}

}  // namespace

NodeId Simplifier::TransposeBelow(Ref r) const {
  for (size_t left = policy::kMaxUnmergedNodes; left > 0; --left) {
    const GraphNode& node = Def(r);
    if (node.op == OpCode::kTranspose) return r.node;
    if (!IsPointwise(to_, node)) return kNoNode;
    const auto turned = std::ranges::find_if(
        node.in, [&](Ref in) { return ShapeOf(in).rank() > 0 && !SplatBits(to_, in) && !IsSpread(Def(in)); });
    if (turned == node.in.end()) return kNoNode;
    r = *turned;
  }
  return kNoNode;
}

bool Simplifier::IsSpread(const GraphNode& node) const {
  return node.op == OpCode::kBroadcast && ShapeOf(node.in[0]).rank() == 0;
}

std::optional<Ref> Simplifier::Remade(Ref r, const Dims& dims, const Remaking& how, size_t& left) {
  if (const std::optional<Ref> leaf = how.leaf(r)) return leaf;
  const GraphNode node = Def(r);
  if (const std::optional<uint64_t> bits = SplatBits(to_, r)) return Splat({ShapeOf(r).dtype, dims}, *bits);
  if (IsSpread(node)) return Broadcast(node.in[0], dims, {});
  if (!IsPointwise(to_, node) || (!how.functions && !MathFunction(node).empty()) || left == 0) return std::nullopt;
  --left;
  GraphNode made = node;
  made.out[0].dims = dims;
  for (Ref& in : made.in) {
    if (ShapeOf(in).rank() == 0) continue;
    const std::optional<Ref> remade = Remade(in, dims, how, left);
    if (!remade) return std::nullopt;
    in = *remade;
  }
  return Emit(std::move(made));
}

std::optional<Ref> Simplifier::WithoutTranspose(Ref r, const Dims& turn) {
  Dims dims(turn.size(), 0);
  for (size_t d = 0; d < turn.size(); ++d) dims[static_cast<size_t>(turn[d])] = ShapeOf(r).dims[d];
  const auto turned = [&](Ref at) -> std::optional<Ref> {
    const GraphNode& node = Def(at);
    const bool is_turned = node.op == OpCode::kTranspose && node.attrs<TransposeAttrs>().permutation == turn;
    return is_turned ? std::optional(node.in[0]) : std::nullopt;
  };
  size_t left = policy::kMaxUnmergedNodes;
  // What is computed beside it in another order is computed twice: functions take too long for that.
  return Remade(r, dims, {.leaf = turned, .functions = false}, left);
}

std::optional<Ref> Simplifier::ReduceTransposed(const GraphNode& node) {
  // The order of elements must not matter.
  if (node.in.size() != 2 || !IdentityBits(CombinerOp(to_, node.blocks[0]), node.shape().dtype)) return std::nullopt;
  const NodeId below = TransposeBelow(node.in[0]);
  if (below == kNoNode) return std::nullopt;
  const Dims turn = to_[below].attrs<TransposeAttrs>().permutation;
  // What is computed on the way is read along rows as it is where they stay rows.
  if (below != node.in[0].node && turn.back() == static_cast<int64_t>(turn.size()) - 1) return std::nullopt;
  const std::optional<Ref> before = WithoutTranspose(node.in[0], turn);
  if (!before) return std::nullopt;
  const Shape operand = ShapeOf(node.in[0]);
  const Dims& over = node.attrs<ReduceAttrs>().dimensions;
  GraphNode inner = node;
  inner.origin = nullptr;
  inner.in[0] = *before;
  SmallVector<int64_t, 6> kept;  // Source dims of the result, in the result's order.
  Dims reduced;
  for (size_t i = 0; i < operand.rank(); ++i) {
    const int64_t source = turn[i];
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
  for (int64_t d : sorted) inner.out[0].dims.push_back(ShapeOf(*before).dims[static_cast<size_t>(d)]);
  const Ref r = Emit(std::move(inner));
  GraphNode back;
  back.op = OpCode::kTranspose;
  back.in = {r};
  back.out.push_back(node.shape());
  Dims permutation;
  for (int64_t d : kept) permutation.push_back(std::find(sorted.begin(), sorted.end(), d) - sorted.begin());
  back.attributes = TransposeAttrs{permutation};
  return Emit(std::move(back));
}

std::optional<Ref> Simplifier::ReduceRepeated(const GraphNode& node) {
  if (node.in.size() != 2) return std::nullopt;
  // A constant that is the same everywhere is repeated along all dims.
  const std::optional<uint64_t> splat = SplatBits(to_, node.in[0]);
  if (!splat && Def(node.in[0]).op != OpCode::kBroadcast) return std::nullopt;
  const GraphNode operand = Def(node.in[0]);
  const Shape spread = operand.shape(), result = node.shape();
  const OpCode op = CombinerOp(to_, node.blocks[0]);
  // Integers that hold the factor, and floats that are summed in wider ones.
  const bool is_sum = op == OpCode::kAdd && ByteWidth(result.dtype) >= (IsInteger(result.dtype) ? 4 : 2);
  const bool is_extreme = op == OpCode::kMaximum || op == OpCode::kMinimum || op == OpCode::kAnd || op == OpCode::kOr;
  if (spread.dtype != result.dtype || IsComplex(result.dtype) || (!is_sum && !is_extreme)) return std::nullopt;
  const Dims places = splat ? Dims() : operand.attrs<BroadcastAttrs>().broadcast_dimensions;
  const Dims over = node.attrs<ReduceAttrs>().dimensions;
  int64_t times = 1;
  Dims once = spread.dims;  // Extent 1 along what is repeated.
  for (const int64_t d : over) {
    const auto from = std::find(places.begin(), places.end(), d);
    const auto at = static_cast<size_t>(d);
    if (from != places.end() && ShapeOf(operand.in[0]).dims[static_cast<size_t>(from - places.begin())] != 1) continue;
    times *= once[at];
    once[at] = 1;
  }
  constexpr int64_t kMostTimes = INT32_MAX;  // structural: of the narrowest integers that are multiplied
  if (times <= 1 || times > kMostTimes) return std::nullopt;
  GraphNode rest = node;
  rest.origin = nullptr;
  if (splat) {
    rest.in[0] = Splat({spread.dtype, once}, *splat);
  } else {
    GraphNode narrow = operand;
    narrow.origin = nullptr;
    narrow.out[0].dims = once;
    rest.in[0] = Emit(std::move(narrow));
  }
  if (!is_sum) return Emit(std::move(rest));
  const DType type = IsNarrowFloat(result.dtype) ? DType::kF32 : result.dtype;
  const Ref init = node.in[1];
  rest.in[1] = Splat({result.dtype, {}}, *IdentityBits(op, result.dtype));  // Zeros keep their signs.
  const Ref sum = Converted(Emit(std::move(rest)), type);
  const uint64_t factor =
      IsFloat(type) ? kir::LiteralBits(type, static_cast<double>(times)) : static_cast<uint64_t>(times);
  const Ref all = Binary(OpCode::kMultiply, sum, Splat({type, result.dims}, factor));
  return Converted(Binary(OpCode::kAdd, Spread(Converted(init, type), {type, result.dims}), all), result.dtype);
}

std::optional<Ref> Simplifier::ReduceStack(const GraphNode& node) {
  if (node.in.size() != 2) return std::nullopt;
  const GraphNode& stack = Def(node.in[0]);
  const Dims& over = node.attrs<ReduceAttrs>().dimensions;
  if (stack.op != OpCode::kConcatenate || over != Dims{stack.attrs<ConcatenateAttrs>().dimension} ||
      stack.in.size() > policy::kMaxStacked)
    return std::nullopt;
  const Shape shape = node.shape();
  const OpCode op = CombinerOp(to_, node.blocks[0]);
  if (ShapeOf(node.in[0]).dtype != shape.dtype || !IdentityBits(op, shape.dtype)) return std::nullopt;
  const auto parts = stack.in;
  for (const Ref part : parts) {
    if (ShapeOf(part).dims[static_cast<size_t>(over[0])] != 1) return std::nullopt;
  }
  Ref met = Spread(node.in[1], shape);
  for (const Ref part : parts) met = Binary(op, met, Reshape(part, shape.dims));
  return met;
}

std::optional<Ref> Simplifier::WidenReduce(const GraphNode& node) {
  // Sums that round to bf16 after each element stand still at 256 times what they add. Few elements are added as they
  // stand in the program, and many at once lose no more than one rounding.
  const DType type = node.shape().dtype;
  if (node.in.size() != 2 || !IsNarrowFloat(type) || ShapeOf(node.in[0]).dtype != type ||
      NumElements(ReducedExtents(to_, node)) <= numerics().written_out_reduce)
    return std::nullopt;
  const OpCode op = CombinerOp(to_, node.blocks[0]);
  if (op != OpCode::kAdd && op != OpCode::kMultiply) return std::nullopt;
  GraphNode wide = node;
  wide.origin = nullptr;
  wide.blocks = {MakeCombiner(to_, op, DType::kF32)};
  for (Ref& r : wide.in) r = Converted(r, DType::kF32);
  wide.out[0].dtype = DType::kF32;
  return Converted(Emit(std::move(wide)), type);
}

namespace {

int64_t CountOf(const Dims& dims, size_t from, size_t to) {
  int64_t n = 1;
  for (size_t d = from; d < to; ++d) n *= dims[d];
  return n;
}

/// Rows over several dims in blocks: those before `dim` (of the reduced ones) one by one, that one in so many parts; of
/// tall_blocks to four times as many blocks the fewest. A function of extents alone, since it says how sums meet.
struct RowBlocks {
  std::ptrdiff_t dim;
  int64_t blocks;
};
std::optional<RowBlocks> BlocksOfRows(const Dims& extents, const Dims& reduced, const target::Numerics& cuts) {
  int64_t outer = 1;
  for (size_t k = 0; k < reduced.size(); ++k) {
    const int64_t extent = extents[static_cast<size_t>(reduced[k])];
    for (int64_t b = std::max<int64_t>(1, (cuts.tall_blocks + outer - 1) / outer); b * outer <= 4 * cuts.tall_blocks;
         ++b) {
      if (extent % b == 0) return RowBlocks{static_cast<std::ptrdiff_t>(k), b};
    }
    outer *= extent;
  }
  return std::nullopt;
}

/// A long sum in blocks: of which of the reduced dims (by its place among them), and how many of its rows make a block
/// with all that is inside of them.
struct SumBlocks {
  size_t dim;
  int64_t rows;
};
std::optional<SumBlocks> BlocksOfSum(const Dims& extents, const Dims& reduced, const target::Numerics& cuts) {
  int64_t count = 1;
  for (int64_t d : reduced) count *= extents[static_cast<size_t>(d)];
  // The number that divides the innermost dim where one does, closest to a block: of whole vectors, if it can be.
  const auto divided = [&](int64_t aligned) -> std::optional<SumBlocks> {
    int64_t inside = 1;
    for (size_t k = reduced.size(); k-- > 0 && inside <= cuts.long_sum;) {
      const int64_t extent = extents[static_cast<size_t>(reduced[k])];
      const int64_t step = aligned / std::gcd(aligned, inside);
      int64_t best = 0;
      for (int64_t rows = step; rows <= std::min(extent, cuts.long_sum / inside); rows += step) {
        const int64_t block = rows * inside;
        if (extent % rows != 0 || block < cuts.long_sum_min_block || count / block < cuts.long_sum_rest) continue;
        if (best == 0 || std::abs(block - cuts.long_sum_block) < std::abs(best * inside - cuts.long_sum_block))
          best = rows;
      }
      if (best > 0) return SumBlocks{k, best};
      inside *= extent;
    }
    return std::nullopt;
  };
  if (const auto blocks = divided(cuts.long_sum_aligned)) return blocks;
  if (reduced.size() > 1) {
    if (const auto blocks = divided(1)) return blocks;
  }
  int64_t inside = 1;
  for (size_t k = reduced.size(); k-- > 0;) {
    const int64_t extent = extents[static_cast<size_t>(reduced[k])];
    const int64_t rows = std::max<int64_t>(1, cuts.long_sum_uneven_block / inside);
    if (rows < extent) return SumBlocks{k, rows};
    inside *= extent;
  }
  return std::nullopt;
}

/// Of a run of rows, how many lie side by side in strips: where that can be a number that divides them.
int64_t StripOf(int64_t rows, int64_t columns, const target::Numerics& cuts) {
  const int64_t least = (cuts.strip + columns - 1) / columns;
  for (int64_t strip = least; strip < 2 * least; ++strip) {
    if (rows % strip == 0) return strip;
  }
  return least;
}

}  // namespace

namespace {

/// By dim of `merged`, the neighbouring ones of `dims` that it is made of: [begin, end). Nothing where it is not made
/// so.
std::optional<std::vector<std::pair<size_t, size_t>>> MergedFrom(const Dims& merged, const Dims& dims) {
  std::vector<std::pair<size_t, size_t>> groups;
  size_t next = 0;
  for (const int64_t extent : merged) {
    const size_t begin = next;
    for (int64_t made = 1; made < extent && next < dims.size();) made *= dims[next++];
    if (CountOf(dims, begin, next) != extent) return std::nullopt;
    groups.emplace_back(begin, next);
  }
  if (CountOf(dims, next, dims.size()) != 1 || groups.empty()) return std::nullopt;
  groups.back().second = dims.size();
  return groups;
}

/// Whether it lies in memory row after row whoever looks at it, so that other dims for it cost nothing.
bool IsStored(const GraphNode& node) {
  return node.op == OpCode::kParameter || node.op == OpCode::kConstant || node.op == OpCode::kDot ||
         node.op == OpCode::kConvolution || node.op == OpCode::kSort || node.op == OpCode::kFft;
}

/// Something computed that `r` is made of, element by element, before its dims were merged; invalid: nothing.
Ref BeforeMerging(const Program& p, Ref r) {
  std::vector<Ref> open = {r};
  for (size_t i = 0; i < open.size() && i < policy::kMaxUnmergedNodes; ++i) {
    const GraphNode& node = p[open[i].node];
    if (node.op == OpCode::kReshape && !IsStored(p[node.in[0].node])) return node.in[0];
    if (IsPointwise(p, node)) open.insert(open.end(), node.in.begin(), node.in.end());
  }
  return {};
}

}  // namespace

std::optional<Ref> Simplifier::WithDims(Ref r, const Dims& dims) {
  const auto stored = [&](Ref at) -> std::optional<Ref> {
    const GraphNode& node = Def(at);
    return node.op == OpCode::kReshape || IsStored(node) ? std::optional(Reshape(at, dims)) : std::nullopt;
  };
  size_t left = policy::kMaxUnmergedNodes;
  return Remade(r, dims, {.leaf = stored}, left);
}

std::optional<Ref> Simplifier::ReduceUnmerged(const GraphNode& node) {
  if (node.in.size() != 2) return std::nullopt;
  const Dims merged = ShapeOf(node.in[0]).dims;
  const Dims& reduced = node.attrs<ReduceAttrs>().dimensions;
  const int64_t results = NumElements(node.shape().dims);
  if (results == 0) return std::nullopt;
  const Ref before = BeforeMerging(to_, node.in[0]);
  if (!before.valid() || ShapeOf(before).rank() <= merged.size()) return std::nullopt;
  const Dims dims = ShapeOf(before).dims;
  // Long sums; and those of what was turned, which lie in another order, where the order does not matter.
  const bool is_long = results <= numerics().long_sum_results && NumElements(merged) / results > numerics().long_sum;
  const bool turned = Def(before).op == OpCode::kTranspose &&
                      Def(before).attrs<TransposeAttrs>().permutation.back() != static_cast<int64_t>(dims.size()) - 1 &&
                      IdentityBits(CombinerOp(to_, node.blocks[0]), node.shape().dtype).has_value();
  if (!is_long && !turned) return std::nullopt;
  const auto groups = MergedFrom(merged, dims);
  if (!groups) return std::nullopt;
  const std::optional<Ref> operand = WithDims(node.in[0], dims);
  if (!operand) return std::nullopt;
  GraphNode part = node;
  part.in[0] = *operand;
  ReduceAttrs over;
  Dims kept;
  for (size_t d = 0; d < merged.size(); ++d) {
    const bool is_reduced = std::ranges::find(reduced, static_cast<int64_t>(d)) != reduced.end();
    for (size_t i = (*groups)[d].first; i < (*groups)[d].second; ++i)
      is_reduced ? over.dimensions.push_back(static_cast<int64_t>(i)) : kept.push_back(dims[i]);
  }
  part.attributes = std::move(over);
  part.out[0].dims = std::move(kept);
  return Reshape(Emit(std::move(part)), node.shape().dims);
}

std::optional<Ref> Simplifier::SplitLongReduce(const GraphNode& node) {
  if (node.in.size() != 2) return std::nullopt;
  const target::Numerics& cuts = numerics();
  const Shape operand = ShapeOf(node.in[0]);
  const DType type = node.shape().dtype;
  if (operand.dtype != type || IsNarrowFloat(type)) return std::nullopt;  // Narrow floats round once per element.
  const OpCode op = CombinerOp(to_, node.blocks[0]);
  const std::optional<uint64_t> identity = IdentityBits(op, type);
  if (!identity) return std::nullopt;
  const Dims& dims = node.attrs<ReduceAttrs>().dimensions;  // Ascending.
  int64_t count = 1;
  for (int64_t d : dims) count *= operand.dims[static_cast<size_t>(d)];
  const int64_t results = NumElements(node.shape().dims);
  const bool neighbours = !dims.empty() && dims.back() - dims[0] + 1 == static_cast<int64_t>(dims.size());
  const int64_t columns = neighbours ? CountOf(operand.dims, static_cast<size_t>(dims.back()) + 1, operand.rank()) : 1;
  bool tall = columns >= cuts.tall_columns && count >= cuts.tall_rows && count * columns >= cuts.tall_elements &&
              results / columns < cuts.tall_blocks;
  const bool ordered = IsFloat(type) && (op == OpCode::kAdd || op == OpCode::kMultiply);
  bool strips = !tall && ordered && count >= cuts.strip_rows && columns > 1 && columns < cuts.short_row;
  if (strips && dims.size() > 1) {
    const int64_t run = operand.dims[static_cast<size_t>(dims.back())];
    strips = run % StripOf(run, columns, cuts) == 0;
  }
  const std::optional<RowBlocks> rows = tall ? BlocksOfRows(operand.dims, dims, cuts) : std::nullopt;
  if (tall && !rows) {
    if (dims.size() == 1) return std::nullopt;
    tall = false;
  }
  if (!tall && !strips && (count <= cuts.long_sum || results > cuts.long_sum_results)) return std::nullopt;
  const Ref neutral = Splat({type, {}}, *identity);
  auto reduce = [&](Ref r, Dims over, Ref init) {
    GraphNode part;
    part.op = OpCode::kReduce;
    part.in = {r, init};
    part.blocks = {MakeCombiner(to_, op, type)};
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
    const auto d = static_cast<size_t>(dims[rows->dim]);
    Dims cut;
    for (size_t i = 0; i < operand.rank(); ++i) {
      cut.push_back(i == d ? rows->blocks : operand.dims[i]);
      if (i == d) cut.push_back(operand.dims[i] / rows->blocks);
    }
    Dims inner;
    for (size_t k = rows->dim; k < dims.size(); ++k) inner.push_back(dims[k] + 1);
    const Ref partial = Shared(reduce(Reshape(node.in[0], cut), std::move(inner), neutral));
    return Emit(reduce(partial, Dims(dims.begin(), dims.begin() + rows->dim + 1), node.in[1]));
  }
  if (strips) {
    // Rows too short for vectors: as many side by side as fill some, so that their sums need not wait for each other.
    // Of several dims they lie along the last one, as memory may have gaps between the others.
    const auto along = static_cast<size_t>(dims.back());
    const int64_t run = operand.dims[along], strip = StripOf(run, columns, cuts), whole = run / strip * strip;
    const Ref most = whole == run ? node.in[0] : TakenRun(node.in[0], along, 0, 1, whole);
    Dims cut = operand.dims;
    cut[along] = strip;
    cut.insert(cut.begin() + dims.back(), whole / strip);
    Ref sums = Emit(reduce(Reshape(most, std::move(cut)), dims, neutral));
    if (whole != run) sums = Concatenated({sums, TakenRun(node.in[0], along, whole, 1, run - whole)}, along);
    return Emit(reduce(sums, {dims[0]}, node.in[1]));
  }
  // Several dims: the inner ones first, if enough is left to share out.
  if (dims.size() > 1) {
    int64_t inner = 1;
    for (size_t k = dims.size(); k-- > 1;) {
      inner *= operand.dims[static_cast<size_t>(dims[k])];
      const int64_t left = count / inner;
      if (inner >= cuts.long_sum_min_block && inner <= cuts.long_sum && left >= cuts.long_sum_rest) {
        Dims first(dims.begin() + k, dims.end());
        const Ref partial = Shared(reduce(node.in[0], first, neutral));
        Dims rest(dims.begin(), dims.begin() + k);
        return Emit(reduce(partial, rest, node.in[1]));
      }
    }
  }
  // One dim is cut into blocks, with all that is inside of it: a block across the border of a dim would be a place that
  // nobody can compute without storing what is summed.
  const std::optional<SumBlocks> found = BlocksOfSum(operand.dims, dims, cuts);
  if (!found) return std::nullopt;
  const auto along = static_cast<size_t>(dims[found->dim]);
  Dims inner;
  for (size_t k = found->dim; k < dims.size(); ++k) inner.push_back(dims[k] + 1);
  const auto partials = [&](Ref source, int64_t blocks) {
    Dims cut = ShapeOf(source).dims;
    cut[along] /= blocks;
    cut.insert(cut.begin() + static_cast<std::ptrdiff_t>(along), blocks);
    return Shared(reduce(Reshape(source, std::move(cut)), inner, neutral));
  };
  const int64_t run = operand.dims[along], blocks = run / found->rows, whole = blocks * found->rows;
  Ref sums = partials(whole == run ? node.in[0] : TakenRun(node.in[0], along, 0, 1, whole), blocks);
  // What does not divide has a shorter block at its end, so that no block has places without an element.
  if (whole != run) sums = Concatenated({sums, partials(TakenRun(node.in[0], along, whole, 1, run - whole), 1)}, along);
  return Emit(reduce(sums, Dims(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(found->dim) + 1), node.in[1]));
}

}  // namespace tenon::compiler
