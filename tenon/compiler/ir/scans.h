#pragma once

/// Reductions over windows that reach from one end of a dim to each place: prefix and suffix sums.

#include <optional>

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

struct ScanForm {
  size_t dim = 0;
  bool reverse = false;  ///< From the high end.
};
/// The form of a reduce_window of one operand that is a scan of its operand; nothing for others.
std::optional<ScanForm> ScanFormOf(const Program& program, const GraphNode& node);

}  // namespace tenon::compiler
