#include "tenon/client/counters.h"

#include "tenon/client/internal/count.h"

namespace tenon::client {
namespace internal {
Counter g_live[static_cast<int>(Kind::kCount)];
}  // namespace internal

LiveObjects CountLiveObjects() {
  using internal::Kind;
  const auto get = [](Kind kind) { return internal::g_live[static_cast<int>(kind)].value.load(); };
  LiveObjects live;
  live.clients = get(Kind::kClient);
  live.buffers = get(Kind::kBuffer);
  live.loaded_executables = get(Kind::kLoadedExecutable);
  live.executables = get(Kind::kExecutable);
  live.events = get(Kind::kEvent);
  live.topologies = get(Kind::kTopology);
  live.others = get(Kind::kOther);
  return live;
}

std::string ToString(const LiveObjects& live) {
  std::string text;
  const auto add = [&](int64_t n, const char* what) {
    if (n == 0) return;
    if (!text.empty()) text += ", ";
    text += std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  };
  add(live.clients, "client");
  add(live.buffers, "buffer");
  add(live.loaded_executables, "loaded executable");
  add(live.executables, "executable");
  add(live.events, "event");
  add(live.topologies, "topology handle");
  add(live.others, "other object");
  return text.empty() ? "none" : text;
}

}  // namespace tenon::client
