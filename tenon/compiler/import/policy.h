#pragma once

/// The numbers behind import's choices, each with its reason.

#include <cstddef>

namespace tenon::compiler::policy {

/// Sorts of more operands, or by more keys, are left to the evaluator: no driver takes so many.
inline constexpr size_t kMaxSortOperands = 64;

}  // namespace tenon::compiler::policy
