// What no later trip of a loop reads is computed behind it, for all trips at once: results that are stored at the
// trip's place, sums of products, and what only they need.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>

#include "tenon/compiler/simplify/all_trips.h"
#include "tenon/compiler/simplify/loop_parts.h"
#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/product_form.h"

namespace tenon::compiler {
namespace {

/// What a value costs to hand on that does not fit into memory for all trips.
constexpr double kNever = 1e12;  // structural: more than any program spares

class Late {
 public:
  Late(LoopParts& loop, RuleLog& log)
      : loop_(loop), p_(loop.program()), log_(log), values_(p_, loop.body()), all_(p_, values_, loop.trips()) {
    loop_.FindUsers();
  }

  void Run() {
    FindRoots();
    if (outputs_.empty() && sums_.empty()) return;

    // Roots and what only they need.
    MinCut network;
    double hoped = 0;
    const auto add = [&](double gain) {
      hoped += gain;
      const size_t place = network.AddNode();
      network.AddEdge(MinCut::kSource, place, LoopParts::Units(gain));
      return place;
    };
    std::unordered_map<NodeId, size_t> candidates;
    std::unordered_map<NodeId, size_t> inner;  // To the place of the sum.
    std::vector<size_t> sum_places;
    for (const Sum& sum : sums_) {
      sum_places.push_back(add(policy::kSummedVector * LoopParts::VectorsOf(sum.form.product)));
      for (NodeId id : InnerOf(sum)) inner[id] = sum_places.back();
    }
    std::unordered_map<NodeId, NodeId> stored_by;
    for (const Output& output : outputs_) {
      stored_by[output.update] = output.value.node;
      if (loop_.places().IsFree(output.value, values_)) hoped += loop_.Passing(output.value);
    }
    const std::vector<NodeId>& nodes = loop_.body().nodes;
    for (size_t i = nodes.size(); i-- > 0;) {
      const NodeId id = nodes[i];
      const GraphNode& node = p_[id];
      if (inner.contains(id) || !values_.Varies(id) || !all_.Fits(node) || !loop_.IsSmall(node.shape()) ||
          loop_.places().IsFree({id, 0}, values_))
        continue;
      const std::vector<NodeId>& users = loop_.UsersOf(id);
      const auto stores = [&](NodeId user) {
        const auto stored = stored_by.find(user);
        return stored != stored_by.end() && stored->second == id;
      };
      if (!std::all_of(users.begin(), users.end(),
                       [&](NodeId user) { return candidates.contains(user) || inner.contains(user) || stores(user); }))
        continue;
      const bool is_output = std::any_of(users.begin(), users.end(), stores);
      const size_t place = candidates[id] = add(loop_.Gain(id, values_) + (is_output ? loop_.Passing({id, 0}) : 0));
      for (NodeId user : users) {
        if (!stores(user))
          network.AddEdge(place, inner.contains(user) ? inner[user] : candidates[user], MinCut::kInfinite);
      }
    }
    // What they are made of in the loop is handed on.
    std::unordered_map<Ref, size_t, RefHasher> handed;
    const auto need = [&](size_t place, Ref r) {
      if (!values_.Varies(r.node) || loop_.places().IsFree(r, values_)) return;
      auto [it, fresh] = handed.try_emplace(r, 0);
      if (fresh) {
        it->second = network.AddNode();
        const auto made = candidates.find(r.node);
        network.AddEdge(it->second, made == candidates.end() ? MinCut::kSink : made->second,
                        LoopParts::Units(loop_.IsSmall(p_.shape(r)) ? loop_.Passing(r) : kNever));
      }
      network.AddEdge(place, it->second, MinCut::kInfinite);
    };
    for (const auto& [id, place] : candidates) {
      for (Ref r : p_[id].in) need(place, r);
    }
    for (size_t i = 0; i < sums_.size(); ++i) {
      for (Ref r : sums_[i].form.in) need(sum_places[i], r);
    }
    const std::optional<std::vector<bool>> cut = loop_.Cut(network, hoped);
    if (!cut) return;
    std::unordered_set<NodeId> late;
    for (const auto& [id, place] : candidates) {
      if ((*cut)[place]) late.insert(id);
    }
    int64_t passed_bytes = 0;
    for (const auto& [r, place] : handed)
      passed_bytes += (*cut)[place] && !late.contains(r.node) ? SizeBytes(p_.shape(r)) : 0;
    if (passed_bytes > policy::kMaxPassedBytes / loop_.trips()) return;
    std::erase_if(outputs_, [&](const Output& output) {
      return !late.contains(output.value.node) && !loop_.places().IsFree(output.value, values_);
    });
    std::vector<Sum> sums;
    std::unordered_set<NodeId> gone;
    for (size_t i = 0; i < sums_.size(); ++i) {
      if (!(*cut)[sum_places[i]]) continue;
      for (NodeId id : InnerOf(sums_[i])) gone.insert(id);
      sums.push_back(std::move(sums_[i]));
    }
    sums_ = std::move(sums);
    Emit(late, std::move(gone));
  }

 private:
  /// A carry of which each trip writes another element along a dimension, and that no trip reads.
  struct Output {
    size_t carry;
    NodeId update;
    size_t along;
    bool forward;  ///< Elements are written in their order.
    Ref value;     ///< [.., 1, ..]
  };
  /// A carry to which each trip adds a product, and that no trip reads.
  struct Sum {
    size_t carry;
    NodeId add;
    std::vector<NodeId> views;  ///< From the product to what is added.
    NodeId product;
    ProductForm form;
  };

  void FindRoots() {
    const Block& condition = p_[loop_.loop()].blocks[0];
    const std::unordered_set<NodeId> decide = UsesIn(p_, condition);
    for (size_t i = 0; i < loop_.body().results.size(); ++i) {
      const NodeId id = loop_.body().results[i].node;
      const GraphNode& node = p_[id];
      const Ref arg{loop_.body().args[i], 0};
      if (!loop_.IsOnlyUser(kNoNode, id) || !loop_.IsOnlyUser(id, arg.node) || decide.contains(condition.args[i]))
        continue;
      if (node.op == OpCode::kDynamicUpdate && node.in[0] == arg) {
        const std::optional<size_t> along = TakenAlong(node.shape().dims, p_.shape(node.in[1]).dims);
        if (!along || node.shape().dims[*along] != loop_.trips()) continue;
        const std::optional<Progression> at = loop_.places().At(node.in[2 + *along]);
        if (!at || std::abs(at->step) != 1 || at->first + at->At(loop_.trips() - 1) != loop_.trips() - 1 ||
            std::min(at->first, at->At(loop_.trips() - 1)) != 0)
          continue;
        outputs_.push_back({i, id, *along, at->step > 0, node.in[1]});
      } else if (node.op == OpCode::kAdd && (node.in[0] == arg || node.in[1] == arg)) {
        Sum sum{i, id, {}, node.in[node.in[0] == arg ? 1 : 0].node, {}};
        NodeId user = id;
        while (loop_.IsOnlyUser(user, sum.product) &&
               (p_[sum.product].op == OpCode::kTranspose || p_[sum.product].op == OpCode::kReshape)) {
          sum.views.insert(sum.views.begin(), sum.product);
          user = sum.product;
          sum.product = p_[user].in[0].node;
        }
        if (!loop_.IsOnlyUser(user, sum.product) || !values_.Varies(sum.product)) continue;
        const std::optional<ProductForm> form = ProductFormOf(p_, {sum.product, 0});
        if (!form || !values_.Varies(form->in[0].node) || !values_.Varies(form->in[1].node)) continue;
        sum.form = *form;
        int64_t terms = 1;
        for (int64_t d : form->numbers.lhs_contracting_dimensions)
          terms *= p_.shape(form->in[0]).dims[static_cast<size_t>(d)];
        if (terms <= policy::kMaxSummedTerms) sums_.push_back(std::move(sum));
      }
    }
  }

  /// Nodes of which the product consists, and that nobody else uses.
  std::vector<NodeId> InnerOf(const Sum& sum) {
    std::vector<NodeId> inner = sum.views;
    std::vector<NodeId> next = {sum.product};
    while (!next.empty()) {
      const NodeId id = next.back();
      next.pop_back();
      if (id == sum.form.in[0].node || id == sum.form.in[1].node) continue;
      const std::vector<NodeId>& users = loop_.UsersOf(id);
      if (std::find(inner.begin(), inner.end(), id) != inner.end() ||
          (id != sum.product && !std::all_of(users.begin(), users.end(), [&](NodeId user) {
             return std::find(inner.begin(), inner.end(), user) != inner.end();
           })))
        continue;
      inner.push_back(id);
      for (Ref r : p_[id].in) next.push_back(r.node);
    }
    return inner;
  }
  /// Writes what is late, without what is `gone` with it.
  void Emit(const std::unordered_set<NodeId>& late, std::unordered_set<NodeId> gone) {
    const auto need = [&](Ref r) {
      if (all_.Knows(r)) return;
      if (!values_.Varies(r.node)) {
        values_.Want(r);
      } else if (loop_.places().IsFree(r, values_)) {
        loop_.places().MakeFree(r, values_, all_);
      } else {
        all_.Know(r, loop_.HandOn(r));
      }
    };
    const std::vector<NodeId> nodes = loop_.body().nodes;
    for (NodeId id : nodes) {
      if (!late.contains(id)) continue;
      for (Ref r : p_[id].in) need(r);
      log_.Hit(
          Rule::late, [&] { return PrintValue(p_, {id, 0}); },
          [&] { return fmt::format("for all {} trips behind the loop", loop_.trips()); });
      all_.Make(id);
      gone.insert(id);
    }
    for (const Output& output : outputs_) {
      need(output.value);
      MakeOutput(output);
      gone.insert(output.update);
    }
    for (const Sum& sum : sums_) {
      for (Ref r : sum.form.in) need(r);
      MakeSum(sum);
      gone.insert(sum.add);
    }
    std::vector<NodeId> left;
    for (NodeId id : nodes) {
      if (!gone.contains(id)) left.push_back(id);
    }
    loop_.Finish(std::move(left), values_);
    const std::vector<NodeId> made = all_.Take();
    loop_.moved.after.insert(loop_.moved.after.end(), made.begin(), made.end());
  }
  /// The carry ends as it began, which nobody looks at.
  void Replace(size_t carry, Ref by) {
    loop_.body().results[carry] = {loop_.body().args[carry], 0};
    loop_.moved.results.push_back({static_cast<uint32_t>(carry), by});
  }
  void MakeOutput(const Output& output) {
    Ref r = all_.Of(output.value);
    if (output.forward != loop_.places().forward()) r = all_.Reversed(r, 0);
    Dims dims = p_.shape(r).dims, permutation;
    dims.erase(dims.begin() + 1 + static_cast<ptrdiff_t>(output.along));
    for (size_t d = 1; d < dims.size(); ++d) permutation.push_back(static_cast<int64_t>(d));
    permutation.insert(permutation.begin() + static_cast<ptrdiff_t>(output.along), 0);
    Replace(output.carry, all_.Transposed(all_.Reshaped(r, std::move(dims)), std::move(permutation)));
  }
  void MakeSum(const Sum& sum) {
    log_.Hit(
        Rule::late_product, [&] { return PrintValue(p_, {sum.product, 0}); },
        [&] { return fmt::format("one product of {} trips behind the loop", loop_.trips()); });
    Ref r = all_.Sum(sum.form);
    for (NodeId view : sum.views) r = all_.Append(p_[view].op, {r}, p_[view].shape(), p_[view].attributes);
    Replace(sum.carry, all_.Append(OpCode::kAdd, {p_[loop_.loop()].in[sum.carry], r}, p_.shape(r)));
  }

  LoopParts& loop_;
  Program& p_;
  RuleLog& log_;
  LoopValues values_;
  AllTrips all_;
  std::vector<Output> outputs_;
  std::vector<Sum> sums_;
};

}  // namespace

void MoveBehind(LoopParts& loop, RuleLog& log) { Late(loop, log).Run(); }

}  // namespace tenon::compiler
