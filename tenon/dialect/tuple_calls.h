#pragma once

#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::dialect {

/// A custom call may take tuples and give one, as older programs have it: what it is about are their members, as of a
/// call with many operands and results.
///
/// Puts such a call in place of one with tuples, which are taken apart before it and put together behind it. False, and
/// nothing written, where there are none.
bool SpreadTuples(stablehlo::CustomCallOp call);

}  // namespace tenon::dialect
