#pragma once

#include <string>
#include <vector>

#include "tenon/base/shape.h"

namespace tenon {

/// An array of a custom call that says itself how it is cut over devices, and how the array lies: a serialised
/// xla.OpSharding, empty where nothing says so.
struct PartitionedArray {
  Shape shape;
  std::string sharding;
};

/// What such a call becomes: StableHLO (any form) that every device runs on its parts, and how those lie. Of several
/// results the sharding is a tuple.
struct PartitionedCall {
  std::string program;
  std::vector<std::string> operand_shardings;
  std::string result_sharding;
};

}  // namespace tenon
