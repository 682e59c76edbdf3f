#include "tenon/base/strided_array.h"

#include <algorithm>
#include <utility>

#include "tenon/base/small_vector.h"

namespace tenon {

bool HasNoGaps(const Dims& dims, const Dims& strides, int64_t unit) {
  SmallVector<std::pair<int64_t, int64_t>, 8> by_stride;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != 1) by_stride.push_back({strides[d], dims[d]});
  }
  std::sort(by_stride.begin(), by_stride.end());
  int64_t next = unit;
  for (const auto& [stride, extent] : by_stride) {
    if (stride != next) return false;
    next *= extent;
  }
  return true;
}

}  // namespace tenon
