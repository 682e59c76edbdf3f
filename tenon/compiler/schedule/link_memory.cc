// Memory of the linked kernel: one buffer per place, in the form in which its users index it.

#include <algorithm>

#include "tenon/compiler/schedule/link_writer.h"

namespace tenon::compiler {

using kir::kNone;
using kir::Size;
using kir::Val;
using plan::SlotId;

kir::Buf LinkWriter::AddBuffer(kir::BufKind kind, DType type, const Dims& extents, const Dims& strides, SlotId slot) {
  SmallVector<Size, 4> extent, stride;
  for (int64_t e : extents) extent.push_back(Size::Of(e));
  for (int64_t s : strides) stride.push_back(Size::Of(s));
  slots_.push_back(slot);
  return b_.AddBuffer(kind, type, std::move(extent), std::move(stride));
}

kir::Buf LinkWriter::BufferOf(uint32_t id) {
  if (const auto it = buffer_.find(id); it != buffer_.end()) return it->second;
  const LinkPlace& place = Place(id);
  Form form{0, {place.elements}, {1}};
  if (!place.is_scalar && !IsFlat(id)) form = *place.form;
  kir::BufKind kind = kir::BufKind::kLocal;
  SlotId slot = plan::kNoSlot;
  if (place.outlives) {
    kind = place.written ? kir::BufKind::kOut : kir::BufKind::kArg;
    slot = place.written ? place.carried : SlotOfReader(place, form, !place.is_scalar && IsFlat(id));
    if (slot == plan::kNoSlot || p_.views[slot].offset_elems != form.offset) {
      Fail();
      slot = plan::kNoSlot;
    }
  }
  return buffer_[id] = AddBuffer(kind, place.dtype, form.extents, form.strides, slot);
}

SlotId LinkWriter::SlotOfReader(const LinkPlace& place, const Form& form, bool flat) {
  for (SlotId s : place.read) {
    if (p_.views[s].buffer != p_.views[place.read[0]].buffer) return plan::kNoSlot;
  }
  for (SlotId s : place.read) {
    if (!flat && p_.views[s].offset_elems == form.offset) return s;
  }
  View whole{p_.views[place.read[0]].buffer, 0, place.dtype, {place.elements}, {1}};
  p_.views.push_back(std::move(whole));
  return static_cast<SlotId>(p_.views.size() - 1);
}

SmallVector<kir::Axis, 4> LinkWriter::AxesOf(uint32_t id, const Form& form, const SmallVector<kir::Axis, 4>& at) {
  if (IsScalar(id)) return {kir::AtOffset(Size::Of(0))};
  const LinkPlace& place = Place(id);
  if (!IsFlat(id)) {
    if (*place.form == form) return at;
    MakeFlat(id);
    return at;
  }
  kir::Axis flat;
  int64_t offset = form.offset;
  Val start = kNone;
  for (size_t i = 0; i < at.size(); ++i) {
    const int64_t stride = form.strides[i];
    offset += at[i].offset.baked * stride;
    for (const kir::Term& term : at[i].terms) {
      const auto same =
          std::find_if(flat.terms.begin(), flat.terms.end(), [&](const kir::Term& t) { return t.dim == term.dim; });
      if (same == flat.terms.end()) {
        flat.terms.push_back({term.dim, Size::Of(term.coef.baked * stride)});
      } else {
        same->coef = Size::Of(same->coef.baked + term.coef.baked * stride);
      }
    }
    if (at[i].start == kNone) continue;
    Val part = b_.Convert(DType::kS64, at[i].start);
    if (stride != 1) part = b_.Mul(part, b_.ConstS64(stride));
    start = start == kNone ? part : b_.Add(start, part);
  }
  flat.offset = Size::Of(offset);
  flat.start = start;
  return {flat};
}

Val LinkWriter::Signal() {
  if (signal_ == kir::kNoBuf) signal_ = AddBuffer(kir::BufKind::kSignal, DType::kPred, {1}, {1}, plan::kNoSlot);
  return b_.Read(signal_, {kir::AtOffset(Size::Of(0))});
}

kir::DimId LinkWriter::DimOf(int64_t extent, kir::DimKind kind) {
  const std::vector<kir::Dim>& dims = b_.kernel().dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (used_dims_ >> d & 1 || dims[d].kind != kind || dims[d].extent.baked != extent) continue;
    used_dims_ |= kir::DimMask{1} << d;
    return static_cast<kir::DimId>(d);
  }
  if (static_cast<int64_t>(dims.size()) >= target_.limits.dims) {
    Fail();
    return 0;
  }
  used_dims_ |= kir::DimMask{1} << dims.size();
  return b_.AddDim(Size::Of(extent), kind);
}

}  // namespace tenon::compiler
