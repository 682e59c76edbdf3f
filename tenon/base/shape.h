#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tenon/base/dtype.h"
#include "tenon/base/small_vector.h"
#include "tenon/base/status.h"

namespace tenon {

using Dims = SmallVector<int64_t, 6>;

/// Element type and extents of an array. Rank 0 is a scalar; extents of 0 are legal.
struct Shape {
  DType dtype = DType::kInvalid;
  Dims dims;

  size_t rank() const { return dims.size(); }
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// Product of the extents; 1 for rank 0. INVALID_ARGUMENT for a negative extent, or when the product leaves int64.
Result<int64_t> CheckedNumElements(std::span<const int64_t> dims);
/// The same without checks, for extents that passed them.
int64_t NumElements(std::span<const int64_t> dims);
/// Bytes of the array stored densely (ByteWidth per element). INVALID_ARGUMENT when that leaves int64.
Result<int64_t> CheckedSizeBytes(const Shape& shape);
/// The same without checks.
int64_t SizeBytes(const Shape& shape);

/// Strides in elements of a dense row-major array: the last is 1. Extents of 0 count as 1.
Dims RowMajorStridesElems(std::span<const int64_t> dims);

/// "f32[2,3]"; "s32[]" for a scalar.
std::string ToString(const Shape& shape);
std::string DimsToString(std::span<const int64_t> dims);

}  // namespace tenon
