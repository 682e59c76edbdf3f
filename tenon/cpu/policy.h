#pragma once

/// The numbers behind the plugin's choices, each with its reason.

#include <cstdint>

namespace tenon::cpu::policy {

/// Programs that are expected to take less run on their caller: handing them over costs a good part of that.
inline constexpr double kInlineNs = 60'000;
/// Memory that is kept for the next use, at most.
inline constexpr int64_t kMaxCachedBytes = int64_t{1} << 30;
/// More devices than this are a typing error.
inline constexpr int64_t kMaxDevices = 4096;

}  // namespace tenon::cpu::policy
