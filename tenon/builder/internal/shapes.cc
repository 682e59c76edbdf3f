#include "tenon/builder/internal/shapes.h"

namespace tenon::builder::internal {
namespace {
// Extent of `n` elements that lie `step` apart.
bool Dilate(int64_t n, int64_t step, int64_t* result) {
  if (n == 0) {
    *result = 0;
    return true;
  }
  return !__builtin_mul_overflow(n - 1, step, result) && !__builtin_add_overflow(*result, int64_t{1}, result);
}
}  // namespace

std::optional<int64_t> Windowed(const WindowedDim& dim) {
  int64_t padded, window;
  if (!Dilate(dim.extent, dim.base_dilation, &padded) || !Dilate(dim.size, dim.window_dilation, &window)) return {};
  if (__builtin_add_overflow(padded, dim.low, &padded) || __builtin_add_overflow(padded, dim.high, &padded)) return {};
  if (padded < 0) return {};
  if (padded == 0 || window > padded) return 0;
  return (padded - window) / dim.stride + 1;
}

}  // namespace tenon::builder::internal
