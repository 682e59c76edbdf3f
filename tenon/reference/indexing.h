#pragma once

// Walking through arrays of any rank.

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/base/shape.h"

namespace tenon::reference {

/// Copies an array of `dims` elements of `width` bytes (1, 2, 4, 8, 16) between two places given by their first element
/// and by strides in elements, which may be zero or negative.
void CopyElements(int width, std::span<const int64_t> dims, std::byte* to, std::span<const int64_t> to_strides,
                  const std::byte* from, std::span<const int64_t> from_strides);

/// Writes `count` copies of the element at `value`.
void FillElements(int width, int64_t count, std::byte* to, const std::byte* value);

/// Steps `index` to the next one in row-major order; false (and all zeros) after the last.
inline bool NextIndex(std::span<const int64_t> dims, std::span<int64_t> index) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++index[d] < dims[d]) return true;
    index[d] = 0;
  }
  return false;
}

/// Calls f(index) for every index of an array of `dims`, row-major; not at all when it is empty.
template <class F>
void ForEachIndex(std::span<const int64_t> dims, F&& f) {
  if (NumElements(dims) == 0) return;
  Dims index(dims.size(), 0);
  do f(std::span<const int64_t>(index.data(), index.size()));
  while (NextIndex(dims, {index.data(), index.size()}));
}

inline int64_t Dot(std::span<const int64_t> index, std::span<const int64_t> strides) {
  int64_t sum = 0;
  for (size_t d = 0; d < index.size(); ++d) sum += index[d] * strides[d];
  return sum;
}

inline std::span<const int64_t> Span(const Dims& dims) { return {dims.data(), dims.size()}; }

inline bool Contains(std::span<const int64_t> list, int64_t value) {
  for (int64_t v : list) {
    if (v == value) return true;
  }
  return false;
}

inline int64_t CeilDiv(int64_t a, int64_t b) { return a > 0 ? (a - 1) / b + 1 : -(-a / b); }  // b > 0

}  // namespace tenon::reference
