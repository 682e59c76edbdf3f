// The profiler: what the process's threads did between start and stop (base/activity.h), as an XSpace.

#include <cstring>
#include <new>
#include <optional>
#include <string>

#include "tenon/base/activity.h"
#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"
#include "tenon/plugin/xspace.h"

// The interface has errors and handles of its own.
struct PLUGIN_Profiler_Error {
  int code;
  const char* message;
};
struct PLUGIN_Profiler {
  std::optional<tenon::activity::Recorder> recorder;  // Set while it runs.
  std::string xspace;                                 // Of the last run; empty before.
};

namespace tenon::plugin::bind {

namespace {

// The prefix is that of devices that are neither GPU nor TPU; viewers show planes that have it.
constexpr std::string_view kPlane = "/device:CUSTOM:Tenon";

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
  args->profiler = new (std::nothrow) PLUGIN_Profiler;
  return args->profiler == nullptr ? ProfilerError(Code::kResourceExhausted, "out of host memory") : nullptr;
}

PLUGIN_Profiler_Error* Destroy(PLUGIN_Profiler_Destroy_Args* args) {
  delete args->profiler;
  return nullptr;
}

// `work`, its exceptions as errors.
template <class F>
PLUGIN_Profiler_Error* Guarded(const F& work) {
  try {
    work();
    return nullptr;
  } catch (...) {
    return ProfilerError(Code::kResourceExhausted, "out of host memory");
  }
}

// Starting what runs and stopping what does not are no errors: frameworks do both.
PLUGIN_Profiler_Error* Start(PLUGIN_Profiler_Start_Args* args) {
  if (args->profiler == nullptr) return ProfilerError(Code::kInvalidArgument, "profiler is NULL");
  return Guarded([&] {
    if (!args->profiler->recorder) args->profiler->recorder.emplace();
  });
}

PLUGIN_Profiler_Error* Stop(PLUGIN_Profiler_Stop_Args* args) {
  PLUGIN_Profiler* profiler = args->profiler;
  if (profiler == nullptr) return ProfilerError(Code::kInvalidArgument, "profiler is NULL");
  return Guarded([&] {
    if (!profiler->recorder) return;
    const activity::Record record = profiler->recorder->Stop();
    profiler->recorder.reset();
    profiler->xspace = record.threads.empty() ? std::string() : ToXSpace(record, kPlane);
  });
}

// The first call has no buffer and asks for the size; some callers then take the pointer to our bytes, others bring a
// buffer of their own. The bytes stay until the next stop.
PLUGIN_Profiler_Error* CollectData(PLUGIN_Profiler_CollectData_Args* args) {
  if (args->profiler == nullptr) return ProfilerError(Code::kInvalidArgument, "profiler is NULL");
  std::string& xspace = args->profiler->xspace;
  if (args->buffer != nullptr)
    std::memcpy(args->buffer, xspace.data(), xspace.size());
  else if (!xspace.empty())
    args->buffer = reinterpret_cast<uint8_t*>(xspace.data());
  args->buffer_size_in_bytes = xspace.size();
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
