#pragma once

#include <cstdint>
#include <memory>

#include "tenon/base/status.h"
#include "tenon/plugin/plugin.h"
#include "tenon/session/session.h"

namespace tenon::proxy {

// Handlers for custom calls are the host's code and run in the host: the device process has a stub for each, which
// calls back. A build without the FFI's host side refuses them.

/// Makes a handler known to this process and to every device process, those to come included.
Status RegisterHandler(const plugin::FfiHandlerRegistration& registration);
/// Runs them for device processes, each call on a thread of its own.
std::shared_ptr<session::HandlerHost> Handlers();
/// What is kept of attributes with which handlers were called; for tests.
struct CallSites {
  size_t count = 0, bytes = 0;
};
CallSites CountCallSites();

}  // namespace tenon::proxy
