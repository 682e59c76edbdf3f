#pragma once

/// How often a loop runs, when its program says so.

#include <optional>
#include <vector>

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// Trips of a while node that counts a carry up by a constant to a constant, starting at `init[carry]`; -1 when it does
/// not.
int64_t KnownTrips(const Program& program, const Node& loop, const std::vector<std::optional<int64_t>>& init);
/// The value of an integer scalar constant.
std::optional<int64_t> IntegerConstant(const Program& program, Ref r);

}  // namespace tenon::compiler
