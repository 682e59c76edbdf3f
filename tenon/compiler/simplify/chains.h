#pragma once

/// What a loop carries that depends on nothing but itself, and on what is known before the loop: a key of random
/// numbers that each trip splits, a time to which each trip adds a step.

#include <cstddef>
#include <vector>

#include "tenon/compiler/ir/ir.h"
#include "tenon/compiler/simplify/all_trips.h"
#include "tenon/compiler/simplify/loop_values.h"
#include "tenon/compiler/simplify/trip_places.h"

namespace tenon::compiler {

/// Carries that depend on one another, and on no other one but those that the trips' numbers give.
struct Chain {
  std::vector<size_t> carries;
  /// What the next ones are made of in the body and depends on them, in order.
  std::vector<NodeId> nodes;
};
/// The chains of a loop of which all trips could be computed at once but for what is carried.
std::vector<Chain> FindChains(const Program& program, NodeId loop, const TripPlaces& places, const LoopValues& values,
                              const AllTrips& all);

/// A loop that computes some of the carries of another one, and `counter`, an argument of that one's body: a new node,
/// in no block. Says in `places` where the carries are among its results. What it needs of the other one's body that
/// does not vary is marked for leaving that. All that the carries depend on must be pure.
NodeId CopyOfCarries(Program& program, NodeId loop, const std::vector<size_t>& carries, NodeId counter,
                     LoopValues& values, std::vector<size_t>& places);

}  // namespace tenon::compiler
