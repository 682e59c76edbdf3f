// sort to the sorting driver.

#include "tenon/compiler/fuse/fuser.h"
#include "tenon/kernels/sort/config.h"

namespace tenon::compiler {

Status Fuser::EmitSort(NodeId id, plan::Seq& out) {
  const Node& node = p_[id];
  kernels::SortConfig config;
  const auto& attrs = node.attrs<SortAttrs>();
  config.dimension = attrs.dimension;
  for (size_t i = 0; i < attrs.descending.size(); ++i)
    config.keys.push_back({attrs.descending[i] != 0, attrs.zeros_equal[i] != 0});
  for (int64_t is_position : attrs.is_position) config.is_position.push_back(is_position != 0);

  plan::DriverStep step;
  step.driver = "sort";
  step.config = kernels::ToConfig(config);
  std::vector<StridedArray> keys, in, results;
  for (size_t i = 0; i < node.in.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(const View view, ViewOf(node.in[i], out));
    (i < config.keys.size() ? keys : in).push_back(ArrayOf(view));
    step.inputs.push_back(Slot(view));
  }
  for (uint32_t i = 0; i < node.out.size(); ++i) {
    const View view = NewTemp(node.shape(i));
    results.push_back(ArrayOf(view));
    step.outputs.push_back(Slot(view));
    Bind({id, i}, view);
  }
  TENON_ASSIGN_OR_RETURN(const kernels::SortSignature signature, kernels::SignatureOf(config, keys, in, results));
  step.cost_ns = static_cast<int64_t>(kernels::SortCostNs(signature));
  step.outputs.push_back(Slot(NewTemp({DType::kU8, {kernels::SortScratchBytes(signature)}})));
  out.push_back({std::move(step)});
  return OkStatus();
}

}  // namespace tenon::compiler
