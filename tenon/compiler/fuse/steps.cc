// Steps that are no kernels: loops, branches, calls, ops for the evaluator.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_set>
#include <utility>

#include "tenon/compiler/fuse/fuser.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/problem.h"
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
  std::optional<NativeLoop> chunks;
  if (const int64_t chunk = ChunkOf(id); chunk > 0) {
    TENON_ASSIGN_OR_RETURN(chunks, MakeNativeLoop(id, chunk));
    // Whoever looks at the same values from here on finds them where these steps leave them.
    if (chunks) std::ranges::move(chunks->before, std::back_inserter(out));
  } else {
    TENON_ASSIGN_OR_RETURN(const bool native, EmitNativeLoop(id, out));
    if (native) {
      NoteOrigins(WithInner(p_, id), first, out);
      return OkStatus();
    }
  }
  const GraphNode& node = p_[id];
  const Block& condition = node.blocks[0];
  plan::WhileStep step;
  bool effects = false;
  for (NodeId n : condition.nodes) effects |= p_[n].side_effect;
  const int64_t trips = chunks ? -1 : KnownTrips(p_, node);
  if (!effects) step.trip_count = trips;
  std::vector<bool> kept(node.in.size(), true);
  const Block body = step.trip_count < 0 ? node.blocks[1] : NeededOf(id, kept);
  for (size_t i = 0; i < node.in.size(); ++i) kept[i] = kept[i] && !IsToken(node.shape(static_cast<uint32_t>(i)));
  std::vector<View> carried(node.in.size());
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (!kept[i]) continue;
    TENON_ASSIGN_OR_RETURN(View init, ViewOf(node.in[i], out));
    carried[i] = NewTemp(node.shape(static_cast<uint32_t>(i)));
    Copy(init, carried[i], out);
  }
  int64_t bytes = 0;
  for (const Shape& shape : node.out) bytes += IsToken(shape) ? 0 : SizeBytes(shape);
  const double step_ops_around =
      std::exchange(step_ops_, bytes <= policy::kLinkedBytes ? policy::kLinkedStepOps : policy::kLaunchOps);
  const bool in_loop_around = std::exchange(in_loop_, true);
  const size_t outside = bound_.size();
  auto bind = [&](const Block& block) {
    for (size_t i = 0; i < block.args.size(); ++i) {
      if (kept[i]) Bind({block.args[i], 0}, carried[i]);
    }
  };
  auto leave = [&] { Unbind(outside); };
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
  if (!chunks) TENON_RETURN_IF_ERROR(TurnMatrices(body, trips, out));
  bind(node.blocks[1]);
  std::vector<Ref> results;
  if (chunks) {
    TENON_RETURN_IF_ERROR(EmitChunk(*std::move(chunks), carried, step));
  } else {
    TENON_RETURN_IF_ERROR(EmitBlock(body, step.body));
    results = node.blocks[1].results;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!kept[i] || results[i] == Ref{node.blocks[1].args[i], 0}) continue;
    TENON_ASSIGN_OR_RETURN(View next, ViewOf(results[i], step.body));
    // What a kernel moves better than a copy is moved in the body, perhaps right to where it is carried.
    Seq moved;
    const View own = NewTemp(node.shape(static_cast<uint32_t>(i)));
    Copy(next, own, moved);
    if (!moved.empty() && !std::holds_alternative<plan::CopyStep>(moved.back().is)) {
      std::ranges::move(moved, std::back_inserter(step.body));
      next = own;
    }
    step.carry.push_back({Slot(next), Slot(carried[i])});
  }
  leave();
  step_ops_ = step_ops_around;
  in_loop_ = in_loop_around;
  for (size_t i = 0; i < node.out.size(); ++i) {
    if (kept[i]) Bind({id, static_cast<uint32_t>(i)}, carried[i]);
  }
  out.push_back({std::move(step)});
  return OkStatus();
}

Block Fuser::NeededOf(NodeId id, std::vector<bool>& needed) const {
  const GraphNode& loop = p_[id];
  const Block& body = loop.blocks[1];
  std::vector<NodeId> roots;
  for (NodeId n : body.nodes) {
    if (p_[n].side_effect || !p_[n].blocks.empty()) roots.push_back(n);
  }
  for (size_t i = 0; i < needed.size(); ++i) {
    if (IsToken(loop.shape(static_cast<uint32_t>(i)))) roots.push_back(body.results[i].node);
  }
  const SeenOfLoop seen = SeenOf(p_, id, captures_, used_, roots);
  needed = seen.carries;
  Block part;
  for (NodeId n : body.nodes) {
    if (seen.nodes.contains(n)) part.nodes.push_back(n);
  }
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i] && !IsToken(loop.shape(static_cast<uint32_t>(i)))) continue;
    part.args.push_back(body.args[i]);
    part.results.push_back(body.results[i]);
  }
  return part;
}

Status Fuser::TurnMatrices(const Block& body, int64_t trips, Seq& out) {
  if (trips >= 0 && trips < policy::kMinTurnedTrips) return OkStatus();
  std::unordered_set<NodeId> inside(body.nodes.begin(), body.nodes.end());
  inside.insert(body.args.begin(), body.args.end());
  struct Uses {
    int all = 0;
    int wanting = 0;  ///< That want `layout`, the first wish.
    Dims layout;
  };
  std::map<Ref, Uses> uses;
  const auto want = [&uses](Ref matrix, const Dims& layout) {
    Uses& of = uses[matrix];
    if (of.wanting == 0) of.layout = layout;
    if (of.layout == layout) ++of.wanting;
  };
  for (NodeId id : body.nodes) {
    for (Ref r : p_[id].in) ++uses[r].all;
    for (NodeId captured : captures_.Of(id)) {
      for (uint32_t i = 0; i < p_[captured].out.size(); ++i) ++uses[{captured, i}].all;
    }
  }
  for (Ref r : body.results) ++uses[r].all;
  for (NodeId id : body.nodes) {
    const GraphNode& node = p_[id];
    if (node.op == OpCode::kDot && RepaysCopies(trips)) {
      for (size_t i = 0; i < node.in.size(); ++i) {
        if (inside.contains(node.in[i].node)) continue;
        TENON_ASSIGN_OR_RETURN(const std::optional<Dims> layout, LastingLayout(node, i, out));
        if (layout) want(node.in[i], *layout);
      }
    }
    // The rows of written-out sums along them.
    if (!IsUnrolledReduce(p_, node) || node.in.size() != 2) continue;
    const GraphNode& product = p_[node.in[0].node];
    const auto& along = node.attrs<ReduceAttrs>().dimensions;
    if (product.op != OpCode::kMultiply || along.size() != 1) continue;
    for (Ref side : product.in) {
      const GraphNode& spread = p_[side.node];
      if (spread.op != OpCode::kBroadcast || inside.contains(spread.in[0].node)) continue;
      const Shape& matrix = p_.shape(spread.in[0]);
      if (matrix.rank() != 2 || matrix.dims[0] < policy::kMinTurnedRows || SizeBytes(matrix) > policy::kLinkedBytes)
        continue;
      if (spread.attrs<BroadcastAttrs>().broadcast_dimensions[1] == along[0]) want(spread.in[0], {0, 1});
    }
  }
  for (const auto& [matrix, use] : uses) {
    if (use.wanting == 0 || use.wanting != use.all) continue;
    TENON_ASSIGN_OR_RETURN(const View lies, ViewOf(matrix, out));
    const View turned = NewTempWithLayout(p_.shape(matrix), use.layout);
    if (lies.strides == turned.strides) continue;
    Copy(lies, turned, out);
    Bind(matrix, turned);
  }
  return OkStatus();
}

Result<std::optional<Dims>> Fuser::LastingLayout(const GraphNode& product, size_t i, Seq& out) {
  std::optional<drivers::Problem> problem = ProblemOf(p_, product);
  if (!problem || !options_.drivers->Match(*problem).ok()) return std::optional<Dims>();
  TENON_ASSIGN_OR_RETURN(const View lies, ViewOf(product.in[i], out));
  problem->operands[i] = ArrayOf(lies);
  problem->lasting = i;
  TENON_ASSIGN_OR_RETURN(const drivers::Registry::Choice choice, options_.drivers->Match(*problem));
  return choice.offer.layouts[i];
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
