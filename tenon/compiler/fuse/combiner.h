#pragma once

/// What is known about a reduction's combiner.

#include <vector>

#include "tenon/compiler/ir/ir.h"
#include "tenon/kir/kir.h"

namespace tenon::compiler {

/// How elements of a reduction meet, as KIR.
struct Combiner {
  kir::Graph graph;
  /// combine(identity, x) == x bit for bit; empty when none is known.
  std::vector<uint64_t> identity;
  /// The elements may meet in any order and grouping: exactly the same result, or one that sums are allowed to differ
  /// by.
  bool any_order = false;
};

/// The combiner of a reduce; UNIMPLEMENTED for regions that are no scalar graphs.
Result<Combiner> CombinerOf(const Program& program, const GraphNode& reduce);

}  // namespace tenon::compiler
