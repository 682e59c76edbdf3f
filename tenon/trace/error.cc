#include "tenon/trace/error.h"

#include <mutex>
#include <new>
#include <utility>

#include "tenon/trace/handles.h"
#include "tenon/trace/recorder.h"

namespace tenon::trace {
namespace {

// PJRT_Error comes first: to callers this is one.
struct TracedError {
  PJRT_Error head;
  const PJRT_Api* api;  // NULL: our own
  PJRT_Error* inner;
  uint32_t code;  // the plugin's number, in the enum or not
  std::string message;
};

// Freed errors are kept for a while, so that freeing one again is found rather than felt.
void Quarantine(TracedError* error) {
  constexpr size_t kKept = 256;
  static std::mutex mutex;
  static TracedError* kept[kKept];
  static size_t next = 0;
  TracedError* oldest;
  {
    const std::lock_guard lock(mutex);
    oldest = std::exchange(kept[next], error);
    next = (next + 1) % kKept;
  }
  if (oldest == nullptr) return;
  Handles::Get().Forget(oldest);
  delete oldest;
}

void Destroy(PJRT_Error* error) {
  const HandleInfo before = Handles::Get().Destroyed(error, HandleKind::kError);
  auto* traced = reinterpret_cast<TracedError*>(error);
  if (before.state == HandleInfo::kDestroyed) {
    ReportMisuse(Misuse::kDoubleDestroy, k_PJRT_Error_Destroy,
                 "error#" + std::to_string(before.serial) + " was freed before");
    return;
  }
  if (traced->inner != nullptr) DestroyInner(traced->api, traced->inner);
  traced->inner = nullptr;
  Quarantine(traced);
}

void GetMessage(const PJRT_Error* error, const char** message, size_t* size) {
  const auto* traced = reinterpret_cast<const TracedError*>(error);
  *message = traced->message.data();
  *size = traced->message.size();
}

PJRT_Error_Code GetCode(const PJRT_Error* error) {
  return static_cast<PJRT_Error_Code>(reinterpret_cast<const TracedError*>(error)->code);
}

void ForEachPayload(const PJRT_Error* error, PJRT_Error_PayloadVisitor visitor, void* user_arg) {
  const auto* traced = reinterpret_cast<const TracedError*>(error);
  if (traced->inner == nullptr) return;
  const size_t end = offsetof(PJRT_Api, PJRT_Error_ForEachPayload) + sizeof(void*);
  if (traced->api->struct_size < end || traced->api->PJRT_Error_ForEachPayload == nullptr) return;
  PJRT_Error_ForEachPayload_Args args{PJRT_Error_ForEachPayload_Args_STRUCT_SIZE, nullptr, traced->inner, visitor,
                                      user_arg};
  DestroyInner(traced->api, traced->api->PJRT_Error_ForEachPayload(&args));
}

constexpr PJRT_Error_FunctionTable kVtable = {PJRT_Error_FunctionTable_STRUCT_SIZE,
                                              PJRT_Error_STRUCT_SIZE,
                                              nullptr,
                                              Destroy,
                                              GetMessage,
                                              GetCode,
                                              ForEachPayload};

PJRT_Error* Register(TracedError* error, int function) {
  Handles::Get().Created(error, HandleKind::kError, function, Now(), 0);
  return &error->head;
}

}  // namespace

void DestroyInner(const PJRT_Api* api, PJRT_Error* inner) {
  if (inner == nullptr) return;
  PJRT_Error_Destroy_Args args{PJRT_Error_Destroy_Args_STRUCT_SIZE, nullptr, inner};
  api->PJRT_Error_Destroy(&args);
}

PJRT_Error* WrapError(const PJRT_Api* api, PJRT_Error* inner, int function) {
  if (inner == nullptr) return nullptr;
  auto* error = new (std::nothrow) TracedError{{&kVtable}, api, inner, PJRT_Error_Code_UNKNOWN, {}};
  if (error == nullptr) return inner;
  PJRT_Error_GetCode_Args code{PJRT_Error_GetCode_Args_STRUCT_SIZE, nullptr, inner, PJRT_Error_Code_UNKNOWN};
  DestroyInner(api, api->PJRT_Error_GetCode(&code));
  error->code = NumberOf(code.code);
  PJRT_Error_Message_Args message{PJRT_Error_Message_Args_STRUCT_SIZE, nullptr, inner, nullptr, 0};
  api->PJRT_Error_Message(&message);
  if (message.message != nullptr) error->message.assign(message.message, message.message_size);
  return Register(error, function);
}

PJRT_Error* MakeError(PJRT_Error_Code code, std::string message, int function) {
  auto* error = new (std::nothrow) TracedError{{&kVtable}, nullptr, nullptr, code, std::move(message)};
  return error == nullptr ? nullptr : Register(error, function);
}

int CodeOf(const PJRT_Error* error) {
  return error != nullptr && error->vtable == &kVtable
             ? static_cast<int>(reinterpret_cast<const TracedError*>(error)->code)
             : 0;
}

std::string_view MessageOf(const PJRT_Error* error) {
  if (error == nullptr || error->vtable != &kVtable) return {};
  return reinterpret_cast<const TracedError*>(error)->message;
}

PJRT_Error* CallErrorFunction(const PJRT_Api* api, int function, void* args) {
  // The error is the third field of all four.
  PJRT_Error* error = static_cast<PJRT_Error_Destroy_Args*>(args)->error;
  const HandleInfo info = Handles::Get().Find(error, HandleKind::kError);
  const bool ours = info.state != HandleInfo::kUnknown;
  if (info.state == HandleInfo::kDestroyed && function != k_PJRT_Error_Destroy) {
    ReportMisuse(Misuse::kUseAfterDestroy, function, "error#" + std::to_string(info.serial) + " was freed before");
  }
  // A freed one is still readable for a while: see Quarantine.
  switch (function) {
    case k_PJRT_Error_Destroy:
      if (ours)
        Destroy(error);
      else if (api != nullptr)
        api->PJRT_Error_Destroy(static_cast<PJRT_Error_Destroy_Args*>(args));
      return nullptr;
    case k_PJRT_Error_Message: {
      auto* message = static_cast<PJRT_Error_Message_Args*>(args);
      if (ours)
        GetMessage(error, &message->message, &message->message_size);
      else if (api != nullptr)
        api->PJRT_Error_Message(message);
      return nullptr;
    }
    case k_PJRT_Error_GetCode: {
      auto* code = static_cast<PJRT_Error_GetCode_Args*>(args);
      if (!ours) return api != nullptr ? api->PJRT_Error_GetCode(code) : nullptr;
      code->code = GetCode(error);
      return nullptr;
    }
    default: {
      auto* visit = static_cast<PJRT_Error_ForEachPayload_Args*>(args);
      if (!ours) return api != nullptr ? api->PJRT_Error_ForEachPayload(visit) : nullptr;
      if (visit->visitor == nullptr) {
        return MakeError(PJRT_Error_Code_INVALID_ARGUMENT, "PJRT_Error_ForEachPayload: visitor is NULL", function);
      }
      ForEachPayload(error, visit->visitor, visit->user_arg);
      return nullptr;
    }
  }
}

}  // namespace tenon::trace
