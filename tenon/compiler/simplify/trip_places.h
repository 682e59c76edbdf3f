#pragma once

/// What a trip of a loop of known length takes, whichever trips came before: numbers, and elements of arrays.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/compiler/ir/trips.h"
#include "tenon/compiler/simplify/all_trips.h"
#include "tenon/compiler/simplify/loop_values.h"

namespace tenon::compiler {

/// The one dimension of which a part of an array has one element, and not all of them, as of the others.
std::optional<size_t> TakenAlong(const Dims& array, const Dims& part);

/// One loop's trips, and where each has its place among them in memory.
class TripPlaces {
 public:
  /// A while node of `trips` trips, at least one. Trips lie in their order if `forward` says so, else in the order that
  /// the loop walks in.
  TripPlaces(Program& p, NodeId loop, int64_t trips, std::optional<bool> forward = std::nullopt);

  /// Whether trips have places: whether the loop has a counter that reckons them.
  bool known() const { return counter_.valid(); }
  /// That counter: an argument of the body.
  NodeId counter() const { return counter_.node; }
  /// Whether they lie in their order, or the last one first.
  bool forward() const { return forward_; }

  std::optional<Progression> At(Ref r) const { return ProgressionOf(p_, p_[loop_], trips_, r); }
  /// Whether all that a value is made of in a trip is known before the loop, so that it need not be handed on.
  bool IsFree(Ref r, const LoopValues& values) const { return r.result == 0 && (ElementOf(r.node, values) || At(r)); }
  /// Makes a free value of all trips known.
  void MakeFree(Ref r, LoopValues& values, AllTrips& all) const;

  /// The place of the trip at hand, and a zero of its type.
  Ref Index();
  Ref Zero();
  /// Nodes that reckon these, which go before the body's others. Later ones are made anew: these may be dropped.
  std::vector<NodeId> TakeNodes() {
    index_ = zero_ = {};
    return std::exchange(nodes_, {});
  }

 private:
  /// An element, along `along`, of an array that the loop does not change: another one in each trip.
  struct Element {
    Ref array;
    size_t along;
    Progression at;
  };
  std::optional<Element> ElementOf(NodeId id, const LoopValues& values) const;
  Ref MakeElements(const Element& element, const Shape& one, AllTrips& all) const;
  Ref AddNode(OpCode op, SmallVector<Ref, 3> in, int64_t constant = 0);

  Program& p_;
  const NodeId loop_;
  const int64_t trips_;
  bool forward_ = true;
  Ref counter_, index_, zero_;
  Progression counted_;  ///< What the counter is.
  std::vector<NodeId> nodes_;
};

}  // namespace tenon::compiler
