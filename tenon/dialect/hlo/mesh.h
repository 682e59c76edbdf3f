#pragma once

#include <cstdint>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/dialect/hlo/module.h"

namespace tenon::hlo {

/// Devices on a grid of named axes, as replica groups and shardings of newer programs name them.
struct Mesh {
  struct AxisRef {
    int64_t axis = 0;
    /// Part of the axis: its size is pre * size * rest. 0: the whole axis.
    int64_t pre = 0, size = 0;
  };
  std::vector<int64_t> sizes;               ///< Devices along each axis.
  std::vector<int64_t> devices;             ///< Row-major over `sizes`; empty: 0, 1, 2 ...
  std::vector<int64_t> reshape, transpose;  ///< When not empty: devices are iota of `reshape`, transposed.

  /// Sizes along a list of axes, and the devices in the order of `order` (lists of axis references, major to minor),
  /// then of all other axes: row-major over [list 0, list 1, ..., rest].
  struct Laid {
    std::vector<int64_t> sizes;  ///< One per list, then that of the rest.
    std::vector<int64_t> devices;
  };
  Result<Laid> Lay(const std::vector<std::vector<AxisRef>>& order) const;
};

/// Row-major devices of iota(product of `reshape`) reshaped to `reshape` and transposed by `transpose` (empty:
/// identity).
Result<std::vector<int64_t>> TransposedIota(const std::vector<int64_t>& reshape, const std::vector<int64_t>& transpose);

/// `flat` cut into groups of `size` members.
std::vector<std::vector<int64_t>> CutIntoGroups(const std::vector<int64_t>& flat, int64_t size);

}  // namespace tenon::hlo
