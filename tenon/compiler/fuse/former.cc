// Deals nodes out to units, users first: what a node may join is known when its users have been placed, and as nothing
// that is placed needs what is not, a node that joins as no root adds no edge between units, a node alone is a new
// first one, and only new results of a unit and joined units are questions to the graph.

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "tenon/compiler/fuse/alignment.h"
#include "tenon/compiler/fuse/cluster.h"
#include "tenon/compiler/fuse/legality.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/scalar_ops.h"
#include "tenon/compiler/fuse/unit_graph.h"

namespace tenon::compiler {
namespace {

using Vertex = UnitGraph::Vertex;
using Place = uint32_t;  // Of a node among those that are dealt out.

struct ClusterState {
  Cluster cluster;
  Vertex vertex = UnitGraph::kNone;
  bool outer_fixed = false;
  bool apart = false;         ///< Its first root was to be kept from other kernels.
  std::vector<Dims> reduced;  ///< Extents of its loop reductions, each once.
  int64_t dims = 0;           ///< Loops of all stages.
};

/// The kind and rows that a cluster takes when a reduction joins it.
struct ReduceForm {
  ClusterKind kind;
  uint32_t outer;
};

class Former {
 public:
  Former(const Program& p, const Deal& deal, const Captures& captures)
      : p_(p), deal_(deal), captures_(captures), limits_(p.target->limits), nodes_(deal.nodes) {}

  Clustering Run() {
    Prepare();
    for (size_t i = nodes_.size(); i-- > 0;) PlaceNode(static_cast<Place>(i));
    MergeSums();
    LetReadersGoFirst();
    return Order();
  }

 private:
  struct User {
    Place node;
    uint32_t operand;
  };
  struct Candidate {
    int cluster;
    Alignment alignment;
    /// The users there of which a point of the kernel wants the value at places of their own, as slices and their like
    /// say, each as often as it is wanted itself; and the most that one of the others is.
    int64_t moved = 0, same = 0;
    const User* last = nullptr;  ///< Of those counted.

    int64_t places() const { return std::max<int64_t>(1, moved + same); }
  };
  /// A cluster that computes a node, as it was named when the node joined, and how the node lies there.
  struct Membership {
    int cluster;
    Alignment alignment;
  };

  // Preparation
  // --------------------------------------------------------------------------------------------------------------------------

  const GraphNode& node(Place at) const { return p_[nodes_[at]]; }

  void Prepare() {
    const size_t n = nodes_.size();
    place_of_.reserve(n);
    for (size_t i = 0; i < n; ++i) place_of_[nodes_[i]] = static_cast<Place>(i);
    users_.resize(n);
    capturers_.resize(n);
    in_.resize(n);
    own_.assign(n, UnitGraph::kNone);
    repeats_.assign(n, 0);
    places_.assign(n, 1);
    fusible_.resize(n);
    escapes_.assign(n, false);
    stored_.assign(n, false);
    from_memory_.assign(n, 0);
    Place last_effect = kNowhere;
    effect_before_.assign(n, kNowhere);
    for (size_t i = 0; i < n; ++i) {
      const NodeId id = nodes_[i];
      const Place at = static_cast<Place>(i);
      const GraphNode& node = p_[id];
      for (uint32_t k = 0; k < node.in.size(); ++k) {
        if (const auto it = place_of_.find(node.in[k].node); it != place_of_.end())
          users_[it->second].push_back({at, k});
      }
      for (NodeId captured : captures_.Of(id)) {
        if (const auto it = place_of_.find(captured); it != place_of_.end()) capturers_[it->second].push_back(at);
      }
      fusible_[i] = !deal_.alone.contains(id) && IsFusible(p_, id);
      escapes_[i] = deal_.wanted.contains(id);
      stored_[i] = deal_.stored.contains(id);
      if (!node.side_effect) continue;
      effect_before_[at] = last_effect;
      last_effect = at;
    }
    for (size_t i = 0; i < n; ++i) from_memory_[i] = CostFromMemory(static_cast<Place>(i));
  }

  /// What it costs to compute a point of the node from what lies in memory: a guess before anything is dealt out.
  /// Values that several nodes want lie there if they are expensive or far from memory themselves; a point of a smaller
  /// one is computed once for all that it is spread to.
  double CostFromMemory(Place at) const {
    const GraphNode& node = this->node(at);
    if (!fusible_[at] || IsLoopReduce(p_, node)) return 0;
    const auto points = static_cast<double>(std::max<int64_t>(1, NumElements(node.shape().dims)));
    double most = 0;
    for (Ref r : node.in) {
      const auto it = place_of_.find(r.node);
      if (it == place_of_.end()) continue;
      const Place in = it->second;
      const bool lies = escapes_[in] || stored_[in] ||
                        (users_[in].size() > 1 && (from_memory_[in] > policy::kDuplicateFromMemory ||
                                                   CostOf(p_, this->node(in)) > policy::kDuplicateCost));
      if (lies) continue;
      const auto its_points = static_cast<double>(NumElements(p_.shape(r).dims));
      most = std::max(most, std::floor(from_memory_[in] * std::min(1.0, its_points / points)));
    }
    return CostOf(p_, node) + most;
  }

  /// f(place) for every operand among the nodes, those that its regions use included.
  template <class F>
  void ForEachOperand(Place at, const F& f) const {
    const auto visit = [&](NodeId id) {
      if (const auto it = place_of_.find(id); it != place_of_.end()) f(it->second);
    };
    for (Ref r : node(at).in) visit(r.node);
    for (NodeId id : captures_.Of(nodes_[at])) visit(id);
  }

  // Clusters
  // --------------------------------------------------------------------------------------------------------------------------

  ClusterState& state(int c) { return states_[static_cast<size_t>(c)]; }
  const ClusterState& state(int c) const { return states_[static_cast<size_t>(c)]; }
  bool In(int c, Place at) const { return state(c).cluster.members.contains(nodes_[at]); }

  /// Whether a user computes the node in its kernel, if it may, rather than read it from memory at places that depend
  /// on data.
  bool Traceable(const User& user, Place at) const {
    const GraphNode& reader = node(user.node);
    if (reader.op == OpCode::kDynamicUpdate) return user.operand != 0;
    return reader.op != OpCode::kGather || user.operand != 0 || IsTaken(at);
  }

  /// Whether all that is asked of a cheap node or of padding are some of its elements, no more of them than it has:
  /// windows of padded images, rows of tables that are converted.
  bool IsTaken(Place at) const {
    const GraphNode& node = this->node(at);
    const bool pads = node.op == OpCode::kPad && !HasInteriorPad(p_, node);
    if (escapes_[at] ||
        (!pads && (KindOfOp(node.op) != OpKind::kElementwise || CostOf(p_, node) > policy::kDuplicateCost)))
      return false;
    int64_t taken = 0;
    for (const User& user : users_[at]) {
      const GraphNode& reader = this->node(user.node);
      if (reader.op != OpCode::kGather || user.operand != 0) return false;
      taken += NumElements(reader.shape().dims);
    }
    return taken <= NumElements(node.shape().dims);
  }

  /// The cluster that `c` has become by merges.
  int Now(int c) {
    while (merged_into_[static_cast<size_t>(c)] != c) {
      int& into = merged_into_[static_cast<size_t>(c)];
      c = into = merged_into_[static_cast<size_t>(into)];
    }
    return c;
  }

  int NewCluster(Place root) {
    const GraphNode& node = this->node(root);
    const int c = static_cast<int>(states_.size());
    ClusterState s;
    s.cluster.space = node.shape().dims;
    s.cluster.roots = {nodes_[root]};
    if (node.op == OpCode::kConcatenate || HasInteriorPad(p_, node)) s.cluster.kind = ClusterKind::kConcat;
    if (node.op == OpCode::kDynamicUpdate) s.cluster.kind = ClusterKind::kUpdate;
    s.dims = LoopsOf(s.cluster.space);
    if (IsLoopReduce(p_, node)) {
      s.cluster.kind = IsRowReduce(node) ? ClusterKind::kRow : ClusterKind::kColumn;
      s.cluster.outer = static_cast<uint32_t>(s.cluster.space.size());
      s.outer_fixed = true;
    }
    s.apart = stored_[root];
    s.vertex = graph_.Add(Successors(root));
    states_.push_back(std::move(s));
    merged_into_.push_back(c);
    Join(c, root, IdentityAlignment(node.shape().rank()));
    return c;
  }

  void Join(int c, Place at, Alignment a) {
    ClusterState& s = state(c);
    const GraphNode& node = this->node(at);
    s.cluster.members.insert(nodes_[at]);
    s.cluster.cost += CostOf(p_, node);
    if (IsLoopReduce(p_, node)) AddReduced(s, ReducedExtents(p_, node));
    in_[at].push_back({c, std::move(a)});
  }

  static void AddReduced(ClusterState& s, const Dims& extents) {
    if (std::find(s.reduced.begin(), s.reduced.end(), extents) != s.reduced.end()) return;
    s.reduced.push_back(extents);
    s.dims += LoopsOf(extents);
  }

  /// What the cluster would hold with the node.
  KernelContents With(int c, Place at, bool root) const {
    const ClusterState& s = state(c);
    const GraphNode& node = this->node(at);
    KernelContents contents{static_cast<int64_t>(s.cluster.members.size()) + 1, s.cluster.cost + CostOf(p_, node),
                            s.dims, static_cast<int64_t>(s.cluster.roots.size()) + (root ? 1 : 0)};
    if (IsLoopReduce(p_, node)) {
      const Dims extents = ReducedExtents(p_, node);
      if (std::find(s.reduced.begin(), s.reduced.end(), extents) == s.reduced.end()) contents.dims += LoopsOf(extents);
    }
    return contents;
  }
  bool HasRoom(int c, Place at, bool root = false) const { return MayHold(With(c, at, root), limits_); }

  // Edges
  // --------------------------------------------------------------------------------------------------------------------------

  /// Units that read the node once it lies in memory, or compute it themselves.
  void UnitsOf(Place user, std::vector<Vertex>& units) const {
    if (own_[user] != UnitGraph::kNone) units.push_back(own_[user]);
    for (const Membership& m : in_[user]) units.push_back(state(m.cluster).vertex);
  }

  /// Units that come after whatever stores the node.
  std::vector<Vertex> Successors(Place at) const {
    std::vector<Vertex> units;
    for (const User& user : users_[at]) UnitsOf(user.node, units);
    for (Place user : capturers_[at]) UnitsOf(user, units);
    // What computes the node itself does not read it.
    if (in_[at].empty()) return units;
    std::vector<Vertex> inside;
    for (const Membership& m : in_[at]) inside.push_back(graph_.Find(state(m.cluster).vertex));
    std::sort(inside.begin(), inside.end());
    std::erase_if(units, [&](Vertex v) { return std::binary_search(inside.begin(), inside.end(), graph_.Find(v)); });
    return units;
  }

  /// Makes a node that joins `c` one of its results, unless a unit between them forbids it.
  bool BecomeRoot(int c, Place at, int64_t& budget) {
    if (!graph_.Link(state(c).vertex, Successors(at), budget)) return false;
    state(c).cluster.roots.push_back(nodes_[at]);
    return true;
  }

  // Reductions
  // --------------------------------------------------------------------------------------------------------------------------

  /// Whether the reduction keeps leading dims and runs over the trailing ones.
  bool IsRowReduce(const GraphNode& node) const {
    const Shape& operand = p_.shape(node.in[0]);
    size_t last = operand.rank();
    while (last > 0 && operand.dims[last - 1] == 1) --last;
    if (last == 0) return true;
    const Dims& over = node.attrs<ReduceAttrs>().dimensions;
    return std::find(over.begin(), over.end(), static_cast<int64_t>(last - 1)) != over.end();
  }

  /// A loop reduction into its users' cluster: its rows must be the cluster's rows. Gives what the cluster becomes.
  std::optional<ReduceForm> FormWithReduce(int c, Place at, const Alignment& a) const {
    const ClusterState& s = state(c);
    const GraphNode& node = this->node(at);
    for (const Shape& shape : node.out) {
      if (shape.dims != node.shape().dims) return std::nullopt;
    }
    if (s.cluster.kind == ClusterKind::kConcat || s.cluster.kind == ClusterKind::kUpdate) return std::nullopt;
    // Which dims of the space the rows are, extents of one apart.
    SmallVector<int8_t, 6> rows;
    for (size_t i = 0; i < a.size(); ++i) {
      if (node.shape().dims[i] == 1) continue;
      if (a[i] < 0) return std::nullopt;
      rows.push_back(a[i]);
    }
    for (size_t i = 1; i < rows.size(); ++i) {
      if (rows[i] <= rows[i - 1]) return std::nullopt;
    }
    return IsRowReduce(node) ? FormWithRow(s, node, rows) : FormWithColumn(s, at, a);
  }

  std::optional<ReduceForm> FormWithRow(const ClusterState& s, const GraphNode& node,
                                        const SmallVector<int8_t, 6>& rows) const {
    if (s.cluster.kind == ClusterKind::kColumn) return std::nullopt;
    // They must be the leading dims of the space.
    uint32_t outer = 0;
    size_t r = 0;
    while (outer < s.cluster.space.size()) {
      if (s.cluster.space[outer] == 1) {
        ++outer;
        continue;
      }
      if (r < rows.size() && rows[r] == static_cast<int8_t>(outer)) {
        ++r;
        ++outer;
        continue;
      }
      break;
    }
    if (r != rows.size()) return std::nullopt;
    // Trailing extents of one belong to the inner side, except when all of the space is rows.
    if (s.outer_fixed) {
      if (!SameRows(s.cluster, outer)) return std::nullopt;
      outer = s.cluster.outer;
    }
    int64_t row_count = 1;
    for (uint32_t i = 0; i < outer; ++i) row_count *= s.cluster.space[i];
    // A short sum, too: what uses it waits for it.
    const int64_t total = std::max(row_count * NumElements(ReducedExtents(p_, node)), NumElements(s.cluster.space));
    if (row_count < policy::kMinRows && total > policy::kSmallElements) return std::nullopt;
    if (!s.outer_fixed && !RootsHaveTheSpace(s)) return std::nullopt;
    return ReduceForm{ClusterKind::kRow, outer};
  }

  /// Reductions over outer dims: only values of the results' own shape may follow in the same nest.
  std::optional<ReduceForm> FormWithColumn(const ClusterState& s, Place at, const Alignment& a) const {
    const GraphNode& node = this->node(at);
    if (s.cluster.kind == ClusterKind::kRow || node.shape().dims != s.cluster.space || !RootsHaveTheSpace(s))
      return std::nullopt;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] != static_cast<int8_t>(i) && node.shape().dims[i] != 1) return std::nullopt;
    }
    for (NodeId id : s.cluster.members) {
      const GraphNode& other = p_[id];
      if (!IsLoopReduce(p_, other)) continue;
      if (p_.shape(other.in[0]).dims != p_.shape(node.in[0]).dims || other.attributes != node.attributes)
        return std::nullopt;
    }
    if (!s.reduced.empty() && FeedsReduce(s.cluster, at)) return std::nullopt;
    return ReduceForm{ClusterKind::kColumn, static_cast<uint32_t>(s.cluster.space.size())};
  }

  bool RootsHaveTheSpace(const ClusterState& s) const {
    return std::all_of(s.cluster.roots.begin(), s.cluster.roots.end(),
                       [&](NodeId root) { return p_[root].shape().dims == s.cluster.space; });
  }

  /// Whether a loop reduction of the cluster depends on the node through members.
  bool FeedsReduce(const Cluster& cluster, Place at) const {
    std::vector<Place> open = {at};
    std::unordered_set<Place> seen;
    while (!open.empty()) {
      const Place from = open.back();
      open.pop_back();
      for (const User& user : users_[from]) {
        if (!cluster.members.contains(nodes_[user.node]) || !seen.insert(user.node).second) continue;
        if (IsLoopReduce(p_, node(user.node))) return true;
        open.push_back(user.node);
      }
    }
    return false;
  }

  static bool SameRows(const Cluster& c, uint32_t outer) {
    auto trim = [&](uint32_t n) {
      while (n > 0 && c.space[n - 1] == 1) --n;
      return n;
    };
    return trim(outer) == trim(c.outer);
  }

  void JoinReduce(int c, Place at, Alignment a, const ReduceForm& form) {
    ClusterState& s = state(c);
    s.cluster.kind = form.kind;
    s.cluster.outer = form.outer;
    s.outer_fixed = true;
    Join(c, at, std::move(a));
  }

  // Merges
  // --------------------------------------------------------------------------------------------------------------------------

  /// The reductions over outer dims of a cluster, whose operands' dims and attributes are all the same.
  std::vector<NodeId> ColumnsOf(const ClusterState& s) const {
    std::vector<NodeId> sums;
    if (s.cluster.kind != ClusterKind::kColumn) return sums;
    for (NodeId id : s.cluster.members) {
      if (IsLoopReduce(p_, p_[id])) sums.push_back(id);
    }
    std::sort(sums.begin(), sums.end());
    return sums;
  }
  /// Whether both are sums of columns over the same dims, and so few that registers hold them.
  bool SumAlike(const ClusterState& x, const ClusterState& y) const {
    const std::vector<NodeId> a = ColumnsOf(x), b = ColumnsOf(y);
    return !a.empty() && !b.empty() && a.size() + b.size() <= policy::kMaxSumsTogether &&
           p_.shape(p_[a[0]].in[0]).dims == p_.shape(p_[b[0]].in[0]).dims &&
           p_[a[0]].attributes == p_[b[0]].attributes && RootsHaveTheSpace(x) && RootsHaveTheSpace(y);
  }

  /// Sums of columns that go through one array do so together, where no value that both compute has brought them
  /// together before.
  void MergeSums() {
    std::unordered_map<Ref, std::vector<int>, RefHasher> readers;
    std::vector<Ref> arrays;  // In the order in which they were met.
    for (int c = 0; c < static_cast<int>(states_.size()); ++c) {
      if (Now(c) != c) continue;
      for (Ref r : ArraysOf(state(c))) {
        std::vector<int>& list = readers[r];
        if (list.empty()) arrays.push_back(r);
        list.push_back(c);
      }
    }
    for (Ref r : arrays) {
      const std::vector<int>& list = readers[r];
      for (size_t i = 0; i < list.size(); ++i) {
        for (size_t k = i + 1; k < std::min(list.size(), i + 1 + policy::kMaxSumsTogether); ++k) {
          const int a = Now(list[i]), b = Now(list[k]);
          int64_t budget = policy::kPathSteps;
          if (a != b) Merge(a, b, budget);
        }
      }
    }
  }

  /// What the cluster's sums of columns read from memory, as it lies, of so many elements as they go through.
  std::vector<Ref> ArraysOf(const ClusterState& s) const {
    std::vector<Ref> arrays;
    for (NodeId sum : ColumnsOf(s)) {
      const int64_t elements = NumElements(p_.shape(p_[sum].in[0]).dims);
      std::vector<Ref> open = {p_[sum].in[0]};
      for (size_t i = 0; i < open.size() && open.size() < policy::kMaxSumOperands; ++i) {
        const Ref r = open[i];
        const OpCode op = p_[r.node].op;
        if (NumElements(p_.shape(r).dims) != elements) continue;
        if (op == OpCode::kReshape || (s.cluster.members.contains(r.node) && KindOfOp(op) == OpKind::kElementwise)) {
          for (Ref in : p_[r.node].in) {
            if (std::find(open.begin(), open.end(), in) == open.end()) open.push_back(in);
          }
        } else if (!s.cluster.members.contains(r.node) && std::find(arrays.begin(), arrays.end(), r) == arrays.end()) {
          arrays.push_back(r);
        }
      }
    }
    return arrays;
  }

  /// Whether the kinds and spaces of two clusters fit together, and one kernel holds both.
  bool Fit(const ClusterState& x, const ClusterState& y) const {
    auto plain = [](ClusterKind k) { return k == ClusterKind::kMap || k == ClusterKind::kRow; };
    const bool sums = SumAlike(x, y);
    if (x.apart || y.apart || (!sums && (!plain(x.cluster.kind) || !plain(y.cluster.kind)))) return false;
    if (x.cluster.space != y.cluster.space) return false;
    if (x.outer_fixed && y.outer_fixed && !SameRows(x.cluster, y.cluster.outer)) return false;
    if (x.outer_fixed != y.outer_fixed) {
      // A map that becomes part of rows must have whole-space roots, and there must be something inside the rows.
      const Cluster& row = x.outer_fixed ? x.cluster : y.cluster;
      if (row.outer == row.space.size()) return false;
    }
    KernelContents both{static_cast<int64_t>(x.cluster.members.size() + y.cluster.members.size()),
                        x.cluster.cost + y.cluster.cost, x.dims,
                        static_cast<int64_t>(x.cluster.roots.size() + y.cluster.roots.size())};
    for (const Dims& extents : y.reduced) {
      if (std::find(x.reduced.begin(), x.reduced.end(), extents) == x.reduced.end()) both.dims += LoopsOf(extents);
    }
    return MayHold(both, limits_);
  }

  /// Makes one cluster of two where that is legal; gives the one that remains, or -1.
  int Merge(int a, int b, int64_t& budget) {
    if (!Fit(state(a), state(b)) || !graph_.Contract(state(a).vertex, state(b).vertex, budget)) return -1;
    if (state(a).cluster.members.size() < state(b).cluster.members.size()) std::swap(a, b);
    ClusterState& x = state(a);
    ClusterState& y = state(b);
    if (y.outer_fixed && !x.outer_fixed) {
      x.outer_fixed = true;
      x.cluster.outer = y.cluster.outer;
      x.cluster.kind = y.cluster.kind;
    }
    for (const Dims& extents : y.reduced) AddReduced(x, extents);
    for (NodeId id : y.cluster.members) {
      if (x.cluster.members.insert(id).second) x.cluster.cost += CostOf(p_, p_[id]);
    }
    for (NodeId root : y.cluster.roots) {
      if (std::find(x.cluster.roots.begin(), x.cluster.roots.end(), root) == x.cluster.roots.end())
        x.cluster.roots.push_back(root);
    }
    y.cluster = {};
    y.reduced = {};
    merged_into_[static_cast<size_t>(b)] = a;
    return a;
  }

  // Placing
  // --------------------------------------------------------------------------------------------------------------------------

  /// The clusters of the users that compute the node themselves, with how it lies there.
  std::vector<Candidate> Candidates(Place at) {
    std::vector<Candidate> candidates;
    if (last_candidate_.size() < states_.size()) last_candidate_.resize(states_.size(), {kNowhere, 0});
    for (const User& user : users_[at]) {
      if (!fusible_[user.node] || in_[user.node].empty()) continue;
      const GraphNode& reader = node(user.node);
      if (!Traceable(user, at)) continue;
      for (const Membership& m : in_[user.node]) {
        const int c = Now(m.cluster);
        const Alignment a = AlignmentBelow(p_, reader, user.operand, m.alignment);
        auto& [seen, index] = last_candidate_[static_cast<size_t>(c)];
        if (seen == at) {
          Meet(candidates[index].alignment, a);
        } else {
          seen = at;
          index = candidates.size();
          candidates.push_back({c, a});
        }
        CountPlaces(user, candidates[index]);
      }
    }
    return candidates;
  }
  void CountPlaces(const User& user, Candidate& c) const {
    if (c.last == &user) return;  // Its clusters became one.
    c.last = &user;
    const OpCode op = node(user.node).op;
    if (op == OpCode::kSlice || op == OpCode::kReverse || op == OpCode::kPad) {
      c.moved += places_[user.node];
    } else {
      c.same = std::max(c.same, places_[user.node]);
    }
  }
  /// At how many places a kernel of the node's users wants it for one of its own points; enough to tell what is cheap.
  static int64_t MostPlaces(const std::vector<Candidate>& to) {
    int64_t most = 1;
    for (const Candidate& c : to) most = std::max(most, c.places());
    return std::min(most, int64_t{policy::kDuplicateCost} + 1);
  }

  /// Whether somebody needs the node in memory: a unit that is no kernel, or a kernel at places that depend on data.
  bool IsReadFromMemory(Place at) const {
    return std::any_of(users_[at].begin(), users_[at].end(), [&](const User& user) {
      if (!fusible_[user.node]) return false;
      const bool computed = !in_[user.node].empty();
      if (computed && Traceable(user, at)) return false;
      return computed || escapes_[user.node];
    });
  }

  /// Whether a concatenation's users are gathers that know which operand each of their indices comes from.
  bool MakesIndexVectors(Place at) const {
    const GraphNode& node = this->node(at);
    if (node.op != OpCode::kConcatenate) return false;
    return !users_[at].empty() && std::all_of(users_[at].begin(), users_[at].end(), [&](const User& user) {
      const GraphNode& gather = this->node(user.node);
      return gather.op == OpCode::kGather && user.operand == 1 &&
             gather.attrs<GatherAttrs>().index_vector_dim == node.attrs<ConcatenateAttrs>().dimension;
    });
  }

  /// Whether a value that others need as well may be stored by the cluster of its users.
  bool MayBeRoot(int c, Place at, const Alignment& a, ClusterKind kind, uint32_t outer) const {
    const ClusterState& s = state(c);
    if (kind == ClusterKind::kConcat || kind == ClusterKind::kUpdate) return false;
    if (!HasRoom(c, at, true)) return false;
    const GraphNode& node = this->node(at);
    for (const Shape& shape : node.out) {
      if (shape.dims == s.cluster.space) continue;
      // Rows.
      if (kind != ClusterKind::kRow) return false;
      size_t d = 0;
      for (int64_t extent : shape.dims) {
        if (extent == 1) continue;
        while (d < outer && s.cluster.space[d] == 1) ++d;
        if (d >= outer || s.cluster.space[d] != extent) return false;
        ++d;
      }
      while (d < outer && s.cluster.space[d] == 1) ++d;
      if (d != outer) return false;
    }
    const bool whole = node.shape().dims == s.cluster.space;
    int last = -1;
    for (size_t i = 0; i < a.size(); ++i) {
      if (node.shape().dims[i] == 1) continue;
      if (a[i] < 0 || a[i] <= last) return false;
      last = a[i];
      if (whole && a[i] != static_cast<int>(i)) return false;
    }
    return true;
  }
  bool MayBeRoot(const Candidate& to, Place at) const {
    const Cluster& cluster = state(to.cluster).cluster;
    return MayBeRoot(to.cluster, at, to.alignment, cluster.kind, cluster.outer);
  }

  void PlaceAlone(Place at) {
    std::vector<Vertex> after = Successors(at);
    if (node(at).side_effect && last_effect_ != UnitGraph::kNone) after.push_back(last_effect_);
    own_[at] = graph_.Add(after);
    if (node(at).side_effect) last_effect_ = own_[at];
    ForEachOperand(at, [&](Place in) { escapes_[in] = true; });  // They need memory.
  }

  /// A view of something else: that is stored, and this is where to look in it.
  void PlaceView(Place at, std::vector<Candidate>& candidates) {
    if (const auto it = place_of_.find(node(at).in[0].node); it != place_of_.end()) escapes_[it->second] = true;
    escapes_[at] = true;
    if (!stored_[at]) {
      for (Candidate& to : candidates) {
        if (!In(to.cluster, at)) Join(to.cluster, at, std::move(to.alignment));
      }
    }
    // One that no kernel can look through stays out of all.
    own_[at] = graph_.Add(Successors(at));
  }

  /// Whether a slice keeps so little of what nobody else asks for, or of what costs nothing, that computing the rest
  /// would be a waste.
  bool KeepsLittle(Place at) const {
    if (node(at).op != OpCode::kSlice) return false;
    const auto kept = static_cast<double>(NumElements(node(at).shape().dims));
    auto it = place_of_.find(node(at).in[0].node);
    while (it != place_of_.end() && !escapes_[it->second] && fusible_[it->second]) {
      const GraphNode& from = node(it->second);
      const bool counts = from.op == OpCode::kIota;
      if (!counts && users_[it->second].size() != 1) return false;
      if (!IsPureView(p_, from)) {
        return (KindOfOp(from.op) == OpKind::kElementwise || counts) &&
               kept < policy::kLittleOfAll * static_cast<double>(NumElements(from.shape().dims));
      }
      it = place_of_.find(from.in[0].node);
    }
    return false;
  }

  void PlaceNode(Place at) {
    if (!fusible_[at]) return PlaceAlone(at);
    const GraphNode& node = this->node(at);
    std::vector<Candidate> to = Candidates(at);
    const bool stored = stored_[at];
    const bool escapes = escapes_[at] || stored || IsReadFromMemory(at);
    if (to.empty() && !escapes) return;  // Nobody wants it.
    if (IsPureView(p_, node) && escapes && !KeepsLittle(at)) return PlaceView(at, to);
    if (node.op == OpCode::kConcatenate || HasInteriorPad(p_, node) || node.op == OpCode::kDynamicUpdate) {
      // Small concatenations are selected between where they are used.
      const bool few = node.in.size() <= policy::kMaxSelectedParts &&
                       (NumElements(node.shape().dims) <= policy::kSmallElements || WrapsAround(node));
      const bool select = node.op == OpCode::kConcatenate && !escapes && (few || MakesIndexVectors(at)) &&
                          to.size() == 1 && HasRoom(to[0].cluster, at);
      if (!select) {
        NewCluster(at);
        return;
      }
    }
    if (stored || to.empty()) {
      NewCluster(at);
      return;
    }
    // Questions to the graph cost at most so much for one node.
    int64_t budget = policy::kPathSteps + 4 * static_cast<int64_t>(users_[at].size());
    const int cost = CostOf(p_, node);
    const bool scalar = NumElements(node.shape().dims) == 1;
    const bool loop_reduce = IsLoopReduce(p_, node);
    places_[at] = MostPlaces(to);
    const bool cheap = IsCheap(at, cost, scalar, to.size() > 1);
    if (to.size() > 1 && (escapes || (!cheap && MayMeetIn(at, to, cost)))) MergeCandidates(to, budget);
    // An expensive value that is spread out is computed once instead.
    const bool spread = to.size() == 1 && !loop_reduce && !scalar && IsSpread(to[0], at, cost);
    const bool placed = !spread && (loop_reduce      ? PlaceReduce(at, to, escapes, budget)
                                    : to.size() == 1 ? PlaceWithOne(at, to[0], escapes, budget)
                                    : cheap && !escapes && Repeat(at, to, cost) ? true
                                                                                : PlaceAsRoot(at, to, budget));
    if (placed) return;
    if (!spread && !loop_reduce && to.size() == 1 && escapes && cheap && scalar && HasRoom(to[0].cluster, at)) {
      Join(to[0].cluster, at, std::move(to[0].alignment));  // Stored for others, computed again here.
    }
    if (IsPureView(p_, node)) {  // Not worth a kernel: who reads it looks through it.
      to.clear();
      return PlaceView(at, to);
    }
    NewCluster(at);
  }

  /// A concatenation of one value and slices of it: rolls and periodic padding. Selecting between its own elements
  /// costs less than moving all of them.
  bool WrapsAround(const GraphNode& node) const {
    const auto whole = [&](Ref r) { return p_[r.node].op == OpCode::kSlice ? p_[r.node].in[0] : r; };
    return std::all_of(node.in.begin(), node.in.end(), [&](Ref r) { return whole(r) == whole(node.in[0]); });
  }

  /// Cheap things are computed wherever they are used, if what they repeat with their users stays small.
  bool IsCheap(Place at, int cost, bool scalar, bool several) const {
    const GraphNode& node = this->node(at);
    if (IsLoopReduce(p_, node)) return false;
    if (cost > policy::kDuplicateCost && !(scalar && cost <= policy::kDuplicateScalarCost) && node.op != OpCode::kIota)
      return false;
    if (!several) return true;
    return (scalar || places_[at] == 1 || places_[at] * CostAtAPlace(node, cost) <= policy::kDuplicateCost) &&
           from_memory_[at] <= policy::kDuplicateFromMemory && RepeatedWith(at, cost) <= policy::kDuplicateChain;
  }
  /// Padding asks at each place where it is. Sums that are written out take an operation for each term, and one for
  /// what it is.
  int64_t CostAtAPlace(const GraphNode& node, int cost) const {
    if (node.op == OpCode::kPad) return policy::kPadCost;
    if (node.op != OpCode::kReduce) return cost;
    return 2 * NumElements(p_.shape(node.in[0]).dims) / std::max<int64_t>(1, NumElements(node.shape().dims));
  }
  /// Whether users in several kernels make one of these for the sake of the node. What is cheap but far from memory is
  /// spread by kernels of more points, and then repeated for them after all.
  bool MayMeetIn(Place at, const std::vector<Candidate>& to, int cost) const {
    if (cost > policy::kDuplicateCost || IsLoopReduce(p_, node(at))) return true;
    return std::all_of(to.begin(), to.end(),
                       [&](const Candidate& c) { return state(c.cluster).cluster.space == node(at).shape().dims; });
  }
  int64_t RepeatedWith(Place at, int cost) const {
    int64_t most = 0;
    for (const User& user : users_[at]) most = std::max(most, repeats_[user.node]);
    return most + std::max(1, cost);
  }

  /// One kernel for all users?
  void MergeCandidates(std::vector<Candidate>& to, int64_t& budget) {
    size_t kept = 1;
    for (size_t i = 1; i < to.size(); ++i) {
      const int merged = budget < 0 ? -1 : Merge(to[0].cluster, to[i].cluster, budget);
      if (merged >= 0) {
        to[0].cluster = merged;
        Meet(to[0].alignment, to[i].alignment);
      } else {
        if (kept != i) to[kept] = std::move(to[i]);
        ++kept;
      }
    }
    to.resize(kept);
  }

  bool PlaceReduce(Place at, std::vector<Candidate>& to, bool escapes, int64_t& budget) {
    if (to.size() != 1 || !HasRoom(to[0].cluster, at)) return false;
    const std::optional<ReduceForm> form = FormWithReduce(to[0].cluster, at, to[0].alignment);
    if (!form) return false;
    if (escapes && !(MayBeRoot(to[0].cluster, at, to[0].alignment, form->kind, form->outer) &&
                     BecomeRoot(to[0].cluster, at, budget))) {
      return false;
    }
    JoinReduce(to[0].cluster, at, std::move(to[0].alignment), *form);
    return true;
  }

  bool PlaceWithOne(Place at, Candidate& to, bool escapes, int64_t& budget) {
    if (!HasRoom(to.cluster, at)) return false;
    if (escapes && !(MayBeRoot(to, at) && BecomeRoot(to.cluster, at, budget))) return false;
    Join(to.cluster, at, std::move(to.alignment));
    return true;
  }

  bool Repeat(Place at, std::vector<Candidate>& to, int cost) {
    if (!std::all_of(to.begin(), to.end(), [&](const Candidate& c) { return HasRoom(c.cluster, at); })) return false;
    repeats_[at] = RepeatedWith(at, cost);
    for (Candidate& c : to) Join(c.cluster, at, std::move(c.alignment));
    return true;
  }

  /// Stored once: by the first cluster that can, read by the others.
  bool PlaceAsRoot(Place at, std::vector<Candidate>& to, int64_t& budget) {
    for (Candidate& c : to) {
      if (budget < 0) return false;
      if (!MayBeRoot(c, at) || !BecomeRoot(c.cluster, at, budget)) continue;
      Join(c.cluster, at, std::move(c.alignment));
      return true;
    }
    return false;
  }

  /// Whether users repeat the value along dims that do not hoist, so often that this alone pays for storing it. What
  /// the value's own operands add, and values that are wanted at several places, only the kernel shows (evaluations.h).
  bool IsSpread(const Candidate& to, Place at, int cost) const {
    const int spared = cost - p_.target->costs.Of(kir::Op::kRead);
    if (spared <= 0) return false;
    const ClusterState& s = state(to.cluster);
    const Dims& dims = node(at).shape().dims;
    const int64_t own = NumElements(dims);
    int64_t widest = own;
    for (const User& user : users_[at]) {
      if (In(to.cluster, user.node)) widest = std::max(widest, NumElements(node(user.node).shape().dims));
    }
    const auto bytes = static_cast<double>(SizeBytes(node(at).shape()));
    if (static_cast<double>(widest) * spared <=
        policy::kStoreMargin * (static_cast<double>(own) * cost + policy::StoreOps(bytes, false)))
      return false;
    // Values that follow rows hoist out of them.
    const Alignment& a = to.alignment;
    for (size_t i = 0; i < a.size(); ++i) {
      if (dims[i] == 1) continue;
      if (a[i] < 0 || (s.outer_fixed && static_cast<uint32_t>(a[i]) >= s.cluster.outer) ||
          a[i] != static_cast<int8_t>(i))
        return true;
    }
    return false;
  }

  // Order
  // --------------------------------------------------------------------------------------------------------------------------

  /// What changes a few elements of an array changes them in place where nobody reads the array afterwards.
  void LetReadersGoFirst() {
    std::vector<Place> updates;
    std::unordered_map<Ref, std::vector<Place>, RefHasher> readers;
    for (Place at = 0; at < nodes_.size(); ++at) {
      if (node(at).op != OpCode::kDynamicUpdate && node(at).op != OpCode::kScatter) continue;
      updates.push_back(at);
      readers[node(at).in[0]];
    }
    if (updates.empty()) return;
    for (Place at = 0; at < nodes_.size(); ++at) {
      for (Ref r : node(at).in) {
        const auto it = readers.find(r);
        if (it != readers.end() && it->second.size() < policy::kReadersFirst) it->second.push_back(at);
      }
    }
    for (Place update : updates) {
      std::vector<Vertex> units;
      UnitsOf(update, units);
      for (Place reader : readers[node(update).in[0]]) {
        if (reader == update) continue;
        for (const Membership& m : in_[reader]) {
          const int c = Now(m.cluster);
          int64_t budget = policy::kPathSteps;
          if (graph_.Link(state(c).vertex, units, budget)) before_[update].push_back(c);
        }
      }
    }
  }

  /// What lies in memory of the array that the node changes a few elements of: it is copied from there, even where a
  /// kernel computes it as well.
  Place ArrayOf(Place at, const std::vector<int32_t>& stored_by) const {
    if (node(at).op != OpCode::kDynamicUpdate && node(at).op != OpCode::kScatter) return kNowhere;
    NodeId array = node(at).in[0].node;
    while (true) {
      const auto in = place_of_.find(array);
      if (in == place_of_.end()) return kNowhere;
      if (stored_by[in->second] >= 0) return in->second;
      if (!IsPureView(p_, p_[array])) return kNowhere;
      array = p_[array].in[0].node;
    }
  }

  /// Units so that each comes after what it needs: depth first from the nodes in their order, which keeps close what
  /// was close.
  Clustering Order() {
    Clustering result;
    std::vector<int32_t> stored_by(nodes_.size(), -1);
    std::vector<Place> first_root(states_.size(), kNowhere);
    for (size_t i = 0; i < states_.size(); ++i) {
      if (merged_into_[i] != static_cast<int>(i)) continue;
      ClusterState& s = states_[i];
      const auto c = static_cast<int32_t>(result.clusters.size());
      const auto by_place = [this](NodeId a, NodeId b) { return place_of_.at(a) < place_of_.at(b); };
      Cluster& cluster = s.cluster;
      std::sort(cluster.roots.begin(), cluster.roots.end(), by_place);
      cluster.order.assign(cluster.members.begin(), cluster.members.end());
      std::sort(cluster.order.begin(), cluster.order.end(), by_place);
      for (NodeId root : cluster.roots) stored_by[place_of_.at(root)] = c;
      first_root[i] = place_of_.at(cluster.roots[0]);
      result.clusters.push_back(std::move(cluster));
    }
    std::vector<bool> node_seen(nodes_.size(), false);
    std::vector<bool> cluster_seen(result.clusters.size(), false);
    /// A node or a cluster whose needs from `next` on are still to be visited.
    struct Frame {
      int32_t cluster;
      Place node;
      std::vector<Place> needs;
      size_t next = 0;
    };
    std::vector<Frame> stack;
    const auto wait = [&](Place at, Frame& frame) {
      const auto it = before_.find(at);
      if (it == before_.end()) return;
      for (int c : it->second) frame.needs.push_back(first_root[static_cast<size_t>(c)]);
    };
    const auto open = [&](Place at) {
      Frame frame{stored_by[at], at, {}, 0};
      if (frame.cluster >= 0) {
        if (cluster_seen[static_cast<size_t>(frame.cluster)]) return;
        cluster_seen[static_cast<size_t>(frame.cluster)] = true;
        const Cluster& cluster = result.clusters[static_cast<size_t>(frame.cluster)];
        for (NodeId member : cluster.order) {
          ForEachOperand(place_of_.at(member), [&](Place in) {
            if (!cluster.members.contains(nodes_[in])) frame.needs.push_back(in);
          });
          if (const Place array = ArrayOf(place_of_.at(member), stored_by); array != kNowhere)
            frame.needs.push_back(array);
          wait(place_of_.at(member), frame);
        }
      } else {
        if (node_seen[at]) return;
        node_seen[at] = true;
        ForEachOperand(at, [&](Place in) { frame.needs.push_back(in); });
        wait(at, frame);
        if (effect_before_[at] != kNowhere) frame.needs.push_back(effect_before_[at]);
      }
      stack.push_back(std::move(frame));
    };
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Place at = static_cast<Place>(i);
      if (stored_by[at] < 0 && fusible_[at]) continue;
      open(at);
      while (!stack.empty()) {
        Frame& top = stack.back();
        if (top.next < top.needs.size()) {
          open(top.needs[top.next++]);
          continue;
        }
        if (top.cluster >= 0) {
          result.units.push_back({top.cluster, kNoNode});
        } else if (!fusible_[top.node]) {
          result.units.push_back({-1, nodes_[top.node]});
        }
        stack.pop_back();
      }
    }
    return result;
  }

  static constexpr Place kNowhere = ~0u;

  const Program& p_;
  const Deal& deal_;
  const Captures& captures_;
  const target::KernelLimits& limits_;
  std::span<const NodeId> nodes_;
  std::unordered_map<NodeId, Place> place_of_;
  // By place.
  std::vector<std::vector<User>> users_;
  std::vector<std::vector<Place>> capturers_;           ///< Nodes whose regions use it.
  std::vector<std::vector<Membership>> in_;             ///< Clusters that compute it.
  std::vector<Vertex> own_;                             ///< Its own unit: alone, or a view of memory.
  std::vector<double> from_memory_;                     ///< CostFromMemory.
  std::vector<int64_t> repeats_;                        ///< Cost of what is repeated from it on.
  std::vector<int64_t> places_;                         ///< MostPlaces.
  std::unordered_map<Place, std::vector<int>> before_;  ///< Clusters that read what the node changes in place.
  std::vector<bool> fusible_;
  std::vector<bool> escapes_;  ///< Needed in memory.
  std::vector<bool> stored_;
  std::vector<Place> effect_before_;
  std::vector<ClusterState> states_;
  std::vector<int> merged_into_;                          ///< By cluster: union-find.
  std::vector<std::pair<Place, size_t>> last_candidate_;  ///< By cluster: for whom it was one, and where in the list.
  UnitGraph graph_;
  Vertex last_effect_ = UnitGraph::kNone;
};

}  // namespace

Clustering FormClusters(const Program& program, const Deal& deal, const Captures& captures) {
  return Former(program, deal, captures).Run();
}

}  // namespace tenon::compiler
