#include "tenon/plan/internal/byte_map.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tenon::plan::internal {

ByteMap::Map::iterator ByteMap::Cut(int64_t begin, int64_t end, std::vector<Range>* replaced) {
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin() && std::prev(it)->second.end > begin) --it;
  while (it != ranges_.end() && it->first < end) {
    const int64_t from = it->first;
    const Tail tail = it->second;
    if (replaced != nullptr) replaced->push_back({std::max(from, begin), std::min(tail.end, end), tail.cell});
    if (from < begin) {
      it->second.end = begin;
      ++it;
    } else {
      it = ranges_.erase(it);
    }
    if (tail.end > end) {
      it = ranges_.emplace_hint(it, end, tail);
      break;
    }
  }
  return it;
}

void ByteMap::Assign(int64_t begin, int64_t end, const Cell& cell, std::vector<Change>* undo) {
  if (begin >= end) return;
  std::vector<Range>* replaced = nullptr;
  if (undo != nullptr) {
    undo->push_back({begin, end, {}});
    replaced = &undo->back().replaced;
  }
  auto it = Cut(begin, end, replaced);
  // Neighbours that hold the same become one.
  if (it != ranges_.end() && it->first == end && it->second.cell.Same(cell)) {
    end = it->second.end;
    it = ranges_.erase(it);
  }
  if (it != ranges_.begin()) {
    const auto before = std::prev(it);
    if (before->second.end == begin && before->second.cell.Same(cell)) {
      before->second.end = end;
      return;
    }
  }
  ranges_.emplace_hint(it, begin, Tail{end, cell});
}

void ByteMap::Undo(const Change& change) {
  Cut(change.begin, change.end, nullptr);
  for (const Range& r : change.replaced) Assign(r.begin, r.end, r.cell, nullptr);
}

std::vector<ByteMap::Range> ByteMap::Ranges() const {
  std::vector<Range> ranges;
  ranges.reserve(ranges_.size());
  for (const auto& [begin, tail] : ranges_) ranges.push_back({begin, tail.end, tail.cell});
  return ranges;
}

}  // namespace tenon::plan::internal
