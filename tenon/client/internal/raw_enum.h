#pragma once

#include <cstdint>
#include <cstring>

namespace tenon::client::internal {

/// The number in an enum that a plugin wrote. Newer plugins know values that the enum does not have, which C++ forbids
/// to read as the enum.
template <class Enum>
uint32_t RawEnum(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(uint32_t));
  uint32_t number;
  std::memcpy(&number, &value, sizeof(number));
  return number;
}

}  // namespace tenon::client::internal
