#pragma once

/// A loop of known length that is taken apart: who uses what in a trip, what it spares to compute something for all
/// trips at once, and how the loop and the rest pass values on to one another, which lie in memory then, an element per
/// trip.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tenon/compiler/ir/ir.h"
#include "tenon/compiler/simplify/loop_values.h"
#include "tenon/compiler/simplify/min_cut.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/compiler/simplify/trip_places.h"

namespace tenon::compiler {

/// What leaves a loop: nodes that belong before it and behind it, in order; what takes the place of its results.
struct MovedParts {
  std::vector<NodeId> before, after;
  std::vector<std::pair<uint32_t, Ref>> results;
};

class LoopParts {
 public:
  /// A while node of `trips` trips, whose elements lie in memory `forward`, or where that is not said as is best.
  LoopParts(Program& p, NodeId loop, int64_t trips, const Outlook& outlook, std::optional<bool> forward = std::nullopt);

  Program& program() { return p_; }
  NodeId loop() const { return loop_; }
  int64_t trips() const { return trips_; }
  Block& body() { return p_[loop_].blocks[1]; }
  TripPlaces& places() { return places_; }
  const Outlook& outlook() const { return outlook_; }
  MovedParts moved;

  // --- Users. ---

  /// Finds which nodes of the body use each of its values, by themselves or in a block; kNoNode for its results.
  void FindUsers();
  const std::vector<NodeId>& UsersOf(NodeId id) { return users_[id]; }
  bool IsOnlyUser(NodeId user, NodeId of) const;

  // --- Costs, in cycles of a trip. ---

  /// Vectors that so many elements take.
  static double VectorsOf(const Shape& shape);
  /// What a trip takes to compute the node by itself.
  double Cost(NodeId id) const;
  /// What a trip spares when all trips compute the node at once.
  double Gain(NodeId id, const LoopValues& values) const;
  /// What a trip takes to write a value where the others' are, or to read it there.
  double Passing(Ref r) const;
  /// Whether there is room for it in all trips.
  bool IsSmall(const Shape& shape) const;
  /// Networks count in these parts of a cycle.
  static int64_t Units(double cycles);
  /// Cuts a network that could spare `hoped`: per node, whether it is on the source's side. Nothing where too little is
  /// spared.
  std::optional<std::vector<bool>> Cut(MinCut& network, double hoped) const;

  // --- Passing on. ---

  /// What a value is in all trips becomes a result of the loop.
  Ref HandOn(Ref r);
  /// Makes the element at this trip's place of an array over all trips the last of `nodes`: the node `id`, which
  /// changes, or a new one if that is kNoNode.
  Ref Read(Ref all, const Shape& shape, NodeId id, std::vector<NodeId>& nodes);
  /// Makes the body's nodes those of `left` that something needs, and what passing on takes; what `values` marked goes
  /// before the loop.
  void Finish(std::vector<NodeId> left, const LoopValues& values);

 private:
  void NoteUses(NodeId user, const GraphNode& node);
  void FindCounted();
  void DropUnused();

  Program& p_;
  const NodeId loop_;
  const int64_t trips_;
  const Outlook& outlook_;
  TripPlaces places_;
  std::unordered_map<NodeId, std::vector<NodeId>> users_;
  /// Numbers that are reckoned from the trip's: most of it is settled when code is made, and the rest waits for
  /// nothing.
  std::unordered_set<NodeId> counted_;
  std::vector<NodeId> last_nodes_;  ///< New ones of the body.
};

/// Moves what depends on no earlier trip before the loop.
void MoveBefore(LoopParts& loop, RuleLog& log);
/// Moves what no later trip reads behind the loop.
void MoveBehind(LoopParts& loop, RuleLog& log);

}  // namespace tenon::compiler
