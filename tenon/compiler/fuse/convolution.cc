// Convolutions to the driver for them.

#include <algorithm>

#include "tenon/compiler/fuse/fuser.h"
#include "tenon/kernels/conv/conv.h"

namespace tenon::compiler {
namespace {

kernels::ConvNumbers NumbersOf(const Node& node) {
  const auto& a = node.attrs<ConvolutionAttrs>();
  kernels::ConvNumbers n;
  n.in_batch = a.input_batch_dimension;
  n.in_feature = a.input_feature_dimension;
  n.in_spatial = a.input_spatial_dimensions;
  n.weight_in = a.kernel_input_feature_dimension;
  n.weight_out = a.kernel_output_feature_dimension;
  n.weight_spatial = a.kernel_spatial_dimensions;
  n.out_batch = a.output_batch_dimension;
  n.out_feature = a.output_feature_dimension;
  n.out_spatial = a.output_spatial_dimensions;
  n.strides = a.window_strides;
  n.low = a.padding_low;
  n.in_dilation = a.lhs_dilation;
  n.window_dilation = a.rhs_dilation;
  n.reversed = a.window_reversal;
  n.feature_groups = a.feature_group_count;
  n.batch_groups = a.batch_group_count;
  return n;
}

}  // namespace

Status Fuser::EmitConvolution(NodeId id, plan::Seq& out) {
  const Node& node = p_[id];
  const kernels::ConvNumbers numbers = NumbersOf(node);
  const Shape& in_shape = p_.shape(node.in[0]);
  const Shape& weight_shape = p_.shape(node.in[1]);
  const View like_in = DenseView(0, in_shape);
  const View like_weights = DenseView(0, weight_shape);
  const View like_out = DenseView(0, node.shape());
  if (!kernels::MakeConvSignature(numbers, ArrayOf(like_in), ArrayOf(like_weights), ArrayOf(like_out)).ok())
    return EmitEvaluate(id, out);
  TENON_ASSIGN_OR_RETURN(const View in, ViewOf(node.in[0], out));
  TENON_ASSIGN_OR_RETURN(View weights, ViewOf(node.in[1], out));
  const View result = NewTemp(node.shape());
  TENON_ASSIGN_OR_RETURN(kernels::ConvSignature s,
                         kernels::MakeConvSignature(numbers, ArrayOf(in), ArrayOf(weights), ArrayOf(result)));
  if (!kernels::WeightsSuit(s)) {
    // Output channels innermost, then input channels, then the window.
    Dims layout = {numbers.weight_out, numbers.weight_in};
    for (size_t d = numbers.weight_spatial.size(); d-- > 0;) layout.push_back(numbers.weight_spatial[d]);
    const View packed = NewTempWithLayout(weight_shape, layout);
    Copy(weights, packed, out);
    weights = packed;
    TENON_ASSIGN_OR_RETURN(s, kernels::MakeConvSignature(numbers, ArrayOf(in), ArrayOf(weights), ArrayOf(result)));
    if (!kernels::WeightsSuit(s)) return Internal("a convolution's weights suit in no layout");
  }
  plan::DriverStep step;
  step.driver = "conv";
  step.config = kernels::ToConfig(numbers);
  step.inputs = {Slot(in), Slot(weights)};
  step.outputs = {Slot(result)};
  step.cost_ns = static_cast<int64_t>(kernels::EstimateConvNs(s));
  double flops = 2.0 * static_cast<double>(s.batch * s.groups) * static_cast<double>(s.in_channels) *
                 static_cast<double>(s.out_channels);
  for (const kernels::ConvDim& d : s.dims) flops *= static_cast<double>(d.out) * static_cast<double>(d.window);
  f_.flops += flops;
  Bind({id, 0}, result);
  out.push_back({std::move(step)});
  return OkStatus();
}

}  // namespace tenon::compiler
