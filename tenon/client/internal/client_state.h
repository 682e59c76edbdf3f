#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "tenon/base/dtype.h"
#include "tenon/client/api.h"
#include "tenon/client/internal/count.h"
#include "tenon/client/kv_store.h"
#include "tenon/client/plugin.h"

namespace tenon::client::internal {

/// A PJRT client and what hangs on it. Shared by everything that the client made, hence destroyed last.
struct ClientState {
  explicit ClientState(Plugin from) : plugin(from), api(&from.api()) {}
  ~ClientState();

  void CountHere(std::atomic<int64_t>& counter, Kind kind, int64_t by) {
    counter.fetch_add(by, std::memory_order_relaxed);
    Count(kind, by);
  }

  Plugin plugin;
  const Api* api;
  PJRT_Client* client = nullptr;
  std::shared_ptr<KeyValueStore> store;
  std::string name;  // "plugin 'x'", for messages
  std::atomic<int64_t> buffers{0}, loaded_executables{0}, executables{0}, others{0};
};

/// FAILED_PRECONDITION for the state of a Client that was closed, or moved from.
Status CheckOpen(const std::shared_ptr<ClientState>& client);

/// INVALID_ARGUMENT that names both plugins, unless `a` and `b` are the same client.
Status CheckSameClient(const ClientState* a, const ClientState* b, const char* what);

/// A string that the plugin returned.
inline std::string Text(const char* data, size_t size) {
  return data == nullptr ? std::string() : std::string(data, size);
}

/// INVALID_ARGUMENT for element types that are no elements and for negative extents, UNIMPLEMENTED for types that are
/// newer than the plugin; some plugins end the process on them.
Status CheckShape(const Api& api, DType dtype, const int64_t* dims, size_t rank);

}  // namespace tenon::client::internal
