#pragma once

#include <string_view>

#include "tenon/base/status.h"

namespace tenon::threads {

inline constexpr int kMaxThreads = 1024;

/// CPUs that this process may use now: those of its affinity mask, lowered to the least quota of its control groups
/// (cgroup.h). At least 1.
int AvailableCpus();

/// Threads that a pool should have, its caller included: TENON_NUM_THREADS when set, else AvailableCpus().
/// INVALID_ARGUMENT when the variable is not a number from 1 to kMaxThreads.
Result<int> DefaultNumThreads();

/// The number for the variable's text; an empty text gives `available`.
Result<int> ApplyNumThreads(int available, std::string_view text);

/// CPUs for the text of a cgroup v2 cpu.max ("200000 100000" is 2, "max 100000" no limit), rounded up; 0 for no limit
/// or garbage.
int CpusOfQuota(std::string_view cpu_max);

}  // namespace tenon::threads
