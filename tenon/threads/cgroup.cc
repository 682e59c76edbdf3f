#include "tenon/threads/cgroup.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

#include "tenon/threads/topology.h"

namespace tenon::threads {
namespace {

// Older kernels say "no limit" with the largest number of pages that fits.
constexpr int64_t kNoLimitBytes = int64_t{1} << 60;

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<int64_t> Number(const std::string& path) {
  const std::string line = FirstLine(path);
  char* end = nullptr;
  const long long value = std::strtoll(line.c_str(), &end, 10);
  if (line.empty() || end == line.c_str() || value < 0 || value >= kNoLimitBytes) return std::nullopt;
  return value;
}

// The number after `key` in a file of lines "key number"; 0 when it is not there.
int64_t Field(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string name;
  int64_t value = 0;
  while (file >> name >> value) {
    if (name == key) return value;
  }
  return 0;
}

bool Lists(const std::string& comma_separated, std::string_view item) {
  std::istringstream in(comma_separated);
  for (std::string part; std::getline(in, part, ',');) {
    if (part == item) return true;
  }
  return false;
}

// A mounted hierarchy: the group that is seen at `point`.
struct Mount {
  std::string group, point;
};

// The mount of the hierarchy of `controller`, of the unified one when that is empty.
std::optional<Mount> FindMount(const std::string& root, std::string_view controller) {
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    // id parent major:minor group point options [more] - type source super-options
    std::istringstream in(line);
    std::string skip, group, point, type, source, options;
    in >> skip >> skip >> skip >> group >> point;
    while (in >> skip && skip != "-") {
    }
    if (!(in >> type >> source >> options)) continue;
    const bool found = controller.empty() ? type == "cgroup2" : type == "cgroup" && Lists(options, controller);
    if (found) return Mount{group, point};
  }
  return std::nullopt;
}

// The folders of `group` and of those above it.
std::vector<std::string> Folders(const std::string& root, const std::optional<Mount>& mount, std::string group) {
  std::vector<std::string> folders;
  if (!mount) return folders;
  // Of a group outside the part that is mounted nothing can be seen but the mount's own.
  if (mount->group != "/") {
    const bool inside = group == mount->group || group.starts_with(mount->group + "/");
    group = inside ? group.substr(mount->group.size()) : "";
  }
  while (!group.empty() && group != "/") {
    folders.push_back(root + mount->point + group);
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
  folders.push_back(root + mount->point);
  return folders;
}

}  // namespace

Cgroups FindCgroups(const std::string& root) {
  Cgroups groups;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    // number:controllers:group
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) groups.v2 = Folders(root, FindMount(root, ""), group);
    if (Lists(controllers, "cpu")) groups.v1_cpu = Folders(root, FindMount(root, "cpu"), group);
    if (Lists(controllers, "memory")) groups.v1_memory = Folders(root, FindMount(root, "memory"), group);
  }
  return groups;
}

int CpuQuota(const Cgroups& groups) {
  int least = 0;
  const auto take = [&](int quota) {
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
  };
  for (const std::string& folder : groups.v2) take(CpusOfQuota(FirstLine(folder + "/cpu.max")));
  for (const std::string& folder : groups.v1_cpu)
    take(CpusOfQuota(FirstLine(folder + "/cpu.cfs_quota_us") + " " + FirstLine(folder + "/cpu.cfs_period_us")));
  return least;
}

int64_t MemoryLimitBytes(const Cgroups& groups) {
  int64_t least = 0;
  const auto take = [&](std::optional<int64_t> limit) {
    if (limit && *limit > 0 && (least == 0 || *limit < least)) least = *limit;
  };
  for (const std::string& folder : groups.v2) take(Number(folder + "/memory.max"));
  for (const std::string& folder : groups.v1_memory) take(Number(folder + "/memory.limit_in_bytes"));
  return least;
}

int64_t MemoryLeftBytes(const Cgroups& groups) {
  int64_t least = std::numeric_limits<int64_t>::max();
  const auto look = [&](const std::string& folder, const char* limit_file, const char* used_file, const char* files) {
    const std::optional<int64_t> limit = Number(folder + limit_file);
    if (!limit) return;
    const int64_t used = Number(folder + used_file).value_or(0);
    const int64_t cached = std::min(Field(folder + "/memory.stat", files), used);
    least = std::min(least, std::max<int64_t>(*limit - used + cached, 0));
  };
  for (const std::string& folder : groups.v2) look(folder, "/memory.max", "/memory.current", "inactive_file");
  for (const std::string& folder : groups.v1_memory)
    look(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file");
  return least;
}

}  // namespace tenon::threads
