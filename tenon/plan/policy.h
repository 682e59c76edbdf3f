#pragma once

/// What steps are taken to need of which a plan knows no more than their kind, and how far proofs about plans go.

#include <cstdint>

#include "tenon/target/work.h"

namespace tenon::plan::policy {

/// Trips of a loop of which nobody knows the number.
inline constexpr int64_t kUnknownTrips = 1000;
/// What each trip takes besides its steps: the condition's value is read, carries change places.
inline constexpr target::Work kTrip{.serial = 350};
/// A copy, besides the bytes that it moves.
inline constexpr target::Work kCopy{.serial = 3500};
/// A call of a handler from outside.
inline constexpr target::Work kCall{.serial = 70'000};
/// An op that the evaluator runs.
inline constexpr target::Work kEvaluate{.serial = 175'000};

/// Runs of strided views that the proof of a read is put together from, one by one; beyond them it asks for the whole.
inline constexpr int64_t kReadRuns = 1 << 14;

}  // namespace tenon::plan::policy
