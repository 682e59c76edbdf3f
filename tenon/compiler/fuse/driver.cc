// Ops to the drivers that take them on.

#include <algorithm>

#include "tenon/compiler/fuse/fuser.h"
#include "tenon/compiler/fuse/hook.h"
#include "tenon/compiler/fuse/problem.h"

namespace tenon::compiler {

Result<bool> Fuser::EmitDriver(NodeId id, plan::Seq& out, Status& why, const MadeKernel* finish, bool* finished) {
  const GraphNode& node = p_[id];
  std::optional<drivers::Problem> problem = ProblemOf(p_, node);
  if (!problem) return false;
  const Result<drivers::Registry::Choice> first = options_.drivers->Match(*problem);
  if (!first.ok() || first->on_host) {
    TENON_ASSIGN_OR_RETURN(const bool made, EmitOwnKernel(id, finish, finished, out));
    if (made) return true;
  }
  why = first.status();
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
  std::vector<View> views;
  for (uint32_t i = 0; i < node.out.size(); ++i) {
    views.push_back(NewTemp(node.shape(i)));
    step.outputs.push_back(Slot(views[i]));
    outputs.push_back(ArrayOf(views[i]));
  }
  TENON_ASSIGN_OR_RETURN(const drivers::Facts facts, choice.family->Describe(step.config, {inputs, outputs}));
  if (facts.scratch_bytes > 0) step.scratch = Slot(NewTemp({DType::kU8, {facts.scratch_bytes}}));
  step.work = facts.work;
  bool hooked = false;
  if (finish != nullptr && !choice.on_host) {
    TENON_ASSIGN_OR_RETURN(hooked, AddHook(id, *finish, facts, views[0], step, out));
    *finished = hooked;
  }
  for (uint32_t i = 0; !hooked && i < node.out.size(); ++i) Bind({id, i}, views[i]);
  out.push_back({std::move(step)});
  return true;
}

Result<bool> Fuser::EmitOwnKernel(NodeId id, const MadeKernel* finish, bool* finished, plan::Seq& out) {
  // A CPU has drivers for all but convolutions of some types.
  if (p_.target->kind == target::Kind::kCpu && p_[id].op != OpCode::kConvolution) return false;
  switch (p_[id].op) {
    case OpCode::kDot:
      return EmitProduct(id, finish, finished, out);
    case OpCode::kConvolution:
      return EmitConvolution(id, finish, finished, out);
    case OpCode::kSort:
      return EmitSort(id, out);
    case OpCode::kFft:
      return EmitFourier(id, out);
    default:
      return false;
  }
}

Result<bool> Fuser::AddHook(NodeId id, const MadeKernel& kernel, const drivers::Facts& facts, const View& result,
                            plan::DriverStep& step, plan::Seq& out) {
  const auto point = std::find_if(facts.hooks.begin(), facts.hooks.end(), [](const drivers::HookPoint& p) {
    return p.role == drivers::HookPoint::Role::kChangesOutput && p.index == 0;
  });
  const auto stored = std::find_if(kernel.buffers.begin(), kernel.buffers.end(),
                                   [](const BoundBuffer& b) { return b.kind == BoundBuffer::Kind::kWrite; });
  if (point == facts.hooks.end() || stored == kernel.buffers.end() || p_[id].out.size() != 1) return false;
  std::optional<MadeHook> made = HookOf(kernel, {id, 0}, *point, facts.work, *p_.target, &checks_);
  if (!made) return false;
  plan::Hook hook;
  for (const BoundBuffer& b : made->buffers) {
    if (b.kind == BoundBuffer::Kind::kLocal) {
      hook.buffers.push_back(plan::kNoSlot);
      continue;
    }
    TENON_ASSIGN_OR_RETURN(const View view, KernelViewOf(b.value, out));
    hook.buffers.push_back(Slot(view));
  }
  for (int64_t v : made->params) hook.params.push_back(v);
  hook.kernel = KernelIndex(std::move(made->kernel));
  step.hooks.emplace_back(point->name, std::move(hook));
  step.work += made->work;
  // The result's memory holds what is made of it, which may be shaped otherwise.
  const Shape& shape = p_.shape(stored->value);
  Bind(stored->value, {result.buffer, result.offset_elems, shape.dtype, shape.dims, RowMajorStridesElems(shape.dims)});
  return true;
}

}  // namespace tenon::compiler
