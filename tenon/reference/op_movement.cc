// Operations that move whole arrays: shapes, broadcasts, transposes, concatenation, padding, iota, bit casts.

#include <fmt/format.h>

#include <cstring>

#include "tenon/reference/evaluator.h"
#include "tenon/reference/indexing.h"
#include "tenon/reference/movement.h"

namespace tenon::reference {
namespace {

Status Reshape(OpContext& context) {
  Shape shape = context.result_shape();
  const Value& operand = context.in(0);
  for (int64_t d : shape.dims) {
    if (d < 0) return Unimplemented("reshape to a dynamic shape");
  }
  if (NumElements(Span(shape.dims)) != operand.num_elements()) {
    return InvalidArgument(fmt::format("{} cannot be reshaped to {}", ToString(operand.shape()), ToString(shape)));
  }
  return context.Return(operand.WithShape(std::move(shape)));
}

Status BroadcastInDim(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(
      Value out, BroadcastTo(context.in(0), IntsAttr(context.op, "broadcast_dimensions"), context.result_shape().dims));
  return context.Return(std::move(out));
}

// The old form: new dimensions in front.
Status Broadcast(OpContext& context) {
  Dims dims = IntsAttr(context.op, "broadcast_sizes");
  Dims where;
  for (int64_t d : context.in(0).dims()) {
    where.push_back(static_cast<int64_t>(dims.size()));
    dims.push_back(d);
  }
  TENON_ASSIGN_OR_RETURN(Value out, BroadcastTo(context.in(0), where, dims));
  return context.Return(std::move(out));
}

Status TransposeOp(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(Value out, Transpose(context.in(0), IntsAttr(context.op, "permutation")));
  return context.Return(std::move(out));
}

Status Reverse(OpContext& context) {
  const Value& operand = context.in(0);
  const Dims reversed = IntsAttr(context.op, "dimensions");
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate(operand.shape()));
  if (out.num_elements() == 0) return context.Return(std::move(out));
  const Dims strides = RowMajorStridesElems(operand.dims());
  Dims from = strides;
  int64_t start = 0;
  for (int64_t d : reversed) {
    const auto i = static_cast<size_t>(d);
    start += (operand.dims()[i] - 1) * strides[i];
    from[i] = -strides[i];
  }
  const int width = ByteWidth(operand.dtype());
  CopyElements(width, operand.dims(), out.mutable_bytes(), Span(strides), operand.bytes() + start * width, Span(from));
  return context.Return(std::move(out));
}

Status Concatenate(OpContext& context) {
  const auto dimension = static_cast<size_t>(IntAttr(context.op, "dimension"));
  Shape shape = context.in(0).shape();
  shape.dims[dimension] = 0;
  for (const Value& operand : context.operands) {
    for (size_t d = 0; d < shape.rank(); ++d) {
      if (d != dimension && operand.dims()[d] != shape.dims[d]) {
        return InvalidArgument(fmt::format("{} cannot be joined to {} along dimension {}", ToString(operand.shape()),
                                           ToString(context.in(0).shape()), dimension));
      }
    }
    shape.dims[dimension] += operand.dims()[dimension];
  }
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate(shape));
  const Dims strides = RowMajorStridesElems(Span(shape.dims));
  const int width = ByteWidth(shape.dtype);
  int64_t at = 0;
  for (const Value& operand : context.operands) {
    CopyElements(width, operand.dims(), out.mutable_bytes() + at * strides[dimension] * width, Span(strides),
                 operand.bytes(), Span(RowMajorStridesElems(operand.dims())));
    at += operand.dims()[dimension];
  }
  return context.Return(std::move(out));
}

Status PadOp(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(Value out,
                         Pad(context.in(0), context.in(1), IntsAttr(context.op, "edge_padding_low"),
                             IntsAttr(context.op, "edge_padding_high"), IntsAttr(context.op, "interior_padding")));
  return context.Return(std::move(out));
}

Status IotaOp(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(Value out, Iota(context.result_shape(), IntAttr(context.op, "iota_dimension")));
  return context.Return(std::move(out));
}

// Little-endian: the bytes stay where they are, unless bits are kept one element per byte.
Status BitcastConvert(OpContext& context) {
  const Value& operand = context.in(0);
  const DType to = context.result_shape().dtype, from = operand.dtype();
  const int from_bits = from == DType::kPred ? 1 : DTypeBits(from), to_bits = to == DType::kPred ? 1 : DTypeBits(to);
  Shape shape{to, operand.shape().dims};
  if (from_bits > to_bits) {
    shape.dims.push_back(from_bits / to_bits);
  } else if (from_bits < to_bits) {
    if (shape.dims.empty() || shape.dims.back() * from_bits != to_bits)
      return InvalidArgument("the last dimension does not make up one element");
    shape.dims.pop_back();
  }
  if (from_bits == 8 * ByteWidth(from) && to_bits == 8 * ByteWidth(to)) return context.Return(operand.WithShape(shape));
  // Elements narrower than a byte: through a stream of bits.
  TENON_ASSIGN_OR_RETURN(Value out, Value::Zeros(shape));
  const int64_t total = operand.num_elements() * from_bits;
  const auto bit_place = [](int64_t bit, int bits, DType type) {
    return bit / bits * ByteWidth(type) * 8 + bit % bits;
  };
  for (int64_t bit = 0; bit < total; ++bit) {
    const int64_t source = bit_place(bit, from_bits, from), target = bit_place(bit, to_bits, to);
    const auto set = static_cast<uint8_t>(operand.data<uint8_t>()[source / 8] >> (source % 8) & 1);
    out.mutable_data<uint8_t>()[target / 8] =
        static_cast<uint8_t>(out.data<uint8_t>()[target / 8] | set << (target % 8));
  }
  // Sign-extend what is signed.
  VisitType(to, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, TinyInt<2, true>> || std::is_same_v<T, TinyInt<4, true>>) {
      for (int64_t i = 0; i < out.num_elements(); ++i) out.mutable_data<T>()[i] = Store<T>(out.data<uint8_t>()[i]);
    }
    return 0;
  });
  return context.Return(std::move(out));
}

Status GetDimensionSize(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate({DType::kS32, {}}));
  out.mutable_data<int32_t>()[0] =
      static_cast<int32_t>(context.in(0).dims()[static_cast<size_t>(IntAttr(context.op, "dimension"))]);
  return context.Return(std::move(out));
}

// Only the full size, which changes nothing.
Status SetDimensionSize(OpContext& context) {
  const auto dimension = static_cast<size_t>(IntAttr(context.op, "dimension"));
  if (IntsOf(context.in(1))[0] != context.in(0).dims()[dimension])
    return Unimplemented("set_dimension_size to less than the extent");
  return context.Return(context.in(0));
}

// The select of a scalar predicate is one of its operands as it is.
Status Select(OpContext& context) {
  if (context.in(0).rank() != 0 || !context.step.kernel) return RunElementwise(context);
  return context.Return(std::move(context.operands[context.in(0).data<uint8_t>()[0] != 0 ? 1 : 2]));
}

constexpr OpEntry kOps[] = {
    {"stablehlo.reshape", &Reshape},
    {"stablehlo.broadcast_in_dim", &BroadcastInDim},
    {"stablehlo.broadcast", &Broadcast},
    {"stablehlo.transpose", &TransposeOp},
    {"stablehlo.reverse", &Reverse},
    {"stablehlo.concatenate", &Concatenate},
    {"stablehlo.pad", &PadOp},
    {"stablehlo.iota", &IotaOp},
    {"stablehlo.get_dimension_size", &GetDimensionSize},
    {"stablehlo.set_dimension_size", &SetDimensionSize},
};

}  // namespace

OpHandler SelectHandler() { return &Select; }
OpHandler BitcastHandler() { return &BitcastConvert; }

std::span<const OpEntry> MovementOps() { return kOps; }

Result<Value> BroadcastTo(const Value& operand, const Dims& where, const Dims& dims) {
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate({operand.dtype(), dims}));
  const Dims strides = RowMajorStridesElems(operand.dims());
  Dims from(dims.size(), 0);
  for (size_t d = 0; d < where.size(); ++d) {
    const int64_t extent = dims[static_cast<size_t>(where[d])];
    if (operand.dims()[d] != 1 && operand.dims()[d] != extent) {
      return InvalidArgument(fmt::format("an extent of {} cannot be broadcast to {}", operand.dims()[d], extent));
    }
    if (operand.dims()[d] != 1) from[static_cast<size_t>(where[d])] = strides[d];
  }
  CopyElements(ByteWidth(operand.dtype()), Span(dims), out.mutable_bytes(), Span(RowMajorStridesElems(Span(dims))),
               operand.bytes(), Span(from));
  return out;
}

Result<Value> Transpose(const Value& operand, const Dims& permutation) {
  Dims dims, from;
  const Dims strides = RowMajorStridesElems(operand.dims());
  for (int64_t p : permutation) {
    dims.push_back(operand.dims()[static_cast<size_t>(p)]);
    from.push_back(strides[static_cast<size_t>(p)]);
  }
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate({operand.dtype(), dims}));
  CopyElements(ByteWidth(operand.dtype()), Span(dims), out.mutable_bytes(), Span(RowMajorStridesElems(Span(dims))),
               operand.bytes(), Span(from));
  return out;
}

Result<Value> Pad(const Value& operand, const Value& padding, const Dims& low, const Dims& high, const Dims& interior) {
  Shape shape = operand.shape();
  Dims first(shape.rank(), 0), count(shape.rank(), 0), step(shape.rank(), 1);
  for (size_t d = 0; d < shape.rank(); ++d) {
    const int64_t n = operand.dims()[d];
    if (interior[d] < 0) return InvalidArgument("interior padding is negative");
    step[d] = interior[d] + 1;
    shape.dims[d] = low[d] + n + std::max<int64_t>(n - 1, 0) * interior[d] + high[d];
    if (shape.dims[d] < 0) return InvalidArgument("padding makes a dimension negative");
    // Operand positions i that land inside: 0 <= low + i * step < extent.
    first[d] = std::max<int64_t>(0, CeilDiv(-low[d], step[d]));
    const int64_t end = std::min(n, CeilDiv(shape.dims[d] - low[d], step[d]));
    count[d] = std::max<int64_t>(0, end - first[d]);
  }
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate(shape));
  const int width = ByteWidth(shape.dtype);
  FillElements(width, out.num_elements(), out.mutable_bytes(), padding.bytes());
  if (NumElements(Span(count)) == 0) return out;
  const Dims from = RowMajorStridesElems(operand.dims());
  Dims to = RowMajorStridesElems(Span(shape.dims));
  int64_t start = 0;
  for (size_t d = 0; d < shape.rank(); ++d) {
    start += (low[d] + first[d] * step[d]) * to[d];
    to[d] *= step[d];
  }
  CopyElements(width, Span(count), out.mutable_bytes() + start * width, Span(to),
               operand.bytes() + Dot(Span(first), Span(from)) * width, Span(from));
  return out;
}

Result<Value> Iota(const Shape& shape, int64_t dimension) {
  for (int64_t d : shape.dims) {
    if (d < 0) return Unimplemented("an iota whose shape is not static");
  }
  const int64_t extent = shape.dims[static_cast<size_t>(dimension)];
  TENON_ASSIGN_OR_RETURN(Value index, Value::Allocate({DType::kS64, {extent}}));
  for (int64_t i = 0; i < extent; ++i) index.mutable_data<int64_t>()[i] = i;
  TENON_ASSIGN_OR_RETURN(Value converted, ConvertTo(index, shape.dtype));
  return BroadcastTo(converted, {dimension}, shape.dims);
}

Result<Value> ConvertTo(const Value& operand, DType type) {
  if (operand.dtype() == type) return operand;
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate({type, operand.shape().dims}));
  const Kernel kernel = ConvertKernel(operand.dtype(), type);
  const void* inputs[] = {operand.bytes()};
  kernel.Run(inputs, out.mutable_bytes(), out.num_elements());
  return out;
}

}  // namespace tenon::reference
