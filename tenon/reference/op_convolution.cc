// convolution and dynamic_conv.

#include <algorithm>

#include "tenon/reference/convolution.h"
#include "tenon/reference/dot.h"
#include "tenon/reference/evaluator.h"
#include "tenon/reference/indexing.h"
#include "tenon/reference/math.h"
#include "tenon/reference/movement.h"

namespace tenon::reference {
namespace {

Dims Permutation(int64_t first, std::span<const int64_t> middle, int64_t last) {
  Dims p{first};
  p.append(middle.begin(), middle.end());
  p.push_back(last);
  return p;
}

// Operands in the order [batch, spatial..., feature] and [output feature, spatial..., input feature]; the result
// [batch, spatial..., feature].
template <class T>
void Run(const ConvSpec& spec, const Value& lhs, const Value& rhs, Value& out) {
  const size_t spatial = spec.strides.size();
  const Dims lhs_strides = RowMajorStridesElems(lhs.dims()), rhs_strides = RowMajorStridesElems(rhs.dims());
  const Dims kernel_dims(rhs.dims().begin() + 1, rhs.dims().begin() + 1 + static_cast<std::ptrdiff_t>(spatial));
  const int64_t out_features = out.dims().back(), in_features = rhs.dims().back();
  const int64_t features_per_group = out_features / std::max<int64_t>(1, spec.feature_groups);
  const int64_t features_per_batch_group = out_features / std::max<int64_t>(1, spec.batch_groups);
  const int64_t batches = out.dims()[0];
  T* result = out.mutable_data<T>();
  ForEachIndex(out.dims(), [&](std::span<const int64_t> at) {
    const int64_t feature = at.back();
    // A group of output features sees its own group of input features, or of the batch.
    const int64_t first_input = spec.feature_groups > 1 ? feature / features_per_group * in_features : 0;
    const int64_t batch = spec.batch_groups > 1 ? feature / features_per_batch_group * batches + at[0] : at[0];
    ComputeOf<T> sum{};
    ForEachIndex(Span(kernel_dims), [&](std::span<const int64_t> cell) {
      int64_t from = batch * lhs_strides[0] + first_input, weight = feature * rhs_strides[0];
      for (size_t d = 0; d < spatial; ++d) {
        const int64_t position = at[d + 1] * spec.strides[d] + cell[d] * spec.rhs_dilation[d] - spec.low[d];
        if (position < 0 || position % spec.lhs_dilation[d] != 0 ||
            position / spec.lhs_dilation[d] >= lhs.dims()[d + 1])
          return;
        from += position / spec.lhs_dilation[d] * lhs_strides[d + 1];
        weight += (spec.reversed[d] != 0 ? kernel_dims[d] - 1 - cell[d] : cell[d]) * rhs_strides[d + 1];
      }
      const T* a = lhs.data<T>() + from;
      const T* b = rhs.data<T>() + weight;
      for (int64_t c = 0; c < in_features; ++c) sum = Add::Apply(sum, Multiply::Apply(Load(a[c]), Load(b[c])));
    });
    *result++ = Store<T>(sum);
  });
}

Status ConvolveWith(OpContext& context, const Dims& padding) {
  const ConvSpec spec = ConvSpecOf(context.op, padding);
  const DType type = context.result_shape().dtype;
  TENON_ASSIGN_OR_RETURN(Value out, Convolve(context.in(0), context.in(1), spec, type));
  TENON_ASSIGN_OR_RETURN(out, ConvertTo(out, type));
  return context.Return(std::move(out));
}

Status Convolution(OpContext& context) {
  const size_t spatial = context.in(0).rank() - 2;
  Dims padding = IntsAttr(context.op, "padding", Dims(2 * spatial, 0));
  if (padding.size() != 2 * spatial) padding.assign(2 * spatial, padding.empty() ? 0 : padding[0]);
  return ConvolveWith(context, padding);
}

Status DynamicConv(OpContext& context) { return ConvolveWith(context, IntsOf(context.in(2))); }

constexpr OpEntry kOps[] = {{"stablehlo.convolution", &Convolution}, {"stablehlo.dynamic_conv", &DynamicConv}};

}  // namespace

std::span<const OpEntry> ConvolutionOps() { return kOps; }

ConvSpec ConvSpecOf(mlir::Operation* op, const Dims& padding) {
  ConvSpec spec;
  spec.dims = ConvDimsOf(op);
  const size_t spatial = spec.dims.input_spatial.size();
  spec.strides = IntsAttr(op, "window_strides", Dims(spatial, 1));
  spec.lhs_dilation = IntsAttr(op, "lhs_dilation", Dims(spatial, 1));
  spec.rhs_dilation = IntsAttr(op, "rhs_dilation", Dims(spatial, 1));
  spec.reversed = IntsAttr(op, "window_reversal", Dims(spatial, 0));
  spec.feature_groups = IntAttr(op, "feature_group_count", 1);
  spec.batch_groups = IntAttr(op, "batch_group_count", 1);
  for (size_t d = 0; d < spatial; ++d) {
    spec.low.push_back(padding[2 * d]);
    spec.high.push_back(padding[2 * d + 1]);
  }
  return spec;
}

Result<Value> Convolve(const Value& lhs, const Value& rhs, const ConvSpec& spec, DType result) {
  const ConvDims& dims = spec.dims;
  const size_t spatial = spec.strides.size();
  TENON_ASSIGN_OR_RETURN(Value a,
                         Transpose(lhs, Permutation(dims.input_batch, Span(dims.input_spatial), dims.input_feature)));
  TENON_ASSIGN_OR_RETURN(Value b, Transpose(rhs, Permutation(dims.kernel_output_feature, Span(dims.kernel_spatial),
                                                             dims.kernel_input_feature)));
  if (a.dims().back() != b.dims().back() * spec.feature_groups || a.dims()[0] % spec.batch_groups != 0 ||
      b.dims()[0] % std::max(spec.feature_groups, spec.batch_groups) != 0) {
    return InvalidArgument("a convolution of " + ToString(lhs.shape()) + " and " + ToString(rhs.shape()) +
                           " whose features do not agree");
  }
  const int64_t terms = b.num_elements() / std::max<int64_t>(1, b.dims()[0]);
  Shape shape{AccumulationType(result, terms), {a.dims()[0] / spec.batch_groups}};
  TENON_ASSIGN_OR_RETURN(a, AsFactor(a, result, shape.dtype));
  TENON_ASSIGN_OR_RETURN(b, AsFactor(b, result, shape.dtype));
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t n = a.dims()[d + 1], w = b.dims()[d + 1];
    const int64_t padded = spec.low[d] + (n == 0 ? 0 : (n - 1) * spec.lhs_dilation[d] + 1) + spec.high[d];
    const int64_t window = w == 0 ? 0 : (w - 1) * spec.rhs_dilation[d] + 1;
    shape.dims.push_back(padded <= 0 || window > padded ? 0 : (padded - window) / spec.strides[d] + 1);
  }
  shape.dims.push_back(b.dims()[0]);
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate(shape));
  switch (shape.dtype) {
    case DType::kPred:
      Run<Pred>(spec, a, b, out);
      break;
    case DType::kS64:
      Run<int64_t>(spec, a, b, out);
      break;
    case DType::kU64:
      Run<uint64_t>(spec, a, b, out);
      break;
    case DType::kF32:
      Run<float>(spec, a, b, out);
      break;
    case DType::kC64:
      Run<std::complex<float>>(spec, a, b, out);
      break;
    case DType::kC128:
      Run<std::complex<double>>(spec, a, b, out);
      break;
    default:
      Run<double>(spec, a, b, out);
      break;
  }
  // From [batch, spatial..., feature] to where the result has them.
  Dims order(spatial + 2, 0);
  order[static_cast<size_t>(dims.output_batch)] = 0;
  for (size_t d = 0; d < spatial; ++d) order[static_cast<size_t>(dims.output_spatial[d])] = static_cast<int64_t>(d) + 1;
  order[static_cast<size_t>(dims.output_feature)] = static_cast<int64_t>(spatial) + 1;
  return Transpose(out, order);
}

}  // namespace tenon::reference
