#pragma once

/// What waits for what: reductions that take one element after the other.

#include "tenon/kir/kir.h"
#include "tenon/target/target.h"

namespace tenon::target {

/// Cycles of a core from one element to the next where the combiner of a reduction in order waits for its own results:
/// the longest way from what it is given of them to what it makes of them. Of scalars and of vectors alike.
double ChainCycles(const kir::Graph& combiner, const OpCosts& costs);

}  // namespace tenon::target
