// What depends on no earlier trip of a loop is computed before it, for all trips at once. What it carries that depends
// on nothing but itself (a chain) has a loop of its own before it, where that makes enough of the rest known.

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tenon/compiler/simplify/all_trips.h"
#include "tenon/compiler/simplify/chains.h"
#include "tenon/compiler/simplify/loop_parts.h"
#include "tenon/compiler/simplify/policy.h"

namespace tenon::compiler {
namespace {

class Early {
 public:
  Early(LoopParts& loop, RuleLog& log)
      : loop_(loop), p_(loop.program()), log_(log), values_(p_, loop.body()), all_(p_, values_, loop.trips()) {
    loop_.FindUsers();
  }

  /// Whether it came to a decision: not where chains are all that would be left of the loop.
  bool Run(bool chains) {
    const std::vector<size_t> states = States();
    if (chains) UseChains(states);
    FindCandidates();
    if (hoped_ * static_cast<double>(loop_.trips()) < policy::kSplitCycles) return true;
    AddReads();
    const std::optional<std::vector<bool>> cut = loop_.Cut(network_, hoped_);
    if (!cut) return true;
    for (const auto& [id, place] : candidates_) {
      if ((*cut)[place]) early_.insert(id);
    }
    for (UsedChain& chain : chains_) chain.split = (*cut)[chain.place];
    if (!chains_.empty() && std::all_of(states.begin(), states.end(), [&](size_t state) { return IsSplit(state); }))
      return false;
    int64_t passed_bytes = 0;
    for (NodeId id : early_) passed_bytes += IsPassed(id) ? SizeBytes(p_[id].shape()) : 0;
    for (const UsedChain& chain : chains_) {
      if (!chain.split) continue;
      for (size_t carry : chain.is.carries) passed_bytes += SizeBytes(p_[loop_.body().args[carry]].shape());
    }
    if (passed_bytes <= policy::kMaxPassedBytes / loop_.trips()) Move();
    return true;
  }

 private:
  struct UsedChain {
    Chain is;
    size_t place;  ///< In the network: whether it has a loop of its own.
    bool split = false;
  };

  /// Carries with which more is done than to write their elements.
  std::vector<size_t> States() {
    const Block& body = loop_.body();
    std::vector<size_t> states;
    for (size_t i = 0; i < body.args.size(); ++i) {
      const Ref arg{body.args[i], 0};
      if (body.results[i] == arg || loop_.places().At(arg)) continue;
      const std::vector<NodeId>& users = loop_.UsersOf(arg.node);
      if (std::any_of(users.begin(), users.end(), [&](NodeId user) {
            return user == kNoNode || p_[user].op != OpCode::kDynamicUpdate || p_[user].in[0] != arg;
          }))
        states.push_back(i);
    }
    return states;
  }
  /// Whether a carry is one of a chain with a loop of its own.
  bool IsSplit(size_t carry) const {
    const auto chain = chain_of_.find(loop_.body().args[carry]);
    return chain != chain_of_.end() && chains_[chain->second].split;
  }
  void UseChains(const std::vector<size_t>& states) {
    const size_t own_loop = network_.AddNode();
    for (Chain& chain : FindChains(p_, loop_.loop(), loop_.places(), values_, all_)) {
      const std::vector<size_t>& carries = chain.carries;
      const auto arg = [&](size_t carry) { return Ref{loop_.body().args[carry], 0}; };
      // What is made of a chain that is all that the loop carries belongs behind it.
      if (std::includes(carries.begin(), carries.end(), states.begin(), states.end()) ||
          !std::all_of(carries.begin(), carries.end(),
                       [&](size_t carry) { return loop_.IsSmall(p_.shape(arg(carry))); }))
        continue;
      const size_t place = network_.AddNode();
      for (size_t carry : carries) {
        network_.AddEdge(place, MinCut::kSink, LoopParts::Units(loop_.Passing(arg(carry))));
        chain_of_[arg(carry).node] = chains_.size();
      }
      network_.AddEdge(place, own_loop, MinCut::kInfinite);
      for (NodeId id : chain.nodes) chain_of_[id] = chains_.size();
      chains_.push_back({std::move(chain), place});
    }
    network_.AddEdge(own_loop, MinCut::kSink, LoopParts::Units(policy::kChainTrip));
    FindAskedFor();
  }
  /// Finds which nodes of chains are there for others than their chain too, be it by way of others of its nodes.
  void FindAskedFor() {
    if (chains_.empty()) return;
    std::unordered_map<NodeId, int64_t> own_results;
    for (const UsedChain& chain : chains_) {
      for (size_t carry : chain.is.carries) ++own_results[loop_.body().results[carry].node];
    }
    const std::vector<NodeId>& nodes = loop_.body().nodes;
    for (size_t i = nodes.size(); i-- > 0;) {
      const auto chain = chain_of_.find(nodes[i]);
      if (chain == chain_of_.end()) continue;
      int64_t results = 0;
      bool asked_for = false;
      for (NodeId user : loop_.UsersOf(nodes[i])) {
        results += user == kNoNode ? 1 : 0;
        asked_for |= user != kNoNode && ChainThatAsks(user) == nullptr;
      }
      const auto own = own_results.find(nodes[i]);
      if (asked_for || results > (own == own_results.end() ? 0 : own->second)) asked_for_.insert(nodes[i]);
    }
  }
  /// The chain for which alone the node is there, which the loop need not compute if that has a loop of its own.
  const UsedChain* ChainThatAsks(NodeId id) const {
    const auto chain = chain_of_.find(id);
    return chain == chain_of_.end() || asked_for_.contains(id) ? nullptr : &chains_[chain->second];
  }

  void FindCandidates() {
    for (NodeId id : loop_.body().nodes) {
      const GraphNode& node = p_[id];
      const auto chain = chain_of_.find(id);
      if (ChainThatAsks(id) != nullptr) continue;
      const bool fits = values_.Varies(id) && !loop_.places().IsFree({id, 0}, values_) && all_.Fits(node) &&
                        loop_.IsSmall(node.shape()) && std::all_of(node.in.begin(), node.in.end(), [&](Ref r) {
                          return !values_.Varies(r.node) || candidates_.contains(r.node) || IsChainArgument(r.node) ||
                                 loop_.places().IsFree(r, values_);
                        });
      // A chain's loop computes it, and the loop once more unless it is early.
      if (chain != chain_of_.end() && !fits)
        network_.AddEdge(chains_[chain->second].place, MinCut::kSink, LoopParts::Units(loop_.Cost(id)));
      if (!fits) continue;
      const size_t place = candidates_[id] = network_.AddNode();
      for (Ref r : node.in) {
        if (const auto operand = candidates_.find(r.node); operand != candidates_.end()) {
          network_.AddEdge(place, operand->second, MinCut::kInfinite);
        } else if (IsChainArgument(r.node)) {
          network_.AddEdge(place, chains_[chain_of_[r.node]].place, MinCut::kInfinite);
        }
      }
      if (chain != chain_of_.end()) {
        network_.AddEdge(chains_[chain->second].place, place, LoopParts::Units(loop_.Cost(id)));
        continue;
      }
      const double gain = loop_.Gain(id, values_);
      network_.AddEdge(MinCut::kSource, place, LoopParts::Units(gain));
      hoped_ += gain;
    }
  }
  bool IsChainArgument(NodeId id) const { return p_[id].op == OpCode::kParameter && chain_of_.contains(id); }
  /// A value that the loop uses is read there, or in the loop of a chain that needs it.
  void AddReads() {
    for (const auto& [id, place] : candidates_) {
      const size_t read = network_.AddNode();
      network_.AddEdge(place, read, LoopParts::Units(loop_.Passing({id, 0})));
      for (NodeId user : loop_.UsersOf(id)) {
        const UsedChain* const chain = ChainThatAsks(user);
        const auto of = chain_of_.find(id);
        const bool itself = chain != nullptr && of != chain_of_.end() && &chains_[of->second] == chain;
        const auto candidate = candidates_.find(user);
        network_.AddEdge(read,
                         itself                           ? chain->place
                         : candidate == candidates_.end() ? MinCut::kSink
                                                          : candidate->second,
                         MinCut::kInfinite);
      }
    }
  }

  /// Whether the loop still needs a value that it does not compute any more.
  bool IsPassed(NodeId id) {
    const std::vector<NodeId>& users = loop_.UsersOf(id);
    return std::any_of(users.begin(), users.end(), [&](NodeId user) {
      const UsedChain* const chain = ChainThatAsks(user);
      return !early_.contains(user) && (chain == nullptr || !chain->split);
    });
  }
  void Move() {
    std::vector<NodeId> made, kept;
    SplitChains(made, kept);
    for (NodeId id : loop_.body().nodes) {
      if (!early_.contains(id)) {
        kept.push_back(id);
        continue;
      }
      for (Ref r : p_[id].in) {
        if (values_.Varies(r.node) && !early_.contains(r.node)) loop_.places().MakeFree(r, values_, all_);
      }
      log_.Hit(
          Rule::early, [&] { return PrintValue(p_, {id, 0}); },
          [&] { return fmt::format("for all {} trips before the loop", loop_.trips()); });
      all_.Make(id);
      if (IsPassed(id)) loop_.Read(all_.Of({id, 0}), p_[id].shape(), id, kept);
    }
    loop_.Finish(std::move(kept), values_);
    std::vector<NodeId>& before = loop_.moved.before;
    before.insert(before.end(), made.begin(), made.end());
    const std::vector<NodeId> all = all_.Take();
    before.insert(before.end(), all.begin(), all.end());
  }
  /// Gives the chains a loop, which goes to `before`. The loop reads what they are where it still needs it: `first`.
  void SplitChains(std::vector<NodeId>& before, std::vector<NodeId>& first) {
    std::vector<size_t> carries, results;
    for (const UsedChain& chain : chains_) {
      if (chain.split) carries.insert(carries.end(), chain.is.carries.begin(), chain.is.carries.end());
    }
    if (carries.empty()) return;
    const NodeId made = CopyOfCarries(p_, loop_.loop(), carries, loop_.places().counter(), values_, results);
    LoopParts own(p_, made, loop_.trips(), loop_.outlook(), loop_.places().forward());
    std::vector<NodeId>& nodes = loop_.body().nodes;
    std::erase_if(nodes, [&](NodeId id) {
      const UsedChain* const chain = ChainThatAsks(id);
      return chain != nullptr && chain->split;
    });
    for (size_t i = 0; i < carries.size(); ++i) {
      const Ref arg{loop_.body().args[carries[i]], 0};
      all_.Know(arg, own.HandOn({own.body().args[results[i]], 0}));
      if (IsPassed(arg.node)) Replace(arg, loop_.Read(all_.Of(arg), p_.shape(arg), kNoNode, first));
      log_.Hit(
          Rule::chain, [&] { return fmt::format("carry {}", carries[i]); },
          [&] { return fmt::format("a loop of its own, of {} trips", loop_.trips()); });
    }
    for (size_t i = 0; i < carries.size(); ++i) {
      loop_.body().results[carries[i]] = {loop_.body().args[carries[i]], 0};
      loop_.moved.results.push_back({static_cast<uint32_t>(carries[i]), {made, static_cast<uint32_t>(results[i])}});
    }
    const std::vector<NodeId> left = own.body().nodes;
    own.Finish(left, LoopValues(p_, own.body()));
    Early(own, log_).Run(/*chains=*/false);
    before = std::move(own.moved.before);
    before.push_back(made);
  }
  /// In what stays in the loop.
  void Replace(Ref old, Ref by) {
    for (NodeId id : loop_.body().nodes) {
      if (!early_.contains(id)) ReplaceIn(p_[id], old, by);
    }
    for (Ref& r : loop_.body().results) {
      if (r == old) r = by;
    }
  }
  void ReplaceIn(GraphNode& node, Ref old, Ref by) {
    for (Ref& r : node.in) {
      if (r == old) r = by;
    }
    for (Block& block : node.blocks) {
      for (NodeId id : block.nodes) ReplaceIn(p_[id], old, by);
      for (Ref& r : block.results) {
        if (r == old) r = by;
      }
    }
  }

  LoopParts& loop_;
  Program& p_;
  RuleLog& log_;
  LoopValues values_;
  AllTrips all_;
  std::vector<UsedChain> chains_;
  std::unordered_map<NodeId, size_t> chain_of_;  ///< Of their arguments and nodes.
  std::unordered_set<NodeId> asked_for_;
  MinCut network_;
  double hoped_ = 0;
  std::unordered_map<NodeId, size_t> candidates_;  ///< Their places in the network.
  std::unordered_set<NodeId> early_;
};

}  // namespace

void MoveBefore(LoopParts& loop, RuleLog& log) {
  if (!Early(loop, log).Run(/*chains=*/true)) Early(loop, log).Run(/*chains=*/false);
}

}  // namespace tenon::compiler
