// Copies between views.

#include <algorithm>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/fuser.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/tracer.h"

namespace tenon::compiler {
namespace {

bool HasNegativeStride(const View& view) {
  return std::any_of(view.strides.begin(), view.strides.end(), [](int64_t s) { return s < 0; });
}

/// A kernel that moves every element; loops in the order of the target's memory.
MadeKernel MakeCopy(const View& from, const View& to, const target::Target& target, KernelChecks* checks) {
  kir::KernelBuilder b;
  const kir::Buf in = BufferFor(b, kir::BufKind::kArg, from);
  const kir::Buf out = BufferFor(b, kir::BufKind::kOut, to);
  SmallVector<size_t, 8> order;
  for (size_t d = 0; d < to.dims.size(); ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) { return to.strides[x] > to.strides[y]; });
  SmallVector<kir::Axis, 4> at;
  at.resize(to.dims.size(), kir::AtOffset(kir::Size::Of(0)));
  kir::Stage stage;
  for (size_t d : order) {
    if (to.dims[d] == 1) continue;
    const kir::DimId dim = b.AddDim(kir::Size::Of(to.dims[d]));
    at[d] = kir::At(dim);
    stage.dims.push_back(dim);
  }
  kir::Store store;
  store.buf = out;
  store.at = at;
  store.value = b.Read(in, at);
  stage.stores.push_back(std::move(store));
  b.AddStage(std::move(stage));
  MadeKernel made;
  made.kernel = b.Finish();
  made.buffers = {{BoundBuffer::Kind::kRead, {}}, {BoundBuffer::Kind::kWrite, {}}};
  FinishKernel(made, target, checks);
  made.in_place.clear();
  return made;
}

}  // namespace

void Fuser::Copy(const View& from, const View& to, plan::Seq& out) {
  const int64_t elements = NumElements(to.dims);
  if (elements == 0) return;
  // What moves as a whole may turn out to be there already.
  const bool whole = from.strides == to.strides && IsDense(from);
  // Kernels hold f16 and narrower floats as f32, which changes NaNs: copies keep every bit.
  const bool held = IsFloat(to.dtype) && to.dtype != DType::kBF16 && DTypeBits(to.dtype) < 32;
  const bool plain =
      KernelCanHold(to.dtype) && !held && !IsComplex(to.dtype) && DTypeBits(to.dtype) == 8 * ByteWidth(to.dtype);
  if (whole || !plain || to.dims.size() > policy::kMaxCopyDims ||
      elements * ByteWidth(to.dtype) < policy::kMinCopyKernelBytes || HasNegativeStride(from) ||
      HasNegativeStride(to)) {
    out.push_back({plan::CopyStep{Slot(from), Slot(to)}});
    return;
  }
  AddKernelStep(MakeCopy(from, to, *p_.target, &checks_), {from, to}, out);
}

Status Fuser::EmitConcatenate(NodeId id, plan::Seq& out) {
  const GraphNode& node = p_[id];
  const View whole = NewTemp(node.shape());
  const auto along = static_cast<size_t>(node.attrs<ConcatenateAttrs>().dimension);
  int64_t begin = 0;
  for (Ref r : node.in) {
    TENON_ASSIGN_OR_RETURN(const View part, ViewOf(r, out));
    View to = whole;
    to.offset_elems += begin * whole.strides[along];
    to.dims = part.dims;
    Copy(part, to, out);
    begin += part.dims[along];
  }
  Bind({id, 0}, whole);
  return OkStatus();
}

}  // namespace tenon::compiler
