#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tenon/base/status.h"
#include "tenon/kir/kir.h"

namespace tenon::opt {

/// Runs a verified kernel in KIR's evaluator on arguments whose elements, in row-major order, are 0, 1, 2 ...
/// (converted to their types; outputs that take over an argument begin as it), and lists what the written buffers hold:
/// "b1 f32[2,2] = 0 1 2 3". RESOURCE_EXHAUSTED for buffers above 16 MiB.
Result<std::string> EvaluateToText(const kir::Kernel& kernel, std::span<const int64_t> params);

}  // namespace tenon::opt
