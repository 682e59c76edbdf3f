// Operations whose shapes come as operands.

#include <fmt/format.h>

#include "tenon/reference/evaluator.h"
#include "tenon/reference/indexing.h"
#include "tenon/reference/movement.h"

namespace tenon::reference {
namespace {

Status DynamicReshape(OpContext& context) {
  const Shape shape{context.in(0).dtype(), IntsOf(context.in(1))};
  TENON_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements(Span(shape.dims)));
  if (count != context.in(0).num_elements()) {
    return InvalidArgument(
        fmt::format("{} cannot be reshaped to {}", ToString(context.in(0).shape()), ToString(shape)));
  }
  return context.Return(context.in(0).WithShape(shape));
}

Status DynamicBroadcastInDim(OpContext& context) {
  const Dims dims = IntsOf(context.in(1)), where = IntsAttr(context.op, "broadcast_dimensions");
  for (size_t d = 0; d < where.size(); ++d) {
    const int64_t from = context.in(0).dims()[d], to = dims[static_cast<size_t>(where[d])];
    if (from != 1 && from != to)
      return InvalidArgument(fmt::format("an extent of {} cannot be broadcast to {}", from, to));
  }
  TENON_ASSIGN_OR_RETURN(Value out, BroadcastTo(context.in(0), where, dims));
  return context.Return(std::move(out));
}

Status DynamicIota(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(
      Value out, Iota({context.result_shape().dtype, IntsOf(context.in(0))}, IntAttr(context.op, "iota_dimension")));
  return context.Return(std::move(out));
}

Status DynamicPad(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(Value out, Pad(context.in(0), context.in(1), IntsOf(context.in(2)), IntsOf(context.in(3)),
                                        IntsOf(context.in(4))));
  return context.Return(std::move(out));
}

constexpr OpEntry kOps[] = {
    {"stablehlo.dynamic_reshape", &DynamicReshape},
    {"stablehlo.dynamic_broadcast_in_dim", &DynamicBroadcastInDim},
    {"stablehlo.dynamic_iota", &DynamicIota},
    {"stablehlo.dynamic_pad", &DynamicPad},
};

}  // namespace

std::span<const OpEntry> DynamicOps() { return kOps; }

}  // namespace tenon::reference
