#include "tenon/compiler/fuse/alike.h"

#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/ir/same.h"

namespace tenon::compiler {

bool Likeness::Pair(NodeId a, NodeId b) {
  const auto to = to_.try_emplace(a, b).first;
  const auto from = from_.try_emplace(b, a).first;
  return to->second == b && from->second == a;
}

bool Likeness::AreAlike(const Block& a, const Block& b) {
  if (a.args.size() != b.args.size() || a.nodes.size() != b.nodes.size() || a.results.size() != b.results.size())
    return false;
  for (size_t i = 0; i < a.args.size(); ++i) {
    if (!SameOperation(p_[a.args[i]], p_[b.args[i]]) || !Pair(a.args[i], b.args[i])) return false;
  }
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    if (!AreAlike(a.nodes[i], b.nodes[i])) return false;
  }
  for (size_t i = 0; i < a.results.size(); ++i) {
    if (!Match(a.results[i], b.results[i])) return false;
  }
  return true;
}

/// The same of nodes whose operands are known to be alike, or are from outside.
bool Likeness::AreAlike(NodeId a, NodeId b) {
  const GraphNode &x = p_[a], &y = p_[b];
  if (!SameOperation(x, y)) return false;
  for (size_t i = 0; i < x.in.size(); ++i) {
    if (!Match(x.in[i], y.in[i])) return false;
  }
  for (size_t i = 0; i < x.blocks.size(); ++i) {
    if (!AreAlike(x.blocks[i], y.blocks[i])) return false;
  }
  return Pair(a, b);
}

/// Values from outside look alike when they have one shape, and views and constants are the same; what they are made of
/// then lies in memory.
bool Likeness::Match(Ref a, Ref b) {
  const auto shows = [this](const GraphNode& node) {
    return IsPureView(p_, node) || node.op == OpCode::kBarrier || KindOfOp(node.op) == OpKind::kLeaf;
  };
  // A list of its own: views of views may be deeper than calls can be.
  std::vector<std::pair<Ref, Ref>> open = {{a, b}};
  while (!open.empty()) {
    const auto [r, s] = open.back();
    open.pop_back();
    if (r.result != s.result) return false;
    if (const auto known = to_.find(r.node); known != to_.end()) {
      if (known->second != s.node) return false;
      continue;
    }
    const GraphNode &x = p_[r.node], &y = p_[s.node];
    if (!Pair(r.node, s.node) || !(x.out == y.out)) return false;
    if (!shows(x) && !shows(y)) continue;
    if (!SameOperation(x, y)) return false;
    for (size_t i = 0; i < x.in.size(); ++i) open.push_back({x.in[i], y.in[i]});
  }
  return true;
}

std::optional<Likeness> Likeness::Of(const Program& program, const Cluster& a, const Cluster& b) {
  if (a.kind != b.kind || !(a.space == b.space) || a.outer != b.outer || a.order.size() != b.order.size() ||
      a.roots.size() != b.roots.size())
    return std::nullopt;
  Likeness likeness(program);
  for (size_t i = 0; i < a.order.size(); ++i) {
    if (!likeness.AreAlike(a.order[i], b.order[i])) return std::nullopt;
  }
  for (size_t i = 0; i < a.roots.size(); ++i) {
    if (!likeness.Pair(a.roots[i], b.roots[i])) return std::nullopt;
  }
  return likeness;
}

Ref Likeness::Counterpart(Ref r) const {
  const auto it = to_.find(r.node);
  return it == to_.end() ? Ref{} : Ref{it->second, r.result};
}

uint64_t AlikeClusters::HashOf(const Cluster& cluster) const {
  uint64_t h = cluster.order.size();
  const auto mix = [&](uint64_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15u ^ (h >> 29); };
  for (NodeId id : cluster.order) {
    const GraphNode& node = p_[id];
    mix(static_cast<uint64_t>(node.op));
    mix(compiler::HashOf(node.attributes));
    for (const Shape& shape : node.out) {
      mix(static_cast<uint64_t>(shape.dtype));
      for (int64_t d : shape.dims) mix(static_cast<uint64_t>(d));
    }
  }
  return h;
}

void AlikeClusters::Add(Outcome outcome) {
  std::vector<Outcome>& alike = outcomes_[HashOf(outcome.cluster)];
  if (alike.size() < policy::kMaxAlike) alike.push_back(std::move(outcome));
}

}  // namespace tenon::compiler
