// The gradient of a depthwise convolution's weights: few results per channel, each a sum over all of the image.
#include <algorithm>
#include <string>

#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/compiler/simplify/windows.h"

namespace tenon::compiler {

std::optional<Ref> Simplifier::WriteOutWeightGradient(const GraphNode& node) {
  // A convolution whose window is the image: groups of one image and one result each have no product to share.
  const Shape in = ShapeOf(node.in[0]), window = ShapeOf(node.in[1]), out = node.shape();
  const ConvolutionAttrs a = node.attrs<ConvolutionAttrs>();
  const auto extent = [](const Shape& s, int64_t d) { return s.dims[static_cast<size_t>(d)]; };
  const int64_t groups = a.batch_group_count;
  if (groups < 2 || a.feature_group_count != 1 || extent(in, a.input_batch_dimension) != groups ||
      extent(window, a.kernel_output_feature_dimension) != groups || IsComplex(out.dtype) ||
      !(IsFloat(out.dtype) || IsInteger(out.dtype)) ||
      std::any_of(a.window_reversal.begin(), a.window_reversal.end(), [](auto reversed) { return reversed != 0; }))
    return std::nullopt;
  const size_t spatial = a.output_spatial_dimensions.size();
  int64_t places = 1;
  for (int64_t d : a.output_spatial_dimensions) places *= extent(out, d);
  if (places < 1 || places > policy::kMaxWeightPlaces || NumElements(window.dims) / groups < places)
    return std::nullopt;
  const DType type = IsNarrowFloat(out.dtype) ? DType::kF32 : out.dtype;

  // The operand with its dims in the window's order.
  const size_t rank = window.rank(), channel = static_cast<size_t>(a.kernel_output_feature_dimension);
  Dims permutation(rank, 0), low(rank, 0), high(rank, 0), interior(rank, 0), steps(rank, 1);
  permutation[channel] = a.input_batch_dimension;
  permutation[static_cast<size_t>(a.kernel_input_feature_dimension)] = a.input_feature_dimension;
  for (size_t d = 0; d < spatial; ++d) {
    const auto at = static_cast<size_t>(a.kernel_spatial_dimensions[d]);
    permutation[at] = a.input_spatial_dimensions[d];
    steps[at] = a.rhs_dilation[d];
    low[at] = a.padding_low[d];
    high[at] = a.padding_high[d];
    interior[at] = a.lhs_dilation[d] - 1;
  }
  const Ref zero = Splat({type, {}}, 0);
  const Ref padded = Padded(Converted(Transposed(node.in[0], permutation), type), zero, low, high, interior);
  const Ref factor = Converted(node.in[1], type);
  Dims summed;
  for (size_t d = 0; d < rank; ++d) {
    if (d != channel) summed.push_back(static_cast<int64_t>(d));
  }
  SmallVector<Ref, 3> sums;
  for (int64_t place = 0; place < places; ++place) {
    Dims start(rank, 0);
    int64_t rest = place;
    for (size_t d = spatial; d-- > 0;) {
      const int64_t n = extent(out, a.output_spatial_dimensions[d]);
      start[static_cast<size_t>(a.kernel_spatial_dimensions[d])] = rest % n * a.window_strides[d];
      rest /= n;
    }
    GraphNode sum;
    sum.op = OpCode::kReduce;
    sum.in = {Binary(OpCode::kMultiply, StridedSlice(padded, start, steps, window.dims), factor), zero};
    sum.blocks = {MakeCombiner(to_, OpCode::kAdd, type)};
    sum.attributes = ReduceAttrs{summed};
    sum.out.push_back({type, {groups}});
    sums.push_back(Reshape(Emit(std::move(sum)), {1, groups}));
  }
  // Places, channels, the one image; then as the result has them.
  Dims dims, order(out.rank(), 0);
  for (size_t d = 0; d < spatial; ++d) {
    order[static_cast<size_t>(a.output_spatial_dimensions[d])] = static_cast<int64_t>(d);
    dims.push_back(extent(out, a.output_spatial_dimensions[d]));
  }
  order[static_cast<size_t>(a.output_feature_dimension)] = static_cast<int64_t>(spatial);
  order[static_cast<size_t>(a.output_batch_dimension)] = static_cast<int64_t>(spatial) + 1;
  dims.push_back(groups);
  dims.push_back(1);
  return Converted(Transposed(Reshape(Concatenated(std::move(sums), 0), dims), order), out.dtype);
}

}  // namespace tenon::compiler
