// Ops to the drivers that take them on.

#include "tenon/compiler/fuse/fuser.h"
#include "tenon/compiler/fuse/problem.h"

namespace tenon::compiler {

Result<bool> Fuser::EmitDriver(NodeId id, plan::Seq& out, Status& why) {
  const GraphNode& node = p_[id];
  std::optional<drivers::Problem> problem = ProblemOf(p_, node);
  if (!problem) return false;
  why = options_.drivers->Match(*problem).status();
  if (!why.ok()) return false;

  std::vector<View> operands, results;
  for (size_t i = 0; i < node.in.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(operands.emplace_back(), ViewOf(node.in[i], out));
    problem->operands[i] = ArrayOf(operands[i]);
  }
  TENON_ASSIGN_OR_RETURN(const drivers::Registry::Choice choice, options_.drivers->Match(*problem));
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::optional<Dims>& layout = choice.offer.layouts[i];
    if (!layout) continue;
    const Dims wanted = plan::StridesOfLayout(operands[i].dims, *layout);
    if (wanted == RowMajorStridesElems(operands[i].dims)) {
      // Others may use it as well.
      TENON_ASSIGN_OR_RETURN(operands[i], DenseViewOf(node.in[i], out));
    } else {
      const View laid = NewTempWithLayout(p_.shape(node.in[i]), *layout);
      Copy(operands[i], laid, out);
      operands[i] = laid;
    }
  }

  plan::DriverStep step;
  step.driver = choice.family->name();
  step.config = choice.offer.config;
  std::vector<StridedArray> inputs, outputs;
  for (const View& view : operands) {
    step.inputs.push_back(Slot(view));
    inputs.push_back(ArrayOf(view));
  }
  for (uint32_t i = 0; i < node.out.size(); ++i) {
    const View view = NewTemp(node.shape(i));
    step.outputs.push_back(Slot(view));
    outputs.push_back(ArrayOf(view));
    Bind({id, i}, view);
  }
  TENON_ASSIGN_OR_RETURN(const drivers::Facts facts, choice.family->Describe(step.config, {inputs, outputs}));
  if (facts.scratch_bytes > 0) step.scratch = Slot(NewTemp({DType::kU8, {facts.scratch_bytes}}));
  step.work = facts.work;
  f_.flops += facts.flops;
  out.push_back({std::move(step)});
  return true;
}

}  // namespace tenon::compiler
