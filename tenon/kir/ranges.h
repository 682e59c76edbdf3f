#pragma once

/// In which range the integers of a kernel lie: places that are counted, wrapped around or clamped.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tenon/kir/kir.h"

namespace tenon::kir {

/// lo <= x <= hi. Types that have no range here (floats, unsigned ones of 64 bits) are unknown.
struct IntegerRange {
  int64_t lo = 0, hi = 0;
  bool known = false;

  bool is_one() const { return known && lo == hi; }
  __int128 size() const { return __int128{hi} - lo; }
  friend bool operator==(const IntegerRange&, const IntegerRange&) = default;
};
IntegerRange RangeOfType(DType type);
/// How many elements of a row such numbers may ask for, from the first one on: those of rows that an emitter may read
/// as a whole. Nothing where some may lie before the row, or far behind its beginning.
std::optional<int64_t> KeysOf(const IntegerRange& range);
/// Whether data decide a place that the kernel reads. Where they do not, nobody need find ranges for the sake of keys.
bool ReadsByData(const Kernel& kernel);
/// All ones up to and including the highest bit of `value`, which is not negative.
int64_t OnesUpTo(int64_t value);

/// Ranges of nodes from those of their inputs, whatever is read: from types, constants, extents that are baked, and
/// operations. Refers to the kernel, whose nodes may grow meanwhile.
class RangeRules {
 public:
  /// Carries may be what they start as and become.
  explicit RangeRules(const Kernel& kernel);

  /// Of each node of the kernel.
  std::vector<IntegerRange> OfAll() const;
  /// The value of an integer constant.
  std::optional<int64_t> ConstantOf(const Node& node) const;
  /// Of a node whose inputs, in `nodes`, have theirs in `ranges`.
  IntegerRange Of(const Node& node, std::span<const Node> nodes, std::span<const IntegerRange> ranges) const;

 private:
  void LearnCarries(const Seq& seq, std::span<const IntegerRange> ranges);
  IntegerRange Counted(const Loop& loop, size_t carry, std::span<const IntegerRange> ranges) const;

  const Kernel& k_;
  std::map<std::pair<uint32_t, size_t>, IntegerRange> carried_;  ///< By loop and carry.
};

}  // namespace tenon::kir
