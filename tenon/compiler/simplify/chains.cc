#include "tenon/compiler/simplify/chains.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "tenon/compiler/simplify/policy.h"

namespace tenon::compiler {
namespace {

/// Which carry each argument of a block is.
std::unordered_map<NodeId, size_t> CarriesOf(const Block& block) {
  std::unordered_map<NodeId, size_t> carries;
  for (size_t i = 0; i < block.args.size(); ++i) carries[block.args[i]] = i;
  return carries;
}

/// Looks for chains in one loop.
class Finder {
 public:
  Finder(const Program& p, NodeId loop, const TripPlaces& places, const LoopValues& values, const AllTrips& all)
      : p_(p), body_(p[loop].blocks[1]), places_(places), values_(values), all_(all), carries_(CarriesOf(body_)) {
    const Block& condition = p[loop].blocks[0];
    const std::unordered_set<NodeId> used = UsesIn(p, condition);
    for (NodeId arg : condition.args) decides_.push_back(used.contains(arg));
    failed_.resize(decides_.size());
    for (size_t i = 0; i < body_.nodes.size(); ++i) order_[body_.nodes[i]] = i;
  }

  std::vector<Chain> Run() {
    // Of each carry, all that it depends on; of those that are one chain, the same.
    std::vector<std::optional<Chain>> all(body_.args.size());
    for (size_t i = 0; i < all.size(); ++i) {
      if (IsCarried(i)) all[i] = DependenciesOf(i);
      failed_[i] = !all[i];
    }
    std::vector<Chain> chains;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] && all[i]->carries.front() == i &&
          std::all_of(all[i]->carries.begin(), all[i]->carries.end(),
                      [&](size_t j) { return all[j] && all[j]->carries == all[i]->carries; }))
        chains.push_back(*std::move(all[i]));
    }
    return chains;
  }

 private:
  bool IsCarried(size_t carry) const {
    const Ref arg{body_.args[carry], 0};
    return body_.results[carry] != arg && p_.shape(arg).dtype != DType::kToken && !places_.At(arg) && !decides_[carry];
  }
  /// Nothing where the carry depends on what a loop of its own could not, or had better not, compute.
  std::optional<Chain> DependenciesOf(size_t carry) {
    Chain chain{{carry}, {}};
    std::vector<Ref> next = {body_.results[carry]};
    std::unordered_set<NodeId> seen;
    while (!next.empty()) {
      const Ref r = next.back();
      next.pop_back();
      if (!seen.insert(r.node).second || !values_.Varies(r.node) || places_.IsFree(r, values_)) continue;
      if (--steps_ < 0 || chain.nodes.size() == policy::kMaxChainNodes) return std::nullopt;
      if (const auto other = carries_.find(r.node); other != carries_.end()) {
        if (other->second == carry) continue;
        if (!IsCarried(other->second) || failed_[other->second]) return std::nullopt;
        chain.carries.push_back(other->second);
        next.push_back(body_.results[other->second]);
        continue;
      }
      const GraphNode& node = p_[r.node];
      if (!all_.Fits(node) || node.op == OpCode::kDot) return std::nullopt;
      chain.nodes.push_back(r.node);
      next.insert(next.end(), node.in.begin(), node.in.end());
    }
    std::sort(chain.carries.begin(), chain.carries.end());
    KeepCarried(chain);
    return chain;
  }
  /// Of the nodes that the next carries depend on, those that depend on the carries.
  void KeepCarried(Chain& chain) const {
    std::sort(chain.nodes.begin(), chain.nodes.end(), [&](NodeId a, NodeId b) { return order_.at(a) < order_.at(b); });
    std::unordered_set<NodeId> carried;
    for (size_t carry : chain.carries) carried.insert(body_.args[carry]);
    std::erase_if(chain.nodes, [&](NodeId id) {
      const GraphNode& node = p_[id];
      if (std::none_of(node.in.begin(), node.in.end(), [&](Ref r) { return carried.contains(r.node); })) return true;
      carried.insert(id);
      return false;
    });
  }

  const Program& p_;
  const Block& body_;
  const TripPlaces& places_;
  const LoopValues& values_;
  const AllTrips& all_;
  const std::unordered_map<NodeId, size_t> carries_;
  std::vector<bool> decides_;  ///< Whether the condition looks at the carry.
  std::vector<bool> failed_;   ///< Whether it was looked at, and is of no chain.
  std::unordered_map<NodeId, size_t> order_;
  int64_t steps_ = policy::kMaxChainSteps;
};

/// Copies parts of a loop into a new one.
class Copier {
 public:
  Copier(Program& p, NodeId loop, LoopValues& values) : p_(p), loop_(loop), values_(values) {}

  NodeId Run(const std::vector<size_t>& carries, NodeId counter, std::vector<size_t>& places) {
    FindNeeded(carries, counter);
    GraphNode made;
    made.op = OpCode::kWhile;
    made.source = p_[loop_].source;
    made.blocks.resize(2);
    std::unordered_map<NodeId, NodeId> copies;
    std::unordered_map<size_t, size_t> place_of;
    for (size_t i = 0; i < p_[loop_].in.size(); ++i) {
      if (!needed_carries_.contains(i)) continue;
      place_of[i] = made.in.size();
      made.in.push_back(p_[loop_].in[i]);
      made.out.push_back(p_[loop_].out[i]);
      for (size_t b = 0; b < 2; ++b) made.blocks[b].args.push_back(CopyOf(p_, p_[loop_].blocks[b].args[i], copies));
    }
    for (size_t b = 0; b < 2; ++b) {
      const std::vector<NodeId> nodes = p_[loop_].blocks[b].nodes;
      for (NodeId id : nodes) {
        if (needed_.contains(id)) made.blocks[b].nodes.push_back(CopyOf(p_, id, copies));
      }
    }
    const auto copied = [&](Ref r) {
      const auto it = copies.find(r.node);
      return it == copies.end() ? r : Ref{it->second, r.result};
    };
    for (Ref r : p_[loop_].blocks[0].results) made.blocks[0].results.push_back(copied(r));
    for (size_t i = 0; i < p_[loop_].in.size(); ++i) {
      if (needed_carries_.contains(i)) made.blocks[1].results.push_back(copied(p_[loop_].blocks[1].results[i]));
    }
    for (size_t i : carries) places.push_back(place_of[i]);
    return p_.Add(std::move(made));
  }

 private:
  void FindNeeded(const std::vector<size_t>& carries, NodeId counter) {
    std::unordered_map<NodeId, size_t> carry_of[2];
    std::unordered_set<NodeId> local;
    for (size_t b = 0; b < 2; ++b) {
      const Block& block = p_[loop_].blocks[b];
      carry_of[b] = CarriesOf(block);
      local.insert(block.nodes.begin(), block.nodes.end());
    }
    const std::unordered_set<NodeId> body(p_[loop_].blocks[1].nodes.begin(), p_[loop_].blocks[1].nodes.end());
    std::vector<Ref> next(p_[loop_].blocks[0].results.begin(), p_[loop_].blocks[0].results.end());
    const auto need = [&](size_t carry) {
      if (needed_carries_.insert(carry).second) next.push_back(p_[loop_].blocks[1].results[carry]);
    };
    for (size_t i : carries) need(i);
    next.push_back({counter, 0});
    while (!next.empty()) {
      const NodeId id = next.back().node;
      next.pop_back();
      for (const auto& block : carry_of) {
        if (const auto carry = block.find(id); carry != block.end()) need(carry->second);
      }
      if (body.contains(id) && !values_.Varies(id)) {
        values_.Want({id, 0});
      } else if (local.contains(id) && needed_.insert(id).second) {
        next.insert(next.end(), p_[id].in.begin(), p_[id].in.end());
        values_.WantUsesOf(p_[id]);
      }
    }
  }

  Program& p_;
  const NodeId loop_;
  LoopValues& values_;
  std::unordered_set<size_t> needed_carries_;
  std::unordered_set<NodeId> needed_;
};

}  // namespace

std::vector<Chain> FindChains(const Program& program, NodeId loop, const TripPlaces& places, const LoopValues& values,
                              const AllTrips& all) {
  return Finder(program, loop, places, values, all).Run();
}

NodeId CopyOfCarries(Program& program, NodeId loop, const std::vector<size_t>& carries, NodeId counter,
                     LoopValues& values, std::vector<size_t>& places) {
  return Copier(program, loop, values).Run(carries, counter, places);
}

}  // namespace tenon::compiler
