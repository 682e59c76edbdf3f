#include "tenon/compiler/fuse/fuse.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/fuser.h"

namespace tenon::compiler {

using plan::Seq;
using plan::SlotId;
using plan::SlotKind;

uint32_t Fuser::AddBuffer(SlotKind kind, uint32_t index, int64_t bytes) {
  f_.buffers.push_back({kind, index, bytes});
  return static_cast<uint32_t>(f_.buffers.size() - 1);
}

View Fuser::NewTemp(const Shape& shape) { return DenseView(AddBuffer(SlotKind::kTemp, 0, SizeBytes(shape)), shape); }

View Fuser::NewTempWithLayout(const Shape& shape, const Dims& minor_to_major) {
  View view = NewTemp(shape);
  if (!minor_to_major.empty()) view.strides = plan::StridesOfLayout(shape.dims, minor_to_major);
  return view;
}

SlotId Fuser::Slot(const View& view) {
  f_.views.push_back(view);
  return static_cast<SlotId>(f_.views.size() - 1);
}

void Fuser::Bind(Ref r, const View& view) {
  auto [it, fresh] = storage_.try_emplace(r, view);
  bound_.push_back({r, fresh ? std::nullopt : std::optional<View>(it->second)});
  it->second = view;
}

void Fuser::Unbind(size_t count) {
  while (bound_.size() > count) {
    auto& [r, before] = bound_.back();
    if (before)
      storage_[r] = *before;
    else
      storage_.erase(r);
    bound_.pop_back();
  }
}

uint32_t Fuser::ConstantBuffer(const Literal& literal, DType type) {
  std::vector<std::pair<DType, uint32_t>>& alike = constant_of_[literal.hash];
  for (const auto& [of, buffer] : alike) {
    const auto& bytes = f_.constants[f_.buffers[buffer].index].bytes;
    if (of == type && (bytes == literal.bytes || *bytes == *literal.bytes)) return buffer;
  }
  alike.push_back({type, AddBuffer(SlotKind::kConst, static_cast<uint32_t>(f_.constants.size()),
                                   static_cast<int64_t>(literal.bytes->size()))});
  f_.constants.push_back({literal.bytes, literal.hash});
  return alike.back().second;
}

std::optional<View> Fuser::DeriveView(const GraphNode& node, const View& from) {
  View view = from;
  const Dims& dims = node.shape().dims;
  switch (node.op) {
    case OpCode::kTranspose:
      for (size_t i = 0; i < dims.size(); ++i)
        view.strides[i] = from.strides[static_cast<size_t>(node.attrs<TransposeAttrs>().permutation[i])];
      break;
    case OpCode::kReverse:
      for (int64_t d : node.attrs<ReverseAttrs>().dimensions) {
        const size_t i = static_cast<size_t>(d);
        view.offset_elems += (dims[i] - 1) * from.strides[i];
        view.strides[i] = -from.strides[i];
      }
      break;
    case OpCode::kSlice:
      for (size_t i = 0; i < dims.size(); ++i) {
        view.offset_elems += node.attrs<SliceAttrs>().start_indices[i] * from.strides[i];
        view.strides[i] = from.strides[i] * node.attrs<SliceAttrs>().strides[i];
      }
      break;
    case OpCode::kBroadcast:
      view.strides.assign(dims.size(), 0);
      for (size_t i = 0; i < from.dims.size(); ++i) {
        const size_t to = static_cast<size_t>(node.attrs<BroadcastAttrs>().broadcast_dimensions[i]);
        if (from.dims[i] == dims[to]) view.strides[to] = from.strides[i];
      }
      break;
    case OpCode::kReshape: {
      std::optional<Dims> strides = ReshapedStrides(from.dims, from.strides, dims);
      if (!strides) return std::nullopt;
      view.strides = *std::move(strides);
      break;
    }
    case OpCode::kBitcast:
      view.dtype = node.shape().dtype;
      break;
    default:
      return std::nullopt;
  }
  view.dims = dims;
  return view;
}

Result<View> Fuser::ViewOf(Ref r, Seq& out) {
  // Down to what lies in memory, then back up through the views of it.
  std::vector<Ref> through;
  std::optional<View> view;
  while (!view) {
    const GraphNode& node = p_[r.node];
    if (auto it = storage_.find(r); it != storage_.end()) {
      view = it->second;
    } else if (node.op == OpCode::kConstant) {
      view = DenseView(ConstantBuffer(node.literal, node.shape().dtype), node.shape());
      if (node.literal.splat) view->strides.assign(node.shape().rank(), 0);
      Bind(r, *view);
    } else if (node.op == OpCode::kBarrier) {
      r = node.in[r.result];
    } else if (IsPureView(p_, node)) {
      through.push_back(r);
      r = node.in[0];
    } else {
      return Internal(fmt::format("%{} ({}) has no memory", r.node, OpName(node.op)));
    }
  }
  for (size_t i = through.size(); i-- > 0;) {
    const GraphNode& node = p_[through[i].node];
    std::optional<View> derived = DeriveView(node, *view);
    if (!derived) {
      const View dense = NewTemp({view->dtype, view->dims});
      Copy(*view, dense, out);
      derived = DeriveView(node, dense);
    }
    if (!derived) return Internal(fmt::format("no view of %{} ({})", through[i].node, OpName(node.op)));
    view = derived;
    Bind(through[i], *view);
  }
  return *view;
}

Result<View> Fuser::DenseViewOf(Ref r, Seq& out) {
  TENON_ASSIGN_OR_RETURN(View view, ViewOf(r, out));
  if (IsDense(view)) return view;
  const View dense = NewTemp({view.dtype, view.dims});
  Copy(view, dense, out);
  Bind(r, dense);
  return dense;
}

Result<View> Fuser::KernelViewOf(Ref r, Seq& out) {
  TENON_ASSIGN_OR_RETURN(View view, ViewOf(r, out));
  for (size_t i = 0; i < view.dims.size(); ++i) {
    if (view.dims[i] > 1 && view.strides[i] < 0) return DenseViewOf(r, out);
  }
  return view;
}

uint32_t Fuser::KernelIndex(kir::Kernel kernel) {
  std::vector<uint32_t>& alike = kernel_of_[kir::Hash(kernel)];
  const auto same = std::find_if(alike.begin(), alike.end(), [&](uint32_t k) { return f_.kernels[k] == kernel; });
  if (same != alike.end()) return *same;
  alike.push_back(static_cast<uint32_t>(f_.kernels.size()));
  f_.kernels.push_back(std::move(kernel));
  return alike.back();
}

void Fuser::AddKernelStep(MadeKernel made, const std::vector<View>& views, Seq& out) {
  plan::KernelStep step;
  step.kernel = KernelIndex(std::move(made.kernel));
  for (size_t i = 0; i < made.buffers.size(); ++i) {
    step.buffers.push_back(made.buffers[i].kind == BoundBuffer::Kind::kLocal ? plan::kNoSlot : Slot(views[i]));
  }
  for (int64_t v : made.params) step.params.push_back(v);
  step.work = made.work;
  for (const auto& [write, read] : made.in_place) f_.in_place[step.buffers[write]].push_back(step.buffers[read]);
  out.push_back({std::move(step)});
}

void Fuser::AddOwnKernel(MadeKernel made, const std::vector<View>& views, Seq& out, std::optional<target::Work> work) {
  FinishKernel(made, *p_.target, &checks_);
  made.in_place.clear();
  if (work) made.work = *work;
  AddKernelStep(std::move(made), views, out);
}

Status Fuser::EmitNode(NodeId id, Seq& out) {
  const GraphNode& node = p_[id];
  switch (node.op) {
    case OpCode::kParameter:
    case OpCode::kConstant:
    case OpCode::kBarrier:
    case OpCode::kToken:
      return OkStatus();
    case OpCode::kScatter: {
      TENON_ASSIGN_OR_RETURN(const bool done, EmitScatter(id, out));
      return done ? OkStatus() : EmitEvaluate(id, out);
    }
    case OpCode::kReduceWindow: {
      TENON_ASSIGN_OR_RETURN(const bool done, EmitScan(id, out));
      return done ? OkStatus() : EmitEvaluate(id, out);
    }
    case OpCode::kConcatenate:
      return EmitConcatenate(id, out);
    case OpCode::kWhile:
      return EmitWhile(id, out);
    case OpCode::kCase:
      return EmitCase(id, out);
    case OpCode::kCustomCall:
      return EmitCustomCall(id, out);
    default: {
      if (IsPureView(p_, node)) return OkStatus();
      Status why;
      TENON_ASSIGN_OR_RETURN(const bool driven, EmitDriver(id, out, why));
      if (driven) return OkStatus();
      const Status evaluated = EmitEvaluate(id, out);
      return evaluated.ok() || why.ok() ? evaluated : evaluated.WithContext(why.message());
    }
  }
}

Result<FusedProgram> Fuser::Run() {
  for (size_t i = 0; i < p_.main.args.size(); ++i) {
    const Shape& shape = p_[p_.main.args[i]].shape();
    plan::Input input{shape, options_.argument_strides[i], p_.parameters[i].memory_kind};
    if (shape.dtype != DType::kToken) {
      View view = DenseView(AddBuffer(SlotKind::kArg, static_cast<uint32_t>(i), SizeBytes(shape)), shape);
      view.strides = options_.argument_strides[i];
      Bind({p_.main.args[i], 0}, view);
    }
    f_.inputs.push_back(std::move(input));
  }
  for (size_t i = 0; i < p_.main.results.size(); ++i) layouts_.Want(p_.main.results[i], options_.result_strides[i]);
  DescribeCalls(p_.main);
  TENON_RETURN_IF_ERROR(EmitBlock(p_.main, f_.steps));
  for (size_t i = 0; i < p_.main.results.size(); ++i) {
    const Shape& shape = p_.shape(p_.main.results[i]);
    plan::Output output;
    output.shape = shape;
    output.stride_elems = options_.result_strides[i];
    output.memory_kind = p_.results[i].memory_kind;
    f_.outputs.push_back(std::move(output));
    if (shape.dtype == DType::kToken) continue;
    View to = DenseView(AddBuffer(SlotKind::kOut, static_cast<uint32_t>(i), SizeBytes(shape)), shape);
    to.strides = options_.result_strides[i];
    const size_t first = f_.steps.size();
    TENON_ASSIGN_OR_RETURN(View from, ViewOf(p_.main.results[i], f_.steps));
    Copy(from, to, f_.steps);
    NoteOrigins({&p_.main.results[i].node, 1}, first, f_.steps);
  }
  TENON_RETURN_IF_ERROR(checks_.failed);
  return std::move(f_);
}

Result<FusedProgram> Fuse(const Program& program, const FuseOptions& options, const OpExporter& exporter) {
  return Fuser(program, options, exporter).Run();
}

}  // namespace tenon::compiler
