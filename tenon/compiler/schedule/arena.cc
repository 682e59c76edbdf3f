#include "tenon/compiler/schedule/arena.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "tenon/compiler/schedule/policy.h"

namespace tenon::compiler {
namespace {

/// Lives that were added, found by time: a tree over positions, in which each life is listed at the O(log length) nodes
/// that make up its range, and an order by first position.
class TimeIndex {
 public:
  explicit TimeIndex(int32_t length) {
    while (leaves_ < length) leaves_ *= 2;
    covering_.resize(2 * static_cast<size_t>(leaves_));
  }

  void Add(const Life& life, uint32_t id) {
    by_begin_.emplace(life.begin, id);
    for (int32_t low = life.begin + leaves_, high = life.end + leaves_ + 1; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) covering_[static_cast<size_t>(low++)].push_back(id);
      if (high % 2 == 1) covering_[static_cast<size_t>(--high)].push_back(id);
    }
  }

  /// f(id) for every life that shares a position with `life`, once each.
  template <class F>
  void ForNeighbours(const Life& life, const F& f) const {
    // Those in use when it begins, and those that begin later.
    for (int32_t node = life.begin + leaves_; node > 0; node /= 2) {
      for (const uint32_t id : covering_[static_cast<size_t>(node)]) f(id);
    }
    const auto end = by_begin_.upper_bound({life.end, UINT32_MAX});
    for (auto it = by_begin_.upper_bound({life.begin, UINT32_MAX}); it != end; ++it) f(it->second);
  }

 private:
  int32_t leaves_ = 1;
  std::vector<std::vector<uint32_t>> covering_;
  std::set<std::pair<int32_t, uint32_t>> by_begin_;
};

/// Free ranges of memory below an end that grows as it must.
class FreeBlocks {
 public:
  explicit FreeBlocks(int64_t base) : end_(base) {}

  int64_t Take(int64_t bytes) {
    const auto it = by_size_.lower_bound({bytes, 0});
    if (it != by_size_.end()) {
      const auto [size, offset] = *it;
      Remove(offset, size);
      if (size > bytes) Insert(offset + bytes, size - bytes);
      return offset;
    }
    // The last block grows.
    int64_t at = end_;
    if (!by_offset_.empty()) {
      const auto [offset, size] = *by_offset_.rbegin();
      if (offset + size == end_) {
        at = offset;
        Remove(offset, size);
      }
    }
    end_ = at + bytes;
    return at;
  }
  void Give(int64_t offset, int64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      const int64_t size = next->second;
      Remove(offset + bytes, size);
      bytes += size;
    }
    next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == offset) {
        Remove(before, size);
        offset = before;
        bytes += size;
      }
    }
    Insert(offset, bytes);
  }
  int64_t end() const { return end_; }

 private:
  void Insert(int64_t offset, int64_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void Remove(int64_t offset, int64_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }
  int64_t end_;
  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
};

/// In the order of time, above `base`.
int64_t PlaceByTime(std::vector<Life>& lives, std::vector<uint32_t> rest, int64_t base) {
  std::ranges::sort(rest, {}, [&](uint32_t id) { return std::pair(lives[id].begin, id); });
  FreeBlocks blocks(base);
  std::set<std::pair<int32_t, uint32_t>> in_use;  // By last position.
  for (const uint32_t id : rest) {
    while (!in_use.empty() && in_use.begin()->first < lives[id].begin) {
      const Life& over = lives[in_use.begin()->second];
      blocks.Give(over.offset, over.bytes);
      in_use.erase(in_use.begin());
    }
    lives[id].offset = blocks.Take(lives[id].bytes);
    in_use.emplace(lives[id].end, id);
  }
  return blocks.end();
}

}  // namespace

int64_t PlaceLives(std::vector<Life>& lives, int32_t length) {
  if (lives.empty()) return 0;
  std::vector<uint32_t> order(lives.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](uint32_t id) { return std::pair(-lives[id].bytes, id); });
  TimeIndex placed(length);
  int64_t arena = 0;
  int64_t budget = policy::kNeighbours + policy::kNeighboursPerLife * static_cast<int64_t>(lives.size());
  std::vector<std::pair<int64_t, int64_t>> busy;
  for (size_t i = 0; i < order.size(); ++i) {
    if (budget < 0) return PlaceByTime(lives, {order.begin() + static_cast<std::ptrdiff_t>(i), order.end()}, arena);
    Life& life = lives[order[i]];
    busy.clear();
    placed.ForNeighbours(life,
                         [&](uint32_t id) { busy.push_back({lives[id].offset, lives[id].offset + lives[id].bytes}); });
    budget -= static_cast<int64_t>(busy.size());
    std::ranges::sort(busy);
    int64_t at = 0;
    int64_t best = -1;
    int64_t best_size = INT64_MAX;
    for (const auto& [from, to] : busy) {
      if (from - at >= life.bytes && from - at < best_size) {
        best = at;
        best_size = from - at;
      }
      at = std::max(at, to);
    }
    life.offset = best >= 0 ? best : at;
    arena = std::max(arena, life.offset + life.bytes);
    placed.Add(life, order[i]);
  }
  return arena;
}

}  // namespace tenon::compiler
