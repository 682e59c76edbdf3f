#include "tenon/host/profile_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <vector>

#include "tenon/base/log.h"

namespace tenon::host {
namespace {

struct ProfileLog {
  std::mutex mutex;
  std::string file;
  std::vector<std::shared_ptr<runtime::Profile>> profiles;
};

/// Leaked: programs may run while the process ends. Null when nobody asked for profiles.
ProfileLog* TheLog() {
  static ProfileLog* const log = []() -> ProfileLog* {
    const char* file = std::getenv("TENON_PROFILE");
    if (file == nullptr || *file == '\0') return nullptr;
    auto* made = new ProfileLog;
    made->file = file;
    std::atexit(WriteProfilesOrWarn);
    return made;
  }();
  return log;
}

}  // namespace

std::shared_ptr<runtime::Profile> NewProfile(const std::string& program) {
  ProfileLog* const log = TheLog();
  if (log == nullptr) return nullptr;
  auto profile = std::make_shared<runtime::Profile>(program);
  const std::lock_guard lock(log->mutex);
  log->profiles.push_back(profile);
  return profile;
}

Status WriteProfiles() {
  ProfileLog* const log = TheLog();
  if (log == nullptr) return OkStatus();
  const std::lock_guard lock(log->mutex);
  std::vector<std::pair<int64_t, runtime::Profile*>> order;
  for (const auto& p : log->profiles) order.emplace_back(p->whole().total_ns.load(std::memory_order_relaxed), p.get());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::ofstream out(log->file, std::ios::binary | std::ios::trunc);
  out << runtime::Profile::Columns();
  for (const auto& [ns, p] : order) out << p->Lines();
  out.flush();
  if (out) return OkStatus();
  return InvalidArgument(
      fmt::format("TENON_PROFILE is '{}', wanted a file that can be written: {}", log->file, std::strerror(errno)));
}

void WriteProfilesOrWarn() {
  if (const Status s = WriteProfiles(); !s.ok()) Log(LogLevel::kWarning, std::string(s.message()));
}

}  // namespace tenon::host
