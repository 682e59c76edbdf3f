#include "tenon/client/profiler.h"

#include "tenon/abi/pjrt_profiler.h"
#include "tenon/client/internal/count.h"

namespace tenon::client {
namespace {

// The slot `member`, or null when the plugin's table is too short.
template <class Function>
Function* Slot(const PLUGIN_Profiler_Api* api, Function* PLUGIN_Profiler_Api::* member) {
  const auto offset = reinterpret_cast<const char*>(&(api->*member)) - reinterpret_cast<const char*>(api);
  return api->struct_size >= static_cast<size_t>(offset) + sizeof(Function*) ? api->*member : nullptr;
}

Status TakeError(const PLUGIN_Profiler_Api* api, PLUGIN_Profiler_Error* error) {
  if (error == nullptr) return OkStatus();
  Code code = Code::kUnknown;
  std::string message = "(no message)";
  if (auto* const get_code = Slot(api, &PLUGIN_Profiler_Api::error_get_code)) {
    PLUGIN_Profiler_Error_GetCode_Args args{};
    args.struct_size = PLUGIN_Profiler_Error_GetCode_Args_STRUCT_SIZE;
    args.error = error;
    if (get_code(&args) == nullptr && args.code != 0) code = static_cast<Code>(args.code);
  }
  if (auto* const get_message = Slot(api, &PLUGIN_Profiler_Api::error_message)) {
    PLUGIN_Profiler_Error_Message_Args args{};
    args.struct_size = PLUGIN_Profiler_Error_Message_Args_STRUCT_SIZE;
    args.error = error;
    get_message(&args);
    if (args.message != nullptr) message.assign(args.message, args.message_size);
  }
  if (auto* const destroy = Slot(api, &PLUGIN_Profiler_Api::error_destroy)) {
    PLUGIN_Profiler_Error_Destroy_Args args{};
    args.struct_size = PLUGIN_Profiler_Error_Destroy_Args_STRUCT_SIZE;
    args.error = error;
    destroy(&args);
  }
  return Status(code, "profiler: " + message);
}

template <class Function, class Args>
Status Call(const PLUGIN_Profiler_Api* api, Function* PLUGIN_Profiler_Api::* member, const char* name, Args& args) {
  Function* const function = Slot(api, member);
  if (function == nullptr) return Unimplemented(std::string("the plugin's profiler does not have ") + name);
  return TakeError(api, function(&args));
}

}  // namespace

Profiler::Profiler(const PLUGIN_Profiler_Api* api, PLUGIN_Profiler* profiler) : api_(api), profiler_(profiler) {
  internal::Count(internal::Kind::kOther, 1);
}

Profiler::~Profiler() {
  if (profiler_ == nullptr) return;
  PLUGIN_Profiler_Destroy_Args args{};
  args.struct_size = PLUGIN_Profiler_Destroy_Args_STRUCT_SIZE;
  args.profiler = profiler_;
  (void)Call(api_, &PLUGIN_Profiler_Api::destroy, "destroy", args);
  internal::Count(internal::Kind::kOther, -1);
}

Result<Profiler> Profiler::Create(const Plugin& plugin, std::string_view options) {
  const auto* const extension =
      reinterpret_cast<const PJRT_Profiler_Extension*>(plugin.api().FindExtension(PJRT_Extension_Type_Profiler));
  const PLUGIN_Profiler_Api* const api =
      extension == nullptr ? nullptr : ExtensionSlot(extension, &PJRT_Profiler_Extension::profiler_api);
  if (api == nullptr) return Unimplemented(plugin.name() + " has no profiler");
  PLUGIN_Profiler_Create_Args args{};
  args.struct_size = PLUGIN_Profiler_Create_Args_STRUCT_SIZE;
  args.options = options.data();
  args.options_size = options.size();
  TENON_RETURN_IF_ERROR(Call(api, &PLUGIN_Profiler_Api::create, "create", args));
  return Profiler(api, args.profiler);
}

Status Profiler::Check() const {
  return profiler_ != nullptr ? OkStatus() : FailedPrecondition("this Profiler was moved from");
}

Status Profiler::Start() {
  TENON_RETURN_IF_ERROR(Check());
  PLUGIN_Profiler_Start_Args args{};
  args.struct_size = PLUGIN_Profiler_Start_Args_STRUCT_SIZE;
  args.profiler = profiler_;
  return Call(api_, &PLUGIN_Profiler_Api::start, "start", args);
}

Status Profiler::Stop() {
  TENON_RETURN_IF_ERROR(Check());
  PLUGIN_Profiler_Stop_Args args{};
  args.struct_size = PLUGIN_Profiler_Stop_Args_STRUCT_SIZE;
  args.profiler = profiler_;
  return Call(api_, &PLUGIN_Profiler_Api::stop, "stop", args);
}

Result<std::string> Profiler::Collect() {
  TENON_RETURN_IF_ERROR(Check());
  PLUGIN_Profiler_CollectData_Args args{};
  args.struct_size = PLUGIN_Profiler_CollectData_Args_STRUCT_SIZE;
  args.profiler = profiler_;
  TENON_RETURN_IF_ERROR(Call(api_, &PLUGIN_Profiler_Api::collect_data, "collect_data", args));
  std::string bytes(args.buffer_size_in_bytes, '\0');
  if (bytes.empty()) return bytes;
  args.buffer = reinterpret_cast<uint8_t*>(bytes.data());
  TENON_RETURN_IF_ERROR(Call(api_, &PLUGIN_Profiler_Api::collect_data, "collect_data", args));
  bytes.resize(args.buffer_size_in_bytes);
  return bytes;
}

Result<std::string> Profiler::Consume() {
  TENON_RETURN_IF_ERROR(Check());
  PLUGIN_Profiler_Consume_Args consume{};
  consume.struct_size = PLUGIN_Profiler_Consume_Args_STRUCT_SIZE;
  consume.profiler = profiler_;
  TENON_RETURN_IF_ERROR(Call(api_, &PLUGIN_Profiler_Api::consume, "consume", consume));
  PLUGIN_Profiler_Serialize_Args serialize{};
  serialize.struct_size = PLUGIN_Profiler_Serialize_Args_STRUCT_SIZE;
  serialize.profiler = profiler_;
  serialize.consume_result = consume.result;
  const Status status = Call(api_, &PLUGIN_Profiler_Api::serialize, "serialize", serialize);
  std::string bytes;
  if (status.ok() && serialize.serialized_bytes != nullptr)
    bytes.assign(reinterpret_cast<const char*>(serialize.serialized_bytes), serialize.serialized_size);
  if (auto* const destroy = Slot(api_, &PLUGIN_Profiler_Api::consume_result_destroy)) {
    PLUGIN_Profiler_ConsumeResult_Destroy_Args args{};
    args.struct_size = PLUGIN_Profiler_ConsumeResult_Destroy_Args_STRUCT_SIZE;
    args.consume_result = consume.result;
    destroy(&args);
  }
  if (!status.ok()) return status;
  return bytes;
}

}  // namespace tenon::client
