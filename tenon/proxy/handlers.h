#pragma once

#include <cstdint>
#include <memory>

#include "tenon/base/status.h"
#include "tenon/plugin/plugin.h"
#include "tenon/proxy/session.h"

namespace tenon::proxy {

// Handlers for custom calls are the host's code and run in the host: the device process has a stub for each, which
// calls back. A build without the FFI's host side refuses them.

/// Makes a handler known to this process and to every device process, those to come included.
Status RegisterHandler(const plugin::FfiHandlerRegistration& registration);
/// Tells a new device process of the handlers there are; it hears of later ones, too.
void TellHandlers(const std::shared_ptr<Session>& session);
/// Runs a handler for the device process on a thread of its own and posts the outcome. `execution` may be null.
void RunHandler(std::shared_ptr<Session> session, uint64_t number, wire::CallHandler call,
                std::shared_ptr<PendingExecution> execution);

}  // namespace tenon::proxy
