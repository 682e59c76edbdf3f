#pragma once

#include <atomic>
#include <cstdint>

namespace tenon::client::internal {

enum class Kind { kClient, kBuffer, kLoadedExecutable, kExecutable, kEvent, kTopology, kOther, kCount };

/// One counter per kind and cache line, for the process.
struct alignas(64) Counter {
  std::atomic<int64_t> value{0};
};
extern Counter g_live[static_cast<int>(Kind::kCount)];

inline void Count(Kind kind, int64_t by) {
  g_live[static_cast<int>(kind)].value.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace tenon::client::internal
