// Products of so few elements that calling a driver takes longer: written out as multiplications and sums, they join
// their neighbours' kernels and loops.

#include <algorithm>

#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {
namespace {

/// What sums of a product of this type are reckoned in; kInvalid for those that stay products.
DType SumType(DType type) {
  switch (type) {
    case DType::kF16:
    case DType::kBF16:
      return DType::kF32;
    case DType::kF32:
    case DType::kF64:
    case DType::kC64:
    case DType::kC128:
      return type;
    default:
      return IsInteger(type) && ByteWidth(type) * 8 == DTypeBits(type) ? type : DType::kInvalid;
  }
}

/// Complex rows times a vector: one kernel reads the rows once, where four real products would read their parts.
bool IsComplexRows(const GraphNode& node, const Shape (&operand)[2]) {
  if (!IsComplex(node.shape().dtype)) return false;
  const auto& numbers = node.attrs<DotAttrs>();
  const auto free = [&](size_t side) {
    int64_t n = NumElements(operand[side].dims);
    for (const Dims* list : {&BatchingDims(numbers, side), &ContractingDims(numbers, side)}) {
      for (int64_t d : *list) n /= std::max<int64_t>(1, operand[side].dims[static_cast<size_t>(d)]);
    }
    return n;
  };
  for (size_t side = 0; side < 2; ++side) {
    const Dims& contracting = ContractingDims(numbers, side);
    bool rows = free(1 - side) == 1;
    for (size_t i = 0; i < contracting.size(); ++i)
      rows &= contracting[i] == static_cast<int64_t>(operand[side].rank() - contracting.size() + i);
    if (rows) return true;
  }
  return false;
}

}  // namespace

std::optional<Ref> Simplifier::WriteOutProduct(const GraphNode& node) {
  const Shape result = node.shape();
  const auto& numbers = node.attrs<DotAttrs>();
  const Shape operand[2] = {ShapeOf(node.in[0]), ShapeOf(node.in[1])};
  const DType type = SumType(result.dtype);
  for (const Shape& o : operand) {
    if (type == DType::kInvalid || ((IsFloat(type) || IsComplex(type)) && o.dtype != type && o.dtype != result.dtype))
      return std::nullopt;
  }
  const auto has = [](const Dims& list, int64_t d) { return std::find(list.begin(), list.end(), d) != list.end(); };
  // The result's dimensions, then the summed ones.
  Dims dims = result.dims, summed;
  int64_t terms = 1;
  for (int64_t d : numbers.lhs_contracting_dimensions) {
    const int64_t extent = operand[0].dims[static_cast<size_t>(d)];
    summed.push_back(static_cast<int64_t>(dims.size()));
    dims.push_back(extent);
    terms *= extent;
  }
  const bool few = terms <= numerics().written_out_terms && NumElements(dims) <= numerics().written_out_product;
  if (!few && !IsComplexRows(node, operand)) return std::nullopt;

  const size_t num_batch = numbers.lhs_batching_dimensions.size();
  Ref spread[2];
  int64_t next_free = static_cast<int64_t>(num_batch);
  for (size_t side = 0; side < 2; ++side) {
    const Dims &batch = BatchingDims(numbers, side), &contracting = ContractingDims(numbers, side);
    Dims places;
    for (int64_t d = 0; d < static_cast<int64_t>(operand[side].rank()); ++d) {
      if (has(batch, d)) {
        places.push_back(std::find(batch.begin(), batch.end(), d) - batch.begin());
      } else if (has(contracting, d)) {
        places.push_back(
            summed[static_cast<size_t>(std::find(contracting.begin(), contracting.end(), d) - contracting.begin())]);
      } else {
        places.push_back(next_free++);
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
