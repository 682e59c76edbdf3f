#include "tenon/dialect/hlo/mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tenon::hlo {
namespace {

constexpr int64_t kMaxDevices = 1 << 14;

Result<int64_t> Product(const std::vector<int64_t>& sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) {
    if (s <= 0 || s > kMaxDevices / n)
      return InvalidArgument(fmt::format("a device list of sizes {} is not possible", fmt::join(sizes, "x")));
    n *= s;
  }
  return n;
}

}  // namespace

Result<std::vector<int64_t>> TransposedIota(const std::vector<int64_t>& reshape,
                                            const std::vector<int64_t>& transpose) {
  TENON_ASSIGN_OR_RETURN(const int64_t count, Product(reshape));
  std::vector<int64_t> perm = transpose;
  if (perm.empty()) {
    perm.resize(reshape.size());
    std::iota(perm.begin(), perm.end(), 0);
  }
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted.size() != reshape.size() || sorted[i] != static_cast<int64_t>(i)) {
      return InvalidArgument(
          fmt::format("{} is no permutation of {} dims of a device list", fmt::join(perm, ","), reshape.size()));
    }
  }
  std::vector<int64_t> strides(reshape.size(), 1);
  for (size_t i = reshape.size(); i-- > 1;) strides[i - 1] = strides[i] * reshape[i];
  std::vector<int64_t> devices(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, device = 0;
    for (size_t d = perm.size(); d-- > 0;) {
      const size_t from = static_cast<size_t>(perm[d]);
      device += rest % reshape[from] * strides[from];
      rest /= reshape[from];
    }
    devices[static_cast<size_t>(i)] = device;
  }
  return devices;
}

std::vector<std::vector<int64_t>> CutIntoGroups(const std::vector<int64_t>& flat, int64_t size) {
  std::vector<std::vector<int64_t>> groups;
  for (size_t i = 0; size > 0 && i < flat.size(); i += static_cast<size_t>(size)) {
    const auto end = std::min(flat.size(), i + static_cast<size_t>(size));
    groups.emplace_back(flat.begin() + static_cast<ptrdiff_t>(i), flat.begin() + static_cast<ptrdiff_t>(end));
  }
  return groups;
}

Result<Mesh::Laid> Mesh::Lay(const std::vector<std::vector<AxisRef>>& order) const {
  TENON_ASSIGN_OR_RETURN(const int64_t count, Product(sizes));
  std::vector<int64_t> ids = devices;
  if (ids.empty() && !reshape.empty()) {
    TENON_ASSIGN_OR_RETURN(ids, TransposedIota(reshape, transpose));
  }
  if (ids.empty()) {
    ids.resize(static_cast<size_t>(count));
    std::iota(ids.begin(), ids.end(), 0);
  }
  if (static_cast<int64_t>(ids.size()) != count) {
    return InvalidArgument(fmt::format("a mesh of {} has {} devices", fmt::join(sizes, "x"), ids.size()));
  }
  // Each axis falls into factors at the bounds of the parts that are named: (stride in the grid, size).
  struct Factor {
    int64_t pre, size, stride;
    bool named = false;
  };
  std::vector<std::vector<Factor>> factors(sizes.size());
  std::vector<std::vector<int64_t>> cuts(sizes.size());
  for (const auto& list : order) {
    for (const AxisRef& ref : list) {
      if (ref.axis < 0 || ref.axis >= static_cast<int64_t>(sizes.size()))
        return InvalidArgument(fmt::format("axis {} of a mesh of {} axes", ref.axis, sizes.size()));
      if (ref.size == 0) continue;
      const int64_t all = sizes[static_cast<size_t>(ref.axis)];
      if (ref.pre <= 0 || ref.size < 0 || ref.pre > all || ref.size > all || all % (ref.pre * ref.size) != 0) {
        return InvalidArgument(fmt::format("a part ({}){} of an axis of size {}", ref.pre, ref.size, all));
      }
      cuts[static_cast<size_t>(ref.axis)].push_back(ref.pre);
      cuts[static_cast<size_t>(ref.axis)].push_back(ref.pre * ref.size);
    }
  }
  int64_t stride = count;
  for (size_t a = 0; a < sizes.size(); ++a) {
    stride /= sizes[a];
    cuts[a].push_back(1);
    cuts[a].push_back(sizes[a]);
    std::sort(cuts[a].begin(), cuts[a].end());
    cuts[a].erase(std::unique(cuts[a].begin(), cuts[a].end()), cuts[a].end());
    for (size_t i = 0; i + 1 < cuts[a].size(); ++i) {
      if (cuts[a][i + 1] % cuts[a][i] != 0) return InvalidArgument("parts of a mesh axis overlap");
      factors[a].push_back({cuts[a][i], cuts[a][i + 1] / cuts[a][i], stride * (sizes[a] / cuts[a][i + 1])});
    }
    if (sizes[a] == 1) factors[a].push_back({1, 1, stride});
  }
  Laid laid;
  std::vector<Factor> digits;
  for (const auto& list : order) {
    int64_t size = 1;
    for (const AxisRef& ref : list) {
      for (Factor& f : factors[static_cast<size_t>(ref.axis)]) {
        if (ref.size != 0 && (f.pre < ref.pre || f.pre >= ref.pre * ref.size)) continue;
        if (f.named) return InvalidArgument("a sharding or group names a mesh axis twice");
        f.named = true;
        digits.push_back(f);
        size *= f.size;
      }
    }
    laid.sizes.push_back(size);
  }
  int64_t rest = 1;
  for (const auto& list : factors) {
    for (const Factor& f : list) {
      if (f.named) continue;
      digits.push_back(f);
      rest *= f.size;
    }
  }
  laid.sizes.push_back(rest);
  laid.devices.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t left = i, at = 0;
    for (size_t d = digits.size(); d-- > 0;) {
      at += left % digits[d].size * digits[d].stride;
      left /= digits[d].size;
    }
    laid.devices[static_cast<size_t>(i)] = ids[static_cast<size_t>(at)];
  }
  return laid;
}

}  // namespace tenon::hlo
