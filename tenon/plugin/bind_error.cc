#include <fmt/format.h>

#include "tenon/plugin/bind.h"

namespace tenon::plugin::bind {

Status TooSmall(std::string_view function, size_t got, size_t wanted) {
  return InvalidArgument(fmt::format("Unexpected {}_Args size: expected at least {}, got {}", function, wanted, got));
}

Status NullArgument(std::string_view function, std::string_view field) {
  return InvalidArgument(fmt::format("{}: {} is NULL", function, field));
}

// The two that return nothing cannot report a bad argument: they do nothing.
void Bind_PJRT_Error_Destroy(PJRT_Error_Destroy_Args* args) {
  if (args != nullptr && args->error != nullptr) args->error->vtable->destroy(args->error);
}

void Bind_PJRT_Error_Message(PJRT_Error_Message_Args* args) {
  if (args == nullptr) return;
  args->message = "";
  args->message_size = 0;
  if (args->error != nullptr) args->error->vtable->message(args->error, &args->message, &args->message_size);
}

TENON_BIND(PJRT_Error_GetCode) {
  TENON_REQUIRE(error);
  args.code = args.error->vtable->get_code(args.error);
  return OkStatus();
}

TENON_BIND(PJRT_Error_ForEachPayload) {
  TENON_REQUIRE(error);
  TENON_REQUIRE(visitor);
  args.error->vtable->for_each_payload(args.error, args.visitor, args.user_arg);
  return OkStatus();
}

}  // namespace tenon::plugin::bind
