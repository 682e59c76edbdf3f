#include "tenon/ffi_host/sub_byte.h"

#include <new>

#include "tenon/base/dtype.h"
#include "tenon/base/shape.h"

namespace tenon::ffi_host {
namespace {

bool IsPacked(DType type) { return type != DType::kPred && DTypeBits(type) < 8 && 8 % DTypeBits(type) == 0; }

struct Extent {
  size_t elements, bits, per_byte;
  explicit Extent(const plan::Slot& slot)
      : elements(static_cast<size_t>(NumElements(slot.dims))),
        bits(static_cast<size_t>(DTypeBits(slot.dtype))),
        per_byte(8 / bits) {}
};

}  // namespace

const SubByteArrays::Copy* SubByteArrays::Find(const void* data) const {
  for (const Copy& c : copies_) {
    if (c.of == data) return &c;
  }
  return nullptr;
}

void* SubByteArrays::Packed(const runtime::View& view) {
  if (view.slot == nullptr || !IsPacked(view.slot->dtype)) return view.data;
  if (const Copy* known = Find(view.data)) return known->bytes.get();
  const Extent extent(*view.slot);
  Copy copy{view.data, std::unique_ptr<uint8_t[]>(new (std::nothrow) uint8_t[extent.elements / extent.per_byte + 1]())};
  if (copy.bytes == nullptr) return nullptr;
  const auto* from = static_cast<const uint8_t*>(view.data);
  const unsigned mask = (1u << extent.bits) - 1;
  for (size_t i = 0; i < extent.elements; ++i) {
    uint8_t& to = copy.bytes[i / extent.per_byte];
    to = static_cast<uint8_t>(to | (from[i] & mask) << (i % extent.per_byte * extent.bits));
  }
  copies_.push_back(std::move(copy));
  return copies_.back().bytes.get();
}

void SubByteArrays::Unpack(const runtime::View& view) const {
  const Copy* copy = view.slot != nullptr && IsPacked(view.slot->dtype) ? Find(view.data) : nullptr;
  if (copy == nullptr) return;
  const Extent extent(*view.slot);
  auto* to = static_cast<uint8_t*>(view.data);
  const unsigned mask = (1u << extent.bits) - 1, sign = IsSigned(view.slot->dtype) ? 1u << (extent.bits - 1) : 0;
  for (size_t i = 0; i < extent.elements; ++i) {
    const unsigned bits = copy->bytes[i / extent.per_byte] >> (i % extent.per_byte * extent.bits) & mask;
    to[i] = static_cast<uint8_t>((bits ^ sign) - sign);
  }
}

}  // namespace tenon::ffi_host
