#pragma once

/// The numbers behind import's choices, each with its reason.

#include <cstddef>

namespace tenon::compiler::policy {

/// Ops of all branches in a region for elements that are done in vain: the evaluator, which runs regions with branches,
/// takes about a microsecond per element, a kernel a nanosecond per op.
inline constexpr size_t kMaxChosenOps = 256;

}  // namespace tenon::compiler::policy
