#include "tenon/plugin/host_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tenon/base/small_vector.h"

namespace tenon::plugin {

namespace {

struct Dim {
  int64_t extent, dst, src;
};
using DimList = SmallVector<Dim, 8>;

// Drops extents of 1, orders by destination stride, and merges neighbours that are contiguous in both places.
DimList Simplify(std::span<const int64_t> dims, std::span<const int64_t> dst, std::span<const int64_t> src) {
  DimList list;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1) list.push_back(Dim{dims[i], dst[i], src[i]});
  }
  for (size_t i = 1; i < list.size(); ++i) {  // Insertion sort: few elements, and stable.
    for (size_t j = i; j > 0 && std::abs(list[j].dst) > std::abs(list[j - 1].dst); --j) std::swap(list[j], list[j - 1]);
  }
  DimList merged;
  for (const Dim& d : list) {
    if (!merged.empty() && merged.back().dst == d.dst * d.extent && merged.back().src == d.src * d.extent) {
      merged.back() = Dim{merged.back().extent * d.extent, d.dst, d.src};
    } else {
      merged.push_back(d);
    }
  }
  return merged;
}

template <int kBytes>
void CopyLine(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * dst_stride, src + i * src_stride, kBytes);
}

void CopyLine(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n, int bytes) {
  if (dst_stride == bytes && src_stride == bytes) {
    std::memcpy(dst, src, static_cast<size_t>(n) * bytes);
    return;
  }
  switch (bytes) {
    case 1:
      return CopyLine<1>(dst, dst_stride, src, src_stride, n);
    case 2:
      return CopyLine<2>(dst, dst_stride, src, src_stride, n);
    case 4:
      return CopyLine<4>(dst, dst_stride, src, src_stride, n);
    case 8:
      return CopyLine<8>(dst, dst_stride, src, src_stride, n);
    case 16:
      return CopyLine<16>(dst, dst_stride, src, src_stride, n);
    default:
      for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * dst_stride, src + i * src_stride, bytes);
  }
}

// Two dimensions of which one runs fast in the source and the other in the destination: tile by tile, so that the cache
// lines of both are used whole.
void CopyPlane(char* dst, const char* src, const Dim& outer, const Dim& inner, int bytes) {
  constexpr int64_t kTile = 32;
  for (int64_t i0 = 0; i0 < outer.extent; i0 += kTile) {
    int64_t rows = std::min(kTile, outer.extent - i0);
    for (int64_t j0 = 0; j0 < inner.extent; j0 += kTile) {
      int64_t columns = std::min(kTile, inner.extent - j0);
      for (int64_t i = i0; i < i0 + rows; ++i) {
        CopyLine(dst + i * outer.dst + j0 * inner.dst, inner.dst, src + i * outer.src + j0 * inner.src, inner.src,
                 columns, bytes);
      }
    }
  }
}

void CopyBlock(char* dst, const char* src, std::span<const Dim> dims, int bytes) {
  if (dims.size() == 1) {
    CopyLine(dst, dims[0].dst, src, dims[0].src, dims[0].extent, bytes);
  } else if (dims.size() == 2) {
    CopyPlane(dst, src, dims[0], dims[1], bytes);
  } else {
    for (int64_t i = 0; i < dims[0].extent; ++i)
      CopyBlock(dst + i * dims[0].dst, src + i * dims[0].src, dims.subspan(1), bytes);
  }
}

// Significant bits of a type that takes a byte but fills it only in part; 8 otherwise.
int LowBits(DType type) {
  int bits = DTypeBits(type);
  return bits > 0 && bits < 8 ? bits : 8;
}

}  // namespace

void CopyStrided(void* dst, std::span<const int64_t> dst_strides, const void* src, std::span<const int64_t> src_strides,
                 std::span<const int64_t> dims, int element_bytes) {
  for (int64_t extent : dims) {
    if (extent == 0) return;
  }
  char* to = static_cast<char*>(dst);
  const char* from = static_cast<const char*>(src);
  DimList list = Simplify(dims, dst_strides, src_strides);
  if (list.empty()) {
    std::memcpy(to, from, element_bytes);
    return;
  }
  // The dimension that runs fastest in the source goes next to the innermost one.
  if (list.size() > 2) {
    auto fastest = std::min_element(list.begin(), list.end() - 1,
                                    [](const Dim& a, const Dim& b) { return std::abs(a.src) < std::abs(b.src); });
    if (std::abs(fastest->src) < std::abs(list.back().src)) std::rotate(fastest, fastest + 1, list.end() - 1);
  }
  CopyBlock(to, from, {list.data(), list.size()}, element_bytes);
}

bool NeedsNormalizing(DType type) { return LowBits(type) < 8; }

void NormalizeSubByte(DType type, void* data, int64_t num_elements) {
  int bits = LowBits(type);
  if (bits == 8) return;
  auto* bytes = static_cast<uint8_t*>(data);
  uint8_t mask = static_cast<uint8_t>((1 << bits) - 1);
  uint8_t sign = IsSigned(type) ? static_cast<uint8_t>(1 << (bits - 1)) : 0;
  for (int64_t i = 0; i < num_elements; ++i) {
    uint8_t low = bytes[i] & mask;
    bytes[i] = (low & sign) != 0 ? static_cast<uint8_t>(low | ~mask) : low;
  }
}

}  // namespace tenon::plugin
