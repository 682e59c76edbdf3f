#pragma once

/// Sets of integers as strided views touch them: runs of neighbours, repeated along dims; and what several of them make
/// up together.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tenon {

/// Ranges [begin, end) apart from each other, by begin.
class RangeSet {
 public:
  /// Adds a range; returns the one that it is part of now.
  std::pair<int64_t, int64_t> Insert(int64_t begin, int64_t end);
  bool Contains(int64_t begin, int64_t end) const;
  size_t size() const { return ranges_.size(); }
  auto begin() const { return ranges_.begin(); }
  auto end() const { return ranges_.end(); }

 private:
  std::map<int64_t, int64_t> ranges_;
};

/// (stride, extent) of a dim.
using StridedDim = std::pair<int64_t, int64_t>;

/// [begin, begin + run), repeated along `outer`, whose strides are positive and rise.
struct StridedRuns {
  int64_t begin = 0;
  int64_t run = 0;  ///< 0: nothing at all.
  std::vector<StridedDim> outer;

  /// One past the last member.
  int64_t end() const;
  /// How many runs there are; `most` + 1 when there are more.
  int64_t CountRuns(int64_t most) const;
  /// f(begin, end) for each run.
  template <class F>
  void ForEach(const F& f) const {
    ForEach(f, begin, outer.size());
  }

 private:
  template <class F>
  void ForEach(const F& f, int64_t at, size_t dims) const {
    if (dims == 0) return f(at, at + run);
    for (int64_t i = 0; i < outer[dims - 1].second; ++i) ForEach(f, at + i * outer[dims - 1].first, dims - 1);
  }
};

/// [begin, begin + width) repeated along dims of any strides (none, and backwards, too), in any order: runs that touch
/// become one.
StridedRuns MakeStridedRuns(int64_t begin, int64_t width, std::span<const StridedDim> dims);

/// A union of strided runs. Knows what is contiguous of it where parts are cut along one dim at a time (as
/// concatenations and pads are), or fill each other's gaps along one (as rows and rows of holes do); parts that lie
/// otherwise are members all the same.
class RunUnion {
 public:
  /// Returns the range that has become contiguous with these, if any.
  std::optional<std::pair<int64_t, int64_t>> Add(StridedRuns runs);
  /// Whether they are runs of parts that were added with the same dims around them. False says nothing.
  bool HasLike(const StridedRuns& runs) const;
  /// The same union, its parts put together run by run within one place of their outermost dim, which they keep: so
  /// parts that only together are contiguous there become so everywhere. Nothing when a place has more than `most`
  /// runs.
  std::optional<RunUnion> Flattened(int64_t most) const;
  /// All runs one by one; nothing when there are more than `most`.
  std::optional<RangeSet> Expand(int64_t most) const;

 private:
  /// The runs together with like ones that lie evenly between those along a dim.
  std::optional<StridedRuns> Interleaved(const StridedRuns& runs) const;

  std::map<std::vector<StridedDim>, RangeSet> parts_;
};

}  // namespace tenon
