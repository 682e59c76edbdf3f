// A build without the FFI's host side.
#include <fmt/format.h>

#include "tenon/proxy/handlers.h"

namespace tenon::proxy {

Status RegisterHandler(const plugin::FfiHandlerRegistration& registration) {
  return Unimplemented(
      fmt::format("this build calls no handlers (target '{}'): it has no compiler", registration.target_name));
}

std::shared_ptr<session::HandlerHost> Handlers() { return nullptr; }
CallSites CountCallSites() { return {}; }

}  // namespace tenon::proxy
