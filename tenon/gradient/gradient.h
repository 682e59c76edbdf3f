#pragma once

#include "tenon/builder/module.h"

namespace tenon::gradient {

struct Options {
  /// Values that count as constants: nothing flows through them.
  builder::Values constants = {};
};

/// The derivatives of the scalar `y` with respect to each of `xs`, in reverse mode: operations that compute them are
/// appended to the function that y belongs to, where the last one was. In the body of a region, operations of that
/// region so far and of those around it are looked at; arguments of regions count as independent. y and xs are floats;
/// between them may be complex numbers. A gradient has the type of its x; it is zero where y does not depend on it, or
/// only by way of integers and truth values.
///
/// Wrong calls, and operations without a rule on the way from xs to y, those too that use a value on the way in a
/// region only, give invalid values and an error to the module,
/// which names the operation: INVALID_ARGUMENT and UNIMPLEMENTED. Operations that have a rule are listed in rules.def.
/// At ties minimum, maximum and reductions by them share the gradient equally. Gradients of gradients work.
builder::Values Gradients(builder::Value y, const builder::Values& xs, const Options& options = {},
                          builder::Location where = builder::Location::current());

}  // namespace tenon::gradient
