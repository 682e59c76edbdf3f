#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::vhlo {

/// A version of the portable StableHLO form. Ops, attributes and types each carry the range of versions they belong to.
struct Version {
  int32_t major = 0;
  int32_t minor = 0;
  int32_t patch = 0;
  friend constexpr auto operator<=>(const Version&, const Version&) = default;

  /// "1.20.0".
  std::string ToString() const;
  /// Reads "X.Y.Z"; nothing when `text` is not three decimal numbers.
  static std::optional<Version> Parse(std::string_view text);
};

/// The newest version whose every op, attribute and type is known here: what a plugin may ask its clients for.
inline constexpr Version kCurrentVersion{1, 20, 0};
/// The oldest version that can be read and written.
inline constexpr Version kMinimumVersion{0, 9, 0};

}  // namespace tenon::vhlo
