#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "tenon/lapack/padded.h"

namespace tenon::lapack {

/// Sorts the values, equal ones as they stand, and brings the columns of these matrices, null or not, into their order.
template <class R, class Before>
void SortWithColumns(int64_t n, R* values, const Before& before, std::initializer_list<const Block<R>*> matrices) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
    return before(values[x], values[y]) || (values[x] == values[y] && x < y);
  });
  const auto apply = [&](const auto& swap) {
    // Along each cycle of the permutation.
    std::vector<int64_t> from = order;
    for (int64_t first = 0; first < n; ++first) {
      for (int64_t at = first;;) {
        const int64_t next = from[static_cast<size_t>(at)];
        from[static_cast<size_t>(at)] = at;
        if (next == first || next == at) break;
        swap(at, next);
        at = next;
      }
    }
  };
  for (const Block<R>* a : matrices) {
    if (a == nullptr) continue;
    apply([&](int64_t x, int64_t y) { std::swap_ranges(a->at(0, x), a->at(0, x) + a->rows, a->at(0, y)); });
  }
  apply([&](int64_t x, int64_t y) { std::swap(values[x], values[y]); });
}

}  // namespace tenon::lapack
