// Factorisations and triangular systems to their driver.

#include "tenon/compiler/fuse/fuser.h"
#include "tenon/kernels/linalg/config.h"

namespace tenon::compiler {

Status Fuser::EmitLinalg(NodeId id, plan::Seq& out) {
  const Node& node = p_[id];
  const auto& attrs = node.attrs<LinalgAttrs>();
  const kernels::LinalgConfig config{static_cast<kernels::LinalgOp>(attrs.op),
                                     attrs.lower,
                                     attrs.left_side,
                                     attrs.transpose_a,
                                     attrs.unit_diagonal,
                                     attrs.has_info};
  plan::DriverStep step;
  step.driver = "linalg";
  step.config = kernels::ToConfig(config);
  std::vector<StridedArray> arrays;
  for (Ref r : node.in) {
    TENON_ASSIGN_OR_RETURN(const View view, ViewOf(r, out));
    arrays.push_back(ArrayOf(view));
    step.inputs.push_back(Slot(view));
  }
  for (uint32_t i = 0; i < node.out.size(); ++i) {
    const View view = NewTemp(node.shape(i));
    if (i == 0) arrays[0].strides = view.strides;
    step.outputs.push_back(Slot(view));
    Bind({id, i}, view);
  }
  TENON_ASSIGN_OR_RETURN(
      const kernels::LinalgSignature signature,
      kernels::SignatureOf(config, arrays[0], arrays.size() > 1 ? std::optional(arrays[1]) : std::nullopt));
  step.outputs.push_back(Slot(NewTemp({DType::kU8, {kernels::LinalgStepScratchBytes(signature)}})));
  step.cost_ns = static_cast<int64_t>(kernels::LinalgCostNs(signature));
  f_.flops += kernels::LinalgFlops(signature);
  out.push_back({std::move(step)});
  return OkStatus();
}

}  // namespace tenon::compiler
