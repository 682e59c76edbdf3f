#pragma once

#include <cstdlib>
#include <string_view>

namespace tenon {

/// Whether the environment variable is "1".
inline bool IsAskedFor(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace tenon
