// slice, dynamic_slice, dynamic_update_slice and their run-time forms.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tenon/reference/evaluator.h"
#include "tenon/reference/indexing.h"
#include "tenon/reference/movement.h"

namespace tenon::reference {
namespace {

Status SliceOp(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(Value out, Slice(context.in(0), IntsAttr(context.op, "start_indices"),
                                          IntsAttr(context.op, "limit_indices"), IntsAttr(context.op, "strides")));
  return context.Return(std::move(out));
}

Status RealDynamicSlice(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(Value out,
                         Slice(context.in(0), IntsOf(context.in(1)), IntsOf(context.in(2)), IntsOf(context.in(3))));
  return context.Return(std::move(out));
}

// The starts that operands first_index... give, each clamped so that the window of `sizes` lies inside `dims`.
Result<Dims> ClampedStarts(const OpContext& context, size_t first_index, std::span<const int64_t> dims,
                           std::span<const int64_t> sizes) {
  Dims starts;
  for (size_t d = 0; d < dims.size(); ++d) {
    const Value& index = context.in(first_index + d);
    const int64_t start = IntsOf(index)[0];
    const int64_t last = dims[d] - sizes[d];
    if (last < 0) return InvalidArgument(fmt::format("a window of {} in an extent of {}", sizes[d], dims[d]));
    // A 64-bit unsigned start that wraps to a negative number is a large one.
    const bool huge = start < 0 && IsUnsigned(index.dtype());
    starts.push_back(huge ? last : std::clamp<int64_t>(start, 0, last));
  }
  return starts;
}

Status DynamicSlice(OpContext& context) {
  const Value& operand = context.in(0);
  const Dims sizes = IntsAttr(context.op, "slice_sizes");
  TENON_ASSIGN_OR_RETURN(const Dims starts, ClampedStarts(context, 1, operand.dims(), Span(sizes)));
  Dims limits = starts;
  for (size_t d = 0; d < sizes.size(); ++d) limits[d] += sizes[d];
  TENON_ASSIGN_OR_RETURN(Value out, Slice(operand, starts, limits, Dims(sizes.size(), 1)));
  return context.Return(std::move(out));
}

Status DynamicUpdateSlice(OpContext& context) {
  const Value update = context.in(1);
  Value out = std::move(context.operands[0]);
  TENON_ASSIGN_OR_RETURN(const Dims starts, ClampedStarts(context, 2, out.dims(), update.dims()));
  if (!out.unique()) {
    TENON_ASSIGN_OR_RETURN(out, Value::Copy(out.shape(), {out.bytes(), static_cast<size_t>(out.size_bytes())}));
  }
  const Dims strides = RowMajorStridesElems(out.dims());
  const int width = ByteWidth(out.dtype());
  CopyElements(width, update.dims(), out.mutable_bytes() + Dot(Span(starts), Span(strides)) * width, Span(strides),
               update.bytes(), Span(RowMajorStridesElems(update.dims())));
  return context.Return(std::move(out));
}

constexpr OpEntry kOps[] = {
    {"stablehlo.slice", &SliceOp},
    {"stablehlo.real_dynamic_slice", &RealDynamicSlice},
    {"stablehlo.dynamic_slice", &DynamicSlice},
    {"stablehlo.dynamic_update_slice", &DynamicUpdateSlice},
};

}  // namespace

std::span<const OpEntry> SliceOps() { return kOps; }

Result<Value> Slice(const Value& operand, const Dims& start, const Dims& limit, const Dims& stride) {
  Shape shape = operand.shape();
  const Dims strides = RowMajorStridesElems(operand.dims());
  Dims from = strides;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (stride[d] < 1 || start[d] < 0 || limit[d] < start[d] || limit[d] > shape.dims[d]) {
      return InvalidArgument(
          fmt::format("the slice {}:{}:{} of an extent of {}", start[d], limit[d], stride[d], shape.dims[d]));
    }
    shape.dims[d] = CeilDiv(limit[d] - start[d], stride[d]);
    if (shape.dims[d] > 1) from[d] *= stride[d];  // Else it may be beyond any number.
  }
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate(shape));
  if (out.num_elements() == 0) return out;
  const int width = ByteWidth(shape.dtype);
  CopyElements(width, Span(shape.dims), out.mutable_bytes(), Span(RowMajorStridesElems(Span(shape.dims))),
               operand.bytes() + Dot(Span(start), Span(strides)) * width, Span(from));
  return out;
}

}  // namespace tenon::reference
