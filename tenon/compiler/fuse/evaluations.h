#pragma once

/// How often a kernel evaluates its nodes, and what that costs.
///
/// Costs are those of target::OpCosts: cycles of one core per 16 elements. What they decide decides bits (a stored
/// value is contracted with nothing), so nothing here knows caches or clocks.

#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/compiler/fuse/cluster.h"
#include "tenon/compiler/fuse/index_map.h"
#include "tenon/kir/kir.h"
#include "tenon/target/target.h"

namespace tenon::compiler {

/// Where an access goes, and where to when a dim grows by one.
struct Moves {
  uint64_t memory = 0;  ///< Accesses of one array have one number.
  int64_t offset = 0;   ///< Where dims are 0, in elements.
  bool alone = false;   ///< Never moved together with its neighbours: parts of complex numbers.
  SmallVector<std::pair<kir::DimId, int64_t>, 4> strides;  ///< In elements; dims without an entry do not move it.
  kir::DimMask by_data = 0;                                ///< Dims that move it to places that depend on data.

  void Add(kir::DimId dim, int64_t stride) {
    for (auto& [d, s] : strides) {
      if (d != dim) continue;
      s += stride;
      return;
    }
    strides.push_back({dim, stride});
  }
  int64_t Along(kir::DimId dim) const {
    for (const auto& [d, s] : strides) {
      if (d == dim) return s;
    }
    return 0;
  }
};

/// What the loop nests of a kernel cost, whose extents are baked. A node is evaluated in the innermost of the loops
/// that it depends on, once for each point of the loops around that one; one that does not run in lanes costs a whole
/// vector. Which loop runs in lanes is chosen as the emitter does, by what the accesses look like.
class Evaluations {
 public:
  Evaluations(const kir::Kernel& kernel, const target::OpCosts& costs);

  /// Whether the model covers the kernel; false with native loops and for no points at all, and nothing else may be
  /// asked then.
  bool known() const { return known_; }
  /// How often the node is evaluated when loops run as they are written.
  double Times(kir::Val v) const { return times_[v]; }
  /// The lanes that this takes: what is evaluated for one point takes a whole vector.
  double Lanes(kir::Val v) const { return lanes_[v]; }
  int CostOf(kir::Val v) const { return costs_.Of(kernel_.nodes[v]); }
  /// The same, but of a read what is saved beyond one of neighbours, for which storing a value trades it.
  double ApartCostOf(kir::Val v) const { return kernel_.nodes[v].op == kir::Op::kRead ? apart_[v] : CostOf(v); }
  /// How a node that reads moves, and whether its lanes are loaded one by one.
  const Moves& MovesOf(kir::Val v) const { return reads_[kernel_.nodes[v].attr]; }
  bool IsStrided(kir::Val v) const;

  /// Nodes that are read from memory instead, with how; null for all others. By node.
  using Stored = std::vector<const Moves*>;
  /// Elements times costs of everything.
  double Ops(const Stored& stored) const;
  /// The same of one value alone, evaluated at `elements` places; -1 when it needs a reduction of the kernel.
  double OpsOf(kir::Val v, double elements, const Stored& stored) const;
  /// What OpsOf leaves out: reads of neighbours, but for one, which is traded for that of the value.
  double MoreReadsOf(kir::Val v, double elements, const Stored& stored) const;

 private:
  /// Roots that are evaluated in one loop nest.
  struct Nest {
    std::vector<kir::Val> roots;
    std::vector<const kir::Store*> stores;
    std::vector<kir::DimId> outer;
    std::vector<kir::DimId> parallel;  ///< Outermost first, those of all stages included.
    std::vector<kir::DimId> reduced;
    bool lanes_reduced = false;   ///< The innermost reduced dim may run in lanes.
    std::vector<double> extents;  ///< By dim.
  };

  void FindDims();
  Moves MovesOf(kir::Buf buf, const SmallVector<kir::Axis, 4>& at) const;
  void AddNests(const kir::Stage& stage);
  std::vector<bool> Needed(const Nest& nest, const Stored& stored) const;
  /// A dim (none: -1), and how many lanes of a vector its points fill.
  struct Lane {
    int dim = -1;
    double filled = 1;
    std::unordered_map<const Moves*, double> access_ops;  ///< Of what is read and written then.
  };
  /// What runs in lanes when these nodes are needed.
  Lane LaneOf(const Nest& nest, const std::vector<bool>& needed, const Stored& stored) const;
  double NestOps(const Nest& nest, const Stored& stored) const;
  /// The nest's loops as they run, outermost first, when `lane` runs in lanes (none: -1).
  std::vector<kir::DimId> LoopsOf(const Nest& nest, int lane) const;
  /// How many of these loops are around the node.
  size_t DepthOf(kir::Val v, const std::vector<kir::DimId>& loops) const;
  /// Costs of the accesses, which are sorted by place, when `lane` runs in lanes: those that lie closer together than
  /// neighbours along it are moved together, also those that only differ along dims that are written out.
  std::vector<double> AccessOps(const std::vector<const Moves*>& accesses, kir::DimId lane,
                                const std::vector<kir::DimId>& written_out, const Nest& nest) const;

  const kir::Kernel& kernel_;
  const target::OpCosts& costs_;
  bool known_ = true;
  std::vector<kir::DimMask> dims_;  ///< Per node: what it depends on.
  std::vector<Moves> reads_;        ///< Per read.
  std::vector<Nest> nests_;
  std::vector<double> points_;  ///< Per node: points of the loops that it depends on, over all nests.
  std::vector<double> times_;
  std::vector<double> lanes_;
  std::vector<double> apart_;  ///< Per read: what ApartCostOf says.
};

}  // namespace tenon::compiler
