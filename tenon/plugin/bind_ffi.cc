#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"
#include "tenon/plugin/ffi_types.h"

namespace tenon::plugin::bind {

TENON_BIND_EXTENSION(PJRT_FFI_Type_Register) {
  TENON_REQUIRE_ARRAY(type_name, type_name_size);
  void (*deleter)(void*) = args.type_info == nullptr ? nullptr : args.type_info->deleter;
  TENON_ASSIGN_OR_RETURN(args.type_id,
                         RegisterFfiType(std::string_view(args.type_name, args.type_name_size), args.type_id, deleter));
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_FFI_UserData_Add) {
  TENON_REQUIRE(context);
  return FromC(args.context)->Add(args.user_data.type_id, args.user_data.data, FfiTypeDeleter(args.user_data.type_id));
}

TENON_BIND_EXTENSION(PJRT_FFI_Register_Handler) {
  TENON_REQUIRE(target_name);
  TENON_REQUIRE(handler);
  TENON_REQUIRE_ARRAY(platform_name, platform_name_size);
  FfiHandlerRegistration registration{.target_name = {args.target_name, args.target_name_size},
                                      .platform_name = {args.platform_name, args.platform_name_size},
                                      .handler = args.handler,
                                      .traits = static_cast<uint32_t>(CallerValue(args.traits))};
  return ThePlugin().RegisterFfiHandler(registration);
}

PJRT_Extension_Base* FfiExtension(PJRT_Extension_Base* next) {
  static PJRT_FFI_Extension extension = {
      .base = {.struct_size = PJRT_FFI_Extension_STRUCT_SIZE, .type = PJRT_Extension_Type_FFI, .next = next},
      .type_register = Bind_PJRT_FFI_Type_Register,
      .user_data_add = Bind_PJRT_FFI_UserData_Add,
      .register_handler = Bind_PJRT_FFI_Register_Handler,
  };
  return &extension.base;
}

}  // namespace tenon::plugin::bind
