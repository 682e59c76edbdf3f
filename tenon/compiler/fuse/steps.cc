// Steps that are no kernels: loops, branches, calls, ops for the evaluator.

#include <fmt/format.h>

#include <map>
#include <unordered_set>
#include <utility>

#include "tenon/compiler/fuse/fuser.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/ir/combiner.h"
#include "tenon/compiler/ir/trips.h"

namespace tenon::compiler {

using plan::Seq;
using plan::SlotId;

namespace {
bool IsToken(const Shape& shape) { return shape.dtype == DType::kToken; }

// A node after all that its blocks hold.
std::vector<NodeId> WithInner(const Program& p, NodeId id) {
  std::vector<NodeId> all;
  const auto add = [&](const auto& self, NodeId node) -> void {
    for (const Block& block : p[node].blocks) {
      for (const NodeId inner : block.nodes) self(self, inner);
    }
    all.push_back(node);
  };
  add(add, id);
  return all;
}
}  // namespace

Status Fuser::EmitWhile(NodeId id, Seq& out) {
  const size_t first = out.size();
  TENON_ASSIGN_OR_RETURN(bool native, EmitNativeLoop(id, out));
  if (native) {
    NoteOrigins(WithInner(p_, id), first, out);
    return OkStatus();
  }
  const GraphNode& node = p_[id];
  const Block& condition = node.blocks[0];
  const Block& body = node.blocks[1];
  std::vector<View> carried(node.in.size());
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (IsToken(node.shape(static_cast<uint32_t>(i)))) continue;
    TENON_ASSIGN_OR_RETURN(View init, ViewOf(node.in[i], out));
    carried[i] = NewTemp(node.shape(static_cast<uint32_t>(i)));
    Copy(init, carried[i], out);
  }
  plan::WhileStep step;
  int64_t bytes = 0;
  for (const Shape& shape : node.out) bytes += IsToken(shape) ? 0 : SizeBytes(shape);
  const double step_ops_around =
      std::exchange(step_ops_, bytes <= policy::kLinkedBytes ? policy::kLinkedStepOps : policy::kLaunchOps);
  const bool in_loop_around = std::exchange(in_loop_, true);
  const size_t outside = bound_.size();
  auto bind = [&](const Block& block) {
    for (size_t i = 0; i < block.args.size(); ++i) {
      if (!IsToken(p_[block.args[i]].shape())) Bind({block.args[i], 0}, carried[i]);
    }
  };
  auto leave = [&] { Unbind(outside); };
  bool effects = false;
  for (NodeId n : condition.nodes) effects |= p_[n].side_effect;
  if (!effects) step.trip_count = KnownTrips(p_, node);
  if (step.trip_count < 0) {
    bind(condition);
    TENON_RETURN_IF_ERROR(EmitBlock(condition, step.condition));
    TENON_ASSIGN_OR_RETURN(View predicate, DenseViewOf(condition.results[0], step.condition));
    // The predicate must be written by the condition: a constant or a carry is copied.
    const View own = NewTemp({DType::kPred, {}});
    Copy(predicate, own, step.condition);
    step.predicate = Slot(own);
    leave();
  }
  if (const int64_t trips = KnownTrips(p_, node); trips < 0 || trips >= policy::kMinTurnedTrips)
    TENON_RETURN_IF_ERROR(TurnMatrices(body, out));
  bind(body);
  TENON_RETURN_IF_ERROR(EmitBlock(body, step.body));
  for (size_t i = 0; i < body.results.size(); ++i) {
    if (IsToken(node.shape(static_cast<uint32_t>(i)))) continue;
    if (body.results[i] == Ref{body.args[i], 0}) continue;
    TENON_ASSIGN_OR_RETURN(View next, ViewOf(body.results[i], step.body));
    step.carry.push_back({Slot(next), Slot(carried[i])});
  }
  leave();
  step_ops_ = step_ops_around;
  in_loop_ = in_loop_around;
  for (size_t i = 0; i < node.out.size(); ++i) {
    if (!IsToken(node.shape(static_cast<uint32_t>(i)))) Bind({id, static_cast<uint32_t>(i)}, carried[i]);
  }
  out.push_back({std::move(step)});
  return OkStatus();
}

Status Fuser::TurnMatrices(const Block& body, Seq& out) {
  std::unordered_set<NodeId> inside(body.nodes.begin(), body.nodes.end());
  inside.insert(body.args.begin(), body.args.end());
  // By matrix: how often it is used, and how often as the rows of written-out sums along them.
  std::map<Ref, std::pair<int, int>> uses;
  for (NodeId id : body.nodes) {
    for (Ref r : p_[id].in) ++uses[r].first;
    for (NodeId captured : captures_.Of(id)) {
      for (uint32_t i = 0; i < p_[captured].out.size(); ++i) ++uses[{captured, i}].first;
    }
  }
  for (Ref r : body.results) ++uses[r].first;
  for (NodeId id : body.nodes) {
    const GraphNode& sum = p_[id];
    if (!IsUnrolledReduce(p_, sum) || sum.in.size() != 2) continue;
    const GraphNode& product = p_[sum.in[0].node];
    const auto& along = sum.attrs<ReduceAttrs>().dimensions;
    if (product.op != OpCode::kMultiply || along.size() != 1) continue;
    for (Ref side : product.in) {
      const GraphNode& spread = p_[side.node];
      if (spread.op != OpCode::kBroadcast || inside.contains(spread.in[0].node)) continue;
      const Shape& matrix = p_.shape(spread.in[0]);
      if (matrix.rank() != 2 || matrix.dims[0] < policy::kMinTurnedRows || SizeBytes(matrix) > policy::kLinkedBytes)
        continue;
      if (spread.attrs<BroadcastAttrs>().broadcast_dimensions[1] == along[0]) ++uses[spread.in[0]].second;
    }
  }
  for (const auto& [matrix, count] : uses) {
    if (count.second == 0 || count.first != count.second) continue;
    TENON_ASSIGN_OR_RETURN(const View rows, ViewOf(matrix, out));
    const View columns = NewTempWithLayout(p_.shape(matrix), {0, 1});
    if (rows.strides == columns.strides) continue;
    Copy(rows, columns, out);
    Bind(matrix, columns);
  }
  return OkStatus();
}

Status Fuser::EmitCase(NodeId id, Seq& out) {
  const GraphNode& node = p_[id];
  plan::CaseStep step;
  TENON_ASSIGN_OR_RETURN(View index, DenseViewOf(node.in[0], out));
  step.index = Slot(index);
  std::vector<View> results(node.out.size());
  for (size_t i = 0; i < node.out.size(); ++i) {
    if (!IsToken(node.out[i])) results[i] = NewTemp(node.out[i]);
  }
  const size_t outside = bound_.size();
  for (const Block& branch : node.blocks) {
    Seq seq;
    TENON_RETURN_IF_ERROR(EmitBlock(branch, seq));
    for (size_t i = 0; i < branch.results.size(); ++i) {
      if (IsToken(node.out[i])) continue;
      TENON_ASSIGN_OR_RETURN(View from, ViewOf(branch.results[i], seq));
      Copy(from, results[i], seq);
    }
    Unbind(outside);
    step.branches.push_back(std::move(seq));
  }
  for (size_t i = 0; i < node.out.size(); ++i) {
    if (!IsToken(node.out[i])) Bind({id, static_cast<uint32_t>(i)}, results[i]);
  }
  out.push_back({std::move(step)});
  return OkStatus();
}

void Fuser::DescribeCalls(const Block& block) {
  for (NodeId id : block.nodes) {
    const GraphNode& node = p_[id];
    for (const Block& inner : node.blocks) DescribeCalls(inner);
    if (node.op != OpCode::kCustomCall) continue;
    Result<OpExporter::Call> call = exporter_.custom_call(node);
    if (!call.ok()) continue;  // It fails again where it is emitted.
    for (size_t i = 0; i < std::min(node.in.size(), call->operand_layouts.size()); ++i) {
      const Dims& layout = call->operand_layouts[i];
      if (!layout.empty()) layouts_.Want(node.in[i], plan::StridesOfLayout(p_.shape(node.in[i]).dims, layout));
    }
    calls_.emplace(id, *std::move(call));
  }
}

Status Fuser::EmitCustomCall(NodeId id, Seq& out) {
  const GraphNode& node = p_[id];
  auto described = calls_.find(id);
  if (described == calls_.end()) {
    TENON_ASSIGN_OR_RETURN(OpExporter::Call found, exporter_.custom_call(node));
    described = calls_.emplace(id, std::move(found)).first;
  }
  const OpExporter::Call& call = described->second;
  plan::CustomCallStep step = call.step;
  for (size_t i = 0; i < node.in.size(); ++i) {
    const Shape& shape = p_.shape(node.in[i]);
    if (IsToken(shape)) {
      step.operands.push_back(plan::kNoSlot);
      continue;
    }
    const Dims layout = i < call.operand_layouts.size() ? call.operand_layouts[i] : Dims();
    TENON_ASSIGN_OR_RETURN(View view, ViewOf(node.in[i], out));
    const Dims wanted = layout.empty() ? DenseView(0, shape).strides : plan::StridesOfLayout(shape.dims, layout);
    if (!(view.strides == wanted)) {
      const View moved = NewTempWithLayout(shape, layout);
      Copy(view, moved, out);
      view = moved;
    }
    step.operands.push_back(Slot(view));
  }
  for (size_t i = 0; i < node.out.size(); ++i) {
    if (IsToken(node.out[i])) {
      step.results.push_back(plan::kNoSlot);
      continue;
    }
    const Dims layout = i < call.result_layouts.size() ? call.result_layouts[i] : Dims();
    const View view = NewTempWithLayout(node.out[i], layout);
    for (const auto& [result, operand] : step.aliases) {
      if (result != i || operand >= step.operands.size() || step.operands[operand] == plan::kNoSlot) continue;
      const View source = f_.views[step.operands[operand]];
      Copy(source, view, out);
      // Handlers may insist on finding the operand where the result is.
      if (source.strides == view.strides) step.operands[operand] = Slot(view);
    }
    step.results.push_back(Slot(view));
    Bind({id, static_cast<uint32_t>(i)}, view);
  }
  out.push_back({std::move(step)});
  return OkStatus();
}

Status Fuser::EmitEvaluate(NodeId id, Seq& out) {
  const GraphNode& node = p_[id];
  plan::EvaluateStep step;
  TENON_ASSIGN_OR_RETURN(step.program, exporter_.program(node));
  step.op = node.op == OpCode::kOpaque ? node.name : std::string(OpName(node.op));
  for (Ref r : node.in) {
    if (IsToken(p_.shape(r))) {
      step.operands.push_back(plan::kNoSlot);
      continue;
    }
    TENON_ASSIGN_OR_RETURN(View view, DenseViewOf(r, out));
    step.operands.push_back(Slot(view));
  }
  for (size_t i = 0; i < node.out.size(); ++i) {
    if (IsToken(node.out[i])) {
      step.results.push_back(plan::kNoSlot);
      continue;
    }
    const View view = NewTemp(node.out[i]);
    step.results.push_back(Slot(view));
    Bind({id, static_cast<uint32_t>(i)}, view);
  }
  out.push_back({std::move(step)});
  return OkStatus();
}

}  // namespace tenon::compiler
