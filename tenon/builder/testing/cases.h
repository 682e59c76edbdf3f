#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tenon/builder/ops.h"

namespace tenon::builder::testing {

/// A small function without arguments, built of one operation (and what it needs), and the numbers that it gives,
/// worked out by hand.
struct Case {
  std::string name;
  OpKind kind;
  std::function<Values(Function&)> build;
  /// Per result all elements as numbers, complex ones as two; empty: not to be run.
  std::vector<std::vector<double>> expected = {};
};

/// At least one for every operation of ops.def but the terminators.
const std::vector<Case>& Cases();

}  // namespace tenon::builder::testing
