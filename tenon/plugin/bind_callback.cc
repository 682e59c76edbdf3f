// Functions of the caller that are told of a client's troubles.

#include <fmt/format.h>

#include "tenon/abi/pjrt_callback.h"
#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"

namespace tenon::plugin::bind {

namespace {

Result<int> TypeOf(std::string_view fn, int type) {
  if (type == PJRT_Callback_Type_Tpu_SliceBuilder || type == PJRT_Callback_Type_Prefatal) return type;
  return InvalidArgument(fmt::format("{}: no type of callbacks has number {}", fn, type));
}

}  // namespace

TENON_BIND_EXTENSION(PJRT_Callback_RegisterCallback) {
  TENON_REQUIRE(client);
  TENON_REQUIRE(callback);
  TENON_ASSIGN_OR_RETURN(const int type, TypeOf(fn, CallerValue(args.type)));
  FromC(args.client)->AddCallback(type, args.callback, args.user_arg);
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_Callback_InvokeCallback) {
  TENON_REQUIRE(client);
  TENON_ASSIGN_OR_RETURN(const int type, TypeOf(fn, CallerValue(args.type)));
  FromC(args.client)->InvokeCallbacks(type, args.args);
  return OkStatus();
}

PJRT_Extension_Base* CallbackExtension(PJRT_Extension_Base* next) {
  static PJRT_Callback_Extension extension = {
      .base = {.struct_size = PJRT_Callback_Extension_STRUCT_SIZE, .type = PJRT_Extension_Type_Callback, .next = next},
      .register_callback = Bind_PJRT_Callback_RegisterCallback,
      .invoke_callback = Bind_PJRT_Callback_InvokeCallback,
  };
  return &extension.base;
}

}  // namespace tenon::plugin::bind
