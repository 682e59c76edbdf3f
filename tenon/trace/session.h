#pragma once

#include <string>

#include "tenon/trace/function.h"

namespace tenon::trace {

/// One plugin that is traced.
struct Session {
  const PJRT_Api* inner = nullptr;  // NULL: every call fails with `failure`
  std::string failure;
  PJRT_Api* table = nullptr;
  void** functions = nullptr;  // the plugin's own, by number
  /// The plugin has functions that we know nothing of and that may make objects: an address that looks destroyed may be
  /// in use again, so suspicious calls are forwarded.
  bool unseen_creators = false;
};

/// The session of a table.
Session& SessionOf(int table);

/// Whether the plugin has this entry.
template <class F>
bool Has(const Session& session, F* PJRT_Api::* entry) {
  const PJRT_Api* api = session.inner;
  const size_t offset = reinterpret_cast<const char*>(&(api->*entry)) - reinterpret_cast<const char*>(api);
  return offset + sizeof(void*) <= api->struct_size && api->*entry != nullptr;
}

}  // namespace tenon::trace
