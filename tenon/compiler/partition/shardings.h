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
  /// As in CompileStatistics.
  int64_t exchanges = 0;
  int64_t exchanged_bytes = 0;
  std::vector<std::pair<std::string, int64_t>> gathered;
};

}  // namespace tenon::compiler
