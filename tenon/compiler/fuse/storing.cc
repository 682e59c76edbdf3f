#include "tenon/compiler/fuse/storing.h"

#include <algorithm>
#include <bit>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/in_place.h"
#include "tenon/compiler/fuse/lane_cost.h"
#include "tenon/compiler/fuse/policy.h"

namespace tenon::compiler {

using kir::Op;
using kir::Val;

namespace {

struct Candidate {
  const Computed* value;
  double hope;  ///< Saved, seen from afar.
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
        const double gain = now - then - candidates_[i].cost;
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
        const double gain = without - now - candidates_[i].cost;
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

  /// What is read from memory with the set, but for one of it.
  Evaluations::Stored Of(uint32_t set, size_t but = SIZE_MAX) const {
    Evaluations::Stored stored(nodes_, nullptr);
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if ((set >> i & 1) == 0 || i == but) continue;
      for (const ValueAt& at : candidates_[i].value->values) stored[at.value] = &at.moves;
    }
    return stored;
  }

 private:
  double OpsWith(uint32_t set) const { return evaluations_.Ops(Of(set)); }
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

double TimesOf(const Evaluations& evaluations, const Computed& c) {
  double times = 0;
  for (const ValueAt& at : c.values) times += evaluations.Times(at.value) / (c.complex() ? 2 : 1);
  return times;
}

/// The nodes that the value reads with, in the order of its operands.
std::vector<Val> ReadsOf(const kir::Kernel& kernel, Val value) {
  std::vector<Val> reads, open = {value};
  std::vector<bool> seen(value + 1, false);
  while (!open.empty()) {
    const Val v = open.back();
    open.pop_back();
    if (seen[v]) continue;
    seen[v] = true;
    if (kernel.nodes[v].op == Op::kRead) reads.push_back(v);
    for (Val in : kernel.nodes[v].in) open.push_back(in);
  }
  return reads;
}

/// Whether a kernel of the value's own would read side by side, along rows of its elements, what this one loads lane by
/// lane: sums that are terms of sums, both written out, of arrays with more between two points than shuffles take
/// apart.
bool IsRowReadApart(const Evaluations& evaluations, const kir::Kernel& kernel, const Computed& c) {
  if (c.shape.dims.empty() || c.shape.dims.back() < policy::kMinRowReadApart) return false;
  const ValueAt& first = c.values[0];
  const auto next = std::ranges::find_if(c.values, [&](const ValueAt& at) {
    return at.component == first.component && at.moves.by_data == 0 && at.moves.strides == first.moves.strides &&
           at.moves.offset == first.moves.offset + 1;
  });
  if (next == c.values.end()) return false;
  const std::vector<Val> reads = ReadsOf(kernel, first.value), others = ReadsOf(kernel, next->value);
  if (reads.size() != others.size()) return false;
  bool apart = false;
  for (size_t i = 0; i < reads.size(); ++i) {
    const Moves &a = evaluations.MovesOf(reads[i]), &b = evaluations.MovesOf(others[i]);
    if (a.memory != b.memory || a.by_data != 0 || b.by_data != 0 || !(a.strides == b.strides)) return false;
    if (b.offset != a.offset && b.offset != a.offset + 1) return false;
    apart = apart || (b.offset != a.offset && evaluations.IsStrided(reads[i]));
  }
  return apart;
}

/// What the value costs wherever it is computed with all that it needs, and what several need each time, beyond what it
/// takes to compute every element once, or all of it where IsRowReadApart; below 0 when it is computed no more often.
double HopeOf(const Evaluations& evaluations, const kir::Kernel& kernel, const Computed& c, double step,
              std::vector<double>& most) {
  double times = TimesOf(evaluations, c), lanes = 0;
  for (const ValueAt& at : c.values) lanes += evaluations.Lanes(at.value) / (c.complex() ? 2 : 1);
  // In a loop's kernel another stage costs little, and a value that does not run in lanes, since only its users do, a
  // vector's work for each element.
  if (step < policy::kLaunchOps) {
    times *= policy::kCostLanes;
    lanes = std::max(lanes, times);
  }
  const bool apart = times <= c.elements();
  if (apart && !IsRowReadApart(evaluations, kernel, c)) return -1;
  for (Val v = static_cast<Val>(most.size()); v < kernel.nodes.size(); ++v) {
    most.push_back(evaluations.ApartCostOf(v));
    for (Val in : kernel.nodes[v].in) most[v] += most[in];
  }
  double cost = 0;
  for (const ValueAt& at : c.values) cost = std::max(cost, most[at.value]);
  return apart ? cost * c.elements() : cost * (lanes - c.elements());
}

/// Of too many candidates, by hope, those that are looked at closely. In loops lanes alone give much hope, so half of
/// the places are kept for what is computed again and again.
std::vector<Candidate> Closest(const Evaluations& evaluations, const std::vector<Candidate>& candidates) {
  const auto repeated = [&](const Candidate& c) { return TimesOf(evaluations, *c.value) > c.value->elements(); };
  size_t places =
      std::min(static_cast<size_t>(std::ranges::count_if(candidates, repeated)), policy::kMaxStoreCandidates / 2);
  size_t others = policy::kMaxStoreCandidates - places;
  std::vector<Candidate> closest;
  for (const Candidate& c : candidates) {
    size_t& left = places > 0 && repeated(c) ? places : others;
    if (left == 0) continue;
    --left;
    closest.push_back(c);
  }
  return closest;
}

/// The kernel with these values read from memory.
kir::Kernel Reading(kir::Kernel kernel, const std::vector<Candidate>& candidates, uint32_t set) {
  for (size_t i = 0; i < candidates.size(); ++i) {
    if ((set >> i & 1) == 0) continue;
    const Computed& c = *candidates[i].value;
    const auto buf = static_cast<kir::Buf>(kernel.buffers.size());
    kir::Buffer& buffer = kernel.buffers.emplace_back();
    buffer.type = c.shape.dtype;
    int64_t stride = 1;
    for (size_t d = c.shape.dims.size(); d-- > 0;) {
      buffer.extent.push_back(kir::Size::Of(c.shape.dims[d]));
      buffer.stride.push_back(kir::Size::Of(stride));
      stride *= c.shape.dims[d];
    }
    std::reverse(buffer.extent.begin(), buffer.extent.end());
    std::reverse(buffer.stride.begin(), buffer.stride.end());
    for (const ValueAt& at : c.values) {
      kir::Node& node = kernel.nodes[at.value];
      if (node.op == Op::kRead || node.op == Op::kConst) continue;
      kir::Read read = at.read;
      read.buf = buf;
      // Any constant will do, and without one no guard.
      for (Val v = 0; v < at.value && !read.guard.empty() && read.otherwise == kir::kNone; ++v) {
        if (kernel.nodes[v].op == Op::kConst && kernel.nodes[v].type == node.type) read.otherwise = v;
      }
      if (read.otherwise == kir::kNone) read.guard.clear();
      node = {Op::kRead, node.type, static_cast<uint8_t>(at.component), static_cast<uint32_t>(kernel.reads.size()), {}};
      kernel.reads.push_back(std::move(read));
    }
  }
  return kernel;
}

/// Of one core, in the form that a kernel has at last.
double Cycles(kir::Kernel kernel, const target::Target& target) {
  MadeKernel made;
  made.buffers.resize(kernel.buffers.size());
  made.kernel = std::move(kernel);
  ReformKernel(made, target);
  return LaneCycles(WhereInPlace(std::move(made.kernel)), target);
}

/// Of the largest result.
double WrittenElements(const kir::Kernel& kernel) {
  double most = 0;
  for (const kir::Buffer& buffer : kernel.buffers) {
    if (buffer.kind != kir::BufKind::kOut) continue;
    double elements = 1;
    for (const kir::Size& extent : buffer.extent) elements *= static_cast<double>(extent.baked);
    most = std::max(most, elements);
  }
  return most;
}

/// Whether storing the set pays. Nests of loops say how often something is computed, finished kernels what they take.
bool Pays(const kir::Kernel& kernel, const Evaluations& evaluations, const std::vector<Candidate>& candidates,
          uint32_t set, const StoredSets& sets, target::Target target, double step) {
  // The same vectors for all levels.
  if (target.kind == target::Kind::kCpu) target.vector_bytes = target.numerics.reduce_lane_bytes;
  const double now = Cycles(kernel, target), then = Cycles(Reading(kernel, candidates, set), target);
  // Of what is saved, what is computed once; the same work at most, seen by the nests.
  double once = 0, ops = 0, moved = 0, elements = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if ((set >> i & 1) == 0) continue;
    const Computed& c = *candidates[i].value;
    elements += c.elements();
    once = std::max(once, c.elements() / std::max(1.0, TimesOf(evaluations, c)));
    const Evaluations::Stored others = sets.Of(set, i);
    const kir::Val value = c.values[0].value;
    ops += std::max(0.0, evaluations.OpsOf(value, c.elements(), others)) +
           evaluations.MoreReadsOf(value, c.elements(), others);
    moved += policy::StoreOps(c.bytes(), c.stored, step);
    // Finished kernels count what they read, as if all of it lay near.
    if (c.bytes() <= policy::kNearBytes) moved -= c.bytes() * policy::kNearByteOps;
  }
  // Its own kernel goes through rows as what is left does, as far as it has elements for them, which takes what that
  // takes beside its operations.
  const double cycles_per_op = policy::kLaneCyclesPerCost / policy::kCostLanes;
  const double rows = std::max(0.0, then - evaluations.Ops(sets.Of(set)) * cycles_per_op);
  const double share = std::min(1.0, elements / std::max(1.0, WrittenElements(kernel)));
  const double computed_once = std::min(once * (now - then), ops * cycles_per_op + rows * share);
  return then + policy::kStoreMargin * (computed_once + moved / policy::kCostLanes) <= now;
}

}  // namespace

std::vector<NodeId> BetterStored(const kir::Kernel& kernel, const std::vector<Computed>& computed,
                                 const target::Target& target, double step) {
  const double least_gain = policy::kStoreGainSteps * step;
  const Evaluations evaluations(kernel, target.costs);
  if (!evaluations.known()) return {};
  std::vector<Candidate> candidates;
  std::vector<double> most;
  for (const Computed& c : computed) {
    const double hope = HopeOf(evaluations, kernel, c, step, most);
    if (hope > policy::StoreOps(c.bytes(), c.stored, step) + least_gain) candidates.push_back({&c, hope, 0});
  }
  if (candidates.empty()) return {};
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.hope, a.value->node) > std::pair(b.hope, b.value->node);
  });
  if (candidates.size() > policy::kMaxStoreCandidates) candidates = Closest(evaluations, candidates);
  for (Candidate& c : candidates) {
    const Evaluations::Stored nothing(kernel.nodes.size(), nullptr);
    const double once = evaluations.OpsOf(c.value->values[0].value, c.value->elements(), nothing);
    c.cost =
        once < 0 ? c.hope : policy::kStoreMargin * (once + policy::StoreOps(c.value->bytes(), c.value->stored, step));
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
  if (chosen != 0 && !Pays(kernel, evaluations, candidates, chosen, sets, target, step)) nodes.clear();
  return nodes;
}

}  // namespace tenon::compiler
