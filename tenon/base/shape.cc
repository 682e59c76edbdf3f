#include "tenon/base/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tenon {

Result<int64_t> CheckedNumElements(std::span<const int64_t> dims) {
  int64_t n = 1;
  bool overflow = false;
  bool empty = false;
  for (int64_t d : dims) {
    if (d < 0) return InvalidArgument(fmt::format("extents {} contain the negative extent {}", DimsToString(dims), d));
    if (d == 0)
      empty = true;
    else
      overflow |= __builtin_mul_overflow(n, d, &n);
  }
  if (empty) return int64_t{0};
  if (overflow)
    return InvalidArgument(fmt::format("the number of elements of {} exceeds 2^63 - 1", DimsToString(dims)));
  return n;
}

int64_t NumElements(std::span<const int64_t> dims) {
  // Extents beside a 0 may have a product that leaves int64; multiplied as unsigned numbers they still give 0.
  uint64_t n = 1;
  for (int64_t d : dims) n *= static_cast<uint64_t>(d);
  return static_cast<int64_t>(n);
}

Result<int64_t> CheckedSizeBytes(const Shape& shape) {
  TENON_ASSIGN_OR_RETURN(int64_t n, CheckedNumElements(shape.dims));
  int64_t bytes;
  if (__builtin_mul_overflow(n, int64_t{ByteWidth(shape.dtype)}, &bytes)) {
    return InvalidArgument(fmt::format("the size of {} exceeds 2^63 - 1 bytes", ToString(shape)));
  }
  return bytes;
}

int64_t SizeBytes(const Shape& shape) { return NumElements(shape.dims) * ByteWidth(shape.dtype); }

Dims RowMajorStridesElems(std::span<const int64_t> dims) {
  Dims strides(dims.size(), 1);
  // Unsigned, since those of an empty array, which nobody uses, may leave int64.
  for (size_t i = dims.size(); i-- > 1;) {
    strides[i - 1] =
        static_cast<int64_t>(static_cast<uint64_t>(strides[i]) * static_cast<uint64_t>(std::max<int64_t>(dims[i], 1)));
  }
  return strides;
}

std::string DimsToString(std::span<const int64_t> dims) { return fmt::format("[{}]", fmt::join(dims, ",")); }

std::string ToString(const Shape& shape) {
  return fmt::format("{}{}", DTypeName(shape.dtype), DimsToString(shape.dims));
}

}  // namespace tenon
