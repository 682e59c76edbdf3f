#pragma once

/// The numbers behind the plugin's choices, each with its reason.

#include <chrono>
#include <cstdint>

namespace tenon::cpu::policy {

/// Programs that are expected to take less run on their caller: handing them over costs a good part of that.
inline constexpr double kInlineNs = 60'000;
/// Executions that may wait on one device; a caller that is further ahead waits, so that outputs do not pile up.
inline constexpr int64_t kMaxPending = 16;
/// Outputs exist from the call on. Where they are large, one execution ahead keeps the device busy, and more would only
/// drive what the next one reads and writes out of the caches.
inline constexpr int64_t kMaxPendingLarge = 2;
inline constexpr int64_t kLargeOutputBytes = 256 << 10;
/// A device's idle thread looks for work so long before it sleeps: callers in a loop come back sooner.
inline constexpr std::chrono::microseconds kQueueSpin{50};
/// Copies of at most so many bytes are made by the caller.
inline constexpr size_t kInlineCopyBytes = size_t{1} << 20;
/// More devices than this are a typing error.
inline constexpr int64_t kMaxDevices = 4096;

}  // namespace tenon::cpu::policy
