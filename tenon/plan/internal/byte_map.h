#pragma once

// What lies in which bytes, as ranges.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "tenon/plan/plan.h"

namespace tenon::plan::internal {

/// What some bytes hold.
struct Cell {
  enum class Is : uint8_t {
    kUnknown,  ///< Nothing that may be read: never written, or not the same on every way here.
    kPartly,  ///< Some bytes are the value's; which ones stands elsewhere. As an effect: what was the value's still is.
    kWhole,   ///< All bytes are the value's.
  };
  Is is = Is::kUnknown;
  ValueId value = 0;
  SlotId slot = kNoSlot;  ///< Through which it came, for messages.

  bool Same(const Cell& o) const { return is == o.is && value == o.value; }
};

/// Ranges of bytes, apart from each other, with what they hold; bytes outside of them are untouched.
class ByteMap {
 public:
  struct Range {
    int64_t begin = 0, end = 0;
    Cell cell;
  };
  /// What Assign replaced, in order; untouched ranges have no entry of their own.
  struct Change {
    int64_t begin = 0, end = 0;   ///< The bytes that were assigned,
    std::vector<Range> replaced;  ///< and what had lain there.
  };

  /// f(begin, end, const Cell*) for the pieces of [begin, end), in order; null where untouched. f may not change the
  /// map.
  template <class F>
  void Visit(int64_t begin, int64_t end, const F& f) const {
    auto it = First(begin);
    int64_t at = begin;
    for (; it != ranges_.end() && it->first < end; ++it) {
      const int64_t from = std::max(it->first, begin), to = std::min(it->second.end, end);
      if (at < from) f(at, from, static_cast<const Cell*>(nullptr));
      f(from, to, &it->second.cell);
      at = to;
    }
    if (at < end) f(at, end, static_cast<const Cell*>(nullptr));
  }

  /// The bytes hold `cell` from here on. Adds to `undo` unless it is null.
  void Assign(int64_t begin, int64_t end, const Cell& cell, std::vector<Change>* undo);
  void Undo(const Change& change);

  std::vector<Range> Ranges() const;

 private:
  struct Tail {
    int64_t end;
    Cell cell;
  };
  using Map = std::map<int64_t, Tail>;
  Map::const_iterator First(int64_t begin) const {
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin() && std::prev(it)->second.end > begin) --it;
    return it;
  }
  /// Takes [begin, end) out; returns the place where it was.
  Map::iterator Cut(int64_t begin, int64_t end, std::vector<Range>* replaced);

  Map ranges_;
};

}  // namespace tenon::plan::internal
