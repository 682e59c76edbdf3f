// A profiler that records nothing: valid, so that clients can register it, and its XSpace is empty.

#include <new>

#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"

// The interface has errors and handles of its own.
struct PLUGIN_Profiler_Error {
  int code;
  const char* message;
};
struct PLUGIN_Profiler {
  bool running;
};

namespace tenon::plugin::bind {

namespace {

PLUGIN_Profiler_Error* ProfilerError(Code code, const char* message) {
  return new (std::nothrow) PLUGIN_Profiler_Error{static_cast<int>(code), message};
}

void ErrorDestroy(PLUGIN_Profiler_Error_Destroy_Args* args) { delete args->error; }

void ErrorMessage(PLUGIN_Profiler_Error_Message_Args* args) {
  args->message = args->error->message;
  args->message_size = std::string_view(args->error->message).size();
}

PLUGIN_Profiler_Error* ErrorGetCode(PLUGIN_Profiler_Error_GetCode_Args* args) {
  args->code = args->error->code;
  return nullptr;
}

PLUGIN_Profiler_Error* Create(PLUGIN_Profiler_Create_Args* args) {
  args->profiler = new (std::nothrow) PLUGIN_Profiler{false};
  return args->profiler == nullptr ? ProfilerError(Code::kResourceExhausted, "out of host memory") : nullptr;
}

PLUGIN_Profiler_Error* Destroy(PLUGIN_Profiler_Destroy_Args* args) {
  delete args->profiler;
  return nullptr;
}

PLUGIN_Profiler_Error* Start(PLUGIN_Profiler_Start_Args* args) {
  if (args->profiler == nullptr) return ProfilerError(Code::kInvalidArgument, "profiler is NULL");
  if (args->profiler->running) return ProfilerError(Code::kFailedPrecondition, "the profiler is running already");
  args->profiler->running = true;
  return nullptr;
}

PLUGIN_Profiler_Error* Stop(PLUGIN_Profiler_Stop_Args* args) {
  if (args->profiler == nullptr) return ProfilerError(Code::kInvalidArgument, "profiler is NULL");
  if (!args->profiler->running) return ProfilerError(Code::kFailedPrecondition, "the profiler is not running");
  args->profiler->running = false;
  return nullptr;
}

PLUGIN_Profiler_Error* CollectData(PLUGIN_Profiler_CollectData_Args* args) {
  args->buffer_size_in_bytes = 0;
  return nullptr;
}

PLUGIN_Profiler_Api profiler_api = {
    .struct_size = offsetof(PLUGIN_Profiler_Api, consume),  // The later entries do not exist here.
    .priv = nullptr,
    .error_destroy = ErrorDestroy,
    .error_message = ErrorMessage,
    .error_get_code = ErrorGetCode,
    .create = Create,
    .destroy = Destroy,
    .start = Start,
    .stop = Stop,
    .collect_data = CollectData,
    .consume = nullptr,
    .consume_result_destroy = nullptr,
    .serialize = nullptr,
};

}  // namespace

PJRT_Extension_Base* ProfilerExtension(PJRT_Extension_Base* next) {
  static PJRT_Profiler_Extension extension = {
      .base = {.struct_size = PJRT_Profiler_Extension_STRUCT_SIZE, .type = PJRT_Extension_Type_Profiler, .next = next},
      .profiler_api = &profiler_api,
      .traceme_context_id = 0,
  };
  return &extension.base;
}

}  // namespace tenon::plugin::bind
