#pragma once

#include "tenon/builder/module.h"

namespace tenon::gradient {

struct Options {
  /// Values that count as constants: nothing flows through them.
  builder::Values constants = {};
};

/// The derivatives of the scalar `y` with respect to each of `xs`, in reverse mode: operations that compute them are
/// appended to the function that y belongs to, where the last one was; only operations of the function itself are
/// looked at, none of regions. y and xs are floats. A gradient has the type of its x; it is zero where y does not
/// depend on it.
///
/// Wrong calls, and operations without a rule on the way from xs to y, give invalid values and an error to the module,
/// which names the operation: INVALID_ARGUMENT and UNIMPLEMENTED. Operations that have a rule are listed in rules.def.
/// At ties minimum, maximum and reductions by them share the gradient equally. Gradients of gradients work.
builder::Values Gradients(builder::Value y, const builder::Values& xs, const Options& options = {},
                          builder::Location where = builder::Location::current());

}  // namespace tenon::gradient
