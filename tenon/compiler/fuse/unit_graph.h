#pragma once

/// The units of a block (kernels in the making, nodes that stand alone, views of memory) and which of them must run
/// before which, kept acyclic while units are added, joined and get further results.
///
/// Every unit has a number that is smaller than those of all units that run after it. A question "is there a path"
/// looks only at units whose numbers lie between the two ends, and an answer that forbids nothing moves only these
/// (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", JEA 11, 2006, with
/// contraction besides).

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::compiler {

class UnitGraph {
 public:
  using Vertex = uint32_t;
  static constexpr Vertex kNone = ~0u;

  /// A new unit that runs before `successors`, which may repeat, and after nothing yet.
  Vertex Add(std::span<const Vertex> successors);
  /// The unit that `v` has become by contractions.
  Vertex Find(Vertex v) const;
  /// Smaller for units that run earlier.
  int64_t NumberOf(Vertex v) const { return number_[Find(v)]; }

  /// Lets `from` run before all of `to` (itself apart) and says so, or does nothing and says no: when one of them
  /// reaches `from`, or when finding out takes more than `budget` steps. `budget` loses the steps taken.
  bool Link(Vertex from, std::span<const Vertex> to, int64_t& budget);
  /// Makes one unit of `a` and `b`, which both names then mean, and says so; or does nothing when a path leads from one
  /// to the other, or when finding out takes more than `budget` steps.
  bool Contract(Vertex a, Vertex b, int64_t& budget);

 private:
  /// Units that `starts` reach with numbers below `bound`, themselves included; false when `target` is reached or the
  /// budget is spent.
  bool Forward(std::span<const Vertex> starts, Vertex target, int64_t bound, int64_t& budget,
               std::vector<Vertex>& found);
  /// Units that reach `start` with numbers above `bound`, itself included; false when the budget is spent.
  bool Backward(Vertex start, int64_t bound, int64_t& budget, std::vector<Vertex>& found);
  bool Mark(Vertex v);
  void SortByNumber(std::vector<Vertex>& vertices) const;

  mutable std::vector<Vertex> into_;  ///< Union-find.
  std::vector<int64_t> number_;
  std::vector<std::vector<Vertex>> after_;  ///< By representative; entries as they were when the edge was added.
  std::vector<std::vector<Vertex>> before_;
  std::vector<uint32_t> mark_;
  uint32_t round_ = 0;
  int64_t least_ = 0;
};

}  // namespace tenon::compiler
