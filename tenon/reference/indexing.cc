#include "tenon/reference/indexing.h"

#include <cstring>

#include "tenon/reference/scalar.h"

namespace tenon::reference {
namespace {

template <class T>
void CopyLevel(std::span<const int64_t> dims, T* to, std::span<const int64_t> to_strides, const T* from,
               std::span<const int64_t> from_strides) {
  if (dims.empty()) {
    *to = *from;
    return;
  }
  if (dims.size() == 1) {
    const int64_t a = to_strides[0], b = from_strides[0];
    if (a == 1 && b == 1) {
      std::memmove(to, from, static_cast<size_t>(dims[0]) * sizeof(T));
    } else {
      for (int64_t i = 0; i < dims[0]; ++i) to[i * a] = from[i * b];
    }
    return;
  }
  for (int64_t i = 0; i < dims[0]; ++i) {
    CopyLevel(dims.subspan(1), to + i * to_strides[0], to_strides.subspan(1), from + i * from_strides[0],
              from_strides.subspan(1));
  }
}

}  // namespace

void CopyElements(int width, std::span<const int64_t> dims, std::byte* to, std::span<const int64_t> to_strides,
                  const std::byte* from, std::span<const int64_t> from_strides) {
  if (NumElements(dims) == 0) return;
  VisitWidth(width, [&](auto zero) {
    using T = decltype(zero);
    CopyLevel(dims, reinterpret_cast<T*>(to), to_strides, reinterpret_cast<const T*>(from), from_strides);
  });
}

void FillElements(int width, int64_t count, std::byte* to, const std::byte* value) {
  VisitWidth(width, [&](auto zero) {
    using T = decltype(zero);
    T v;
    std::memcpy(&v, value, sizeof(T));
    for (int64_t i = 0; i < count; ++i) reinterpret_cast<T*>(to)[i] = v;
  });
}

}  // namespace tenon::reference
