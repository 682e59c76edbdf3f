// A build without the FFI's host side.
#include <fmt/format.h>

#include "tenon/proxy/handlers.h"

namespace tenon::proxy {

Status RegisterHandler(const plugin::FfiHandlerRegistration& registration) {
  return Unimplemented(
      fmt::format("this build calls no handlers (target '{}'): it has no compiler", registration.target_name));
}

void TellHandlers(const std::shared_ptr<Session>&) {}

void RunHandler(std::shared_ptr<Session> session, uint64_t number, wire::CallHandler,
                std::shared_ptr<PendingExecution>) {
  const Status status = Unimplemented("this build calls no handlers");
  session->Post(wire::Verb::kHandlerDone, number, wire::Encode(wire::HandlerDone{wire::FromStatus(status)}));
}

}  // namespace tenon::proxy
