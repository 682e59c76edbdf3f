// Units to steps: kernels are made in the order of units; what cannot be one kernel is dealt out anew in its place.

#include <algorithm>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/finish.h"
#include "tenon/compiler/fuse/fuser.h"
#include "tenon/compiler/fuse/policy.h"

namespace tenon::compiler {

Status Fuser::EmitCluster(const Cluster& cluster, const MadeKernel& made, plan::Seq& out) {
  std::vector<View> views;
  for (const BoundBuffer& b : made.buffers) {
    switch (b.kind) {
      case BoundBuffer::Kind::kLocal:
        views.push_back({});
        break;
      case BoundBuffer::Kind::kRead: {
        TENON_ASSIGN_OR_RETURN(View view, KernelViewOf(b.value, out));
        views.push_back(view);
        break;
      }
      case BoundBuffer::Kind::kWrite: {
        View view = NewTemp(p_.shape(b.value));
        if (!b.strides.empty()) view.strides = b.strides;
        if (cluster.kind == ClusterKind::kUpdate) {  // The rest of the array is the operand's.
          TENON_ASSIGN_OR_RETURN(View operand, ViewOf(p_[b.value.node].in[0], out));
          Copy(operand, view, out);
        }
        views.push_back(view);
        break;
      }
    }
  }
  for (size_t i = 0; i < made.buffers.size(); ++i) {
    if (made.buffers[i].kind == BoundBuffer::Kind::kWrite) Bind(made.buffers[i].value, views[i]);
  }
  f_.kernel_nodes.push_back({cluster.order, cluster.roots});
  AddKernelStep(made, views, out);
  return OkStatus();
}

void Fuser::NoteOrigins(std::span<const NodeId> nodes, size_t first, plan::Seq& out) {
  if (first == out.size()) return;
  SmallVector<uint32_t, 2> origins;
  std::unordered_set<uint32_t> noted;
  const auto add = [&](OpKind least) {
    for (const NodeId id : nodes) {
      const GraphNode& node = p_[id];
      const OpKind kind = KindOfOp(node.op);
      if (node.source == nullptr || kind == OpKind::kLeaf || (kind == OpKind::kView && least != OpKind::kView))
        continue;
      auto [known, fresh] = origin_of_.try_emplace(node.source, static_cast<uint32_t>(f_.origins.size()));
      if (fresh) f_.origins.push_back(exporter_.origin(node));
      if (noted.insert(known->second).second) origins.push_back(known->second);
    }
  };
  add(OpKind::kElementwise);
  if (origins.empty()) add(OpKind::kView);  // They move, and no more.
  for (size_t i = first; i < out.size(); ++i) {
    if (out[i].origins.empty()) out[i].origins = origins;
  }
}

const View& Fuser::ReadView(Ref r, bool stored_later, Reads& reads) {
  if (auto it = reads.views.find(r); it != reads.views.end()) return it->second;
  View& view = reads.views[r] = DenseView(0, p_.shape(r));
  if (stored_later) return view;
  Result<View> known = KernelViewOf(r, reads.before);
  if (known.ok()) {
    view = *known;
  } else {
    reads.failed = known.status();
  }
  return view;
}

ClusterSetting Fuser::SettingOf(const Cluster& cluster, bool settled) const {
  ClusterSetting setting{.settled = settled, .step_ops = step_ops_, .layouts = {}, .used = {}};
  for (NodeId root : cluster.roots) {
    const Dims* layout = layouts_.Of(root);
    setting.layouts.push_back(layout == nullptr ? Dims() : *layout);
    for (uint32_t i = 0; i < p_[root].out.size(); ++i) setting.used.push_back(used_.contains({root, i}));
  }
  return setting;
}

bool Fuser::MakeAlike(const Cluster& cluster, const ClusterSetting& setting, std::optional<MadeKernel>& made,
                      std::unordered_set<NodeId>& blocked) {
  return alike_.Find(cluster, setting, [&](const AlikeClusters::Outcome& outcome, const Likeness& likeness) {
    // What is read must lie as it did there, without anything being done for that, and be the same memory where it was.
    const size_t bound_before = bound_.size();
    Reads reads;
    const auto lies_so = [&](const std::pair<Ref, View>& read) {
      const Ref r = likeness.Counterpart(read.first);
      if (!r.valid()) return false;
      const View& view = ReadView(r, false, reads);
      return reads.failed.ok() && reads.before.empty() && view.dtype == read.second.dtype &&
             view.dims == read.second.dims && view.strides == read.second.strides;
    };
    bool alike = std::all_of(outcome.reads.begin(), outcome.reads.end(), lies_so);
    for (size_t i = 0; alike && i < outcome.reads.size(); ++i) {
      for (size_t j = 0; alike && j < i; ++j) {
        const View &x = reads.views[likeness.Counterpart(outcome.reads[i].first)],
                   &y = reads.views[likeness.Counterpart(outcome.reads[j].first)];
        alike = (x == y) == (outcome.reads[i].second == outcome.reads[j].second);
      }
    }
    if (!alike) {
      Unbind(bound_before);
      return false;
    }
    for (NodeId id : outcome.blocked) blocked.insert(likeness.Counterpart({id, 0}).node);
    made = outcome.made;
    if (made) {
      for (BoundBuffer& b : made->buffers) b.value = b.value.valid() ? likeness.Counterpart(b.value) : b.value;
    } else {
      Unbind(bound_before);
    }
    return true;
  });
}

Result<std::optional<MadeKernel>> Fuser::MakeCluster(const Cluster& cluster, bool settled,
                                                     std::unordered_set<NodeId>& blocked, plan::Seq& out) {
  const ClusterSetting setting = SettingOf(cluster, settled);
  std::optional<MadeKernel> made;
  if (MakeAlike(cluster, setting, made, blocked)) return made;
  Reads reads;
  TENON_ASSIGN_OR_RETURN(made, MakeCluster(cluster, settled, blocked, reads));
  if (reads.before.empty()) {
    AlikeClusters::Outcome outcome{cluster, setting, {}, made, {}};
    for (const auto& [r, view] : reads.views) {
      if (!cluster.members.contains(r.node)) outcome.reads.emplace_back(r, view);
    }
    for (NodeId id : blocked) {
      if (cluster.members.contains(id)) outcome.blocked.push_back(id);
    }
    alike_.Add(std::move(outcome));
  }
  std::move(reads.before.begin(), reads.before.end(), std::back_inserter(out));
  return made;
}

Result<std::optional<MadeKernel>> Fuser::MakeCluster(const Cluster& cluster, bool settled,
                                                     std::unordered_set<NodeId>& blocked, Reads& reads) {
  MakerEnvironment env;
  env.step_ops = step_ops_;
  env.checks = &checks_;
  env.view_of = [&](Ref r) -> const View& { return ReadView(r, blocked.contains(r.node), reads); };
  env.layout_of = [&](NodeId id) { return layouts_.Of(id); };
  env.is_used = [&](Ref r) { return used_.contains(r); };
  const size_t bound_before = bound_.size();
  NodeId blocking = kNoNode;
  std::vector<NodeId> better_stored;
  std::optional<MadeKernel> made = MakeKernel(p_, cluster, env, blocking, settled ? nullptr : &better_stored);
  TENON_RETURN_IF_ERROR(reads.failed);
  if (made) return made;
  if (!better_stored.empty()) {
    blocked.insert(better_stored.begin(), better_stored.end());
    Unbind(bound_before);
    reads.before.clear();
    return std::optional<MadeKernel>();
  }
  // What else blocks, as if what is known to block were stored.
  Cluster rest = cluster;
  for (int trial = 0; trial < policy::kMaxTrials && blocked.insert(blocking).second; ++trial) {
    if (std::find(rest.roots.begin(), rest.roots.end(), blocking) != rest.roots.end()) break;
    LeaveOut(p_, blocked, rest);
    if (MakeKernel(p_, rest, env, blocking)) break;
    TENON_RETURN_IF_ERROR(reads.failed);
  }
  Unbind(bound_before);
  reads.before.clear();
  return std::optional<MadeKernel>();
}

Clustering Fuser::DealAnew(const Cluster& cluster, const std::unordered_set<NodeId>& blocked,
                           std::unordered_set<NodeId>& forced) {
  Deal deal;
  deal.nodes = cluster.order;
  deal.wanted.insert(cluster.roots.begin(), cluster.roots.end());
  // Every piece has fewer members: what is stored is in no other piece, and its own piece lacks its users or the other
  // roots. The only root stays by itself, without its operands, and then alone.
  for (NodeId id : blocked) {
    if (!cluster.members.contains(id)) continue;
    if (cluster.roots.size() > 1 || id != cluster.roots[0]) deal.stored.insert(id);
  }
  if (deal.stored.empty()) {
    const NodeId root = cluster.roots[0];
    for (Ref r : p_[root].in) {
      if (cluster.members.contains(r.node)) deal.stored.insert(r.node);
    }
    if (deal.stored.empty()) deal.alone.insert(root);
  }
  // Of what only looks at another value in another way it is that value that gets memory.
  for (NodeId id : deal.stored) {
    for (; forced.insert(id).second && IsPureView(p_, p_[id]);) id = p_[id].in[0].node;
  }
  return FormClusters(p_, deal, captures_);
}

Result<bool> Fuser::EmitFinished(NodeId product, const Cluster& cluster, bool settled, plan::Seq& out) {
  // Where the product's elements will lie is not settled yet, only how.
  View promised = DenseView(~0u, p_.shape({product, 0}));
  Reads reads;
  MakerEnvironment env;
  env.step_ops = step_ops_;
  env.checks = &checks_;
  env.unfinished = true;
  env.view_of = [&](Ref r) -> const View& { return r == Ref{product, 0} ? promised : ReadView(r, false, reads); };
  const size_t bound_before = bound_.size();
  NodeId blocking = kNoNode;
  std::vector<NodeId> better_stored;
  std::optional<MadeKernel> made = MakeKernel(p_, cluster, env, blocking, settled ? nullptr : &better_stored);
  if (!made || !reads.failed.ok()) {
    Unbind(bound_before);
    return false;
  }
  std::move(reads.before.begin(), reads.before.end(), std::back_inserter(out));
  const size_t first = out.size();
  Status why;
  bool finished = false;
  TENON_ASSIGN_OR_RETURN(const bool driven, EmitDriver(product, out, why, &*made, &finished));
  if (finished) {
    NodeGroup together{{product}, cluster.roots};
    together.members.insert(together.members.end(), cluster.order.begin(), cluster.order.end());
    NoteOrigins(together.members, first, out);
    f_.kernel_nodes.push_back(std::move(together));
    return true;
  }
  if (!driven) TENON_RETURN_IF_ERROR(EmitNode(product, out));
  NoteOrigins({&product, 1}, first, out);
  FinishKernel(*made, *p_.target, &checks_);
  TENON_RETURN_IF_ERROR(EmitCluster(cluster, *made, out));
  return true;
}

Status Fuser::EmitUnits(Clustering dealt, Finishes& finishes, plan::Seq& out) {
  struct Pending {
    NodeId node = kNoNode;  ///< Alone, or none:
    Cluster cluster;
    bool settled = false;      ///< Dealt out anew, and still the same.
    NodeId product = kNoNode;  ///< What waits for the cluster, which is all that uses it.
  };
  std::vector<Pending> pending;  // The next one last.
  const auto add = [&](Clustering&& more, size_t members) {
    for (size_t i = more.units.size(); i-- > 0;) {
      const Unit& unit = more.units[i];
      pending.push_back({unit.node, {}});
      if (unit.cluster < 0) continue;
      pending.back().cluster = std::move(more.clusters[static_cast<size_t>(unit.cluster)]);
      pending.back().settled = pending.back().cluster.members.size() >= members;
      finishes.Count(pending.back().cluster, 1);
    }
  };
  // Whether the product can wait for the only cluster that uses it.
  const auto waits = [&](NodeId product) {
    const std::vector<NodeId> users = finishes.UsersOf(product);
    if (users.empty()) return false;
    for (size_t i = pending.size(), last = i - std::min(i, policy::kHookReach); i-- > last;) {
      Pending& unit = pending[i];
      if (unit.node != kNoNode || !unit.cluster.members.contains(users[0])) continue;
      if (unit.product != kNoNode || !finishes.IsOnlyOne(unit.cluster, users)) return false;
      unit.product = product;
      return true;
    }
    return false;
  };
  add(std::move(dealt), SIZE_MAX);
  std::unordered_set<NodeId> forced;  // What was stored because some kernel could not compute it inside.
  std::unordered_set<NodeId> at_hand;
  while (!pending.empty()) {
    Pending next = std::move(pending.back());
    pending.pop_back();
    const size_t first = out.size();
    if (next.node != kNoNode) {
      if (!waits(next.node)) TENON_RETURN_IF_ERROR(EmitNode(next.node, out));
      NoteOrigins({&next.node, 1}, first, out);
      continue;
    }
    Cluster& cluster = next.cluster;
    if (!at_hand.empty()) LeaveOut(p_, at_hand, cluster);
    if (next.product != kNoNode) {
      TENON_ASSIGN_OR_RETURN(const bool done, EmitFinished(next.product, cluster, next.settled, out));
      if (done) {
        NoteOrigins(cluster.order, first, out);
        for (NodeId root : cluster.roots) {
          if (forced.contains(root)) at_hand.insert(root);
        }
        continue;
      }
      TENON_RETURN_IF_ERROR(EmitNode(next.product, out));
      NoteOrigins({&next.product, 1}, first, out);
    }
    std::unordered_set<NodeId> blocked;
    TENON_ASSIGN_OR_RETURN(const std::optional<MadeKernel> made, MakeCluster(cluster, next.settled, blocked, out));
    if (!made) {
      finishes.Count(cluster, -1);
      add(DealAnew(cluster, blocked, forced), cluster.members.size());
      continue;
    }
    TENON_RETURN_IF_ERROR(EmitCluster(cluster, *made, out));
    NoteOrigins(cluster.order, first, out);
    // Kernels that come later read it instead of computing it again.
    for (NodeId root : cluster.roots) {
      if (forced.contains(root)) at_hand.insert(root);
    }
  }
  return OkStatus();
}

bool Fuser::ReadsElsewhere(const std::unordered_set<NodeId>& block, const GraphNode& update) const {
  const Ref value = update.in[1];
  if (!block.contains(value.node) ||
      policy::kLeastOfUpdate * NumElements(p_.shape(value).dims) > NumElements(update.shape().dims))
    return false;
  // What the array was before earlier updates, which are made in the same memory.
  std::vector<Ref> arrays = {update.in[0]};
  while (p_[arrays.back().node].op == OpCode::kDynamicUpdate && arrays.size() < policy::kReadersFirst)
    arrays.push_back(p_[arrays.back().node].in[0]);
  std::unordered_set<NodeId> seen = {value.node};
  std::vector<NodeId> open = {value.node};
  while (!open.empty() && seen.size() <= policy::kMostOfUpdate) {
    const GraphNode& node = p_[open.back()];
    open.pop_back();
    const bool same_place = node.op == OpCode::kDynamicSlice && node.in[0] == update.in[0] &&
                            node.shape().dims == p_.shape(value).dims &&
                            std::equal(node.in.begin() + 1, node.in.end(), update.in.begin() + 2, update.in.end());
    for (Ref r : node.in) {
      if (std::find(arrays.begin(), arrays.end(), r) != arrays.end()) {
        if (!same_place) return true;
      } else if (block.contains(r.node) && seen.insert(r.node).second) {
        open.push_back(r.node);
      }
    }
  }
  return false;
}

Status Fuser::EmitBlock(const Block& block, plan::Seq& out) {
  Deal deal;
  deal.nodes = block.nodes;
  if (in_loop_) {
    const std::unordered_set<NodeId> inside(block.nodes.begin(), block.nodes.end());
    for (NodeId id : block.nodes) {
      if (p_[id].op == OpCode::kDynamicUpdate && ReadsElsewhere(inside, p_[id])) deal.stored.insert(p_[id].in[1].node);
    }
  }
  for (Ref r : block.results) deal.wanted.insert(r.node);
  Finishes finishes(p_, block, captures_);
  return EmitUnits(FormClusters(p_, deal, captures_), finishes, out);
}

}  // namespace tenon::compiler
