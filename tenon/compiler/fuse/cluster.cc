#include "tenon/compiler/fuse/cluster.h"

#include <algorithm>
#include <unordered_map>

#include "tenon/compiler/fuse/combiner.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/scalar_ops.h"

namespace tenon::compiler {

bool IsPureView(const Node& node) {
  switch (node.op) {
    case Op::kTranspose:
    case Op::kReshape:
    case Op::kSlice:
    case Op::kReverse:
    case Op::kBroadcast:
      return true;
    default:
      return false;
  }
}

namespace {

int64_t ReducedCount(const Program& p, const Node& node) {
  int64_t count = 1;
  for (int64_t d : node.attrs<ReduceAttrs>().dimensions) count *= p.shape(node.in[0]).dims[static_cast<size_t>(d)];
  return count;
}

bool IsUnrolledReduce(const Program& p, const Node& node) {
  return node.op == Op::kReduce && ReducedCount(p, node) <= p.target->numerics.written_out_reduce;
}

/// A reduction that runs as a loop of its own.
bool IsLoopReduce(const Program& p, const Node& node) { return node.op == Op::kReduce && !IsUnrolledReduce(p, node); }

bool HasInteriorPad(const Program& p, const Node& node) {
  if (node.op != Op::kPad) return false;
  const Dims& interior = node.attrs<PadAttrs>().interior_padding;
  for (size_t i = 0; i < interior.size(); ++i) {
    if (interior[i] != 0 && p.shape(node.in[0]).dims[i] > 1) return true;
  }
  return false;
}

}  // namespace

bool IsFusible(const Program& p, NodeId id) {
  const Node& node = p[id];
  if (node.side_effect) return false;
  switch (node.op) {
    case Op::kParameter:
    case Op::kConstant:
    case Op::kToken:
    case Op::kReduceWindow:
    case Op::kScatter:
    case Op::kDot:
    case Op::kConvolution:
    case Op::kFft:
    case Op::kSelectAndScatter:
    case Op::kLinalg:
    case Op::kSort:
    case Op::kWhile:
    case Op::kCase:
    case Op::kBarrier:
    case Op::kCustomCall:
    case Op::kOpaque:
      return false;
    case Op::kReduce:
      return KernelCanCompute(p, node) && CombinerOf(p, node).ok();
    default:
      return KernelCanCompute(p, node);
  }
}

namespace {

/// For each dim of a value: which dim of the cluster's space it follows exactly, or -1.
using Alignment = SmallVector<int8_t, 6>;

struct ClusterState {
  Cluster cluster;
  bool dead = false;
  bool outer_fixed = false;
  size_t leaves = 0;
  NodeId last = 0;  ///< Latest member.
  NodeId first = ~0u;
};

class Former {
 public:
  Former(const Program& p, const Block& block, const std::unordered_set<NodeId>& stored,
         const std::unordered_set<NodeId>& alone)
      : p_(p), block_(block), stored_(stored), alone_(alone) {}

  Clustering Run() {
    Prepare();
    for (size_t i = block_.nodes.size(); i-- > 0;) Place(block_.nodes[i]);
    return Order();
  }

 private:
  struct User {
    NodeId node;
    uint32_t operand;
  };

  void Prepare() {
    for (NodeId id : block_.nodes) position_[id] = position_.size();
    for (NodeId id : block_.nodes) {
      const Node& node = p_[id];
      for (uint32_t i = 0; i < node.in.size(); ++i) {
        if (position_.contains(node.in[i].node)) users_[node.in[i].node].push_back({id, i});
      }
      fusible_[id] = !alone_.contains(id) && IsFusible(p_, id);
    }
    for (Ref r : block_.results) escapes_.insert(r.node);
  }

  bool In(int c, NodeId id) const { return states_[static_cast<size_t>(c)].cluster.members.contains(id); }

  /// The clusters that compute `id`.
  const SmallVector<int, 2>& ClustersOf(NodeId id) { return in_[id]; }

  /// Whether operand `i` of a member is computed in the member's kernel rather than read from memory at places that
  /// depend on data.
  bool Traceable(const Node& user, uint32_t operand) const {
    if (user.op == Op::kDynamicUpdate) return operand != 0;
    if (user.op == Op::kGather) return operand != 0;
    return true;
  }

  Alignment Below(const Node& user, uint32_t operand, const Alignment& result) const {
    const Shape& from = p_.shape(user.in[operand]);
    Alignment a(from.rank(), int8_t{-1});
    if (from.rank() == 0) return a;
    switch (user.op) {
      case Op::kBroadcast:
        for (size_t i = 0; i < from.rank(); ++i) {
          const size_t to = static_cast<size_t>(user.attrs<BroadcastAttrs>().broadcast_dimensions[i]);
          if (from.dims[i] == user.shape().dims[to]) a[i] = result[to];
        }
        break;
      case Op::kTranspose:
        for (size_t i = 0; i < from.rank(); ++i)
          a[static_cast<size_t>(user.attrs<TransposeAttrs>().permutation[i])] = result[i];
        break;
      case Op::kReshape: {
        // Dims that line up one to one, extents of one apart.
        size_t i = 0;
        size_t j = 0;
        int64_t before_i = 1;
        int64_t before_j = 1;
        const Dims& to = user.shape().dims;
        while (i < from.rank() && j < to.size()) {
          if (before_i == before_j && from.dims[i] == to[j]) {
            a[i] = result[j];
            before_i *= from.dims[i++];
            before_j *= to[j++];
          } else if (before_i * from.dims[i] <= before_j * to[j]) {
            before_i *= from.dims[i++];
          } else {
            before_j *= to[j++];
          }
        }
        break;
      }
      case Op::kReverse:
        a = result;
        for (int64_t d : user.attrs<ReverseAttrs>().dimensions) a[static_cast<size_t>(d)] = -1;
        break;
      case Op::kSlice:
      case Op::kPad:
      case Op::kDynamicSlice:
        if (operand != 0) break;
        for (size_t i = 0; i < from.rank(); ++i) {
          const bool same = from.dims[i] == user.shape().dims[i] &&
                            (user.op != Op::kPad || user.attrs<PadAttrs>().edge_padding_low[i] == 0);
          if (same) a[i] = result[i];
        }
        break;
      case Op::kConcatenate:
        for (size_t i = 0; i < from.rank(); ++i) {
          if (static_cast<int64_t>(i) != user.attrs<ConcatenateAttrs>().dimension) a[i] = result[i];
        }
        break;
      case Op::kReduce: {
        if (operand >= user.in.size() / 2) break;
        const Dims& over = user.attrs<ReduceAttrs>().dimensions;
        size_t kept = 0;
        for (size_t i = 0; i < from.rank(); ++i) {
          if (std::find(over.begin(), over.end(), static_cast<int64_t>(i)) == over.end()) a[i] = result[kept++];
        }
        break;
      }
      case Op::kGather:
      case Op::kDynamicUpdate:
        break;
      default:
        if (KindOfOp(user.op) == OpKind::kElementwise && from.dims == user.shape().dims) a = result;
    }
    return a;
  }

  /// How `id` lies in cluster `c`, from all its users there.
  Alignment AlignmentIn(int c, NodeId id) {
    std::optional<Alignment> a;
    for (const User& user : users_[id]) {
      if (!In(c, user.node) || !Traceable(p_[user.node], user.operand)) continue;
      Alignment b = Below(p_[user.node], user.operand, align_[{c, user.node}]);
      if (!a) {
        a = b;
        continue;
      }
      for (size_t i = 0; i < b.size(); ++i) {
        if ((*a)[i] != b[i]) (*a)[i] = -1;
      }
    }
    return a ? *a : Alignment(p_[id].shape().rank(), int8_t{-1});
  }

  Alignment Identity(size_t rank) {
    Alignment a;
    for (size_t i = 0; i < rank; ++i) a.push_back(static_cast<int8_t>(i));
    return a;
  }

  /// Whether the reduction keeps leading dims and runs over the trailing ones.
  bool IsRowReduce(const Node& node) const {
    const Shape& operand = p_.shape(node.in[0]);
    size_t last = operand.rank();
    while (last > 0 && operand.dims[last - 1] == 1) --last;
    if (last == 0) return true;
    const Dims& over = node.attrs<ReduceAttrs>().dimensions;
    return std::find(over.begin(), over.end(), static_cast<int64_t>(last - 1)) != over.end();
  }

  /// Whether a concatenation's users are gathers that know which operand each of their indices comes from.
  bool MakesIndexVectors(NodeId id) {
    const Node& node = p_[id];
    if (node.op != Op::kConcatenate) return false;
    const std::vector<User>& users = users_[id];
    return !users.empty() && std::all_of(users.begin(), users.end(), [&](const User& user) {
      const Node& gather = p_[user.node];
      return gather.op == Op::kGather && user.operand == 1 &&
             gather.attrs<GatherAttrs>().index_vector_dim == node.attrs<ConcatenateAttrs>().dimension;
    });
  }

  int NewCluster(NodeId root) {
    const Node& node = p_[root];
    ClusterState s;
    s.cluster.space = node.shape().dims;
    s.cluster.roots = {root};
    if (node.op == Op::kConcatenate || HasInteriorPad(p_, node)) s.cluster.kind = ClusterKind::kConcat;
    if (node.op == Op::kDynamicUpdate) s.cluster.kind = ClusterKind::kUpdate;
    if (IsLoopReduce(p_, node)) {
      s.cluster.kind = IsRowReduce(node) ? ClusterKind::kRow : ClusterKind::kColumn;
      s.cluster.outer = static_cast<uint32_t>(s.cluster.space.size());
      s.outer_fixed = true;
    }
    states_.push_back(std::move(s));
    const int c = static_cast<int>(states_.size()) - 1;
    Join(c, root, Identity(node.shape().rank()));
    return c;
  }

  void Join(int c, NodeId id, Alignment a) {
    ClusterState& s = states_[static_cast<size_t>(c)];
    s.cluster.members.insert(id);
    s.cluster.cost += CostOf(p_, p_[id]);
    s.first = std::min(s.first, id);
    s.last = std::max(s.last, id);
    align_[{c, id}] = std::move(a);
    in_[id].push_back(c);
  }

  bool HasRoom(int c, NodeId id) const {
    const ClusterState& s = states_[static_cast<size_t>(c)];
    return static_cast<int64_t>(s.cluster.members.size()) < p_.target->limits.members &&
           s.cluster.cost + CostOf(p_, p_[id]) <= p_.target->limits.cost;
  }

  /// A loop reduction into its users' cluster: its rows must be the cluster's rows.
  bool ReduceMayJoin(int c, NodeId id) {
    ClusterState& s = states_[static_cast<size_t>(c)];
    const Node& node = p_[id];
    const Alignment a = AlignmentIn(c, id);
    for (const Shape& shape : node.out) {
      if (shape.dims != node.shape().dims) return false;
    }
    if (s.cluster.kind == ClusterKind::kConcat || s.cluster.kind == ClusterKind::kUpdate) return false;
    // Which dims of the space the rows are, extents of one apart.
    SmallVector<int8_t, 6> rows;
    for (size_t i = 0; i < a.size(); ++i) {
      if (node.shape().dims[i] == 1) continue;
      if (a[i] < 0) return false;
      rows.push_back(a[i]);
    }
    for (size_t i = 1; i < rows.size(); ++i) {
      if (rows[i] <= rows[i - 1]) return false;
    }
    if (IsRowReduce(node)) {
      if (s.cluster.kind == ClusterKind::kColumn) return false;
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
      if (r != rows.size()) return false;
      // Trailing extents of one belong to the inner side, except when all of the space is rows.
      if (s.outer_fixed) {
        if (!SameRows(s.cluster, outer)) return false;
        outer = s.cluster.outer;
      }
      int64_t row_count = 1;
      for (uint32_t i = 0; i < outer; ++i) row_count *= s.cluster.space[i];
      const int64_t total = row_count * ReducedCount(p_, node);
      if (row_count < policy::kMinRows && total > policy::kSmallElements) return false;
      if (!s.outer_fixed) {
        for (NodeId root : s.cluster.roots) {
          if (p_[root].shape().dims != s.cluster.space) return false;
        }
      }
      s.cluster.kind = ClusterKind::kRow;
      s.cluster.outer = outer;
      s.outer_fixed = true;
      return true;
    }
    // Reductions over outer dims: only values of the results' own shape may follow in the same nest.
    if (s.cluster.kind == ClusterKind::kRow) return false;
    if (node.shape().dims != s.cluster.space) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] != static_cast<int8_t>(i) && node.shape().dims[i] != 1) return false;
    }
    for (NodeId root : s.cluster.roots) {
      if (p_[root].shape().dims != s.cluster.space) return false;
    }
    for (NodeId other : s.cluster.members) {
      if (!IsLoopReduce(p_, p_[other])) continue;
      if (p_.shape(p_[other].in[0]).dims != p_.shape(node.in[0]).dims || p_[other].attributes != node.attributes)
        return false;
      if (DependsOn(other, id)) return false;
    }
    s.cluster.kind = ClusterKind::kColumn;
    s.cluster.outer = static_cast<uint32_t>(s.cluster.space.size());
    s.outer_fixed = true;
    return true;
  }

  bool SameRows(const Cluster& c, uint32_t outer) const {
    auto trim = [&](uint32_t n) {
      while (n > 0 && c.space[n - 1] == 1) --n;
      return n;
    };
    return trim(outer) == trim(c.outer);
  }

  /// Whether `id` depends on `on`, through nodes of the block.
  bool DependsOn(NodeId id, NodeId on) {
    if (id == on) return true;
    std::unordered_set<NodeId> seen;
    std::vector<NodeId> stack = {id};
    while (!stack.empty()) {
      const NodeId at = stack.back();
      stack.pop_back();
      for (NodeId in : Operands(at)) {
        if (in == on) return true;
        if (position_.contains(in) && position_[in] > position_[on] && seen.insert(in).second) stack.push_back(in);
      }
    }
    return false;
  }

  /// Operands of a node, those that its regions use included.
  const std::vector<NodeId>& Operands(NodeId id) {
    auto [it, fresh] = operands_.try_emplace(id);
    if (fresh) {
      for (Ref r : p_[id].in) it->second.push_back(r.node);
      for (const Block& b : p_[id].blocks) Collect(b, it->second);
    }
    return it->second;
  }
  void Collect(const Block& b, std::vector<NodeId>& out) {
    for (NodeId id : b.nodes) {
      for (Ref r : p_[id].in) {
        if (position_.contains(r.node)) out.push_back(r.node);
      }
      for (const Block& inner : p_[id].blocks) Collect(inner, out);
    }
    for (Ref r : b.results) {
      if (position_.contains(r.node)) out.push_back(r.node);
    }
  }

  /// Whether something outside the cluster lies between `id` (about to be a member) and the cluster: id -> outside ->
  /// cluster.
  bool WouldCycle(int c, NodeId id) {
    // Walk from the users of `id` outside the cluster down to see whether they reach a member.
    ClusterState& s = states_[static_cast<size_t>(c)];
    std::unordered_set<NodeId> seen;
    std::vector<NodeId> stack;
    // Views inside the cluster that others look through count as outside as well.
    std::vector<NodeId> views = {id};
    while (!views.empty()) {
      const NodeId at = views.back();
      views.pop_back();
      for (NodeId user : UsersOf(at)) {
        if (!s.cluster.members.contains(user)) {
          stack.push_back(user);
          continue;
        }
        if (IsPureView(p_[user]) && escapes_.contains(user)) views.push_back(user);
        // A member that other kernels compute as well: they read what it reads.
        for (int other : in_[user]) {
          if (other == c) continue;
          for (NodeId root : states_[static_cast<size_t>(other)].cluster.roots) {
            for (NodeId next : UsersOf(root)) stack.push_back(next);
          }
        }
      }
    }
    while (!stack.empty()) {
      const NodeId at = stack.back();
      stack.pop_back();
      if (!seen.insert(at).second || position_[at] > position_[s.last]) continue;
      for (int other : in_[at]) {
        if (other == c) return true;
        // A kernel runs as a whole: all that it writes comes after all that it reads.
        for (NodeId root : states_[static_cast<size_t>(other)].cluster.roots) {
          for (NodeId user : UsersOf(root)) stack.push_back(user);
        }
      }
      if (s.cluster.members.contains(at)) return true;
      for (NodeId user : UsersOf(at)) stack.push_back(user);
    }
    return false;
  }

  const std::vector<NodeId>& UsersOf(NodeId id) {
    if (!all_users_ready_) {
      all_users_ready_ = true;
      for (NodeId n : block_.nodes) {
        for (NodeId in : Operands(n)) all_users_[in].push_back(n);
      }
    }
    return all_users_[id];
  }

  /// Whether cluster `a`'s results reach cluster `b`.
  bool Reaches(int a, int b) {
    std::unordered_set<NodeId> seen;
    std::vector<NodeId> stack = states_[static_cast<size_t>(a)].cluster.roots;
    const ClusterState& target = states_[static_cast<size_t>(b)];
    for (size_t i = 0; i < stack.size(); ++i) seen.insert(stack[i]);
    while (!stack.empty()) {
      const NodeId at = stack.back();
      stack.pop_back();
      for (NodeId user : UsersOf(at)) {
        if (target.cluster.members.contains(user)) return true;
        for (int c : in_[user]) {
          for (NodeId root : states_[static_cast<size_t>(c)].cluster.roots) {
            if (seen.insert(root).second) stack.push_back(root);
          }
        }
        if (seen.insert(user).second) stack.push_back(user);
      }
    }
    return false;
  }

  bool MayMerge(int a, int b) {
    const ClusterState& x = states_[static_cast<size_t>(a)];
    const ClusterState& y = states_[static_cast<size_t>(b)];
    auto plain = [](ClusterKind k) { return k == ClusterKind::kMap || k == ClusterKind::kRow; };
    if (!plain(x.cluster.kind) || !plain(y.cluster.kind)) return false;
    if (x.cluster.space != y.cluster.space) return false;
    if (x.outer_fixed && y.outer_fixed && !SameRows(x.cluster, y.cluster.outer)) return false;
    if (x.outer_fixed != y.outer_fixed) {
      // A map that becomes part of rows must have whole-space roots, and there must be something inside the rows.
      const Cluster& row = x.outer_fixed ? x.cluster : y.cluster;
      if (row.outer == row.space.size()) return false;
    }
    const target::KernelLimits& limits = p_.target->limits;
    const auto members = static_cast<int64_t>(x.cluster.members.size() + y.cluster.members.size());
    const auto roots = static_cast<int64_t>(x.cluster.roots.size() + y.cluster.roots.size());
    if (members > limits.members || x.cluster.cost + y.cluster.cost > limits.cost) return false;
    if (roots > limits.buffers / 2) return false;
    return !Reaches(a, b) && !Reaches(b, a);
  }

  void Merge(int into, int from) {
    ClusterState& x = states_[static_cast<size_t>(into)];
    ClusterState& y = states_[static_cast<size_t>(from)];
    if (y.outer_fixed && !x.outer_fixed) {
      x.outer_fixed = true;
      x.cluster.outer = y.cluster.outer;
      x.cluster.kind = y.cluster.kind;
    }
    for (NodeId id : y.cluster.members) {
      Alignment theirs = align_[{from, id}];
      SmallVector<int, 2> kept;
      for (int c : in_[id]) {
        if (c != from && c != into) kept.push_back(c);
      }
      kept.push_back(into);
      in_[id] = kept;
      if (x.cluster.members.insert(id).second) {
        align_[{into, id}] = theirs;
        x.cluster.cost += CostOf(p_, p_[id]);
      } else {
        Alignment& ours = align_[{into, id}];
        for (size_t i = 0; i < ours.size(); ++i) {
          if (ours[i] != theirs[i]) ours[i] = -1;
        }
      }
      x.first = std::min(x.first, id);
      x.last = std::max(x.last, id);
    }
    for (NodeId root : y.cluster.roots) {
      if (std::find(x.cluster.roots.begin(), x.cluster.roots.end(), root) == x.cluster.roots.end())
        x.cluster.roots.push_back(root);
    }
    y.dead = true;
    y.cluster.members.clear();
    y.cluster.roots.clear();
  }

  /// Whether a value that others need as well may be stored by the cluster of its users.
  bool MayBeRoot(int c, NodeId id, const Alignment& a) {
    const ClusterState& s = states_[static_cast<size_t>(c)];
    if (s.cluster.kind == ClusterKind::kConcat || s.cluster.kind == ClusterKind::kUpdate) return false;
    if (static_cast<int64_t>(s.cluster.roots.size()) + 1 > p_.target->limits.buffers / 2) return false;
    const Node& node = p_[id];
    for (const Shape& shape : node.out) {
      if (shape.dims == s.cluster.space) continue;
      // Rows.
      if (s.cluster.kind != ClusterKind::kRow) return false;
      size_t d = 0;
      for (int64_t extent : shape.dims) {
        if (extent == 1) continue;
        while (d < s.cluster.outer && s.cluster.space[d] == 1) ++d;
        if (d >= s.cluster.outer || s.cluster.space[d] != extent) return false;
        ++d;
      }
      while (d < s.cluster.outer && s.cluster.space[d] == 1) ++d;
      if (d != s.cluster.outer) return false;
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

  void Place(NodeId id) {
    const Node& node = p_[id];
    if (!fusible_[id]) {
      // Its operands need memory.
      for (NodeId in : Operands(id)) escapes_.insert(in);
      return;
    }
    bool escapes = escapes_.contains(id) || stored_.contains(id);
    SmallVector<int, 2> clusters;
    for (const User& user : users_[id]) {
      if (!fusible_[user.node]) continue;
      if (ClustersOf(user.node).empty() || !Traceable(p_[user.node], user.operand)) {
        // A view of memory, or a place that depends on data.
        escapes |= !ClustersOf(user.node).empty() || escapes_.contains(user.node);
        continue;
      }
      for (int c : ClustersOf(user.node)) {
        if (std::find(clusters.begin(), clusters.end(), c) == clusters.end()) clusters.push_back(c);
      }
    }
    if (clusters.empty() && !escapes) return;  // Nobody wants it.
    // A view of something else: that is stored, and this is where to look in it. One that no kernel can look through
    // stays out of all.
    if (IsPureView(node) && escapes) {
      escapes_.insert(node.in[0].node);
      escapes_.insert(id);
      if (stored_.contains(id)) return;
      for (int c : clusters) {
        if (!In(c, id)) Join(c, id, AlignmentIn(c, id));
      }
      return;
    }
    const bool alone = node.op == Op::kConcatenate || HasInteriorPad(p_, node) || node.op == Op::kDynamicUpdate;
    const bool loop_reduce = IsLoopReduce(p_, node);
    const bool stored = stored_.contains(id);
    if (alone) {
      // Small concatenations are selected between where they are used.
      const bool few =
          node.in.size() <= policy::kMaxSelectedParts && NumElements(node.shape().dims) <= policy::kSmallElements;
      const bool select = node.op == Op::kConcatenate && !escapes && !stored && (few || MakesIndexVectors(id)) &&
                          clusters.size() == 1 && HasRoom(clusters[0], id);
      if (!select) {
        NewCluster(id);
        return;
      }
    }
    if (stored || clusters.empty()) {
      NewCluster(id);
      return;
    }
    const int cost = CostOf(p_, node);
    const bool scalar = NumElements(node.shape().dims) == 1;
    // Cheap things are computed wherever they are used.
    const bool cheap = !loop_reduce && (cost <= policy::kDuplicateCost ||
                                        (scalar && cost <= policy::kDuplicateScalarCost) || node.op == Op::kIota);
    if (clusters.size() > 1 && (!cheap || escapes)) {
      // One kernel for all users?
      for (size_t i = 1; i < clusters.size();) {
        if (MayMerge(clusters[0], clusters[i])) {
          Merge(clusters[0], clusters[i]);
          clusters.erase(clusters.begin() + i);
        } else {
          ++i;
        }
      }
    }
    // An expensive value that is spread out is computed once instead.
    if (clusters.size() == 1 && !loop_reduce && !scalar && cost > policy::kDuplicateCost && IsSpread(clusters[0], id)) {
      NewCluster(id);
      return;
    }
    if (clusters.size() == 1) {
      const int c = clusters[0];
      const bool room = HasRoom(c, id);
      if (loop_reduce) {
        if (room && !escapes && ReduceMayJoin(c, id)) {
          Join(c, id, AlignmentIn(c, id));
          return;
        }
        if (room && escapes && !WouldCycle(c, id) && ReduceMayJoin(c, id)) {
          const Alignment a = AlignmentIn(c, id);
          if (MayBeRoot(c, id, a)) {
            Join(c, id, a);
            states_[static_cast<size_t>(c)].cluster.roots.push_back(id);
            return;
          }
        }
        NewCluster(id);
        return;
      }
      const Alignment a = AlignmentIn(c, id);
      if (!escapes && room) {
        Join(c, id, a);
        return;
      }
      if (escapes && room && MayBeRoot(c, id, a) && !WouldCycle(c, id)) {
        Join(c, id, a);
        states_[static_cast<size_t>(c)].cluster.roots.push_back(id);
        return;
      }
      if (escapes && cheap && room && scalar) {  // Stored for others, computed again here.
        Join(c, id, a);
      }
      NewCluster(id);
      return;
    }
    if (cheap && !escapes) {
      bool room = true;
      for (int c : clusters) room &= HasRoom(c, id);
      if (room) {
        for (int c : clusters) Join(c, id, AlignmentIn(c, id));
        return;
      }
    }
    // Stored once: by the first cluster that can, read by the others.
    if (!loop_reduce) {
      for (int c : clusters) {
        const Alignment a = AlignmentIn(c, id);
        if (HasRoom(c, id) && MayBeRoot(c, id, a) && !WouldCycle(c, id)) {
          Join(c, id, a);
          states_[static_cast<size_t>(c)].cluster.roots.push_back(id);
          return;
        }
      }
    }
    NewCluster(id);
  }

  /// Whether users repeat the value along dims that do not hoist.
  bool IsSpread(int c, NodeId id) {
    const ClusterState& s = states_[static_cast<size_t>(c)];
    const int64_t own = NumElements(p_[id].shape().dims);
    if (own < policy::kMinSpread) return false;
    int64_t widest = own;
    for (const User& user : users_[id]) {
      if (In(c, user.node)) widest = std::max(widest, NumElements(p_[user.node].shape().dims));
    }
    if (widest < policy::kSpreadTimes * own) return false;
    // Values that follow rows hoist out of them.
    const Alignment a = AlignmentIn(c, id);
    for (size_t i = 0; i < a.size(); ++i) {
      if (p_[id].shape().dims[i] == 1) continue;
      if (a[i] < 0 || (s.outer_fixed && static_cast<uint32_t>(a[i]) >= s.cluster.outer) ||
          a[i] != static_cast<int8_t>(i))
        return true;
    }
    return false;
  }

  /// Units so that each comes after what it needs.
  Clustering Order() {
    Clustering result;
    std::vector<int> number(states_.size(), -1);
    for (size_t c = 0; c < states_.size(); ++c) {
      if (states_[c].dead) continue;
      number[c] = static_cast<int>(result.clusters.size());
      std::sort(states_[c].cluster.roots.begin(), states_[c].cluster.roots.end());
      result.clusters.push_back(std::move(states_[c].cluster));
    }
    // The cluster that stores a node.
    std::unordered_map<NodeId, int> stored_by;
    for (size_t c = 0; c < result.clusters.size(); ++c) {
      for (NodeId root : result.clusters[c].roots) stored_by[root] = static_cast<int>(c);
    }
    std::vector<bool> done(result.clusters.size(), false);
    std::unordered_set<NodeId> visited;
    // Depth first from the block's nodes in order keeps close what was close.
    struct Visit {
      Former* f;
      Clustering* result;
      std::unordered_map<NodeId, int>* stored_by;
      std::vector<bool>* done;
      std::unordered_set<NodeId>* visited;
      void Node(NodeId id) {
        if (!f->position_.contains(id)) return;
        if (auto it = stored_by->find(id); it != stored_by->end()) {
          Kernel(it->second);
          return;
        }
        if (!visited->insert(id).second) return;
        for (NodeId in : f->Operands(id)) Node(in);
        if (!f->fusible_[id]) result->units.push_back({-1, id});
      }
      void Kernel(int c) {
        if ((*done)[static_cast<size_t>(c)]) return;
        (*done)[static_cast<size_t>(c)] = true;
        const Cluster& cluster = result->clusters[static_cast<size_t>(c)];
        std::vector<NodeId> members(cluster.members.begin(), cluster.members.end());
        std::sort(members.begin(), members.end());
        for (NodeId m : members) {
          for (NodeId in : f->Operands(m)) {
            if (!cluster.members.contains(in)) Node(in);
          }
        }
        result->units.push_back({c, kNoNode});
      }
    };
    Visit visit{this, &result, &stored_by, &done, &visited};
    for (NodeId id : block_.nodes) {
      if (stored_by.contains(id) || !fusible_[id]) visit.Node(id);
    }
    return result;
  }

  struct AlignKeyHasher {
    size_t operator()(const std::pair<int, NodeId>& k) const {
      return static_cast<size_t>(k.first) * 0x9e3779b97f4a7c15u + k.second;
    }
  };

  const Program& p_;
  const Block& block_;
  const std::unordered_set<NodeId>& stored_;
  const std::unordered_set<NodeId>& alone_;
  std::unordered_map<NodeId, size_t> position_;
  std::unordered_map<NodeId, std::vector<User>> users_;
  std::unordered_map<NodeId, std::vector<NodeId>> operands_;
  std::unordered_map<NodeId, std::vector<NodeId>> all_users_;
  bool all_users_ready_ = false;
  std::unordered_map<NodeId, bool> fusible_;
  std::unordered_set<NodeId> escapes_;
  std::vector<ClusterState> states_;
  std::unordered_map<NodeId, SmallVector<int, 2>> in_;
  std::unordered_map<std::pair<int, NodeId>, Alignment, AlignKeyHasher> align_;
};

}  // namespace

Clustering FormClusters(const Program& program, const Block& block, const std::unordered_set<NodeId>& stored,
                        const std::unordered_set<NodeId>& alone) {
  return Former(program, block, stored, alone).Run();
}

}  // namespace tenon::compiler
