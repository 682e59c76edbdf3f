#pragma once

/// Minimum cuts: which of many things that cost one another to keep apart go to one of two sides.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace tenon::compiler {

/// A network of nodes 0, 1, 2 ... between a source and a sink. Dinic's algorithm.
class MinCut {
 public:
  static constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max() / 4;
  static constexpr size_t kSource = 0, kSink = 1;  // structural: the first two nodes

  MinCut() : first_(2, kNone) {}
  size_t AddNode() {
    first_.push_back(kNone);
    return first_.size() - 1;
  }
  /// What it costs if `from` is on the source's side and `to` is not; not negative.
  void AddEdge(size_t from, size_t to, int64_t cost);
  /// Per node, whether it is on the source's side of a cut that costs least; of these, the one with fewest nodes there.
  /// Nothing when it takes more than `max_steps` to find out. Uses up the costs.
  std::optional<std::vector<bool>> Run(int64_t max_steps);
  /// What the cut that Run found costs.
  int64_t cost() const { return cost_; }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  /// An edge and, behind it in the list, its reverse.
  struct Edge {
    size_t to;
    size_t next;
    int64_t left;
  };
  bool Level();
  int64_t Augment();

  std::vector<Edge> edges_;
  std::vector<size_t> first_, level_, current_;
  int64_t steps_ = 0, cost_ = 0;
};

}  // namespace tenon::compiler
