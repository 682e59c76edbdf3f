#include "tenon/compiler/simplify/min_cut.h"

#include <algorithm>

namespace tenon::compiler {

void MinCut::AddEdge(size_t from, size_t to, int64_t cost) {
  edges_.push_back({to, first_[from], cost});
  first_[from] = edges_.size() - 1;
  edges_.push_back({from, first_[to], 0});
  first_[to] = edges_.size() - 1;
}

/// Numbers the nodes by how far they are from the source; whether the sink can be reached.
bool MinCut::Level() {
  level_.assign(first_.size(), kNone);
  level_[kSource] = 0;
  std::vector<size_t> reached = {kSource};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (size_t e = first_[reached[i]]; e != kNone; e = edges_[e].next) {
      ++steps_;
      if (edges_[e].left == 0 || level_[edges_[e].to] != kNone) continue;
      level_[edges_[e].to] = level_[reached[i]] + 1;
      reached.push_back(edges_[e].to);
    }
  }
  return level_[kSink] != kNone;
}

/// Sends what it can along one more shortest path; 0 when there is none.
int64_t MinCut::Augment() {
  std::vector<size_t> path;
  for (size_t at = kSource; at != kSink;) {
    size_t& e = current_[at];
    while (e != kNone && (edges_[e].left == 0 || level_[edges_[e].to] != level_[at] + 1)) {
      ++steps_;
      e = edges_[e].next;
    }
    if (e != kNone) {
      path.push_back(e);
      at = edges_[e].to;
      continue;
    }
    if (path.empty()) return 0;
    // A dead end: back, and on from the next edge.
    level_[at] = kNone;
    at = edges_[path.back() ^ 1].to;
    path.pop_back();
  }
  int64_t flow = kInfinite;
  for (size_t e : path) flow = std::min(flow, edges_[e].left);
  for (size_t e : path) {
    edges_[e].left -= flow;
    edges_[e ^ 1].left += flow;
  }
  steps_ += static_cast<int64_t>(path.size());
  cost_ += flow;
  return flow;
}

std::optional<std::vector<bool>> MinCut::Run(int64_t max_steps) {
  steps_ = 0;
  while (Level()) {
    current_ = first_;
    while (Augment() > 0) {
      if (steps_ > max_steps) return std::nullopt;
    }
    if (steps_ > max_steps) return std::nullopt;
  }
  std::vector<bool> with_source(first_.size());
  for (size_t i = 0; i < first_.size(); ++i) with_source[i] = level_[i] != kNone;
  return with_source;
}

}  // namespace tenon::compiler
