// CHLO operations that are not elementwise: numpy-like broadcasting, top_k, scan.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tenon/reference/attributes.h"
#include "tenon/reference/evaluator.h"
#include "tenon/reference/indexing.h"
#include "tenon/reference/movement.h"

namespace tenon::reference {
namespace {

constexpr std::string_view kBroadcastPrefix = "chlo.broadcast_";

// Result extents of operands that are aligned at their last dimensions (or where `where` puts the dimensions of the
// lower-ranked one).
Status BroadcastOperands(OpContext& context, const Dims& where) {
  size_t rank = 0;
  for (const Value& operand : context.operands) rank = std::max(rank, operand.rank());
  Dims dims(rank, 1);
  const auto place = [&](const Value& operand) {
    if (operand.rank() < rank && where.size() == operand.rank()) return where;
    Dims at;
    for (size_t d = 0; d < operand.rank(); ++d) at.push_back(static_cast<int64_t>(rank - operand.rank() + d));
    return at;
  };
  for (const Value& operand : context.operands) {
    const Dims at = place(operand);
    for (size_t d = 0; d < operand.rank(); ++d) {
      int64_t& extent = dims[static_cast<size_t>(at[d])];
      if (operand.dims()[d] == 1) continue;
      if (extent != 1 && extent != operand.dims()[d]) {
        return InvalidArgument(
            fmt::format("extents {} and {} cannot be broadcast together", extent, operand.dims()[d]));
      }
      extent = operand.dims()[d];
    }
  }
  for (Value& operand : context.operands) {
    if (operand.shape().dims == dims) continue;
    TENON_ASSIGN_OR_RETURN(operand, BroadcastTo(operand, place(operand), dims));
  }
  return OkStatus();
}

// chlo.broadcast_X is X on broadcast operands.
Status BroadcastBinary(OpContext& context) {
  TENON_RETURN_IF_ERROR(BroadcastOperands(context, IntsAttr(context.op, "broadcast_dimensions")));
  const std::string_view name = std::string_view(context.op->getName().getStringRef()).substr(kBroadcastPrefix.size());
  llvm::SmallVector<DType, kMaxKernelOperands> types;
  for (const Value& operand : context.operands) types.push_back(operand.dtype());
  const DType result = context.result_shape().dtype;
  const KernelAttributes attributes = KernelAttributesOf(context.op);
  Kernel kernel = FindKernel("stablehlo." + std::string(name), types, result, attributes);
  if (!kernel) kernel = FindKernel("chlo." + std::string(name), types, result, attributes);
  if (!kernel) return Unimplemented(fmt::format("{} for these types", context.op->getName().getStringRef().str()));
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate({result, context.in(0).shape().dims}));
  const void* inputs[kMaxKernelOperands] = {};
  for (size_t i = 0; i < context.operands.size(); ++i) inputs[i] = context.in(i).bytes();
  kernel.Run(inputs, out.mutable_bytes(), out.num_elements());
  return context.Return(std::move(out));
}

Status ConstantLike(OpContext& context) {
  const mlir::Attribute value = context.op->getAttr("value");
  const DType type = context.result_shape().dtype;
  Value scalar;
  if (auto number = mlir::dyn_cast<mlir::FloatAttr>(value)) {
    TENON_ASSIGN_OR_RETURN(scalar, Value::Allocate({DType::kF64, {}}));
    scalar.mutable_data<double>()[0] = number.getValueAsDouble();
  } else if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(value)) {
    TENON_ASSIGN_OR_RETURN(scalar, Value::Allocate({DType::kS64, {}}));
    scalar.mutable_data<int64_t>()[0] = integer.getValue().getSExtValue();
  } else {
    return Unimplemented("constant_like of this kind of value");
  }
  TENON_ASSIGN_OR_RETURN(scalar, ConvertTo(scalar, type));
  TENON_ASSIGN_OR_RETURN(Value out, BroadcastTo(scalar, {}, context.in(0).shape().dims));
  return context.Return(std::move(out));
}

// The k largest along the last dimension by the total order, ties by index.
Status TopK(OpContext& context) {
  const Value& operand = context.in(0);
  const int64_t k = IntAttr(context.op, "k"), n = operand.dims().back();
  Shape shape = operand.shape();
  shape.dims.back() = std::min(k, n);
  const DType types[] = {operand.dtype(), operand.dtype()};
  const Kernel greater =
      FindKernel("stablehlo.compare", types, DType::kPred, {Direction::kGt, /*total_order=*/true, 0, 0});
  if (!greater) return Unimplemented("top_k of this element type");
  TENON_ASSIGN_OR_RETURN(Value values, Value::Allocate(shape));
  TENON_ASSIGN_OR_RETURN(Value indices, Value::Allocate({DType::kS32, shape.dims}));
  const int64_t rows = n == 0 ? 0 : operand.num_elements() / n, width = ByteWidth(operand.dtype()),
                kept = shape.dims.back();
  std::vector<int32_t> order(static_cast<size_t>(n));
  for (int64_t row = 0; row < rows; ++row) {
    const std::byte* base = operand.bytes() + row * n * width;
    std::iota(order.begin(), order.end(), 0);
    const auto is_greater = [&](int32_t a, int32_t b) {
      const void* inputs[] = {base + a * width, base + b * width, nullptr};
      uint8_t greater_byte = 0;
      greater.Run(inputs, &greater_byte, 1);
      return greater_byte != 0;
    };
    std::sort(order.begin(), order.end(),
              [&](int32_t a, int32_t b) { return is_greater(a, b) || (a < b && !is_greater(b, a)); });
    for (int64_t i = 0; i < kept; ++i) {
      const int32_t from = order[static_cast<size_t>(i)];
      indices.mutable_data<int32_t>()[row * kept + i] = from;
      std::memcpy(values.mutable_bytes() + (row * kept + i) * width, base + from * width, static_cast<size_t>(width));
    }
  }
  context.results = {std::move(values), std::move(indices)};
  return OkStatus();
}

// One step per position along `dimension`: the body takes a slice of every input and the carries, and gives a slice of
// every output and the new carries.
Status Scan(OpContext& context) {
  const size_t num_outputs_and_carries = context.op->getNumResults();
  const auto segments = mlir::dyn_cast_or_null<mlir::DenseI32ArrayAttr>(context.op->getAttr("operandSegmentSizes"));
  if (!segments || segments.size() != 2) return Unimplemented("a scan without operand segments");
  const auto inputs = static_cast<size_t>(segments[0]);
  const size_t carries = context.operands.size() - inputs, outputs = num_outputs_and_carries - carries;
  const auto dimension = static_cast<size_t>(IntAttr(context.op, "dimension"));
  const bool reverse = BoolAttr(context.op, "is_reverse");
  const int64_t steps = inputs > 0 ? context.in(0).dims()[dimension] : IntAttr(context.op, "scan_dim_size");
  std::vector<Value> stacked,
      carried(context.operands.begin() + static_cast<std::ptrdiff_t>(inputs), context.operands.end());
  for (size_t i = 0; i < outputs; ++i) {
    TENON_ASSIGN_OR_RETURN(Value out, AllocateResult(context, i));
    stacked.push_back(std::move(out));
  }
  // The slice at `position` of an array, and the array's strides: extents 1 along the scanned dimension.
  const auto slice_dims = [&](const Value& v) {
    Dims dims = v.shape().dims;
    dims[dimension] = 1;
    return dims;
  };
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t position = reverse ? steps - 1 - step : step;
    std::vector<Value> args;
    for (size_t i = 0; i < inputs; ++i) {
      const Value& input = context.in(i);
      Dims start(input.rank(), 0), limit = input.shape().dims;
      start[dimension] = position;
      limit[dimension] = position + 1;
      TENON_ASSIGN_OR_RETURN(Value slice, Slice(input, start, limit, Dims(input.rank(), 1)));
      Shape erased = slice.shape();
      erased.dims.erase(erased.dims.begin() + dimension);
      args.push_back(slice.WithShape(erased));
    }
    for (Value& carry : carried) args.push_back(std::move(carry));
    TENON_ASSIGN_OR_RETURN(std::vector<Value> returned,
                           context.evaluator.RunBlock(context.block(0), context.frame, std::move(args)));
    for (size_t i = 0; i < outputs; ++i) {
      const Dims strides = RowMajorStridesElems(stacked[i].dims());
      const Dims dims = slice_dims(stacked[i]);
      const int width = ByteWidth(stacked[i].dtype());
      CopyElements(width, Span(dims), stacked[i].mutable_bytes() + position * strides[dimension] * width, Span(strides),
                   returned[i].bytes(), Span(RowMajorStridesElems(Span(dims))));
    }
    carried.assign(std::make_move_iterator(returned.begin() + static_cast<std::ptrdiff_t>(outputs)),
                   std::make_move_iterator(returned.end()));
    TENON_RETURN_IF_ERROR(context.evaluator.CheckCancelled());
  }
  context.results = std::move(stacked);
  for (Value& carry : carried) context.results.push_back(std::move(carry));
  return OkStatus();
}

constexpr OpEntry kOps[] = {
    {"chlo.top_k", &TopK},
    {"chlo.scan", &Scan},
    {"chlo.constant_like", &ConstantLike},
    {"chlo.broadcast_add", &BroadcastBinary},
    {"chlo.broadcast_and", &BroadcastBinary},
    {"chlo.broadcast_atan2", &BroadcastBinary},
    {"chlo.broadcast_compare", &BroadcastBinary},
    {"chlo.broadcast_complex", &BroadcastBinary},
    {"chlo.broadcast_divide", &BroadcastBinary},
    {"chlo.broadcast_maximum", &BroadcastBinary},
    {"chlo.broadcast_minimum", &BroadcastBinary},
    {"chlo.broadcast_multiply", &BroadcastBinary},
    {"chlo.broadcast_next_after", &BroadcastBinary},
    {"chlo.broadcast_or", &BroadcastBinary},
    {"chlo.broadcast_polygamma", &BroadcastBinary},
    {"chlo.broadcast_power", &BroadcastBinary},
    {"chlo.broadcast_remainder", &BroadcastBinary},
    {"chlo.broadcast_select", &BroadcastBinary},
    {"chlo.broadcast_shift_left", &BroadcastBinary},
    {"chlo.broadcast_shift_right_arithmetic", &BroadcastBinary},
    {"chlo.broadcast_shift_right_logical", &BroadcastBinary},
    {"chlo.broadcast_subtract", &BroadcastBinary},
    {"chlo.broadcast_xor", &BroadcastBinary},
    {"chlo.broadcast_zeta", &BroadcastBinary},
};

}  // namespace

std::span<const OpEntry> ChloOps() { return kOps; }

}  // namespace tenon::reference
