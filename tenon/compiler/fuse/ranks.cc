// Short sorts as kernels: an element's place is the number of those that come before it.

#include <algorithm>
#include <vector>

#include "tenon/compiler/fuse/fuser.h"
#include "tenon/compiler/fuse/legality.h"
#include "tenon/compiler/fuse/sort_keys.h"
#include "tenon/compiler/fuse/tracer.h"

namespace tenon::compiler {

using kir::Val;

Result<bool> Fuser::EmitRanks(NodeId id, plan::Seq& out) {
  const GraphNode& node = p_[id];
  const auto& attrs = node.attrs<SortAttrs>();
  const auto along = static_cast<size_t>(attrs.dimension);
  const size_t num_keys = attrs.descending.size();
  const Shape& shape = p_.shape(node.in[0]);
  const int64_t n = shape.dims[along];
  const int64_t lines = n == 0 ? 0 : NumElements(shape.dims) / n;
  if (n < 2 || lines == 0) return false;
  const SortTimes times = TimesOfSort(p_, node);
  if (times.ranks > std::min(times.merges, times.host)) return false;
  if (!FitsKernels(p_, node) || !HasSortKeys(p_, node) || NumElements(node.shape().dims) == 0) return false;

  kir::KernelBuilder b;
  MadeKernel made;
  std::vector<View> views;
  kir::Stage stage;
  SmallVector<kir::Axis, 4> here, other;
  for (size_t d = 0; d < shape.rank(); ++d) {
    kir::Axis axis = kir::AtOffset(kir::Size::Of(0));
    if (shape.dims[d] != 1) {
      const kir::DimId dim = b.AddDim(kir::Size::Of(shape.dims[d]));
      stage.dims.push_back(dim);
      axis = kir::At(dim);
    }
    here.push_back(axis);
  }
  const kir::DimId self = here[along].terms[0].dim;
  const kir::DimId each = b.AddDim(kir::Size::Of(n), kir::DimKind::kReduce);
  stage.dims.push_back(each);
  other = here;
  other[along] = kir::At(each);

  const auto buffer = [&](Ref r, View view, BoundBuffer::Kind kind) {
    if (IsFloat(view.dtype)) view.dtype = MovedAs(p_, view.dtype);
    views.push_back(view);
    made.buffers.push_back({kind, r});
    return BufferFor(b, kind == BoundBuffer::Kind::kRead ? kir::BufKind::kArg : kir::BufKind::kOut, view);
  };
  std::vector<kir::Buf> operands;
  for (Ref r : node.in) {
    TENON_ASSIGN_OR_RETURN(const View view, KernelViewOf(r, out));
    operands.push_back(buffer(r, view, BoundBuffer::Kind::kRead));
  }
  std::vector<Val> mine, its;
  for (size_t i = 0; i < num_keys; ++i) {
    mine.push_back(b.Read(operands[i], here));
    its.push_back(b.Read(operands[i], other));
  }
  mine = SortKeys(b, p_, node, mine);
  its = SortKeys(b, p_, node, its);
  const Val before = ComesBefore(b, attrs, its, mine, b.Compare(kir::kLt, b.Index(each), b.Index(self)));
  const Val one = b.Convert(DType::kS32, before);
  const Val rank = b.AddReduce(stage, kir::DimMask{1} << each, kir::Op::kAdd, one, b.ConstS32(0));
  const Val place = b.Convert(DType::kS64, rank);

  size_t payload = num_keys;
  for (uint32_t i = 0; i < node.out.size(); ++i) {
    const Shape& result = node.shape(i);
    const View view = NewTemp(result);
    Clear(view, out);
    kir::Store store;
    store.buf = buffer({id, i}, view, BoundBuffer::Kind::kWrite);
    store.at = here;
    // Of the first few, when not all are wanted; a rank is a place of the operand otherwise.
    const Val last = b.ConstS64(result.dims[along] - 1);
    store.at[along] = kir::AtStart(b.Max(b.Min(place, last), b.ConstS64(0)));
    kir::Guard guard;
    guard.e = kir::AtStart(place);
    guard.hi = kir::Size::Of(result.dims[along]);
    store.guard.push_back(std::move(guard));
    if (attrs.is_position[i] != 0) {
      store.value = b.Convert(result.dtype, b.Index(self));
      stage.stores.push_back(std::move(store));
    } else {
      const kir::Buf from = operands[payload++];
      for (const uint8_t component : {0, 1}) {
        if (component == 1 && !IsComplex(result.dtype)) break;
        store.component = component;
        store.value = b.Read(from, here, component);
        stage.stores.push_back(store);
      }
    }
    Bind({id, i}, view);
  }
  b.AddStage(std::move(stage));
  made.kernel = b.Finish();
  AddOwnKernel(std::move(made), views, out);
  return true;
}

}  // namespace tenon::compiler
