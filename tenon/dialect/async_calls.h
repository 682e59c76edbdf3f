#pragma once

#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::dialect {

/// Collectives that are started and awaited travel as two calls, `all-gather-start` and `all-gather-done`, and in the
/// same way `all-reduce`, `reduce-scatter`, `all-to-all` and `collective-permute`. The start's frontend attribute
/// `async_collective_config` holds the collective's attributes as JSON; a reducer is the function that it calls.
///
/// Puts the collective in place of a start, and the operand in place of a done's result. False, and nothing written,
/// for other calls and for those that do not make sense.
bool ReplaceAsyncCall(stablehlo::CustomCallOp call);

}  // namespace tenon::dialect
