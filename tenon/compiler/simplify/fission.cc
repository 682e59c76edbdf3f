// Work of loops that need not be done trip by trip: what depends on no earlier trip is computed before the loop, what
// no later trip reads after it, for all trips at once, where that fills vectors that a trip does not, or makes one
// product of many. What passes between the loop and the rest lies in memory then, one element per trip.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "tenon/compiler/ir/trips.h"
#include "tenon/compiler/simplify/all_trips.h"
#include "tenon/compiler/simplify/min_cut.h"
#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/compiler/simplify/trip_places.h"

namespace tenon::compiler {
namespace {

/// Vectors that so many elements take, and how many they fill.
double VectorsOf(const Shape& shape) {
  return std::ceil(static_cast<double>(NumElements(shape.dims)) / policy::kTripLanes);
}
double FilledBy(const Shape& shape) { return static_cast<double>(NumElements(shape.dims)) / policy::kTripLanes; }
/// Vectors that a trip takes beyond those: a few elements are as many scalars.
double Unfilled(const Shape& shape) {
  const double scalars = static_cast<double>(NumElements(shape.dims)) * policy::kTripScalar;
  return std::max(0.0, std::min(VectorsOf(shape), scalars) - FilledBy(shape));
}

/// Networks count in these parts of a cycle.
int64_t Units(double cycles) { return std::llround(cycles * 64); }  // structural
/// What a value costs to hand on that does not fit into memory for all trips.
constexpr double kNever = 1e12;  // structural: more than any program spares

/// One loop.
class Splitter {
 public:
  Splitter(Program& p, NodeId loop, const Outlook& outlook, RuleLog& log)
      : p_(p), loop_(loop), outlook_(outlook), log_(log), trips_(KnownTrips(p, p[loop])) {}

  /// Nodes that belong before the loop and behind it; what takes the place of results of the loop.
  struct Moved {
    std::vector<NodeId> before, after;
    std::vector<std::pair<uint32_t, Ref>> results;
  };
  Moved Run() {
    if (trips_ < policy::kMinProductTrips || trips_ > policy::kMaxSplitTrips) return {};
    places_.emplace(p_, loop_, trips_);
    if (!places_->known()) return {};
    FindCounted();
    MoveBefore();
    MoveAfter();
    return std::move(moved_);
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

  Block& Body() { return p_[loop_].blocks[1]; }

  // --- Users. ---

  /// Which nodes of the body use each of its values, by themselves or in a block; kNoNode for its results.
  void FindUsers() {
    users_.clear();
    for (NodeId id : Body().nodes) NoteUses(id, p_[id]);
    for (Ref r : Body().results) users_[r.node].push_back(kNoNode);
  }
  void NoteUses(NodeId user, const GraphNode& node) {
    for (Ref r : node.in) users_[r.node].push_back(user);
    for (const Block& block : node.blocks) {
      for (NodeId id : block.nodes) NoteUses(user, p_[id]);
      for (Ref r : block.results) users_[r.node].push_back(user);
    }
  }
  bool OnlyUser(NodeId of, NodeId user) const {
    const auto it = users_.find(of);
    return it != users_.end() && it->second.size() == 1 && it->second[0] == user;
  }

  // --- Costs. ---

  /// Finds numbers that are reckoned from the trip's: most of it is settled when code is made, and the rest waits for
  /// nothing.
  void FindCounted() {
    const LoopValues values(p_, Body());
    for (NodeId id : Body().nodes) {
      const GraphNode& node = p_[id];
      if (KindOfOp(node.op) == OpKind::kElementwise && node.shape().rank() == 0 && !IsFloat(node.shape().dtype) &&
          std::all_of(node.in.begin(), node.in.end(),
                      [&](Ref r) { return !values.Varies(r.node) || counted_.contains(r.node) || places_->At(r); }))
        counted_.insert(id);
    }
  }

  /// Cycles that a trip spares when all trips compute the node at once.
  double Gain(NodeId id, const LoopValues& values) const {
    const GraphNode& node = p_[id];
    const Shape& shape = node.shape();
    if (const std::optional<ProductForm> form = ProductFormOf(p_, {id, 0}); form && node.op != OpCode::kMultiply) {
      const bool left = values.Varies(form->in[0].node), right = values.Varies(form->in[1].node);
      // What does not vary is loaded once for several trips.
      if (left != right) return FilledBy(p_.shape(form->in[left ? 1 : 0]));
      return 0;
    }
    if (node.op == OpCode::kReduce) return Unfilled(p_.shape(node.in[0]));
    if (KindOfOp(node.op) != OpKind::kElementwise || counted_.contains(id)) return 0;
    return outlook_.cost(p_, node) * Unfilled(shape);
  }
  /// Cycles that a trip takes to write a value where the others' are, or to read it there.
  double Passing(Ref r) const { return policy::kPassedVector * VectorsOf(p_.shape(r)); }
  bool IsSmall(const Shape& shape) const {
    const Result<int64_t> bytes = CheckedSizeBytes(shape);
    return bytes.ok() && *bytes <= policy::kMaxProductBytes / trips_;
  }

  /// Who is on the network's source's side, where that spares enough of what all of them together would.
  bool Choose(MinCut& network, const std::unordered_map<NodeId, size_t>& candidates, double hoped,
              std::unordered_set<NodeId>& chosen) {
    cut_ = network.Run(policy::kMaxCutSteps);
    if (!cut_ || static_cast<double>(Units(hoped) - network.cost()) * static_cast<double>(trips_) <
                     static_cast<double>(Units(policy::kSplitCycles)))
      return false;
    for (const auto& [id, place] : candidates) {
      if ((*cut_)[place]) chosen.insert(id);
    }
    return true;
  }

  // --- Before the loop. ---

  void MoveBefore() {
    LoopValues values(p_, Body());
    AllTrips all(p_, values, trips_);
    FindUsers();
    std::unordered_map<NodeId, size_t> candidates;
    MinCut network;
    double hoped = 0;
    for (NodeId id : Body().nodes) {
      const GraphNode& node = p_[id];
      if (!values.Varies(id) || places_->IsFree({id, 0}, values) || !all.Fits(node) || !IsSmall(node.shape()) ||
          !std::all_of(node.in.begin(), node.in.end(), [&](Ref r) {
            return !values.Varies(r.node) || candidates.contains(r.node) || places_->IsFree(r, values);
          }))
        continue;
      const size_t place = candidates[id] = network.AddNode();
      for (Ref r : node.in) {
        const auto operand = candidates.find(r.node);
        if (operand != candidates.end()) network.AddEdge(place, operand->second, MinCut::kInfinite);
      }
      const double gain = Gain(id, values);
      network.AddEdge(MinCut::kSource, place, Units(gain));
      hoped += gain;
    }
    if (hoped * static_cast<double>(trips_) < policy::kSplitCycles) return;
    // A value that the loop uses is read there.
    for (const auto& [id, place] : candidates) {
      const size_t read = network.AddNode();
      network.AddEdge(place, read, Units(Passing({id, 0})));
      for (NodeId user : users_[id]) {
        const auto candidate = candidates.find(user);
        network.AddEdge(read, candidate == candidates.end() ? MinCut::kSink : candidate->second, MinCut::kInfinite);
      }
    }
    std::unordered_set<NodeId> early;
    if (!Choose(network, candidates, hoped, early)) return;
    const auto is_passed = [&](NodeId id) {
      const std::vector<NodeId>& users = users_[id];
      return std::any_of(users.begin(), users.end(), [&](NodeId user) { return !early.contains(user); });
    };
    int64_t passed_bytes = 0;
    for (NodeId id : early) passed_bytes += is_passed(id) ? SizeBytes(p_[id].shape()) : 0;
    if (passed_bytes > policy::kMaxPassedBytes / trips_) return;

    std::vector<NodeId> kept;
    for (NodeId id : Body().nodes) {
      if (!early.contains(id)) {
        kept.push_back(id);
        continue;
      }
      for (Ref r : p_[id].in) {
        if (!values.Varies(r.node)) {
          values.Want(r);
        } else if (!early.contains(r.node)) {
          places_->MakeFree(r, values, all);
        }
      }
      log_.Hit(
          Rule::early, [&] { return PrintValue(p_, {id, 0}); },
          [&] { return fmt::format("for all {} trips before the loop", trips_); });
      all.Make(id);
      if (is_passed(id)) ReadPassed(id, all.Of({id, 0}), kept);
    }
    Body().nodes = std::move(kept);
    Finish(values.TakeWanted(Body()), all.Take(), moved_.before);
  }
  /// The node becomes the element at this trip's place of an array.
  void ReadPassed(NodeId id, Ref all, std::vector<NodeId>& nodes) {
    const Shape shape = p_[id].shape();
    GraphNode slice;
    slice.op = OpCode::kDynamicSlice;
    slice.in = {all, places_->Index()};
    for (size_t d = 0; d < shape.rank(); ++d) slice.in.push_back(places_->Zero());
    slice.out = {Shape{shape.dtype, shape.dims}};
    slice.out[0].dims.insert(slice.out[0].dims.begin(), 1);
    GraphNode flat;
    flat.op = OpCode::kReshape;
    flat.in = {Ref{p_.Add(std::move(slice)), 0}};
    flat.out = {shape};
    flat.source = p_[id].source;
    nodes.push_back(flat.in[0].node);
    nodes.push_back(id);
    p_[id] = std::move(flat);
  }
  /// Puts what a pass made where it belongs.
  void Finish(const std::vector<NodeId>& wanted, const std::vector<NodeId>& made, std::vector<NodeId>& to) {
    moved_.before.insert(moved_.before.end(), wanted.begin(), wanted.end());
    to.insert(to.end(), made.begin(), made.end());
    const std::vector<NodeId> first = places_->TakeNodes();
    Body().nodes.insert(Body().nodes.begin(), first.begin(), first.end());
  }

  // --- Behind the loop. ---

  bool OnlyOneReads(size_t carry, NodeId user) const {
    const Block& condition = p_[loop_].blocks[0];
    const NodeId seen = condition.args[carry];
    for (NodeId id : condition.nodes) {
      for (Ref r : p_[id].in) {
        if (r.node == seen) return false;
      }
    }
    return OnlyUser(p_[loop_].blocks[1].args[carry], user);
  }
  void FindRoots(const LoopValues& values) {
    outputs_.clear();
    sums_.clear();
    for (size_t i = 0; i < Body().results.size(); ++i) {
      const NodeId id = Body().results[i].node;
      const GraphNode& node = p_[id];
      const Ref arg{Body().args[i], 0};
      if (!OnlyUser(id, kNoNode) || !OnlyOneReads(i, id)) continue;
      if (node.op == OpCode::kDynamicUpdate && node.in[0] == arg) {
        const std::optional<size_t> along = TakenAlong(node.shape().dims, p_.shape(node.in[1]).dims);
        if (!along || node.shape().dims[*along] != trips_) continue;
        const std::optional<Progression> at = places_->At(node.in[2 + *along]);
        if (!at || std::abs(at->step) != 1 || at->first + at->At(trips_ - 1) != trips_ - 1 ||
            std::min(at->first, at->At(trips_ - 1)) != 0)
          continue;
        outputs_.push_back({i, id, *along, at->step > 0, node.in[1]});
      } else if (node.op == OpCode::kAdd && (node.in[0] == arg || node.in[1] == arg)) {
        Sum sum{i, id, {}, node.in[node.in[0] == arg ? 1 : 0].node, {}};
        NodeId user = id;
        while (OnlyUser(sum.product, user) &&
               (p_[sum.product].op == OpCode::kTranspose || p_[sum.product].op == OpCode::kReshape)) {
          sum.views.insert(sum.views.begin(), sum.product);
          user = sum.product;
          sum.product = p_[user].in[0].node;
        }
        if (!OnlyUser(sum.product, user) || !values.Varies(sum.product)) continue;
        const std::optional<ProductForm> form = ProductFormOf(p_, {sum.product, 0});
        if (!form || !values.Varies(form->in[0].node) || !values.Varies(form->in[1].node)) continue;
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
      const std::vector<NodeId>& users = users_[id];
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

  void MoveAfter() {
    LoopValues values(p_, Body());
    AllTrips all(p_, values, trips_);
    FindUsers();
    FindRoots(values);
    if (outputs_.empty() && sums_.empty()) return;

    // Roots and what only they need.
    MinCut network;
    double hoped = 0;
    const auto add = [&](double gain) {
      hoped += gain;
      const size_t place = network.AddNode();
      network.AddEdge(MinCut::kSource, place, Units(gain));
      return place;
    };
    std::unordered_map<NodeId, size_t> candidates;
    std::unordered_map<NodeId, size_t> inner;  // To the place of the sum.
    std::vector<size_t> sum_places;
    for (const Sum& sum : sums_) {
      sum_places.push_back(add(policy::kSummedVector * VectorsOf(sum.form.product)));
      for (NodeId id : InnerOf(sum)) inner[id] = sum_places.back();
    }
    std::unordered_map<NodeId, NodeId> stored_by;
    for (const Output& output : outputs_) {
      stored_by[output.update] = output.value.node;
      if (places_->IsFree(output.value, values)) hoped += Passing(output.value);
    }
    const std::vector<NodeId>& nodes = Body().nodes;
    for (size_t i = nodes.size(); i-- > 0;) {
      const NodeId id = nodes[i];
      const GraphNode& node = p_[id];
      if (inner.contains(id) || !values.Varies(id) || !all.Fits(node) || !IsSmall(node.shape()) ||
          places_->IsFree({id, 0}, values))
        continue;
      const std::vector<NodeId>& users = users_[id];
      const auto stores = [&](NodeId user) {
        const auto stored = stored_by.find(user);
        return stored != stored_by.end() && stored->second == id;
      };
      if (!std::all_of(users.begin(), users.end(),
                       [&](NodeId user) { return candidates.contains(user) || inner.contains(user) || stores(user); }))
        continue;
      const bool is_output = std::any_of(users.begin(), users.end(), stores);
      const size_t place = candidates[id] = add(Gain(id, values) + (is_output ? Passing({id, 0}) : 0));
      for (NodeId user : users) {
        if (!stores(user))
          network.AddEdge(place, inner.contains(user) ? inner[user] : candidates[user], MinCut::kInfinite);
      }
    }
    // What they are made of in the loop is handed on.
    std::unordered_map<Ref, size_t, RefHasher> handed;
    const auto need = [&](size_t place, Ref r) {
      if (!values.Varies(r.node) || places_->IsFree(r, values)) return;
      auto [it, fresh] = handed.try_emplace(r, 0);
      if (fresh) {
        it->second = network.AddNode();
        const auto made = candidates.find(r.node);
        network.AddEdge(it->second, made == candidates.end() ? MinCut::kSink : made->second,
                        Units(IsSmall(p_.shape(r)) ? Passing(r) : kNever));
      }
      network.AddEdge(place, it->second, MinCut::kInfinite);
    };
    for (const auto& [id, place] : candidates) {
      for (Ref r : p_[id].in) need(place, r);
    }
    for (size_t i = 0; i < sums_.size(); ++i) {
      for (Ref r : sums_[i].form.in) need(sum_places[i], r);
    }
    std::unordered_set<NodeId> late;
    if (!Choose(network, candidates, hoped, late)) return;
    int64_t passed_bytes = 0;
    for (const auto& [r, place] : handed)
      passed_bytes += (*cut_)[place] && !late.contains(r.node) ? SizeBytes(p_.shape(r)) : 0;
    if (passed_bytes > policy::kMaxPassedBytes / trips_) return;
    std::erase_if(outputs_, [&](const Output& output) {
      return !late.contains(output.value.node) && !places_->IsFree(output.value, values);
    });
    std::vector<Sum> sums;
    std::unordered_set<NodeId> gone;
    for (size_t i = 0; i < sums_.size(); ++i) {
      if (!(*cut_)[sum_places[i]]) continue;
      for (NodeId id : InnerOf(sums_[i])) gone.insert(id);
      sums.push_back(std::move(sums_[i]));
    }
    sums_ = std::move(sums);
    Emit(late, std::move(gone), values, all);
  }
  /// Writes what is late, without what is `gone` with it.
  void Emit(const std::unordered_set<NodeId>& late, std::unordered_set<NodeId> gone, LoopValues& values,
            AllTrips& all) {
    const auto need = [&](Ref r) {
      if (all.Knows(r)) return;
      if (!values.Varies(r.node)) {
        values.Want(r);
      } else if (places_->IsFree(r, values)) {
        places_->MakeFree(r, values, all);
      } else {
        all.Know(r, Stacked(r));
      }
    };
    const std::vector<NodeId> nodes = Body().nodes;
    for (NodeId id : nodes) {
      if (!late.contains(id)) continue;
      for (Ref r : p_[id].in) need(r);
      log_.Hit(
          Rule::late, [&] { return PrintValue(p_, {id, 0}); },
          [&] { return fmt::format("for all {} trips behind the loop", trips_); });
      all.Make(id);
      gone.insert(id);
    }
    for (const Output& output : outputs_) {
      need(output.value);
      MakeOutput(output, all);
      gone.insert(output.update);
    }
    for (const Sum& sum : sums_) {
      for (Ref r : sum.form.in) need(r);
      MakeSum(sum, all);
      gone.insert(sum.add);
    }
    std::erase_if(Body().nodes, [&](NodeId id) { return gone.contains(id); });
    Body().nodes.insert(Body().nodes.end(), last_nodes_.begin(), last_nodes_.end());
    Finish(values.TakeWanted(Body()), all.Take(), moved_.after);
  }
  /// Makes the loop hand a value on from each trip.
  Ref Stacked(Ref r) {
    const Shape one = p_.shape(r);
    Shape shape = one;
    shape.dims.insert(shape.dims.begin(), trips_);
    GraphNode zeros;
    zeros.op = OpCode::kConstant;
    zeros.out = {shape};
    zeros.literal = MakeLiteral(std::string(static_cast<size_t>(ByteWidth(shape.dtype)), '\0'), true);
    moved_.before.push_back(p_.Add(std::move(zeros)));
    const Ref place = places_->Index(), zero = one.rank() == 0 ? place : places_->Zero();
    GraphNode row;
    row.op = OpCode::kReshape;
    row.in = {r};
    row.out = {shape};
    row.out[0].dims[0] = 1;
    const Ref flat{p_.Add(std::move(row)), 0};
    Ref arrays[2];
    for (size_t b = 0; b < 2; ++b) {
      GraphNode argument;
      argument.op = OpCode::kParameter;
      argument.out = {shape};
      arrays[b] = {p_.Add(std::move(argument)), 0};
      p_[loop_].blocks[b].args.push_back(arrays[b].node);
    }
    GraphNode update;
    update.op = OpCode::kDynamicUpdate;
    update.in = {arrays[1], flat, place};
    for (size_t d = 0; d < one.rank(); ++d) update.in.push_back(zero);
    update.out = {shape};
    const Ref updated{p_.Add(std::move(update)), 0};
    last_nodes_.insert(last_nodes_.end(), {flat.node, updated.node});
    GraphNode& loop = p_[loop_];
    loop.blocks[1].results.push_back(updated);
    loop.in.push_back({moved_.before.back(), 0});
    loop.out.push_back(shape);
    return {loop_, static_cast<uint32_t>(loop.out.size() - 1)};
  }
  /// The carry ends as it began, which nobody looks at.
  void Replace(size_t carry, Ref by) {
    Body().results[carry] = {Body().args[carry], 0};
    moved_.results.push_back({static_cast<uint32_t>(carry), by});
  }
  void MakeOutput(const Output& output, AllTrips& all) {
    Ref r = all.Of(output.value);
    if (output.forward != places_->forward()) r = all.Reversed(r, 0);
    Dims dims = p_.shape(r).dims, permutation;
    dims.erase(dims.begin() + 1 + static_cast<ptrdiff_t>(output.along));
    for (size_t d = 1; d < dims.size(); ++d) permutation.push_back(static_cast<int64_t>(d));
    permutation.insert(permutation.begin() + static_cast<ptrdiff_t>(output.along), 0);
    Replace(output.carry, all.Transposed(all.Reshaped(r, std::move(dims)), std::move(permutation)));
  }
  void MakeSum(const Sum& sum, AllTrips& all) {
    log_.Hit(
        Rule::late_product, [&] { return PrintValue(p_, {sum.product, 0}); },
        [&] { return fmt::format("one product of {} trips behind the loop", trips_); });
    Ref r = all.Sum(sum.form);
    for (NodeId view : sum.views) r = all.Append(p_[view].op, {r}, p_[view].shape(), p_[view].attributes);
    Replace(sum.carry, all.Append(OpCode::kAdd, {p_[loop_].in[sum.carry], r}, p_.shape(r)));
  }

  Program& p_;
  const NodeId loop_;
  const Outlook& outlook_;
  RuleLog& log_;
  const int64_t trips_;
  std::optional<TripPlaces> places_;
  std::unordered_set<NodeId> counted_;
  std::vector<NodeId> last_nodes_;  ///< New ones of the body.
  std::unordered_map<NodeId, std::vector<NodeId>> users_;
  std::vector<Output> outputs_;
  std::vector<Sum> sums_;
  std::optional<std::vector<bool>> cut_;  ///< The last one.
  Moved moved_;
};

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
      const Splitter::Moved moved = Splitter(p_, id, outlook_, log_).Run();
      any_ |= !moved.before.empty() || !moved.after.empty() || !moved.results.empty();
      nodes.insert(nodes.end(), moved.before.begin(), moved.before.end());
      nodes.push_back(id);
      nodes.insert(nodes.end(), moved.after.begin(), moved.after.end());
      for (const auto& [result, by] : moved.results) replaced_[{id, result}] = by;
    }
    block.nodes = std::move(nodes);
    for (Ref& r : block.results) Update(r);
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
