#include "tenon/compiler/fuse/unit_graph.h"

#include <algorithm>

namespace tenon::compiler {

UnitGraph::Vertex UnitGraph::Find(Vertex v) const {
  while (into_[v] != v) v = into_[v] = into_[into_[v]];
  return v;
}

bool UnitGraph::Mark(Vertex v) {
  if (mark_[v] == round_) return false;
  mark_[v] = round_;
  return true;
}

void UnitGraph::SortByNumber(std::vector<Vertex>& vertices) const {
  std::sort(vertices.begin(), vertices.end(), [this](Vertex a, Vertex b) { return number_[a] < number_[b]; });
}

UnitGraph::Vertex UnitGraph::Add(std::span<const Vertex> successors) {
  const Vertex v = static_cast<Vertex>(into_.size());
  into_.push_back(v);
  number_.push_back(--least_);
  after_.emplace_back();
  before_.emplace_back();
  mark_.push_back(0);
  ++round_;
  for (Vertex s : successors) {
    s = Find(s);
    if (!Mark(s)) continue;
    after_[v].push_back(s);
    before_[s].push_back(v);
  }
  return v;
}

bool UnitGraph::Forward(std::span<const Vertex> starts, Vertex target, int64_t bound, int64_t& budget,
                        std::vector<Vertex>& found) {
  ++round_;
  for (Vertex s : starts) {
    s = Find(s);
    if (--budget < 0) return false;
    if (s != target && number_[s] < bound && Mark(s)) found.push_back(s);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    for (Vertex s : after_[found[i]]) {
      s = Find(s);
      if (s == target || --budget < 0) return false;
      if (number_[s] < bound && Mark(s)) found.push_back(s);
    }
  }
  return true;
}

bool UnitGraph::Backward(Vertex start, int64_t bound, int64_t& budget, std::vector<Vertex>& found) {
  ++round_;
  Mark(start);
  found.push_back(start);
  for (size_t i = 0; i < found.size(); ++i) {
    for (Vertex s : before_[found[i]]) {
      s = Find(s);
      if (--budget < 0) return false;
      if (number_[s] > bound && Mark(s)) found.push_back(s);
    }
  }
  return true;
}

bool UnitGraph::Link(Vertex from, std::span<const Vertex> to, int64_t& budget) {
  from = Find(from);
  std::vector<Vertex> later;
  if (!Forward(to, from, number_[from], budget, later)) return false;
  if (!later.empty()) {
    // What `from` needs moves before what `to` is needed for; together they keep the numbers that they had.
    int64_t low = number_[from];
    for (Vertex v : later) low = std::min(low, number_[v]);
    std::vector<Vertex> earlier;
    if (!Backward(from, low, budget, earlier)) return false;
    SortByNumber(earlier);
    SortByNumber(later);
    earlier.insert(earlier.end(), later.begin(), later.end());
    std::vector<int64_t> numbers;
    for (Vertex v : earlier) numbers.push_back(number_[v]);
    std::sort(numbers.begin(), numbers.end());
    for (size_t i = 0; i < earlier.size(); ++i) number_[earlier[i]] = numbers[i];
  }
  ++round_;
  Mark(from);
  for (Vertex s : to) {
    s = Find(s);
    if (!Mark(s)) continue;
    after_[from].push_back(s);
    before_[s].push_back(from);
  }
  return true;
}

bool UnitGraph::Contract(Vertex a, Vertex b, int64_t& budget) {
  a = Find(a);
  b = Find(b);
  if (a == b) return true;
  if (number_[a] > number_[b]) std::swap(a, b);
  // Only a path from a to b is possible. What a is needed for moves behind b, what b needs before a.
  std::vector<Vertex> later;
  const Vertex starts[] = {a};
  if (!Forward(starts, b, number_[b], budget, later)) return false;
  std::vector<Vertex> earlier;
  if (!Backward(b, number_[a], budget, earlier)) return false;
  std::vector<int64_t> numbers;
  for (Vertex v : earlier) numbers.push_back(number_[v]);
  for (Vertex v : later) numbers.push_back(number_[v]);
  std::sort(numbers.begin(), numbers.end());
  SortByNumber(earlier);  // b comes last here,
  SortByNumber(later);    // a first here: they share the number between.
  for (size_t i = 0; i < earlier.size(); ++i) number_[earlier[i]] = numbers[i];
  for (size_t i = 1; i < later.size(); ++i) number_[later[i]] = numbers[earlier.size() + i];
  if (after_[a].size() + before_[a].size() < after_[b].size() + before_[b].size()) std::swap(a, b);
  number_[a] = numbers[earlier.size() - 1];
  after_[a].insert(after_[a].end(), after_[b].begin(), after_[b].end());
  before_[a].insert(before_[a].end(), before_[b].begin(), before_[b].end());
  after_[b] = {};
  before_[b] = {};
  into_[b] = a;
  return true;
}

}  // namespace tenon::compiler
