#pragma once

#include <cstdint>
#include <span>

namespace tenon {

/// Copies an array of `dims` with `element_bytes` per element between two strided places that do not overlap. `to` and
/// `from` point at element (0, ..., 0); strides are in bytes, one per dim, of any sign. Runs of contiguous memory move
/// at once. Does not allocate for up to 12 dims.
void StridedCopy(void* to, std::span<const int64_t> to_stride_bytes, const void* from,
                 std::span<const int64_t> from_stride_bytes, std::span<const int64_t> dims, int64_t element_bytes);

}  // namespace tenon
