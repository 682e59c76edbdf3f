#pragma once

#include <cstdint>
#include <string>

namespace tenon::client {

/// How many objects of each kind the library holds open in plugins. Zero everywhere when nothing leaks.
struct LiveObjects {
  int64_t clients = 0;
  int64_t buffers = 0;
  int64_t loaded_executables = 0;
  int64_t executables = 0;
  int64_t events = 0;
  int64_t topologies = 0;
  int64_t others = 0;  // transfer managers, contexts, layouts, streams, profilers ...

  int64_t total() const { return clients + buffers + loaded_executables + executables + events + topologies + others; }
  friend bool operator==(const LiveObjects&, const LiveObjects&) = default;
};

/// Counts over the whole process, of all plugins.
LiveObjects CountLiveObjects();
/// "3 buffers, 1 event", or "none".
std::string ToString(const LiveObjects& live);

}  // namespace tenon::client
