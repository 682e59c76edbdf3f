#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::threads {

/// Where the control groups of this process can be read, the own one of each hierarchy first and then those above it,
/// as far as this process sees them: limits hold for all of a group's descendants.
struct Cgroups {
  std::vector<std::string> v2;      ///< Folders of the unified hierarchy.
  std::vector<std::string> v1_cpu;  ///< Of the older hierarchies, by controller.
  std::vector<std::string> v1_memory;
};

/// Finds them by /proc/self/cgroup and /proc/self/mountinfo. `root` goes in front of every path that is read, for
/// tests.
Cgroups FindCgroups(const std::string& root = "");

/// The least CPU quota along the groups, in CPUs rounded up; 0 when there is none.
int CpuQuota(const Cgroups& groups);

/// The least memory limit along the groups; 0 when there is none.
int64_t MemoryLimitBytes(const Cgroups& groups);

/// What the processes of the groups may still allocate until the first limit is reached, taking memory that holds
/// nothing but cached files as free; INT64_MAX without limits.
int64_t MemoryLeftBytes(const Cgroups& groups);

}  // namespace tenon::threads
