#include "tenon/dialect/vhlo/limits.h"

#include <algorithm>

namespace tenon::dialect {

std::optional<uint64_t> CheckedElements(const int64_t* dims, size_t rank, uint64_t bytes_each) {
  constexpr int64_t kDynamic = INT64_MIN;
  uint64_t count = 1;
  uint64_t product =
      std::max<uint64_t>(bytes_each, 1);  // Of the dimensions above zero: no order of multiplication overflows.
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] == kDynamic) continue;
    if (dims[i] < 0) return std::nullopt;
    const uint64_t dim = static_cast<uint64_t>(dims[i]);
    if (dim > kMaxTensorBytes || __builtin_mul_overflow(product, std::max<uint64_t>(dim, 1), &product) ||
        product > kMaxTensorBytes) {
      return std::nullopt;
    }
    count *= dim;
  }
  return count;
}

}  // namespace tenon::dialect
