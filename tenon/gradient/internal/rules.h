#pragma once

#include <optional>

#include "tenon/builder/ops.h"

namespace tenon::gradient::internal {

/// What a rule sees: an operation, the gradient of each of its results (invalid: zero), and which operands want one.
struct Site {
  const builder::Operation& op;
  const builder::Values& grads;
  std::vector<bool> wanted;
  builder::Location where;
  builder::Value x(size_t i = 0) const { return op.operands()[i]; }
  builder::Value y() const { return op.results()[0]; }
  builder::Value g() const { return grads[0]; }
};

/// One gradient per operand, invalid where none is wanted; nothing when the operation has no rule, or none for its
/// body.
std::optional<builder::Values> ElementwiseRule(const Site& site);
std::optional<builder::Values> MovementRule(const Site& site);

}  // namespace tenon::gradient::internal
