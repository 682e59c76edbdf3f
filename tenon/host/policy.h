#pragma once

/// The numbers behind the choices that all plugins share, each with its reason.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tenon::host::policy {

/// Executions that may wait on one device; a caller that is further ahead waits, so that outputs do not pile up.
inline constexpr int64_t kMaxPending = 16;
/// Outputs exist from the call on. Where they are large, one execution ahead keeps the device busy, and more would only
/// drive what the next one reads and writes out of the caches.
inline constexpr int64_t kMaxPendingLarge = 2;
inline constexpr int64_t kLargeOutputBytes = 256 << 10;
/// A device's idle thread looks for work so long before it sleeps: callers in a loop come back sooner.
inline constexpr std::chrono::microseconds kQueueSpin{50};
/// Tasks of one device that may block and run at once. Each has a thread; more wait. As many callbacks that wait for
/// each other are a program's own business.
inline constexpr int kMaxBlocking = 32;
/// Threads of one device, those for tasks that other tasks submit included.
inline constexpr int kMaxThreads = 512;
/// A thread that had nothing to do for so long ends.
inline constexpr std::chrono::milliseconds kIdleThread{500};
/// So long may it take to tell a task's outcome before another thread goes on with the tasks that wait. Telling takes
/// microseconds, unless the listener waits for something.
inline constexpr std::chrono::milliseconds kPatience{2};
/// Who watches for that stops watching after so many looks at nothing.
inline constexpr int kQuietLooks = 50;
/// How often it is looked whether anybody can still see what an execution of a client that was given up computes.
inline constexpr std::chrono::milliseconds kUnseenInterval{10};
/// Copies of at most so many bytes are made by the caller.
inline constexpr size_t kInlineCopyBytes = size_t{1} << 20;

}  // namespace tenon::host::policy
