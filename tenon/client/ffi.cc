#include "tenon/client/ffi.h"

#include "tenon/abi/pjrt_ffi.h"
#include "tenon/client/internal/count.h"
#include "tenon/client/internal/extension.h"

#define TENON_CALL_FFI(api, Function, args) \
  TENON_CALL_EXTENSION((api), PJRT_Extension_Type_FFI, PJRT_FFI_Extension, Function, (args))

namespace tenon::client {

ExecuteContext::ExecuteContext(const Api* api, PJRT_ExecuteContext* context) : api_(api), context_(context) {
  internal::Count(internal::Kind::kOther, 1);
}

ExecuteContext::~ExecuteContext() {
  if (context_ == nullptr) return;
  auto args = MakeArgs<PJRT_ExecuteContext_Destroy_Args>();
  args.context = context_;
  (void)api_->Call(args);
  internal::Count(internal::Kind::kOther, -1);
}

Result<ExecuteContext> ExecuteContext::Create(const Plugin& plugin) {
  auto args = MakeArgs<PJRT_ExecuteContext_Create_Args>();
  TENON_RETURN_IF_ERROR(plugin.api().Call(args));
  return ExecuteContext(&plugin.api(), args.context);
}

Status ExecuteContext::AddUserData(int64_t type_id, void* data) {
  if (context_ == nullptr) return FailedPrecondition("this ExecuteContext was moved from");
  PJRT_FFI_UserData_Add_Args args{};
  args.struct_size = PJRT_FFI_UserData_Add_Args_STRUCT_SIZE;
  args.context = context_;
  args.user_data = {type_id, data};
  return TENON_CALL_FFI(*api_, user_data_add, args);
}

Status RegisterFfiHandler(const Plugin& plugin, std::string_view target, std::string_view platform, void* handler,
                          uint32_t traits) {
  if (handler == nullptr) return InvalidArgument("RegisterFfiHandler: the handler is null");
  PJRT_FFI_Register_Handler_Args args{};
  args.struct_size = PJRT_FFI_Register_Handler_Args_STRUCT_SIZE;
  args.target_name = target.data();
  args.target_name_size = target.size();
  args.handler = handler;
  args.platform_name = platform.data();
  args.platform_name_size = platform.size();
  args.traits = static_cast<PJRT_FFI_Handler_TraitsBits>(traits);
  return TENON_CALL_FFI(plugin.api(), register_handler, args);
}

Result<int64_t> RegisterFfiType(const Plugin& plugin, std::string_view name, int64_t id, void (*deleter)(void* data)) {
  PJRT_FFI_Type_Info info{};
  info.deleter = deleter;
  PJRT_FFI_Type_Register_Args args{};
  args.struct_size = PJRT_FFI_Type_Register_Args_STRUCT_SIZE;
  args.type_name = name.data();
  args.type_name_size = name.size();
  args.type_id = id;
  args.type_info = &info;
  TENON_RETURN_IF_ERROR(TENON_CALL_FFI(plugin.api(), type_register, args));
  return args.type_id;
}

}  // namespace tenon::client
