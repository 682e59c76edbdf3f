#pragma once

#include <cstdint>

// Numbers that several phases decide by alike.

namespace tenon::compiler::policy {

/// Trips from which on a loop gains more by a matrix that lies as its products want it than a copy of that takes.
inline constexpr int64_t kLeastLastingTrips = 32;

}  // namespace tenon::compiler::policy
