// Copies between views.

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/base/strided_array.h"
#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/fuser.h"
#include "tenon/compiler/fuse/lane_cost.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/short_tiles.h"
#include "tenon/compiler/fuse/tracer.h"

namespace tenon::compiler {
namespace {

/// Cycles of a copy step (StridedCopy): neighbouring elements of both sides move at once, runs one by one.
double CopyCycles(const View& from, const View& to) {
  double units = 1;
  int64_t bytes = ByteWidth(to.dtype), reach = 0;
  std::vector<int64_t> loops;  // Innermost first.
  for (size_t i = to.dims.size(); i-- > 0;) {
    if (to.dims[i] == 1) continue;
    if (loops.empty() && to.strides[i] * ByteWidth(to.dtype) == bytes && from.strides[i] == to.strides[i]) {
      bytes *= to.dims[i];
      continue;
    }
    units *= static_cast<double>(to.dims[i]);
    loops.push_back(to.dims[i]);
    reach += to.dims[i] * (std::abs(to.strides[i]) + std::abs(from.strides[i])) * ByteWidth(to.dtype);
  }
  if (loops.empty()) return policy::kCopyRunCycles + policy::kCopyByteCycles * static_cast<double>(bytes);
  const bool near = reach <= policy::kCopyNearBytes;
  const double unit = bytes > policy::kCopyShortRun
                          ? policy::kCopyRunCycles + policy::kCopyByteCycles * static_cast<double>(bytes)
                      : near ? policy::kCopyUnitCycles
                             : policy::kCopyFarUnitCycles;
  // Near ones have their longest loop innermost; of others the longer one of a short loop and that around it is a row.
  int64_t row = loops[0];
  if (near) {
    row = *std::ranges::max_element(loops);
  } else if (row <= policy::kCopyShortLoop && loops.size() > 1) {
    row = std::max(row, loops[1]);
  }
  return units / static_cast<double>(row) * policy::kCopyRowCycles + units * unit;
}

/// A type of so many bytes that the CPU's kernels move as it is: they hold f16 and narrower floats as f32, which
/// changes NaNs, and complex numbers in two parts. Nothing where there is none.
std::optional<DType> UntouchedAs(DType type) {
  if (DTypeBits(type) != 8 * ByteWidth(type)) return std::nullopt;
  if (!IsComplex(type) && !(IsFloat(type) && type != DType::kBF16 && DTypeBits(type) < 32))
    return KernelCanHold(type) ? std::optional(type) : std::nullopt;
  switch (ByteWidth(type)) {
    case 1:
      return DType::kU8;
    case 2:
      return DType::kU16;
    case 8:
      return DType::kU64;
    default:
      return std::nullopt;
  }
}

/// The dims of a view in the order of memory, longest stride first.
SmallVector<size_t, 8> MemoryOrder(const View& view) {
  SmallVector<size_t, 8> order;
  for (size_t d = 0; d < view.dims.size(); ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) { return view.strides[x] > view.strides[y]; });
  return order;
}

View InMemoryOrder(const View& view) {
  const SmallVector<size_t, 8> order = MemoryOrder(view);
  View sorted = view;
  for (size_t i = 0; i < order.size(); ++i) {
    sorted.dims[i] = view.dims[order[i]];
    sorted.strides[i] = view.strides[order[i]];
  }
  return sorted;
}

/// The view in ascending addresses, and the axis of each dim that runs against them.
View Ascending(View view, const SmallVector<kir::Axis, 4>& at, SmallVector<kir::Axis, 4>& turned) {
  turned = at;
  for (size_t d = 0; d < view.dims.size(); ++d) {
    if (view.strides[d] >= 0 || view.dims[d] == 1) continue;
    view.offset_elems += (view.dims[d] - 1) * view.strides[d];
    view.strides[d] = -view.strides[d];
    for (kir::Term& t : turned[d].terms) t.coef = kir::Size::Of(-t.coef.baked);
    turned[d].offset = kir::Size::Of(view.dims[d] - 1);
  }
  return view;
}

/// A kernel that moves every element; loops in the order of the target's memory. What the views become is what the
/// step is to name.
MadeKernel MakeCopy(View& from, View& to) {
  kir::KernelBuilder b;
  SmallVector<kir::Axis, 4> at;
  at.resize(to.dims.size(), kir::AtOffset(kir::Size::Of(0)));
  kir::Stage stage;
  for (size_t d : MemoryOrder(to)) {
    if (to.dims[d] == 1) continue;
    const kir::DimId dim = b.AddDim(kir::Size::Of(to.dims[d]));
    at[d] = kir::At(dim);
    stage.dims.push_back(dim);
  }
  SmallVector<kir::Axis, 4> read_at;
  kir::Store store;
  from = Ascending(from, at, read_at);
  to = Ascending(to, at, store.at);
  const kir::Buf in = BufferFor(b, kir::BufKind::kArg, from);
  store.buf = BufferFor(b, kir::BufKind::kOut, to);
  for (const uint8_t component : {0, 1}) {
    if (component == 1 && !IsComplex(to.dtype)) break;
    store.component = component;
    store.value = b.Read(in, read_at, component);
    stage.stores.push_back(store);
  }
  b.AddStage(std::move(stage));
  MadeKernel made;
  made.kernel = b.Finish();
  made.buffers = {{BoundBuffer::Kind::kRead, {}}, {BoundBuffer::Kind::kWrite, {}}};
  return made;
}

}  // namespace

void Fuser::Copy(const View& from, const View& to, plan::Seq& out) {
  const int64_t elements = NumElements(to.dims);
  if (elements == 0) return;
  // What moves as a whole may turn out to be there already.
  if (from.strides == to.strides && HasNoGaps(from.dims, from.strides)) {
    out.push_back({plan::CopyStep{Slot(InMemoryOrder(from)), Slot(InMemoryOrder(to))}});
    return;
  }
  if (p_.target->kind == target::Kind::kGpu && to.dims.size() <= policy::kMaxCopyDims) {
    View bits_from = from, bits_to = to;
    bits_from.dtype = bits_to.dtype = MovedAs(p_, to.dtype);
    if (KernelCanHold(p_, bits_to.dtype)) {
      MadeKernel made = MakeCopy(bits_from, bits_to);
      AddOwnKernel(std::move(made), {bits_from, bits_to}, out);
      return;
    }
  }
  const bool large = elements * ByteWidth(to.dtype) >= policy::kMinCopyKernelBytes;
  const double step = large ? 0 : CopyCycles(from, to);
  const double worth = in_loop_ ? policy::kLoopCopyKernelCycles : policy::kCopyKernelCycles;
  const std::optional<DType> type = UntouchedAs(to.dtype);
  if (!type || to.dims.size() > policy::kMaxCopyDims || (!large && step <= worth)) {
    out.push_back({plan::CopyStep{Slot(from), Slot(to)}});
    return;
  }
  View read = from, written = to;
  read.dtype = written.dtype = *type;
  MadeKernel made = MakeCopy(read, written);
  if (!large) {
    kir::Kernel moved = made.kernel;
    MergeDims(moved);
    ArrangeShortDims(moved, *p_.target);
    if (step - LaneCycles(moved, *p_.target) <= worth) {
      out.push_back({plan::CopyStep{Slot(from), Slot(to)}});
      return;
    }
  }
  AddOwnKernel(std::move(made), {read, written}, out);
}

void Fuser::Clear(const View& to, plan::Seq& out) {
  const std::string zero(static_cast<size_t>(ByteWidth(to.dtype)), '\0');
  View from = DenseView(ConstantBuffer(MakeLiteral(zero, true), to.dtype), {to.dtype, to.dims});
  from.strides.assign(to.dims.size(), 0);
  Copy(from, to, out);
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
