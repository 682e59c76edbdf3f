// Products for which calling a driver takes longer than computing them in a kernel: small ones, in batches or not.
// Written out as multiplications and sums, they join their neighbours' kernels and loops.

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/kir/builder.h"
#include "tenon/target/lanes.h"

namespace tenon::compiler {
namespace {

/// Whether every value of one type, be it a number, is one of the other.
bool Holds(DType type, DType other) {
  if (type == other || other == DType::kPred) return true;
  if (IsFloat(type)) return IsFloat(other) && DTypeBits(other) < 16;
  const int bits = DTypeBits(type), other_bits = DTypeBits(other);
  return IsSigned(type) == IsSigned(other) ? other_bits <= bits : IsSigned(type) && other_bits < bits;
}

/// A complex matrix of a few elements times a large array: one kernel goes through that once, where four real products
/// would go through its parts.
bool IsGate(int64_t terms, const Shape (&operand)[2]) {
  return terms <= policy::kMaxGateTerms && std::min(NumElements(operand[0].dims), NumElements(operand[1].dims)) <=
                                               policy::kMaxGateTerms * policy::kMaxGateTerms;
}

/// The operand that complex vectors are multiplied with, one of each batch: each of its elements is a factor once. One
/// kernel reads them once, where four real products would read their parts.
std::optional<size_t> MatrixOfComplexVectors(const GraphNode& node, const Shape (&operand)[2]) {
  if (!IsComplex(node.shape().dtype)) return std::nullopt;
  const auto& numbers = node.attrs<DotAttrs>();
  for (size_t side = 0; side < 2; ++side) {
    const Shape& vector = operand[1 - side];
    int64_t free = NumElements(vector.dims);
    for (const Dims* list : {&BatchingDims(numbers, 1 - side), &ContractingDims(numbers, 1 - side)}) {
      for (int64_t d : *list) free /= std::max<int64_t>(1, vector.dims[static_cast<size_t>(d)]);
    }
    if (free == 1) return side;
  }
  return std::nullopt;
}

/// The place among a product's results for the dims that are summed: behind those results that lie in front of a summed
/// dim in the operand `side`, so that what lies side by side there does so in the product. Sums of the last dims run
/// along lanes, others in lanes of their neighbours.
size_t PlaceOfSums(const GraphNode& dot, size_t side, const Shape (&operand)[2]) {
  const auto& numbers = dot.attrs<DotAttrs>();
  const Dims &batch = BatchingDims(numbers, side), &contracting = ContractingDims(numbers, side);
  const int64_t last = contracting.empty() ? -1 : *std::ranges::max_element(contracting);
  // Where each result lies in the operand; those of extent 1 anywhere.
  std::vector<int64_t> places(batch.begin(), batch.end());
  for (size_t of = 0; of < 2; ++of) {
    for (int64_t d = 0; d < static_cast<int64_t>(operand[of].rank()); ++d) {
      const auto has = [&](const Dims& list) { return std::ranges::find(list, d) != list.end(); };
      if (has(BatchingDims(numbers, of)) || has(ContractingDims(numbers, of))) continue;
      places.push_back(of == side ? d : -1);
    }
  }
  const Dims& result = dot.shape().dims;
  size_t place = result.size();
  int64_t columns = 1;
  for (size_t i = result.size(); i-- > 0;) {
    if (result[i] == 1) continue;
    if (places[i] < last) break;
    place = i;
    columns *= result[i];
  }
  return columns >= policy::kMinComplexColumns ? place : result.size();
}

/// A product of one vector with the columns or with the rows of a matrix, which is operand `matrix`: columns lie beside
/// one another, rows one behind the other.
struct ProductOfVector {
  size_t matrix;
  bool columns;
};
std::optional<ProductOfVector> ProductOfVectorIn(const Program& p, const GraphNode& dot) {
  const auto& numbers = dot.attrs<DotAttrs>();
  for (size_t side = 0; side < 2; ++side) {
    const Shape &vector = p.shape(dot.in[side]), &matrix = p.shape(dot.in[1 - side]);
    const Dims& contracting = ContractingDims(numbers, 1 - side);
    int64_t terms = 1;
    for (int64_t d : contracting) terms *= matrix.dims[static_cast<size_t>(d)];
    if (matrix.rank() < 2 || NumElements(vector.dims) != terms || matrix.dims.back() == 1) continue;
    const auto last = static_cast<int64_t>(matrix.rank()) - 1;
    if (std::find(contracting.begin(), contracting.end(), last) == contracting.end())
      return ProductOfVector{1 - side, true};
    if (contracting.size() == 1) return ProductOfVector{1 - side, false};
  }
  return std::nullopt;
}

/// Whether there are so many sums that their lanes meet together: of rows that lie regularly, none that computed places
/// name, as far as a kernel would compute them itself.
bool SumsMeetTogether(const Program& p, const GraphNode& dot) {
  if (NumElements(dot.shape().dims) < policy::kSumsTogether) return false;
  std::vector<NodeId> open = {dot.in[0].node, dot.in[1].node};
  for (size_t i = 0; i < open.size() && open.size() <= policy::kMaxGatheredNodes; ++i) {
    const GraphNode& node = p[open[i]];
    if (node.op == OpCode::kGather) return false;
    if (KindOfOp(node.op) != OpKind::kElementwise && KindOfOp(node.op) != OpKind::kView) continue;
    for (Ref in : node.in) {
      if (std::ranges::find(open, in.node) == open.end()) open.push_back(in.node);
    }
  }
  return true;
}

/// Whether one operand is a vector, of each batch, that many rows of the other meet.
bool IsVectorOnOneSide(const Program& p, const GraphNode& dot, int64_t terms) {
  int64_t vectors = 1;
  for (int64_t d : dot.attrs<DotAttrs>().lhs_batching_dimensions)
    vectors *= p.shape(dot.in[0]).dims[static_cast<size_t>(d)];
  const auto is_vector = [&](Ref in) { return NumElements(p.shape(in).dims) == vectors * terms; };
  return (is_vector(dot.in[0]) || is_vector(dot.in[1])) &&
         NumElements(dot.shape().dims) >= policy::kSumsTogether * vectors;
}

/// Lanes of f32 that a kernel fills with this many neighbours, as a factor of what an operation costs.
double Unfilled(int64_t neighbours) {
  const auto lanes = static_cast<double>(target::StandardTarget()->vector_bytes / 4);
  const auto n = static_cast<double>(std::max<int64_t>(neighbours, 1));
  return std::ceil(n / lanes) * lanes / n;
}

}  // namespace

double Simplifier::CostInRows(const GraphNode& dot, int64_t terms) const {
  const auto& numbers = dot.attrs<DotAttrs>();
  const Dims& result = dot.shape().dims;
  const size_t rank = result.size(), batch = numbers.lhs_batching_dimensions.size();
  const Dims& left = ShapeOf(dot.in[0]).dims;
  const size_t free = left.size() - batch - numbers.lhs_contracting_dimensions.size();
  // Columns of the right side come last, rows of the left side before them.
  if (free == 0 || rank != batch + free + 1) return std::numeric_limits<double>::infinity();
  const int64_t columns = result[rank - 1], rows = result[rank - 2];
  const target::Target& machine = *target::StandardTarget();
  const int lanes = machine.vector_bytes / 4;
  if (columns >= lanes || terms > target::kMaxInterleaved) return std::numeric_limits<double>::infinity();
  // Much code for few rows does not pay.
  if (rows < policy::kMinWrittenRows && terms * columns > policy::kMaxWrittenForFewRows)
    return std::numeric_limits<double>::infinity();
  const bool terms_last = numbers.lhs_contracting_dimensions.back() == static_cast<int64_t>(left.size()) - 1;
  const auto depth = static_cast<int>(terms), width = static_cast<int>(columns);
  const double moved = (terms_last ? target::InterleavedMove(lanes, depth, depth) : depth * target::kContiguousMove) +
                       target::InterleavedMove(lanes, width, width);
  // The right side stays in registers while it fits beside the sums.
  const double right = (depth + 1) * width <= machine.vector_registers ? target::kUniformMove : target::kSpreadMove;
  return (moved / width + depth * (machine.costs.Of(kir::Op::kFma) + right)) * Unfilled(rows);
}

double Simplifier::ChainCost(Ref r) {
  if (const auto it = chain_costs_.find(r.node); it != chain_costs_.end()) return it->second;
  // Operands first, on a stack of their own: chains may be longer than calls can be deep.
  std::vector<NodeId> open = {r.node};
  while (!open.empty()) {
    const NodeId id = open.back();
    const GraphNode& node = to_[id];
    const bool elementwise = KindOfOp(node.op) == OpKind::kElementwise, view = KindOfOp(node.op) == OpKind::kView;
    const size_t looked_at = elementwise ? node.in.size() : view || IsUnrolledReduce(to_, node) ? 1 : 0;
    double below = 0;
    bool known = true;
    for (size_t i = 0; i < looked_at; ++i) {
      const auto it = chain_costs_.find(node.in[i].node);
      if (it != chain_costs_.end()) {
        below += it->second;
      } else {
        known = false;
        open.push_back(node.in[i].node);
      }
    }
    if (!known) continue;
    double cost = below;
    if (elementwise) cost += outlook_.cost(to_, node);
    if (looked_at == 1 && !elementwise && !view)
      cost = static_cast<double>(NumElements(ReducedExtents(to_, node))) * (below + 1);
    chain_costs_[id] = std::min(cost, policy::kMaxChainCost);
    open.pop_back();
  }
  return chain_costs_[r.node];
}

/// Whether the value is the same in many trips of the innermost loop around: computed from what is outside of it.
bool Simplifier::Lasts(Ref r) const {
  std::vector<NodeId> open = {r.node};
  for (size_t i = 0; i < open.size(); ++i) {
    if (open[i] < lasting_end_) continue;
    const GraphNode& node = to_[open[i]];
    const bool computed = KindOfOp(node.op) == OpKind::kElementwise || KindOfOp(node.op) == OpKind::kView;
    if (node.op == OpCode::kConstant) continue;
    if (!computed || open.size() > policy::kMaxLastingNodes) return false;
    for (Ref in : node.in) {
      if (std::ranges::find(open, in.node) == open.end()) open.push_back(in.node);
    }
  }
  return lasting_end_ > 0;
}

/// Of a product with a matrix of narrow floats that lasts: what a driver does for it in f32, if that is less. The
/// matrix is widened once then, before the loop, and packed in no trip.
std::optional<target::Work> Simplifier::WorkOfWidened(const GraphNode& dot) {
  const DType type = ShapeOf(dot.in[0]).dtype;
  if (loops_ == 0 || !IsFloat(type) || DTypeBits(type) != 16 || ShapeOf(dot.in[1]).dtype != type) return std::nullopt;
  const bool lasts[] = {Lasts(dot.in[0]), Lasts(dot.in[1])};
  if (lasts[0] == lasts[1]) return std::nullopt;
  const size_t matrix = lasts[0] ? 0 : 1;
  if (2 * SizeBytes(ShapeOf(dot.in[matrix])) > policy::kMaxWidenedBytes) return std::nullopt;
  GraphNode wide = dot;
  for (Ref& r : wide.in) r = Converted(r, DType::kF32);
  wide.out[0].dtype = DType::kF32;
  const std::optional<target::Work> packed = outlook_.driver_work(to_, dot, matrix);
  const std::optional<target::Work> plain = outlook_.driver_work(to_, wide, matrix);
  const target::Target& machine = *target::StandardTarget();
  const bool is_less = packed && plain && target::TimeNs(machine, *plain) < target::TimeNs(machine, *packed);
  return is_less ? plain : std::nullopt;
}

/// Whether a kernel is through with the product, one of `terms` multiplications per element, before a driver is. What
/// is written out sums in another order, so the choice is one of bits: both are reckoned for the standard target.
bool Simplifier::WritesOut(const GraphNode& dot, int64_t terms) {
  if (terms == 1) return true;  // Nothing meets: a driver has no advantage, and its result is read again.
  // A matrix that a loop reads in many trips is brought into the driver's layout before it.
  const std::optional<ProductOfVector> in_loop = loops_ > 0 ? ProductOfVectorIn(to_, dot) : std::nullopt;
  const bool lasts = in_loop && Lasts(dot.in[in_loop->matrix]);
  std::optional<target::Work> driver =
      outlook_.driver_work(to_, dot, lasts ? std::optional(in_loop->matrix) : std::nullopt);
  if (const std::optional<target::Work> widened = WorkOfWidened(dot)) driver = widened;
  if (!driver) return !outlook_.product_kernel(to_, dot);
  const target::Target& machine = *target::StandardTarget();
  const Shape& result = dot.shape();
  const double width = std::max<double>(1, static_cast<double>(ByteWidth(result.dtype)) / sizeof(float));
  const auto points = static_cast<double>(NumElements(result.dims)), depth = static_cast<double>(terms);
  const double result_bytes = points * static_cast<double>(ByteWidth(result.dtype));
  target::Work called = *driver, computed;
  // Who uses the driver's result reads it.
  called.bytes_cached += result_bytes;
  computed.launches = 1;
  computed.bytes_cached = result_bytes;
  int64_t along = 1;
  for (size_t i = result.rank(); along == 1 && i-- > 0;) along = result.dims[i];
  // In a loop a call parts steps of a trip that are one native loop without it, if all that they do fits a kernel.
  const std::optional<ProductOfVector> of_vector = terms <= policy::kMaxTripTerms ? in_loop : std::nullopt;
  const bool in_trip = of_vector && (lasts || ChainCost(dot.in[of_vector->matrix]) == 0);
  if (in_trip) called.launches += policy::kPartedSteps;
  // Short sums are chains in the lanes of neighbouring results, longer ones run along lanes that then meet.
  const bool is_short = terms <= numerics().written_out_reduce || (in_trip && of_vector->columns);
  // The lanes of a sum lie apart: they are loaded one by one, unless neighbouring results fill vectors themselves.
  const auto is_apart = [&](size_t side) {
    const Dims &dims = ShapeOf(dot.in[side]).dims, &contracting = ContractingDims(dot.attrs<DotAttrs>(), side);
    return !is_short && !dims.empty() && dims.back() > 1 &&
           std::ranges::find(contracting, static_cast<int64_t>(dims.size()) - 1) == contracting.end();
  };
  const bool apart[] = {is_apart(0), is_apart(1)};
  const double read = machine.costs.Of(kir::Op::kRead), fma = machine.costs.Of(kir::Op::kFma);
  if (is_short) {
    computed.ops = points * width * std::min((depth * (read + fma) + read) * Unfilled(along), CostInRows(dot, terms));
  } else {
    const bool together = !apart[0] && !apart[1] && SumsMeetTogether(to_, dot);
    const bool stays = together && terms <= policy::kTermsInRegisters && IsVectorOnOneSide(to_, dot, terms);
    computed.ops = points * width *
                   (depth * Unfilled(terms) * (stays ? (read + fma) / policy::kTermsAtOnce : 2 * read + fma) +
                    (in_trip    ? policy::kTripLanesMeetCost
                     : together ? policy::kLanesMeetTogetherCost
                                : policy::kLanesMeetCost));
  }
  for (size_t side = 0; side < 2; ++side) {
    const Ref in = dot.in[side];
    const Shape& shape = ShapeOf(in);
    const auto bytes = static_cast<double>(SizeBytes(shape));
    if (apart[side] && along < machine.vector_bytes / 4) computed.ops += points * width * depth * target::kStridedMove;
    if (driver->bytes_read > 0) {
      // What comes from memory for the driver comes from there for a kernel, but not fetched ahead, and of lanes that
      // lie apart each brings a line of its own.
      computed.bytes_read +=
          bytes * (apart[side] ? static_cast<double>(machine.caches[0].line_bytes) /
                                     static_cast<double>(std::max<int64_t>(1, ByteWidth(shape.dtype)))
                               : policy::kNotFetchedAhead);
    } else {
      computed.bytes_cached += bytes;
    }
    const bool is_outside = in.node < lasting_end_;
    const double chain = is_outside ? 0 : ChainCost(in) * width * Unfilled(is_short ? along : terms);
    if (chain == 0) continue;
    // For a driver it is stored, once where it lasts; for a kernel too, unless it takes less to compute it for every
    // term.
    const auto store = [&](target::Work work) {
      work.ops += static_cast<double>(NumElements(shape.dims)) * chain;
      work.launches += 1;
      work.bytes_cached += 2 * bytes;
      return work;
    };
    if (!lasts || side != in_loop->matrix) called = store(called);
    const target::Work before = computed;
    computed.ops += points * depth * chain;
    if (const target::Work kept = store(before); target::TimeNs(machine, kept) < target::TimeNs(machine, computed))
      computed = kept;
  }
  return target::TimeNs(machine, computed) <= target::TimeNs(machine, called);
}

/// How many products meet in an element of the result.
static int64_t TermsOf(const Program& p, const GraphNode& dot) {
  int64_t terms = 1;
  for (int64_t d : dot.attrs<DotAttrs>().lhs_contracting_dimensions)
    terms *= p.shape(dot.in[0]).dims[static_cast<size_t>(d)];
  return terms;
}

std::optional<Ref> Simplifier::WidenProduct(const GraphNode& node) {
  const DType result = node.shape().dtype, a = ShapeOf(node.in[0]).dtype, b = ShapeOf(node.in[1]).dtype;
  const auto all = [&](const auto& is) { return is(result) && is(a) && is(b); };
  const bool integers =
      all([](DType type) { return type == DType::kPred || (IsInteger(type) && DTypeBits(type) <= 32); });
  const bool floats = all([](DType type) { return IsFloat(type) && DTypeBits(type) <= 32; });
  const bool exotic = result == DType::kPred || a != b || DTypeBits(result) < 16 || DTypeBits(a) < 16;
  const auto made_of = [&](DType operands, DType sums) {
    GraphNode product = node;
    product.origin = nullptr;
    for (Ref& r : product.in) r = Converted(r, operands);
    product.out[0].dtype = sums;
    return product;
  };
  const auto product_of = [&](DType operands, DType sums) { return Converted(Emit(made_of(operands, sums)), result); };
  if (node.op == OpCode::kDot && WorkOfWidened(node)) return product_of(DType::kF32, DType::kF32);
  if (a == b && a == result && (!exotic || IsComplex(a)) && !integers) return std::nullopt;
  // Many small products of narrow integers take longer to pack than to multiply as they are in s32.
  const auto is_faster_wide = [&](const std::optional<target::Work>& packed) {
    if (!integers || node.op != OpCode::kDot || node.attrs<DotAttrs>().lhs_batching_dimensions.empty()) return false;
    const target::Target& machine = *target::StandardTarget();
    std::optional<target::Work> plain = outlook_.driver_work(to_, made_of(DType::kS32, DType::kS32), std::nullopt);
    if (!packed || !plain) return false;
    const bool from_memory = plain->bytes_read > 0;
    for (Ref r : node.in) {
      const auto elements = static_cast<double>(NumElements(ShapeOf(r).dims));
      const double bytes = elements * ByteWidth(DType::kS32);
      plain->launches += 1;
      plain->ops += elements * machine.costs.Of(kir::Op::kConvert);
      (from_memory ? plain->bytes_written : plain->bytes_cached) += bytes;
      if (from_memory) plain->bytes_read += static_cast<double>(SizeBytes(ShapeOf(r)));
    }
    return target::TimeNs(machine, *plain) < target::TimeNs(machine, *packed);
  };
  if (const std::optional<target::Work> as_is = outlook_.driver_work(to_, node, std::nullopt)) {
    if (a != b || result != DType::kS32 || a == result || !is_faster_wide(as_is)) return std::nullopt;
    return product_of(DType::kS32, DType::kS32);
  }
  if (node.op == OpCode::kDot && outlook_.product_kernel(to_, node)) return std::nullopt;
  const bool questions = result == DType::kPred && (a != result || b != result);
  if (questions || (!integers && !floats)) {
    // What the result is summed in is what both operands become first. Real ones have a real product.
    const DType factor = IsComplex(result) && !IsComplex(a) && !IsComplex(b) ? RealPartOf(result)
                         : IsFloat(result) && DTypeBits(result) < 32         ? DType::kF32
                                                                             : result;
    if (a == factor && b == factor && result == factor) return std::nullopt;
    return product_of(factor, factor);
  }
  // Integers wrap: the low bits of a product are those of the wider one.
  const DType wide = integers ? DType::kS32 : DType::kF32;
  if ((a == wide && b == wide && result == wide) || (!exotic && !integers)) return std::nullopt;
  // The narrowest type with a driver whose sums are wide, if it holds what both operands may be.
  DType narrow = wide;
  for (DType type : {DType::kS16, DType::kU8, DType::kS8}) {
    if (integers && Holds(type, a) && Holds(type, b)) narrow = type;
  }
  if (floats && Holds(DType::kBF16, a) && Holds(DType::kBF16, b)) narrow = DType::kBF16;
  if (a == narrow && b == narrow && result == wide) narrow = wide;  // That one has no driver either.
  if (integers && narrow != wide && is_faster_wide(outlook_.driver_work(to_, made_of(narrow, wide), std::nullopt)))
    narrow = wide;
  // What is written out sums in the result's own type, twice as much in a vector.
  if (integers && node.op == OpCode::kDot && DTypeBits(result) == 16 &&
      WritesOut(made_of(narrow, wide), TermsOf(to_, node))) {
    if (const std::optional<Ref> written_out = WriteOutProduct(node)) return written_out;
  }
  return product_of(narrow, wide);
}

std::optional<Ref> Simplifier::WidenConvolution(const GraphNode& node) { return WidenProduct(node); }

std::optional<Ref> Simplifier::ProductOfNothing(const GraphNode& node) {
  if (NumElements(ShapeOf(node.in[0]).dims) != 0 && NumElements(ShapeOf(node.in[1]).dims) != 0) return std::nullopt;
  const DType type = node.shape().dtype;
  return Splat(node.shape(), IsFloat(type) ? kir::LiteralBits(type, 0.0) : 0);
}

std::optional<Ref> Simplifier::WriteOutProduct(const GraphNode& node) {
  const Shape result = node.shape();
  const auto& numbers = node.attrs<DotAttrs>();
  const Shape operand[2] = {ShapeOf(node.in[0]), ShapeOf(node.in[1])};
  const DType type = SumTypeOf(result.dtype);
  for (const Shape& o : operand) {
    const bool exact =
        IsFloat(type) && IsFloat(o.dtype) && ByteWidth(o.dtype) > 1 && ByteWidth(o.dtype) < ByteWidth(type);
    if (type == DType::kInvalid ||
        ((IsFloat(type) || IsComplex(type)) && o.dtype != type && o.dtype != result.dtype && !exact))
      return std::nullopt;
  }
  const auto has = [](const Dims& list, int64_t d) { return std::find(list.begin(), list.end(), d) != list.end(); };
  // The result's dimensions and the summed ones, in one run.
  const std::optional<size_t> matrix = MatrixOfComplexVectors(node, operand);
  const size_t place = matrix ? PlaceOfSums(node, *matrix, operand) : result.rank();
  Dims dims = result.dims, summed;
  int64_t terms = 1;
  for (int64_t d : numbers.lhs_contracting_dimensions) {
    const int64_t extent = operand[0].dims[static_cast<size_t>(d)];
    summed.push_back(static_cast<int64_t>(place + summed.size()));
    dims.insert(dims.begin() + summed.back(), extent);
    terms *= extent;
  }
  const auto result_dim = [&](int64_t d) {
    return d < static_cast<int64_t>(place) ? d : d + static_cast<int64_t>(summed.size());
  };
  const bool few = terms <= numerics().written_out_terms && NumElements(dims) <= numerics().written_out_product;
  const bool writes_out = IsComplex(type) ? IsGate(terms, operand) || matrix.has_value() : WritesOut(node, terms);
  if (!few && !writes_out) return std::nullopt;

  const size_t num_batch = numbers.lhs_batching_dimensions.size();
  Ref spread[2];
  int64_t next_free = static_cast<int64_t>(num_batch);
  for (size_t side = 0; side < 2; ++side) {
    const Dims &batch = BatchingDims(numbers, side), &contracting = ContractingDims(numbers, side);
    Dims places;
    for (int64_t d = 0; d < static_cast<int64_t>(operand[side].rank()); ++d) {
      if (has(batch, d)) {
        places.push_back(result_dim(std::find(batch.begin(), batch.end(), d) - batch.begin()));
      } else if (has(contracting, d)) {
        places.push_back(
            summed[static_cast<size_t>(std::find(contracting.begin(), contracting.end(), d) - contracting.begin())]);
      } else {
        places.push_back(result_dim(next_free++));
      }
    }
    GraphNode broadcast;
    broadcast.op = OpCode::kBroadcast;
    broadcast.in = {Converted(node.in[side], type)};
    broadcast.out.push_back({type, dims});
    broadcast.attributes = BroadcastAttrs{std::move(places)};
    spread[side] = Emit(std::move(broadcast));
  }
  const Ref product = Binary(OpCode::kMultiply, spread[0], spread[1]);
  GraphNode sum;
  sum.op = OpCode::kReduce;
  sum.in = {product, Constant({type, {}}, MakeLiteral(std::string(static_cast<size_t>(ByteWidth(type)), '\0'), true))};
  sum.out.push_back({type, result.dims});
  const bool sums = !summed.empty();
  sum.attributes = ReduceAttrs{std::move(summed)};
  sum.blocks.push_back(MakeCombiner(to_, OpCode::kAdd, type));
  return Converted(terms == 1 && !sums ? product : Emit(std::move(sum)), result.dtype);
}

}  // namespace tenon::compiler
