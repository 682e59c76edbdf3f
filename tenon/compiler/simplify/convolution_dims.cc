// Convolutions over more dims of space than drivers take.
#include <algorithm>
#include <utility>

#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/compiler/simplify/windows.h"

namespace tenon::compiler {

std::optional<Ref> Simplifier::FewerConvolutionDims(const GraphNode& node) {
  const Shape in = ShapeOf(node.in[0]), weights = ShapeOf(node.in[1]), out = node.shape();
  ConvolutionAttrs a = node.attrs<ConvolutionAttrs>();
  const auto extent = [](const Shape& s, int64_t d) { return s.dims[static_cast<size_t>(d)]; };
  const auto merged = [](Dims first, const Dims& dims) {  // The dims behind the first three, after others.
    for (size_t d = 3; d < dims.size(); ++d) first.push_back(dims[d]);
    return first;
  };
  const size_t spatial = a.input_spatial_dimensions.size();
  if (spatial <= policy::kMaxConvolutionDims || NumElements(out.dims) == 0) return std::nullopt;

  // The places along one dim become images, what their windows hold along it channels: of the dim that writes the
  // least.
  const auto growth = [&](size_t d) {
    return static_cast<double>(extent(out, a.output_spatial_dimensions[d])) *
           static_cast<double>(extent(weights, a.kernel_spatial_dimensions[d])) /
           static_cast<double>(extent(in, a.input_spatial_dimensions[d]));
  };
  size_t gone = 0;
  for (size_t d = 1; d < spatial; ++d) {
    if (growth(d) < growth(gone)) gone = d;
  }
  if (growth(gone) * static_cast<double>(SizeBytes(in)) > policy::kMaxConvolutionBytes) return std::nullopt;
  const int64_t places = extent(out, a.output_spatial_dimensions[gone]);
  const int64_t window = extent(weights, a.kernel_spatial_dimensions[gone]);
  const int64_t images = extent(in, a.input_batch_dimension), channels = extent(in, a.input_feature_dimension);

  // Images, the dim, channels, the other dims.
  Dims order = {a.input_batch_dimension, a.input_spatial_dimensions[gone], a.input_feature_dimension};
  Dims kernel_order = {a.kernel_input_feature_dimension, a.kernel_spatial_dimensions[gone],
                       a.kernel_output_feature_dimension};
  Dims out_order = {a.output_batch_dimension, a.output_spatial_dimensions[gone], a.output_feature_dimension};
  for (size_t d = 0; d < spatial; ++d) {
    if (d == gone) continue;
    order.push_back(a.input_spatial_dimensions[d]);
    kernel_order.push_back(a.kernel_spatial_dimensions[d]);
    out_order.push_back(a.output_spatial_dimensions[d]);
  }
  constexpr size_t kAlong = 1;  // structural: where the dim stands in `order`
  const size_t rank = order.size();
  Dims low(rank, 0), high(rank, 0), interior(rank, 0), start(rank, 0), steps(rank, 1);
  low[kAlong] = a.padding_low[gone];
  high[kAlong] = a.padding_high[gone];
  interior[kAlong] = a.lhs_dilation[gone] - 1;
  steps[kAlong] = a.window_strides[gone];
  const Ref padded = Padded(Transposed(node.in[0], order), Splat({in.dtype, {}}, 0), low, high, interior);
  Dims part = ShapeOf(padded).dims;
  part[kAlong] = places;
  const Dims apart = merged({images * places, channels, 1}, part);
  SmallVector<Ref, 3> elements;
  for (int64_t element = 0; element < window; ++element) {
    start[kAlong] = element * a.rhs_dilation[gone];
    elements.push_back(Reshape(StridedSlice(padded, start, steps, part), apart));
  }
  const Ref rows = Reshape(Concatenated(std::move(elements), 2), merged({images * places, channels * window}, part));
  Ref factors = node.in[1];
  if (a.window_reversal[gone] != 0) factors = Reversed(factors, static_cast<size_t>(a.kernel_spatial_dimensions[gone]));
  factors = Transposed(factors, kernel_order);
  const Dims kernel = ShapeOf(factors).dims;

  // Images and channels of a group stay neighbours: what was merged with them is further in.
  GraphNode fewer;
  fewer.op = OpCode::kConvolution;
  fewer.in = {rows, Reshape(factors, merged({kernel[0] * window, kernel[2]}, kernel))};
  Dims turned;
  for (int64_t d : out_order) turned.push_back(extent(out, d));
  fewer.out.push_back({out.dtype, merged({turned[0] * places, turned[2]}, turned)});
  Dims others(spatial - 1, 0);
  for (size_t d = 0; d < others.size(); ++d) others[d] = static_cast<int64_t>(d) + 2;
  a.input_batch_dimension = a.output_batch_dimension = a.kernel_input_feature_dimension = 0;
  a.input_feature_dimension = a.output_feature_dimension = a.kernel_output_feature_dimension = 1;
  a.input_spatial_dimensions = a.output_spatial_dimensions = a.kernel_spatial_dimensions = others;
  for (Dims* numbers :
       {&a.window_strides, &a.padding_low, &a.padding_high, &a.lhs_dilation, &a.rhs_dilation, &a.window_reversal})
    numbers->erase(numbers->begin() + static_cast<std::ptrdiff_t>(gone));
  fewer.attributes = std::move(a);
  Dims back(rank, 0);
  for (size_t d = 0; d < rank; ++d) back[static_cast<size_t>(out_order[d])] = static_cast<int64_t>(d);
  return Transposed(Reshape(Emit(std::move(fewer)), turned), back);
}

}  // namespace tenon::compiler
