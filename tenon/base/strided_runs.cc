#include "tenon/base/strided_runs.h"

#include <algorithm>
#include <iterator>

namespace tenon {

std::pair<int64_t, int64_t> RangeSet::Insert(int64_t begin, int64_t end) {
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin() && std::prev(it)->second >= begin) --it;
  while (it != ranges_.end() && it->first <= end) {
    begin = std::min(begin, it->first);
    end = std::max(end, it->second);
    it = ranges_.erase(it);
  }
  ranges_.emplace(begin, end);
  return {begin, end};
}

bool RangeSet::Contains(int64_t begin, int64_t end) const {
  const auto it = ranges_.upper_bound(begin);
  return begin >= end || (it != ranges_.begin() && std::prev(it)->second >= end);
}

namespace {

/// Joins the dims along which runs touch with the run.
void Join(StridedRuns& runs) {
  size_t joined = 0;
  for (; joined < runs.outer.size() && runs.outer[joined].first <= runs.run; ++joined)
    runs.run += runs.outer[joined].first * (runs.outer[joined].second - 1);
  runs.outer.erase(runs.outer.begin(), runs.outer.begin() + static_cast<std::ptrdiff_t>(joined));
}

}  // namespace

int64_t StridedRuns::end() const {
  int64_t last = begin + run;
  for (const auto& [stride, extent] : outer) last += stride * (extent - 1);
  return last;
}

int64_t StridedRuns::CountRuns(int64_t most) const {
  int64_t n = 1;
  for (const auto& [stride, extent] : outer) {
    if (__builtin_mul_overflow(n, extent, &n) || n > most) return most + 1;
  }
  return n;
}

StridedRuns MakeStridedRuns(int64_t begin, int64_t width, std::span<const StridedDim> dims) {
  StridedRuns runs{begin, width, {}};
  for (auto [stride, extent] : dims) {
    if (extent == 0) return {begin, 0, {}};
    if (extent == 1 || stride == 0) continue;
    if (stride < 0) {
      runs.begin += stride * (extent - 1);
      stride = -stride;
    }
    runs.outer.push_back({stride, extent});
  }
  std::ranges::sort(runs.outer);
  Join(runs);
  return runs;
}

std::optional<std::pair<int64_t, int64_t>> RunUnion::Add(StridedRuns runs) {
  if (runs.run == 0) return std::nullopt;
  while (true) {
    const auto [from, to] = parts_[runs.outer].Insert(runs.begin, runs.begin + runs.run);
    if (runs.outer.empty()) return std::pair(from, to);
    runs.begin = from;
    runs.run = to - from;
    // Where parts side by side reach to the next place along the innermost dim, they are runs along one dim less.
    if (runs.run >= runs.outer.front().first) {
      Join(runs);
    } else if (std::optional<StridedRuns> denser = Interleaved(runs)) {
      runs = *std::move(denser);
    } else {
      return std::nullopt;
    }
  }
}

std::optional<StridedRuns> RunUnion::Interleaved(const StridedRuns& runs) const {
  constexpr int64_t kMost = 8;  // Places that one is cut into: each number of them is a look at all.
  const RangeSet& alike = parts_.at(runs.outer);
  for (size_t dim = 0; dim < runs.outer.size(); ++dim) {
    const auto [stride, extent] = runs.outer[dim];
    for (int64_t number = 2; number <= kMost; ++number) {
      const int64_t apart = stride / number;
      if (apart * number != stride || apart <= (dim == 0 ? 0 : runs.outer[dim - 1].first)) continue;
      const auto reach = [&](int64_t step) {
        int64_t n = 0;
        while (n < number && alike.Contains(runs.begin + (n + 1) * step, runs.begin + (n + 1) * step + runs.run)) ++n;
        return n;
      };
      const int64_t before = reach(-apart);
      if (before + reach(apart) + 1 < number) continue;
      StridedRuns denser = runs;
      denser.begin -= std::min(before, number - 1) * apart;
      denser.outer[dim] = {apart, extent * number};
      return denser;
    }
  }
  return std::nullopt;
}

bool RunUnion::HasLike(const StridedRuns& runs) const {
  const auto it = parts_.find(runs.outer);
  return it != parts_.end() && it->second.Contains(runs.begin, runs.begin + runs.run);
}

std::optional<RunUnion> RunUnion::Flattened(int64_t most) const {
  RunUnion flat;
  std::map<StridedDim, RunUnion> inside;  // By outermost dim.
  for (const auto& [outer, begins] : parts_) {
    for (const auto& [from, to] : begins) {
      if (outer.empty()) {
        flat.Add({from, to - from, {}});
      } else {
        inside[outer.back()].parts_[{outer.begin(), outer.end() - 1}].Insert(from, to);
      }
    }
  }
  for (const auto& [outermost, parts] : inside) {
    const std::optional<RangeSet> ranges = parts.Expand(most);
    if (!ranges) return std::nullopt;
    for (const auto& [from, to] : *ranges) flat.Add({from, to - from, {outermost}});
  }
  return flat;
}

std::optional<RangeSet> RunUnion::Expand(int64_t most) const {
  for (const auto& [outer, begins] : parts_) {
    const int64_t each = StridedRuns{0, 1, outer}.CountRuns(most);
    if (each > most / std::max<int64_t>(1, static_cast<int64_t>(begins.size()))) return std::nullopt;
    most -= each * static_cast<int64_t>(begins.size());
  }
  RangeSet all;
  for (const auto& [outer, begins] : parts_) {
    for (const auto& [from, to] : begins)
      StridedRuns{from, to - from, outer}.ForEach([&](int64_t x, int64_t y) { all.Insert(x, y); });
  }
  return all;
}

}  // namespace tenon
