#pragma once

/// What engines in shared libraries of their own share, which link nothing of Tenon.

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "tenon/collectives/engine_library.h"

namespace tenon::collectives::engine {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// Of PJRT_Error_Code.
inline constexpr int kDeadlineExceeded = 4;
inline constexpr int kFailedPrecondition = 9;
inline constexpr int kInternal = 13;
inline constexpr int kUnavailable = 14;

/// `error` has TENON_ENGINE_ERROR_BYTES.
inline void Write(char* error, const std::string& text) {
  std::strncpy(error, text.c_str(), TENON_ENGINE_ERROR_BYTES - 1);
  error[TENON_ENGINE_ERROR_BYTES - 1] = '\0';
}

/// What is under the key; nothing when it does not come within `timeout`.
inline std::optional<std::string> Fetch(const TenonEngineStore& store, const std::string& key, Milliseconds timeout) {
  char* value = nullptr;
  size_t bytes = 0;
  if (store.get(store.self, key.c_str(), timeout.count(), &value, &bytes) != 0) return std::nullopt;
  std::string text(value, bytes);
  std::free(value);
  return text;
}
/// The error then.
inline std::string NotEveryProcessCame(const std::string& key) {
  return "not every process came: nothing under '" + key + "'";
}

}  // namespace tenon::collectives::engine
