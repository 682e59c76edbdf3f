#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "tenon/base/status.h"

namespace tenon::client {

/// Connects the processes of one job. Called by the plugin from any thread as long as the client lives. What
/// an implementation throws is an error for the plugin.
class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;
  /// Waits for the key; DEADLINE_EXCEEDED (or NOT_FOUND) when the time is over.
  virtual Result<std::string> Get(std::string_view key, std::chrono::milliseconds timeout) = 0;
  /// NOT_FOUND when the key is not there.
  virtual Result<std::string> TryGet(std::string_view key) = 0;
  virtual Status Put(std::string_view key, std::string_view value) = 0;
};

/// A store for several clients of one process.
std::shared_ptr<KeyValueStore> MakeInProcessKeyValueStore();

}  // namespace tenon::client
