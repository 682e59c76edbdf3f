// Fourier transforms to the driver for them.

#include "tenon/kernels/fft/fft.h"

#include "tenon/compiler/fuse/fuser.h"

namespace tenon::compiler {

Status Fuser::EmitFft(NodeId id, plan::Seq& out) {
  const Node& node = p_[id];
  const auto& attrs = node.attrs<FftAttrs>();
  const auto kind = static_cast<kernels::FftKind>(attrs.fft_type);
  const Result<kernels::FftSignature> signature =
      kernels::MakeFftSignature(kind, p_.shape(node.in[0]), node.shape(), attrs.fft_length);
  if (!signature.ok()) return EmitEvaluate(id, out);
  TENON_ASSIGN_OR_RETURN(const View in, DenseViewOf(node.in[0], out));
  const View result = NewTemp(node.shape());
  plan::DriverStep step;
  step.driver = "fft";
  step.config.push_back(static_cast<int64_t>(kind));
  for (int64_t n : attrs.fft_length) step.config.push_back(n);
  step.inputs = {Slot(in)};
  step.outputs = {Slot(result)};
  step.cost_ns = static_cast<int64_t>(kernels::EstimateFftNs(*signature));
  Bind({id, 0}, result);
  out.push_back({std::move(step)});
  return OkStatus();
}

}  // namespace tenon::compiler
