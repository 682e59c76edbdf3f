#include "tenon/compiler/fuse/evaluations.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/kir/walk.h"
#include "tenon/target/lanes.h"

namespace tenon::compiler {

using kir::DimId;
using kir::DimMask;
using kir::Op;
using kir::Val;

namespace {

/// Whether a constant lies between their places, wherever the loops are.
bool GoTogether(const Moves& a, const Moves& b) {
  return a.memory == b.memory && !a.alone && !b.alone && a.by_data == b.by_data && a.strides == b.strides;
}

/// Those that GoTogether behind one another, by place.
void SortByPlace(std::vector<const Moves*>& accesses) {
  const auto before = [](const Moves* a, const Moves* b) {
    if (a->memory != b->memory) return a->memory < b->memory;
    if (!(a->strides == b->strides)) {
      return std::lexicographical_compare(a->strides.begin(), a->strides.end(), b->strides.begin(), b->strides.end());
    }
    return std::tie(a->alone, a->by_data, a->offset) < std::tie(b->alone, b->by_data, b->offset);
  };
  std::sort(accesses.begin(), accesses.end(), before);
}

}  // namespace

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
    const Lane lane = LaneOf(nest, needed, Stored(dims_.size(), nullptr));
    for (Val v = 0; v < needed.size() && lane.dim >= 0; ++v) {
      if (!needed[v] || kernel_.nodes[v].op != Op::kRead) continue;
      const double ops = lane.access_ops.at(&reads_[kernel_.nodes[v].attr]);
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

bool Evaluations::IsStrided(Val v) const {
  return apart_[v] >= policy::kApartShare * (policy::kStridedOps - costs_.Of(Op::kRead));
}

Moves Evaluations::MovesOf(kir::Buf buf, const SmallVector<kir::Axis, 4>& at) const {
  Moves moves;
  moves.memory = buf;
  moves.alone = IsComplex(kernel_.buffers[buf].type);
  for (size_t i = 0; i < at.size(); ++i) {
    const int64_t stride = kernel_.buffers[buf].stride[i].baked;
    moves.offset += at[i].offset.baked * stride;
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

std::vector<double> Evaluations::AccessOps(const std::vector<const Moves*>& accesses, DimId lane,
                                           const std::vector<DimId>& written_out, const Nest& nest) const {
  std::vector<double> all(accesses.size());
  const double read = costs_.Of(Op::kRead);
  for (size_t i = 0, end; i < accesses.size(); i = end) {
    const Moves& first = *accesses[i];
    const bool by_data = (first.by_data & Bit(lane)) != 0;
    const int64_t stride = std::abs(first.Along(lane));
    end = i + 1;
    double ops = by_data || stride > 1 ? policy::kStridedOps : stride == 1 ? read : 0;
    if (!by_data && kernel_.dims[lane].kind == kir::DimKind::kParallel && policy::IsFar(stride, nest.extents[lane]))
      ops *= policy::kFarTimes;
    if (!by_data && stride > 1 && stride <= target::kMaxInterleaved) {
      int members = 1;
      for (;
           end < accesses.size() && GoTogether(first, *accesses[end]) && accesses[end]->offset - first.offset < stride;
           ++end)
        members += accesses[end]->offset != accesses[end - 1]->offset ? 1 : 0;
      for (DimId d : written_out) {
        const int64_t along = std::abs(first.Along(d));
        if (along > 0 && along < stride) members *= static_cast<int>(nest.extents[d]);
      }
      members = std::min(members, static_cast<int>(stride));
      if (!first.alone) {
        const double together =
            target::InterleavedMove(static_cast<int>(policy::kCostLanes), static_cast<int>(stride), members);
        ops = std::min(ops, read * together / members);
      }
    }
    std::fill(all.begin() + static_cast<long>(i), all.begin() + static_cast<long>(end), ops);
  }
  return all;
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
  SortByPlace(accesses);
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
    // Short loops inside are written out, and what they read moves together.
    std::vector<DimId> inside(nest.parallel.begin() + (&loops == &nest.parallel ? static_cast<long>(i) + 1 : 0),
                              nest.parallel.end());
    double places = 1;
    for (DimId d : inside) places *= nest.extents[d];
    if (places > policy::kMaxWrittenOut) inside.clear();
    const std::vector<double> ops = AccessOps(accesses, loops[i], inside, nest);
    for (const double access : ops) {
      contiguous |= access > 0 && access < policy::kStridedOps;
      cost += access;
    }
    for (Val v = 0; v < needed.size(); ++v) {
      if (needed[v] && stored[v] == nullptr && kernel_.nodes[v].op != Op::kRead && (dims_[v] & Bit(loops[i])) != 0)
        cost += CostOf(v);
    }
    const double lanes = std::min(lanes_of(loops, i), policy::kCostLanes);
    cost *= (contiguous ? 1 : 1.5) / lanes;
    if (lane.dim >= 0 && cost >= best) return;
    lane = {loops[i], lanes, {}};
    for (size_t a = 0; a < ops.size(); ++a) lane.access_ops.emplace(accesses[a], ops[a]);
    best = cost;
  };
  double inner_points = 1;
  for (DimId d : nest.parallel) inner_points *= nest.extents[d];
  for (size_t i = nest.parallel.size(); i-- > 0;) consider(nest.parallel, i);
  if (nest.lanes_reduced) consider(nest.reduced, nest.reduced.size() - 1);
  if (lane.dim < 0 || (nest.reduced.empty() && inner_points <= policy::kMaxWrittenOut)) {
    for (size_t i = nest.outer.size(); i-- > 0;) consider(nest.outer, i);
  }
  return lane;
}

double Evaluations::NestOps(const Nest& nest, const Stored& stored) const {
  const std::vector<bool> needed = Needed(nest, stored);
  const auto [lane, filled, access_ops] = LaneOf(nest, needed, stored);
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
    ops += times * (read == nullptr ? CostOf(v) : in_lanes ? access_ops.at(read) : costs_.Of(Op::kRead));
  }
  return ops;
}

double Evaluations::Ops(const Stored& stored) const {
  double ops = 0;
  for (const Nest& nest : nests_) ops += NestOps(nest, stored);
  return ops;
}

double Evaluations::OpsOf(Val root, double elements, const Stored& stored) const {
  double ops = 0;
  std::vector<bool> needed(root + 1, false);
  needed[root] = true;
  for (Val v = root + 1; v-- > 0;) {
    if (!needed[v]) continue;
    if (stored[v] != nullptr && v != root) continue;  // A read of neighbours, as any that only moves.
    if (kernel_.nodes[v].op == Op::kReduced) return -1;
    ops += std::min(points_[v] * policy::kCostLanes, std::max(elements, policy::kCostLanes)) * ApartCostOf(v);
    kir::ForEachInput(kernel_, kernel_.nodes[v], [&](Val in) { needed[in] = true; });
  }
  return ops;
}

double Evaluations::MoreReadsOf(Val root, double elements, const Stored& stored) const {
  double reads = 0, most = 0;
  std::vector<bool> needed(root + 1, false);
  needed[root] = true;
  for (Val v = root + 1; v-- > 0;) {
    if (!needed[v]) continue;
    const bool is_stored = stored[v] != nullptr && v != root;
    if (is_stored || kernel_.nodes[v].op == Op::kRead) {
      const double ops =
          std::min(points_[v] * policy::kCostLanes, std::max(elements, policy::kCostLanes)) * costs_.Of(Op::kRead);
      reads += ops;
      most = std::max(most, ops);
    }
    if (!is_stored) kir::ForEachInput(kernel_, kernel_.nodes[v], [&](Val in) { needed[in] = true; });
  }
  return reads - most;
}

}  // namespace tenon::compiler
