#pragma once

namespace tenon::client {

/// Silences what plugins write to stderr (file descriptor 2) while it lives: some log a lot when a client is made.
/// Everything that the process writes there meanwhile is lost, messages of crashes too, so keep it short. Nests;
/// several threads may have one at a time.
class SuppressAbseilLogging {
 public:
  SuppressAbseilLogging();
  SuppressAbseilLogging(const SuppressAbseilLogging&) = delete;
  SuppressAbseilLogging& operator=(const SuppressAbseilLogging&) = delete;
  ~SuppressAbseilLogging();
};

}  // namespace tenon::client
