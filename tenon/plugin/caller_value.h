#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tenon::plugin {

/// The number in an enum that a caller filled in. Callers may put any number there, and reading one outside the enum as
/// the enum is undefined.
template <class E>
  requires(std::is_enum_v<E> && sizeof(E) == sizeof(int))
int CallerValue(const E& value) {
  int number;
  std::memcpy(&number, &value, sizeof(number));
  return number;
}

/// The same for a bool: true unless its byte is 0.
inline bool CallerValue(const bool& value) {
  uint8_t byte;
  std::memcpy(&byte, &value, sizeof(byte));
  return byte != 0;
}

}  // namespace tenon::plugin
