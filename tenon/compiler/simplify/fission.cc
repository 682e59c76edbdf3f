// Work of loops that need not be done trip by trip: what depends on no earlier trip is computed before the loop, what
// no later trip reads after it, for all trips at once, where that fills vectors that a trip does not, or makes one
// product of many. What passes between the loop and the rest lies in memory then, one element per trip.

#include <unordered_map>

#include "tenon/compiler/ir/trips.h"
#include "tenon/compiler/simplify/loop_parts.h"
#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {
namespace {

/// A program's loops, innermost first.
class LoopSplitter {
 public:
  LoopSplitter(Program& p, const Outlook& outlook, RuleLog& log) : p_(p), outlook_(outlook), log_(log) {}

  bool Run() {
    Visit(p_.main);
    return any_;
  }

 private:
  void Visit(Block& block) {
    std::vector<NodeId> nodes;
    for (NodeId id : block.nodes) {
      for (Ref& r : p_[id].in) Update(r);
      for (Block& inner : p_[id].blocks) Visit(inner);
      if (p_[id].op != OpCode::kWhile) {
        nodes.push_back(id);
        continue;
      }
      const MovedParts moved = Split(id);
      any_ |= !moved.before.empty() || !moved.after.empty() || !moved.results.empty();
      nodes.insert(nodes.end(), moved.before.begin(), moved.before.end());
      nodes.push_back(id);
      nodes.insert(nodes.end(), moved.after.begin(), moved.after.end());
      for (const auto& [result, by] : moved.results) replaced_[{id, result}] = by;
    }
    block.nodes = std::move(nodes);
    for (Ref& r : block.results) Update(r);
  }
  MovedParts Split(NodeId id) {
    const int64_t trips = KnownTrips(p_, p_[id]);
    if (trips < policy::kMinProductTrips || trips > policy::kMaxSplitTrips) return {};
    LoopParts loop(p_, id, trips, outlook_);
    if (!loop.places().known()) return {};
    MoveBefore(loop, log_);
    MoveBehind(loop, log_);
    return std::move(loop.moved);
  }
  void Update(Ref& r) const {
    const auto it = replaced_.find(r);
    if (it != replaced_.end()) r = it->second;
  }

  Program& p_;
  const Outlook& outlook_;
  RuleLog& log_;
  std::unordered_map<Ref, Ref, RefHasher> replaced_;
  bool any_ = false;
};

}  // namespace

bool SplitLoops(Program& program, const Outlook& outlook, RuleLog& log) {
  return LoopSplitter(program, outlook, log).Run();
}

}  // namespace tenon::compiler
