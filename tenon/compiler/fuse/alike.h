#pragma once

/// Clusters that look alike become the same kernel: layers of a network, steps of a loop that is written out.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/compiler/fuse/cluster.h"
#include "tenon/compiler/fuse/kernel_maker.h"

namespace tenon::compiler {

/// What decides, beside its nodes, what becomes of a cluster.
struct ClusterSetting {
  bool settled = false;
  double step_ops = 0;
  std::vector<Dims> layouts;  ///< Of its roots; empty for dense ones.
  std::vector<bool> used;     ///< Results of its roots that are used, one behind the other.
  friend bool operator==(const ClusterSetting&, const ClusterSetting&) = default;
};

/// Values that take one another's place in two clusters that look alike.
class Likeness {
 public:
  /// Whether both do the same with operands of the same shapes, of which the same are equal.
  static std::optional<Likeness> Of(const Program& program, const Cluster& a, const Cluster& b);
  /// What stands in b for a value of a; an invalid one for values that neither names.
  Ref Counterpart(Ref r) const;

 private:
  explicit Likeness(const Program& program) : p_(program) {}
  bool Pair(NodeId a, NodeId b);
  bool AreAlike(NodeId a, NodeId b);
  bool AreAlike(const Block& a, const Block& b);
  bool Match(Ref a, Ref b);

  const Program& p_;
  std::unordered_map<NodeId, NodeId> to_, from_;
};

/// What became of clusters so far.
class AlikeClusters {
 public:
  explicit AlikeClusters(const Program& program) : p_(program) {}

  /// What became of a cluster: a kernel, or members that are better stored.
  struct Outcome {
    Cluster cluster;
    ClusterSetting setting;
    std::vector<std::pair<Ref, View>> reads;  ///< Values from outside that it reads, and how they lie.
    std::optional<MadeKernel> made;
    std::vector<NodeId> blocked;
  };
  /// f(outcome, likeness) of every outcome of a cluster that looks alike, until one says that it will do.
  template <class F>
  bool Find(const Cluster& cluster, const ClusterSetting& setting, const F& f) const {
    const auto it = outcomes_.find(HashOf(cluster));
    if (it == outcomes_.end()) return false;
    for (const Outcome& outcome : it->second) {
      if (!(outcome.setting == setting)) continue;
      const std::optional<Likeness> likeness = Likeness::Of(p_, outcome.cluster, cluster);
      if (likeness && f(outcome, *likeness)) return true;
    }
    return false;
  }
  void Add(Outcome outcome);

 private:
  uint64_t HashOf(const Cluster& cluster) const;

  const Program& p_;
  std::unordered_map<uint64_t, std::vector<Outcome>> outcomes_;
};

}  // namespace tenon::compiler
