#pragma once

/// The numbers behind the plugin's choices, each with its reason.

#include <chrono>
#include <cstdint>

namespace tenon::cpu::policy {

/// Programs that are expected to take less run on their caller: handing them over costs a good part of that.
inline constexpr double kInlineNs = 60'000;
/// So do programs whose last run took less. Handing one over and being told of its end takes 20 to 50 us where threads
/// must wake for it; a caller that prepares its next step meanwhile loses at most this much.
inline constexpr int64_t kInlineMeasuredNs = 200'000;
/// So long may a client that goes wait for executions that other processes take part in. They usually take
/// milliseconds; a process that failed may never come.
inline constexpr std::chrono::seconds kLeaveJob{5};
/// Who waits for another process to say something looks so often whether its own client is still wanted.
inline constexpr std::chrono::milliseconds kStoreLook{500};
/// How long a process waits for all others of its job to make their clients, and for another one's part of an
/// exchange, unless it is told otherwise. As JAX's built-in backend does.
inline constexpr int64_t kJoinSeconds = 300;
inline constexpr int64_t kCollectiveSeconds = 1800;
/// Memory that is kept for the next use, at most.
inline constexpr int64_t kMaxCachedBytes = int64_t{1} << 30;
/// More devices than this are a typing error.
inline constexpr int64_t kMaxDevices = 4096;
inline constexpr int64_t kMaxProcesses = 4096;
inline constexpr int64_t kMaxTimeoutSeconds = 1'000'000;

}  // namespace tenon::cpu::policy
