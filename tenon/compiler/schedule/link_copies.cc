// Copies, and the carries of a loop, which are copied as if at once.

#include <algorithm>
#include <tuple>

#include "tenon/compiler/schedule/link_writer.h"

namespace tenon::compiler {

using kir::Size;
using kir::Val;
using plan::SlotId;

void LinkWriter::Carry(const std::vector<std::pair<SlotId, SlotId>>& pairs, kir::Seq& out) {
  struct Pair {
    SlotId from, to;
    kir::Buf saved;  ///< Where the next value waits.
  };
  std::vector<Pair> left;
  std::vector<std::pair<uint32_t, Val>> scalars;
  for (const auto& [from, to] : pairs) {
    const uint32_t f = survey_.PlaceOf(from), t = survey_.PlaceOf(to);
    if (f == t) {
      if (!SameView(from, to)) Fail();
    } else if (IsScalar(t) && IsScalar(f) && known_.contains(f)) {
      scalars.emplace_back(t, known_[f]);
    } else {
      left.push_back({from, to, kir::kNoBuf});
    }
  }
  while (!left.empty() && !failed_) {
    const auto free = std::find_if(left.begin(), left.end(), [&](const Pair& pair) {
      const uint32_t t = survey_.PlaceOf(pair.to);
      return std::none_of(left.begin(), left.end(), [&](const Pair& other) {
        return &other != &pair && other.saved == kir::kNoBuf && survey_.PlaceOf(other.from) == t;
      });
    });
    if (free != left.end()) {
      Copy(free->from, free->to, out, free->saved);
      left.erase(free);
      continue;
    }
    // They go round: the first one that does waits outside.
    const auto first = std::find_if(left.begin(), left.end(), [](const Pair& p) { return p.saved == kir::kNoBuf; });
    const View& view = p_.views[first->from];
    first->saved = AddBuffer(kir::BufKind::kLocal, view.dtype, {NumElements(view.dims)}, {1}, plan::kNoSlot);
    Move(first->from, first->saved, out);
  }
  for (const auto& [id, value] : scalars) {
    known_[id] = value;
    in_memory_.erase(id);
  }
}

bool LinkWriter::SameView(SlotId a, SlotId b) const {
  const View &x = p_.views[a], &y = p_.views[b];
  if (x.offset_elems != y.offset_elems || NumElements(x.dims) != NumElements(y.dims)) return false;
  if (IsDense(x) && IsDense(y)) return true;
  if (!(x.dims == y.dims)) return false;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    if (x.dims[i] != 1 && x.strides[i] != y.strides[i]) return false;
  }
  return true;
}

SmallVector<kir::Axis, 4> LinkWriter::Walk(const Dims& extents, kir::Stage& stage) {
  SmallVector<kir::Axis, 4> at;
  used_dims_ = 0;
  for (int64_t extent : extents) {
    if (extent == 1) {
      at.push_back(kir::AtOffset(Size::Of(0)));
      continue;
    }
    stage.dims.push_back(DimOf(extent, kir::DimKind::kParallel));
    at.push_back(kir::At(stage.dims.back()));
  }
  return at;
}

kir::Axis LinkWriter::InRow(const SmallVector<kir::Axis, 4>& at, const Dims& extents) {
  kir::Axis row;
  const Dims strides = RowMajorStridesElems(extents);
  for (size_t i = 0; i < at.size(); ++i) {
    for (const kir::Term& t : at[i].terms) row.terms.push_back({t.dim, Size::Of(strides[i])});
  }
  return row;
}

void LinkWriter::Store(kir::Stage& stage, kir::Buf buf, const SmallVector<kir::Axis, 4>& at, int component, Val value) {
  kir::Store store;
  store.buf = buf;
  store.at = at;
  store.value = value;
  store.component = static_cast<uint8_t>(component);
  stage.stores.push_back(std::move(store));
}

void LinkWriter::Move(SlotId from, kir::Buf to, kir::Seq& out) {
  const View x = p_.views[from];  // BufferOf may add views.
  const uint32_t f = survey_.PlaceOf(from);
  kir::Stage stage;
  const SmallVector<kir::Axis, 4> at = Walk(x.dims, stage);
  for (int component = 0; component < (IsComplex(x.dtype) ? 2 : 1) && !failed_; ++component) {
    const Val value =
        IsScalar(f) ? Current(f) : b_.Read(BufferOf(f), AxesOf(f, {x.offset_elems, x.dims, x.strides}, at), component);
    Store(stage, to, {InRow(at, x.dims)}, component, value);
  }
  out.push_back(kir::Step{std::move(stage)});
}

void LinkWriter::Copy(SlotId from, SlotId to, kir::Seq& out, kir::Buf saved) {
  const uint32_t f = survey_.PlaceOf(from), t = survey_.PlaceOf(to);
  if (f == t) {
    if (!SameView(from, to)) Fail();
    return;
  }
  SettleAll(out);
  kir::Stage stage;
  const View x = p_.views[from], y = p_.views[to];  // BufferOf may add views.
  if (IsScalar(f) && IsScalar(t)) {
    Become(t, saved == kir::kNoBuf ? Current(f) : b_.Read(saved, {kir::AtOffset(Size::Of(0))}), stage);
    if (!stage.stores.empty()) out.push_back(kir::Step{std::move(stage)});
    return;
  }
  Form a{x.offset_elems, x.dims, x.strides}, b{y.offset_elems, y.dims, y.strides};
  if (IsDense(x) && IsDense(y)) {
    // Dense arrays in any shape: that of whoever has one.
    Form like{0, {NumElements(x.dims)}, {1}};
    for (uint32_t id : {f, t}) {
      const LinkPlace& place = Place(id);
      if (IsScalar(id) || IsFlat(id) || NumElements(place.form->extents) != NumElements(x.dims)) continue;
      if (place.form->strides == RowMajorStridesElems(place.form->extents)) like = *place.form;
    }
    a.extents = b.extents = like.extents;
    a.strides = b.strides = like.strides;
  }
  const SmallVector<kir::Axis, 4> at = Walk(b.extents, stage);
  for (int component = 0; component < (IsComplex(x.dtype) ? 2 : 1) && !failed_; ++component) {
    Val value;
    if (saved != kir::kNoBuf) {
      value = b_.Read(saved, {InRow(at, b.extents)}, component);
    } else {
      value = IsScalar(f) ? Current(f) : b_.Read(BufferOf(f), AxesOf(f, a, at), component);
    }
    if (IsScalar(t)) {
      if (!stage.dims.empty()) return Fail();
      Become(t, value, stage);
      break;
    }
    Store(stage, BufferOf(t), AxesOf(t, b, at), component, value);
  }
  if (!stage.stores.empty()) out.push_back(kir::Step{std::move(stage)});
}

}  // namespace tenon::compiler
