#pragma once

#include <cstddef>

#include "tenon/base/dtype.h"

namespace tenon {

/// Whether a byte holds several elements of the type, as others pack them (handlers of custom calls): the first in the
/// lowest bits. Tenon keeps an element in a byte. Truths are never packed.
inline bool IsSubByte(DType type) {
  return type != DType::kPred && type != DType::kInvalid && DTypeBits(type) > 0 && DTypeBits(type) < 8 &&
         8 % DTypeBits(type) == 0;
}

/// Bytes that so many packed elements take.
inline size_t PackedBytes(DType type, size_t elements) {
  const auto per_byte = static_cast<size_t>(8 / DTypeBits(type));
  return (elements + per_byte - 1) / per_byte;
}

/// From an element per byte to packed ones, and back (signed integers with their sign). The arrays do not overlap.
void Pack(DType type, const void* from, size_t elements, void* to);
void Unpack(DType type, const void* from, size_t elements, void* to);

}  // namespace tenon
