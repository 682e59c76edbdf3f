// chlo.ragged_dot: a product whose left side lies in groups of rows, one after the other, along one dimension.

#include <algorithm>
#include <cstring>

#include "tenon/reference/attributes.h"
#include "tenon/reference/dot.h"
#include "tenon/reference/evaluator.h"
#include "tenon/reference/indexing.h"
#include "tenon/reference/movement.h"

namespace tenon::reference {
namespace {

// Positions first to last of `value` along `dimension`.
Result<Value> Range(const Value& value, size_t dimension, int64_t first, int64_t last) {
  Dims start(value.rank(), 0), limit = value.shape().dims;
  start[dimension] = first;
  limit[dimension] = last;
  return Slice(value, start, limit, Dims(value.rank(), 1));
}

// `list` without the dimension `gone`; later ones move down.
Dims WithoutDim(const Dims& list, int64_t gone) {
  Dims out;
  for (int64_t d : list) {
    if (d != gone) out.push_back(d > gone ? d - 1 : d);
  }
  return out;
}

// Copies positions first to last along `dimension` of `from` to the same places of `to`.
void CopyRange(const Value& from, Value& to, size_t dimension, int64_t first, int64_t last) {
  Dims dims = from.shape().dims;
  dims[dimension] = last - first;
  const Dims strides = RowMajorStridesElems(from.dims());
  const int width = ByteWidth(from.dtype());
  const int64_t offset = first * strides[dimension] * width;
  CopyElements(width, Span(dims), to.mutable_bytes() + offset, Span(strides), from.bytes() + offset, Span(strides));
}

Status RaggedDot(OpContext& context) {
  const RaggedDotDims ragged = RaggedDotDimsOf(context.op);
  const Value &lhs = context.in(0), &rhs = context.in(1);
  if (context.in(2).rank() != 1 || ragged.lhs_ragged.size() != 1)
    return Unimplemented("ragged_dot with group sizes per batch");
  const Dims sizes = IntsOf(context.in(2));
  const int64_t dim = ragged.lhs_ragged[0];
  const auto ragged_dim = static_cast<size_t>(dim);
  const DType type = context.result_shape().dtype;
  const int64_t extent = lhs.dims()[ragged_dim];
  if (Contains(Span(ragged.dot.lhs_batch), dim)) {
    // Groups of batches: the product itself.
    TENON_ASSIGN_OR_RETURN(Value out, DotGeneral(lhs, rhs, ragged.dot, type));
    TENON_ASSIGN_OR_RETURN(out, ConvertTo(out, type));
    return context.Return(std::move(out));
  }
  TENON_ASSIGN_OR_RETURN(Value out, Value::Zeros(context.result_shape()));
  const bool contracting = Contains(Span(ragged.dot.lhs_contract), dim);
  int64_t first = 0;
  for (size_t g = 0; g < sizes.size(); ++g) {
    const int64_t last = std::min(extent, first + std::max<int64_t>(0, sizes[g]));
    if (contracting) {
      // Each group sums over its own part: one product per group.
      const auto place = std::find(ragged.dot.lhs_contract.begin(), ragged.dot.lhs_contract.end(), dim) -
                         ragged.dot.lhs_contract.begin();
      TENON_ASSIGN_OR_RETURN(Value a, Range(lhs, ragged_dim, first, last));
      TENON_ASSIGN_OR_RETURN(
          Value b, Range(rhs, static_cast<size_t>(ragged.dot.rhs_contract[static_cast<size_t>(place)]), first, last));
      TENON_ASSIGN_OR_RETURN(Value part, DotGeneral(a, b, ragged.dot, type));
      TENON_ASSIGN_OR_RETURN(part, ConvertTo(part, type));
      std::memcpy(out.mutable_bytes() + static_cast<int64_t>(g) * part.size_bytes(), part.bytes(),
                  static_cast<size_t>(part.size_bytes()));
    } else {
      // Each group of rows has a right side of its own; rows of no group stay zero.
      const int64_t group_dim = ragged.rhs_group[0];
      TENON_ASSIGN_OR_RETURN(
          Value b, Range(rhs, static_cast<size_t>(group_dim), static_cast<int64_t>(g), static_cast<int64_t>(g) + 1));
      Shape erased = b.shape();
      erased.dims.erase(erased.dims.begin() + group_dim);
      const DotDims dims{ragged.dot.lhs_batch, WithoutDim(ragged.dot.rhs_batch, group_dim), ragged.dot.lhs_contract,
                         WithoutDim(ragged.dot.rhs_contract, group_dim)};
      TENON_ASSIGN_OR_RETURN(Value part, DotGeneral(lhs, b.WithShape(erased), dims, type));
      TENON_ASSIGN_OR_RETURN(part, ConvertTo(part, type));
      size_t at = dims.lhs_batch.size();
      for (int64_t d = 0; d < dim; ++d)
        at += !Contains(Span(dims.lhs_batch), d) && !Contains(Span(dims.lhs_contract), d);
      CopyRange(part, out, at, first, last);
    }
    first = last;
  }
  return context.Return(std::move(out));
}

constexpr OpEntry kOps[] = {{"chlo.ragged_dot", &RaggedDot}};

}  // namespace

std::span<const OpEntry> RaggedDotOps() { return kOps; }

}  // namespace tenon::reference
