#include "tenon/ffi_host/sub_byte.h"

#include <new>

#include "tenon/base/shape.h"
#include "tenon/base/sub_byte.h"

namespace tenon::ffi_host {
namespace {

size_t ElementsOf(const plan::Slot& slot) { return static_cast<size_t>(NumElements(slot.dims)); }

}  // namespace

const SubByteArrays::Copy* SubByteArrays::Find(const void* data) const {
  for (const Copy& c : copies_) {
    if (c.of == data) return &c;
  }
  return nullptr;
}

void* SubByteArrays::Packed(const runtime::View& view) {
  if (view.slot == nullptr || !IsSubByte(view.slot->dtype)) return view.data;
  if (const Copy* known = Find(view.data)) return known->bytes.get();
  const size_t elements = ElementsOf(*view.slot);
  // One more than it takes: none has no memory.
  Copy copy{view.data,
            std::unique_ptr<uint8_t[]>(new (std::nothrow) uint8_t[PackedBytes(view.slot->dtype, elements) + 1])};
  if (copy.bytes == nullptr) return nullptr;
  Pack(view.slot->dtype, view.data, elements, copy.bytes.get());
  copies_.push_back(std::move(copy));
  return copies_.back().bytes.get();
}

void SubByteArrays::Unpack(const runtime::View& view) const {
  const Copy* copy = view.slot != nullptr && IsSubByte(view.slot->dtype) ? Find(view.data) : nullptr;
  if (copy != nullptr) tenon::Unpack(view.slot->dtype, copy->bytes.get(), ElementsOf(*view.slot), view.data);
}

}  // namespace tenon::ffi_host
