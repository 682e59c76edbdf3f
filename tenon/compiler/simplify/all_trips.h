#pragma once

/// What a loop computes trip by trip, for all trips at once.

#include <initializer_list>
#include <unordered_map>
#include <vector>

#include "tenon/compiler/ir/ir.h"
#include "tenon/compiler/simplify/loop_values.h"
#include "tenon/compiler/simplify/product_form.h"

namespace tenon::compiler {

/// Makes, of values of a loop's body, arrays of those of all trips: [trips, dims...]. Nodes that it makes are added to
/// the program, and to no block; what they need that does not vary is marked for leaving the body.
class AllTrips {
 public:
  AllTrips(Program& p, LoopValues& values, int64_t trips) : p_(p), values_(values), trips_(trips) {}

  /// Whether Make can compute the node, given its operands. Products of two values that vary are no better off.
  bool Fits(const GraphNode& node) const;
  /// Says what a value is in all trips.
  void Know(Ref value, Ref all) { known_[value] = all; }
  bool Knows(Ref value) const { return known_.contains(value); }
  /// The value in all trips, which must be known or the same in each.
  Ref Of(Ref value);
  /// The value of a node of the body, which fits and whose operands are known, or the same in each trip.
  void Make(NodeId id);
  /// The sum over all trips of a product of two such values; not yet in its form's order.
  Ref Sum(const ProductForm& form);

  Ref Append(OpCode op, std::initializer_list<Ref> in, Shape shape, Attributes attributes = {});
  Ref Constant(DType type, uint64_t bits);
  Ref Reshaped(Ref r, Dims dims);
  Ref Transposed(Ref r, Dims permutation);
  Ref Reversed(Ref r, size_t dim);
  /// `dim` before all others.
  Ref InFront(Ref r, size_t dim);
  /// What was made, in order.
  std::vector<NodeId> Take() { return std::move(made_); }

 private:
  bool MakeProduct(NodeId id);

  Program& p_;
  LoopValues& values_;
  const int64_t trips_;
  std::unordered_map<Ref, Ref, RefHasher> known_, repeated_;
  std::vector<NodeId> made_;
};

}  // namespace tenon::compiler
