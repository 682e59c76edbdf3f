#include "tenon/target/rows.h"

#include <algorithm>
#include <utility>

#include "tenon/kir/walk.h"
#include "tenon/target/lanes.h"
#include "tenon/target/target.h"

namespace tenon::target {
namespace {

using kir::DimId;
using kir::DimMask;
using kir::Op;
using kir::Val;

/// Rows branch on conditions that all of their points share where that saves so many cycles, which a branch that was
/// not foreseen takes, and such a share of all; they are computed in so many ways at most, each of which is code of its
/// own.
constexpr double kLeastChoice = 24;
constexpr double kLeastChoiceShare = 0.02;
constexpr int kRowWays = 4;
/// Cycles of an operation by its cost (OpCosts): two of them at once.
constexpr double kRowCyclesPerCost = 0.5;

constexpr DimMask Bit(size_t dim) { return DimMask{1} << dim; }

/// Places of the dim that the stage runs over, where they are part of the code.
std::optional<int64_t> PlacesOf(const RowStage& rows, DimId d) {
  if ((rows.known & Bit(d)) == 0) return std::nullopt;
  for (const kir::Range& r : rows.stage.domain) {
    if (r.dim != d) continue;
    if (r.lo.is_param() || r.hi.is_param()) return std::nullopt;
    return std::max<int64_t>(0, r.hi.baked - r.lo.baked);
  }
  return rows.kernel.dims[d].extent.baked;
}

/// By node: whether it comes from memory that the kernel writes.
std::vector<bool> FromWritten(const RowStage& rows) {
  const std::vector<bool> written = kir::WrittenBuffers(rows.kernel);
  std::vector<bool> from(rows.kernel.nodes.size());
  for (const Val v : rows.needed) {
    const kir::Node& node = rows.kernel.nodes[v];
    bool here = node.op == Op::kRead && written[rows.kernel.reads[node.attr].buf];
    kir::ForEachInput(rows.kernel, node, [&](Val in) { here = here || from[in]; });
    from[v] = here;
  }
  return from;
}

int CostOf(const kir::Node& node) {
  const int rounding = IsFloat(node.type) && ByteWidth(node.type) < 4 ? kNarrowRounding : 0;  // structural: below f32
  return OpCosts::Standard().Of(node) + rounding;
}

}  // namespace

std::optional<ValuesAhead> AheadOf(const RowStage& rows) {
  int64_t length = 1;
  for (DimId d = 0; d < rows.kernel.dims.size(); ++d) {
    if ((rows.row & Bit(d)) == 0) continue;
    const std::optional<int64_t> places = PlacesOf(rows, d);
    if (!places) return std::nullopt;
    length *= *places;
  }
  if (rows.around.empty() || length > kRowAhead) return std::nullopt;
  const DimMask along = Bit(rows.around.back());
  const std::vector<kir::Node>& nodes = rows.kernel.nodes;
  ValuesAhead ahead;
  const std::vector<bool> from_written = FromWritten(rows);
  std::vector<bool> early(nodes.size()), wanted(nodes.size());
  for (const kir::Store& store : rows.stage.stores) kir::ForEachRoot(store, [&](Val v) { wanted[v] = true; });
  for (const Val v : rows.needed) {
    // Places are counted where they are wanted.
    early[v] =
        !from_written[v] && (rows.deps[v] & along) != 0 && (rows.deps[v] & rows.row) == 0 && nodes[v].op != Op::kIndex;
    if (early[v]) {
      ahead.early.push_back(v);
      ahead.cost += CostOf(nodes[v]);
    } else {
      kir::ForEachInput(rows.kernel, nodes[v], [&](Val in) { wanted[in] = true; });
    }
  }
  for (const Val v : rows.needed) {
    if (early[v] && wanted[v]) ahead.handed.push_back(v);
    if (!early[v] || wanted[v]) ahead.late.push_back(v);
  }
  if (!ComputesAhead(ahead.cost, static_cast<int>(ahead.handed.size()), length)) return std::nullopt;
  return ahead;
}

kir::Val ConditionOf(const kir::Kernel& kernel, const kir::Node& select) {
  const kir::Node& asked = kernel.nodes[select.in[0]];
  return asked.op == Op::kNot ? asked.in[0] : select.in[0];
}

namespace {

/// Finds what is asked, outermost first.
class Asking {
 public:
  explicit Asking(const RowStage& rows)
      : rows_(rows), k_(rows.kernel), decided_(k_.nodes.size(), kOpen), reached_(k_.nodes.size()) {
    for (const kir::Store& store : rows.stage.stores) kir::ForEachRoot(store, [&](Val v) { roots_.push_back(v); });
    for (const DimId d : rows.around) inside_.push_back(Bit(d));
    inside_.push_back(rows.row);
    for (size_t i = rows.around.size(); i-- > 0;) inside_[i] |= inside_[i + 1];
  }

  RowChoices Run() {
    RowChoices all;
    all.needed.assign(rows_.needed.begin(), rows_.needed.end());
    conditions_ = Conditions();
    if (conditions_.empty()) return all;
    for (size_t loops = 0; loops < inside_.size(); ++loops) cycles_.push_back(CyclesWithin(loops));
    Grow(all, 0, kRowWays);
    return all;
  }

 private:
  enum Decided : uint8_t { kOpen, kHolds, kFails };
  struct Condition {
    Val v = kir::kNone;
    size_t loops = 0;  ///< So many of the loops around are open where it is known.
  };

  /// What selects ask that all points of a row share.
  std::vector<Condition> Conditions() const {
    std::vector<Condition> found;
    for (const Val v : rows_.needed) {
      if (k_.nodes[v].op != Op::kSelect) continue;
      const Val condition = ConditionOf(k_, k_.nodes[v]);
      const DimMask deps = rows_.deps[condition];
      if ((deps & rows_.row) != 0 || std::ranges::find(found, condition, &Condition::v) != found.end()) continue;
      size_t loops = 0;
      while ((deps & inside_[loops]) != 0) ++loops;
      found.push_back({condition, loops});
    }
    return found;
  }

  double Points(DimMask dims) const {
    double points = 1;
    for (DimId d = 0; d < k_.dims.size(); ++d) {
      if (dims & Bit(d)) points *= static_cast<double>(PlacesOf(rows_, d).value_or(kManyPlaces));
    }
    return points;
  }

  /// Of each node, once so many loops are open: as often as the innermost of its dims begins anew.
  std::vector<double> CyclesWithin(size_t loops) const {
    std::vector<double> times = {1};  // By number of loops that are opened further in, the row's vectors last.
    for (size_t i = loops; i < rows_.around.size(); ++i) times.push_back(times.back() * Points(Bit(rows_.around[i])));
    times.push_back(times.back() * std::max(1.0, Points(rows_.row) / static_cast<double>(rows_.lanes)));
    std::vector<double> cycles(k_.nodes.size());
    for (const Val v : rows_.needed) {
      const kir::Node& node = k_.nodes[v];
      size_t open = 0;  // Further in, up to the innermost of its dims.
      while (loops + open < inside_.size() && (rows_.deps[v] & inside_[loops + open]) != 0) ++open;
      if (open == 0) continue;
      const double one = kRowCyclesPerCost * CostOf(node) + (node.op == Op::kRead ? MoveOf(k_.reads[node.attr]) : 0);
      cycles[v] = one * times[open];
    }
    return cycles;
  }

  double MoveOf(const kir::Read& read) const {
    const kir::Buffer& buffer = k_.buffers[read.buf];
    bool moves = false;
    for (size_t i = 0; i < read.at.size(); ++i) {
      const kir::Axis& axis = read.at[i];
      if (axis.start != kir::kNone && (rows_.deps[axis.start] & rows_.row) != 0) return kStridedMove;
      for (const kir::Term& t : axis.terms) {
        if ((Bit(t.dim) & rows_.row) == 0) continue;
        if (t.coef == kir::Size::Of(1) && buffer.stride[i] == kir::Size::Of(1)) return kContiguousMove;
        moves = true;
      }
    }
    return moves ? kStridedMove : kContiguousMove;
  }

  /// Asks about as much as makes at most so many ways of it, from a place within so many loops on; how many there are.
  int Grow(RowChoices& at, size_t loops, int ways) {
    for (bool first = true; ways > 1 && loops < inside_.size(); first = false, ++loops) {
      at.condition = Best(at.needed, loops, first);
      if (at.condition != kir::kNone) return Branch(at, loops, ways);
    }
    return 1;
  }

  int Branch(RowChoices& at, size_t loops, int ways) {
    at.loops = loops;
    at.ways.resize(2);
    const auto grow = [&](bool holds, int most) {
      RowChoices way;
      decided_[at.condition] = holds ? kHolds : kFails;
      ForEachLeft(at.needed, [&](Val v) { way.needed.push_back(v); });
      std::ranges::reverse(way.needed);
      const int made = Grow(way, loops, most);
      decided_[at.condition] = kOpen;
      at.ways[holds ? 0 : 1] = std::move(way);
      return made;
    };
    // Half of them each, and what one of them leaves to the other one.
    int holds = grow(true, ways / 2);
    const int fails = grow(false, ways - holds);
    if (holds == ways / 2 && fails < ways - holds) holds = grow(true, ways - fails);
    return holds + fails;
  }

  /// The condition that saves most once so many loops are open; kNone where none saves enough. But for the `first` such
  /// place, those that were known before have been refused.
  Val Best(const std::vector<Val>& needed, size_t loops, bool first) {
    const std::vector<double>& cycles = cycles_[loops];
    double all = 0;
    for (const Val v : needed) all += IsDecided(k_.nodes[v]) ? 0 : cycles[v];
    double most = std::max(kLeastChoice, kLeastChoiceShare * all);
    Val best = kir::kNone;
    for (const Condition& c : conditions_) {
      if (decided_[c.v] != kOpen || (first ? c.loops > loops : c.loops != loops)) continue;
      const double saved = all - (CyclesIf(needed, c.v, kHolds, cycles) + CyclesIf(needed, c.v, kFails, cycles)) / 2;
      if (saved <= most) continue;
      most = saved;
      best = c.v;
    }
    return best;
  }

  double CyclesIf(const std::vector<Val>& needed, Val condition, Decided decided, const std::vector<double>& cycles) {
    double sum = 0;
    decided_[condition] = decided;
    ForEachLeft(needed, [&](Val v) { sum += IsDecided(k_.nodes[v]) ? 0 : cycles[v]; });
    decided_[condition] = kOpen;
    return sum;
  }

  /// f(v) for those of `needed` that the stores still need, last ones first.
  template <class F>
  void ForEachLeft(const std::vector<Val>& needed, const F& f) {
    reached_.assign(k_.nodes.size(), 0);
    for (const Val v : roots_) reached_[v] = 1;
    for (auto v = needed.rbegin(); v != needed.rend(); ++v) {
      if (reached_[*v] == 0) continue;
      f(*v);
      const kir::Node& node = k_.nodes[*v];
      const Decided known = KnownOf(node);
      if (known == kOpen) {
        kir::ForEachInput(k_, node, [&](Val in) { reached_[in] = 1; });
      } else {
        reached_[node.in[known == kHolds ? 1 : 2]] = 1;
      }
    }
  }

  /// Which of its values a select is.
  Decided KnownOf(const kir::Node& node) const {
    if (node.op != Op::kSelect) return kOpen;
    const Val condition = ConditionOf(k_, node);
    const Decided known = decided_[condition];
    if (known == kOpen || condition == node.in[0]) return known;
    return known == kHolds ? kFails : kHolds;
  }
  bool IsDecided(const kir::Node& node) const { return KnownOf(node) != kOpen; }

  const RowStage& rows_;
  const kir::Kernel& k_;
  std::vector<Val> roots_;
  std::vector<DimMask> inside_;  ///< By number of open loops: the dims of what is further in.
  std::vector<Condition> conditions_;
  std::vector<std::vector<double>> cycles_;  ///< By number of open loops: CyclesWithin.
  std::vector<Decided> decided_;
  std::vector<uint8_t> reached_;
};

}  // namespace

RowChoices ChoicesOf(const RowStage& rows) { return Asking(rows).Run(); }

}  // namespace tenon::target
