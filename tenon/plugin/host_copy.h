#pragma once

#include <cstdint>
#include <span>

#include "tenon/base/dtype.h"

namespace tenon::plugin {

/// Copies an array of `dims` elements of `element_bytes` each between two strided places, which must not overlap.
/// Strides are in bytes, one per dimension, and may be negative or 0 in `src`. Addresses are those of the element [0,
/// 0, ...]; nothing is assumed about alignment.
void CopyStrided(void* dst, std::span<const int64_t> dst_strides, const void* src, std::span<const int64_t> src_strides,
                 std::span<const int64_t> dims, int element_bytes);

/// Brings elements narrower than a byte, one byte each, into the form that buffers hold: value in the low bits, signed
/// integers sign-extended, the rest zero. Leaves other types alone.
void NormalizeSubByte(DType type, void* data, int64_t num_elements);

/// Whether NormalizeSubByte does anything for the type.
bool NeedsNormalizing(DType type);

}  // namespace tenon::plugin
