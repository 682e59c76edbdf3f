#include "tenon/compiler/fuse/evaluations.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/kir/walk.h"

namespace tenon::compiler {

using kir::DimId;
using kir::DimMask;
using kir::Op;
using kir::Val;

Evaluations::Evaluations(const kir::Kernel& kernel, const target::OpCosts& costs)
    : kernel_(kernel),
      costs_(costs),
      dims_(kernel.nodes.size(), 0),
      points_(kernel.nodes.size(), 0),
      times_(kernel.nodes.size(), 0),
      lanes_(kernel.nodes.size(), 0),
      apart_(kernel.nodes.size(), 0) {
  for (const kir::Step& step : kernel_.seq) known_ &= std::holds_alternative<kir::Stage>(step.is);
  for (const kir::Dim& d : kernel_.dims) known_ &= d.extent.baked > 0;
  if (!known_) return;
  FindDims();
  for (const kir::Read& read : kernel_.reads) reads_.push_back(MovesOf(read.buf, read.at));
  for (const kir::Step& step : kernel_.seq) AddNests(std::get<kir::Stage>(step.is));
  for (const Nest& nest : nests_) {
    const std::vector<DimId> loops = LoopsOf(nest, nest.lanes_reduced      ? -1
                                                   : nest.parallel.empty() ? -1
                                                                           : nest.parallel.back());
    std::vector<double> around = {1};
    for (DimId d : loops) around.push_back(around.back() * nest.extents[d]);
    const std::vector<bool> needed = Needed(nest, Stored(dims_.size(), nullptr));
    for (Val v = 0; v < needed.size(); ++v) {
      if (!needed[v]) continue;
      double points = 1;
      for (DimId d : loops) points *= (dims_[v] & Bit(d)) != 0 ? nest.extents[d] : 1;
      points_[v] += points;
      const size_t depth = DepthOf(v, loops);
      times_[v] += around[depth];
      lanes_[v] += depth == loops.size() ? around[depth] : std::min(around.back(), around[depth] * policy::kCostLanes);
    }
    const int lane = LaneOf(nest, needed, Stored(dims_.size(), nullptr)).dim;
    for (Val v = 0; v < needed.size() && lane >= 0; ++v) {
      if (!needed[v] || kernel_.nodes[v].op != Op::kRead) continue;
      const double ops = AccessOps(reads_[kernel_.nodes[v].attr], static_cast<DimId>(lane));
      apart_[v] = std::max(apart_[v], policy::kApartShare * (ops - costs_.Of(Op::kRead)));
    }
  }
}

std::vector<DimId> Evaluations::LoopsOf(const Nest& nest, int lane) const {
  // Sums of columns run over whole rows, one after the other.
  std::vector<DimId> loops;
  for (const auto* more : {&nest.outer, &nest.parallel, &nest.reduced}) {
    for (DimId d : *more) {
      if (d != lane) loops.push_back(d);
    }
  }
  if (lane >= 0) loops.push_back(static_cast<DimId>(lane));
  return loops;
}

size_t Evaluations::DepthOf(Val v, const std::vector<DimId>& loops) const {
  size_t depth = loops.size();
  while (depth > 0 && (dims_[v] & Bit(loops[depth - 1])) == 0) --depth;
  return depth;
}

Moves Evaluations::MovesOf(kir::Buf buf, const SmallVector<kir::Axis, 4>& at) const {
  Moves moves;
  for (size_t i = 0; i < at.size(); ++i) {
    const int64_t stride = kernel_.buffers[buf].stride[i].baked;
    for (const kir::Term& t : at[i].terms) moves.Add(t.dim, t.coef.baked * stride);
    if (at[i].start != kir::kNone) moves.by_data |= dims_[at[i].start];
  }
  return moves;
}

void Evaluations::FindDims() {
  std::unordered_map<uint32_t, const kir::Reduce*> reduces;
  for (const kir::Step& step : kernel_.seq) {
    for (const kir::Reduce& r : std::get<kir::Stage>(step.is).reduces) reduces[r.id] = &r;
  }
  for (Val v = 0; v < kernel_.nodes.size(); ++v) {
    const kir::Node& node = kernel_.nodes[v];
    DimMask dims = 0;
    kir::ForEachInput(kernel_, kernel_.nodes[v], [&](Val in) { dims |= dims_[in]; });
    if (node.op == Op::kIndex) dims |= Bit(static_cast<DimId>(node.attr));
    if (node.op == Op::kRead) {
      const kir::Read& read = kernel_.reads[node.attr];
      const auto see = [&](const kir::Axis& a) {
        for (const kir::Term& t : a.terms) dims |= Bit(t.dim);
      };
      for (const kir::Axis& a : read.at) see(a);
      for (const kir::Guard& g : read.guard) see(g.e);
    }
    if (const auto it = reduces.find(node.attr); node.op == Op::kReduced && it != reduces.end()) {
      for (Val in : it->second->in) dims |= dims_[in];
      dims &= ~it->second->dims;
      for (Val in : it->second->init) dims |= dims_[in];
    }
    dims_[v] = dims;
  }
}

void Evaluations::AddNests(const kir::Stage& stage) {
  Nest points;  // Without the reductions, or after them.
  for (size_t d = 0; d < kernel_.outer; ++d) points.outer.push_back(static_cast<DimId>(d));
  std::vector<DimId> reduced;
  for (DimId d : stage.dims) {
    (kernel_.dims[d].kind == kir::DimKind::kReduce ? reduced : points.parallel).push_back(d);
  }
  for (size_t d = 0; d < kernel_.dims.size(); ++d)
    points.extents.push_back(static_cast<double>(ExtentIn(kernel_, stage, static_cast<DimId>(d))));
  Nest sums = points;
  sums.reduced = reduced;
  sums.lanes_reduced = !reduced.empty();
  for (const kir::Reduce& r : stage.reduces) {
    sums.roots.insert(sums.roots.end(), r.in.begin(), r.in.end());
    points.roots.insert(points.roots.end(), r.init.begin(), r.init.end());
    sums.lanes_reduced &= r.order == kir::ReduceOrder::kLanes;
  }
  DimMask over = 0;
  for (DimId d : reduced) over |= Bit(d);
  for (const kir::Store& store : stage.stores) {
    DimMask dims = 0;
    kir::ForEachRoot(store, [&](Val v) { dims |= dims_[v]; });
    for (const kir::Axis& a : store.at) {
      for (const kir::Term& t : a.terms) dims |= Bit(t.dim);
    }
    Nest& nest = (dims & over) != 0 ? sums : points;
    kir::ForEachRoot(store, [&](Val v) { nest.roots.push_back(v); });
    nest.stores.push_back(&store);
  }
  if (!sums.roots.empty()) nests_.push_back(std::move(sums));
  nests_.push_back(std::move(points));
}

std::vector<bool> Evaluations::Needed(const Nest& nest, const Stored& stored) const {
  std::vector<bool> needed(dims_.size(), false);
  for (Val v : nest.roots) needed[v] = true;
  for (Val v = static_cast<Val>(needed.size()); v-- > 0;) {
    if (needed[v] && stored[v] == nullptr)
      kir::ForEachInput(kernel_, kernel_.nodes[v], [&](Val in) { needed[in] = true; });
  }
  return needed;
}

double Evaluations::AccessOps(const Moves& moves, DimId lane) const {
  if ((moves.by_data & Bit(lane)) != 0) return policy::kStridedOps;
  const int64_t stride = moves.Along(lane);
  return stride == 0 ? 0 : stride == 1 || stride == -1 ? costs_.Of(Op::kRead) : policy::kStridedOps;
}

Evaluations::Lane Evaluations::LaneOf(const Nest& nest, const std::vector<bool>& needed, const Stored& stored) const {
  // Accesses, and what a vector costs along each dim.
  std::vector<const Moves*> accesses;
  for (Val v = 0; v < needed.size(); ++v) {
    if (!needed[v]) continue;
    if (stored[v] != nullptr) accesses.push_back(stored[v]);
    if (stored[v] == nullptr && kernel_.nodes[v].op == Op::kRead) accesses.push_back(&reads_[kernel_.nodes[v].attr]);
  }
  std::vector<Moves> written;
  for (const kir::Store* store : nest.stores) written.push_back(MovesOf(store->buf, store->at));
  for (const Moves& moves : written) accesses.push_back(&moves);
  // Neighbouring loops that all accesses run through together are one.
  const auto lanes_of = [&](const std::vector<DimId>& loops, size_t i) {
    double extent = nest.extents[loops[i]];
    for (; i > 0; --i) {
      const bool together = std::all_of(accesses.begin(), accesses.end(), [&](const Moves* moves) {
        return ((moves->by_data & (Bit(loops[i]) | Bit(loops[i - 1]))) == 0) &&
               moves->Along(loops[i - 1]) == moves->Along(loops[i]) * static_cast<int64_t>(nest.extents[loops[i]]);
      });
      if (!together) break;
      extent *= nest.extents[loops[i - 1]];
    }
    return extent;
  };
  Lane lane;
  double best = 0;
  const auto consider = [&](const std::vector<DimId>& loops, size_t i) {
    double cost = 1;
    bool contiguous = false;
    for (const Moves* moves : accesses) {
      const double access = AccessOps(*moves, loops[i]);
      contiguous |= access == costs_.Of(Op::kRead);
      cost += access;
    }
    for (Val v = 0; v < needed.size(); ++v) {
      if (needed[v] && stored[v] == nullptr && kernel_.nodes[v].op != Op::kRead && (dims_[v] & Bit(loops[i])) != 0)
        cost += CostOf(v);
    }
    const double lanes = std::min(lanes_of(loops, i), policy::kCostLanes);
    cost *= (contiguous ? 1 : 1.5) / lanes;
    if (lane.dim >= 0 && cost >= best) return;
    lane = {loops[i], lanes};
    best = cost;
  };
  for (size_t i = nest.parallel.size(); i-- > 0;) consider(nest.parallel, i);
  if (nest.lanes_reduced) consider(nest.reduced, nest.reduced.size() - 1);
  if (lane.dim < 0) {
    for (size_t i = nest.outer.size(); i-- > 0;) consider(nest.outer, i);
  }
  return lane;
}

double Evaluations::NestOps(const Nest& nest, const Stored& stored) const {
  const std::vector<bool> needed = Needed(nest, stored);
  const auto [lane, filled] = LaneOf(nest, needed, stored);
  const std::vector<DimId> loops = LoopsOf(nest, lane);
  std::vector<double> around = {1};
  for (DimId d : loops) around.push_back(around.back() * nest.extents[d]);
  const double everywhere = around.back() * policy::kCostLanes / filled;
  double ops = 0;
  for (Val v = 0; v < needed.size(); ++v) {
    if (!needed[v]) continue;
    const size_t depth = DepthOf(v, loops);
    const bool in_lanes = lane >= 0 && depth == loops.size();
    const double alone = around[depth] * policy::kCostLanes * policy::kAloneWaits;
    const double times = in_lanes ? everywhere : std::min(everywhere, alone);
    const Moves* read = stored[v] != nullptr               ? stored[v]
                        : kernel_.nodes[v].op == Op::kRead ? &reads_[kernel_.nodes[v].attr]
                                                           : nullptr;
    ops += times * (read == nullptr ? CostOf(v)
                    : in_lanes      ? AccessOps(*read, static_cast<DimId>(lane))
                                    : costs_.Of(Op::kRead));
  }
  return ops;
}

double Evaluations::Ops(const Stored& stored) const {
  double ops = 0;
  for (const Nest& nest : nests_) ops += NestOps(nest, stored);
  return ops;
}

double Evaluations::OpsOf(Val root, double elements) const {
  double ops = 0;
  std::vector<bool> needed(root + 1, false);
  needed[root] = true;
  for (Val v = root + 1; v-- > 0;) {
    if (!needed[v]) continue;
    if (kernel_.nodes[v].op == Op::kReduced) return -1;
    ops += std::min(points_[v] * policy::kCostLanes, std::max(elements, policy::kCostLanes)) * ApartCostOf(v);
    kir::ForEachInput(kernel_, kernel_.nodes[v], [&](Val in) { needed[in] = true; });
  }
  return ops;
}

namespace {

struct Candidate {
  const Computed* value;
  double hope;  ///< Saved at most.
  double cost;  ///< Of its kernel and of memory.
};

/// Which of a kernel's candidates to store; sets of them are bits.
class StoredSets {
 public:
  StoredSets(const Evaluations& evaluations, size_t nodes, const std::vector<Candidate>& candidates, double least_gain)
      : evaluations_(evaluations),
        nodes_(nodes),
        candidates_(candidates),
        least_gain_(least_gain),
        nothing_(OpsWith(0)) {}

  /// One after the other, the best first.
  uint32_t OneByOne() const {
    uint32_t chosen = 0;
    for (double now = nothing_;;) {
      uint32_t best = 0;
      double best_gain = std::max(least_gain_, policy::kStoreShare * now), best_ops = 0;
      for (size_t i = 0; i < candidates_.size(); ++i) {
        const uint32_t bit = 1u << i;
        if ((chosen & bit) != 0) continue;
        const double then = OpsWith(chosen | bit);
        const double gain = std::min(now - then, candidates_[i].hope) - candidates_[i].cost;
        if (gain <= best_gain) continue;
        best = bit;
        best_gain = gain;
        best_ops = then;
      }
      if (best == 0) return chosen;
      chosen |= best;
      now = best_ops;
    }
  }

  /// All of them, without those that are not worth it beside the others, the least worth going first.
  uint32_t Together() const {
    auto chosen = static_cast<uint32_t>((uint64_t{1} << candidates_.size()) - 1);
    for (double now = OpsWith(chosen);;) {
      uint32_t worst = 0;
      double worst_gain = std::max(least_gain_, policy::kStoreShare * nothing_), worst_ops = 0;
      for (size_t i = 0; i < candidates_.size(); ++i) {
        const uint32_t bit = 1u << i;
        if ((chosen & bit) == 0) continue;
        const double without = OpsWith(chosen & ~bit);
        const double gain = std::min(without - now, candidates_[i].hope) - candidates_[i].cost;
        if (gain > worst_gain) continue;
        worst = bit;
        worst_gain = gain;
        worst_ops = without;
      }
      if (worst == 0) return chosen;
      chosen &= ~worst;
      now = worst_ops;
    }
  }

  bool IsBetter(uint32_t together, uint32_t chosen) const {
    const double gain = Total(chosen) - Total(together);
    return gain > std::max(least_gain_ * std::popcount(together), policy::kStoreTogetherShare * nothing_);
  }

 private:
  double OpsWith(uint32_t set) const {
    Evaluations::Stored stored(nodes_, nullptr);
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      for (const auto& [v, moves] : candidates_[i].value->values) stored[v] = &moves;
    }
    return evaluations_.Ops(stored);
  }
  double Total(uint32_t set) const {
    double ops = OpsWith(set);
    for (size_t i = 0; i < candidates_.size(); ++i) ops += (set >> i & 1) != 0 ? candidates_[i].cost : 0;
    return ops;
  }

  const Evaluations& evaluations_;
  const size_t nodes_;
  const std::vector<Candidate>& candidates_;
  const double least_gain_, nothing_;
};

}  // namespace

std::vector<NodeId> BetterStored(const kir::Kernel& kernel, const std::vector<Computed>& computed,
                                 const target::OpCosts& costs, double step) {
  const double least_gain = policy::kStoreGainSteps * step;
  const Evaluations evaluations(kernel, costs);
  if (!evaluations.known()) return {};
  std::vector<Candidate> candidates;
  // What a value costs with all that it needs, at most: what several need is counted each time.
  std::vector<double> most;
  for (const Computed& c : computed) {
    double times = 0, lanes = 0;
    for (const auto& [v, moves] : c.values) {
      times += evaluations.Times(v) / (c.complex ? 2 : 1);
      lanes += evaluations.Lanes(v) / (c.complex ? 2 : 1);
    }
    // In a loop's kernel another stage costs little, and a value that does not run in lanes, since only its users do, a
    // vector's work for each element.
    if (step < policy::kLaunchOps) {
      times *= policy::kCostLanes;
      lanes = std::max(lanes, times);
    }
    if (times <= c.elements) continue;
    for (Val v = static_cast<Val>(most.size()); v < kernel.nodes.size(); ++v) {
      most.push_back(evaluations.ApartCostOf(v));
      for (Val in : kernel.nodes[v].in) most[v] += most[in];
    }
    double cost = 0;
    for (const auto& [v, moves] : c.values) cost = std::max(cost, most[v]);
    const double hope = cost * (lanes - c.elements);
    if (hope > policy::StoreOps(c.bytes, c.stored, step) + least_gain) candidates.push_back({&c, hope, 0});
  }
  if (candidates.empty()) return {};
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.hope, a.value->node) > std::pair(b.hope, b.value->node);
  });
  if (candidates.size() > policy::kMaxStoreCandidates) candidates.resize(policy::kMaxStoreCandidates);
  for (Candidate& c : candidates) {
    const double once = evaluations.OpsOf(c.value->values[0].first, c.value->elements);
    c.cost =
        once < 0 ? c.hope : policy::kStoreMargin * (once + policy::StoreOps(c.value->bytes, c.value->stored, step));
  }
  const StoredSets sets(evaluations, kernel.nodes.size(), candidates, least_gain);
  uint32_t chosen = sets.OneByOne();
  // Some values only together let other lanes be chosen. In loops many stages share them.
  if (step >= policy::kLaunchOps && candidates.size() > 1) {
    const uint32_t together = sets.Together();
    if (together != chosen && sets.IsBetter(together, chosen)) chosen = together;
  }
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if ((chosen >> i & 1) != 0) nodes.push_back(candidates[i].value->node);
  }
  return nodes;
}

}  // namespace tenon::compiler
