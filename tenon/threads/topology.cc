#include "tenon/threads/topology.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <thread>

#include "tenon/threads/cgroup.h"

namespace tenon::threads {
namespace {

int AffinityCpus() {
  // The mask may be wider than cpu_set_t; the kernel then answers EINVAL until the buffer is large enough.
  for (int cpus = CPU_SETSIZE; cpus <= (1 << 16); cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(cpus));
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

int CpusOfQuota(std::string_view cpu_max) {
  int64_t quota = 0, period = 0;
  const char* const end = cpu_max.data() + cpu_max.size();
  const auto first = std::from_chars(cpu_max.data(), end, quota);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return 0;
  const auto second = std::from_chars(first.ptr + 1, end, period);
  if (second.ec != std::errc() || quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min<int64_t>((quota - 1) / period + 1, kMaxThreads));
}

int AvailableCpus() {
  int cpus = std::max(AffinityCpus(), 1);
  if (const int quota = CpuQuota(FindCgroups()); quota > 0) cpus = std::min(cpus, quota);
  return std::min(cpus, kMaxThreads);
}

Result<int> ApplyNumThreads(int available, std::string_view text) {
  if (text.empty()) return available;
  int count = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, count);
  if (parsed.ec != std::errc() || parsed.ptr != end || count < 1 || count > kMaxThreads) {
    return InvalidArgument(fmt::format("TENON_NUM_THREADS: got '{}', wanted a number from 1 to {}", text, kMaxThreads));
  }
  return count;
}

Result<int> DefaultNumThreads() {
  const char* text = std::getenv("TENON_NUM_THREADS");
  return ApplyNumThreads(AvailableCpus(), text == nullptr ? "" : text);
}

}  // namespace tenon::threads
