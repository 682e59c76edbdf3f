#include "tenon/target/target.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::target {

bool Target::HasFeature(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

bool Target::HasType(DType type) const { return std::find(types.begin(), types.end(), type) != types.end(); }

CacheLevel Target::Cache(size_t level) const {
  if (caches.empty()) return {};
  return caches[std::min(level, caches.size() - 1)];
}

bool SameBits(const Target& a, const Target& b) {
  return a.kind == b.kind && a.numerics == b.numerics && a.limits == b.limits && a.costs == b.costs &&
         (a.kind == Kind::kCpu || a.device == b.device);
}

Status CheckRuns(const Target& wanted, const Target& found) {
  std::string missing;
  for (const std::string& f : wanted.features) {
    if (!found.HasFeature(f)) missing += (missing.empty() ? "" : " ") + f;
  }
  const bool same_device = wanted.kind == Kind::kCpu || wanted.device == found.device;
  if (wanted.kind == found.kind && missing.empty() && same_device) return OkStatus();
  return FailedPrecondition(fmt::format("code for {} ({}) does not run on {} ({}){}{}", wanted.name,
                                        fmt::join(wanted.features, " "), found.name, fmt::join(found.features, " "),
                                        missing.empty() ? "" : "; it lacks ", missing));
}

}  // namespace tenon::target
