#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"

namespace tenon::plugin {

/// What an executable needs of a runtime, in one version, or what a runtime offers, in any number: an executable runs
/// where its version is among the runtime's.
struct AbiVersion {
  std::string platform;  // a client's platform_name
  std::vector<std::string> versions;

  /// The same for the same platform in every process.
  uint64_t PlatformId() const;
  /// A proto of {1: platform id, 2: versions, 3: platform}, and back: INVALID_ARGUMENT for anything else.
  std::string Serialize() const;
  static Result<AbiVersion> Parse(std::string_view bytes);
  /// OK when `this`, a runtime, offers all that `needed` names. FAILED_PRECONDITION names what it lacks.
  Status CheckOffers(const AbiVersion& needed) const;

  friend bool operator==(const AbiVersion&, const AbiVersion&) = default;
};

}  // namespace tenon::plugin
