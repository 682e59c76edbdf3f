#pragma once

#include <string>
#include <vector>

#include "tenon/compiler/compile.h"

namespace tenon::compiler {

/// How the arguments and results of @main lie over the devices.
struct Shardings {
  std::vector<Tiling> parameter_tilings, result_tilings;
  /// Serialised xla.OpSharding each.
  std::vector<std::string> parameter_shardings, result_shardings;
  std::vector<InspectedSharding> inspected;
};

}  // namespace tenon::compiler
