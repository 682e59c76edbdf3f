#include "tenon/trace/objects.h"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "tenon/trace/error.h"

namespace tenon::trace {
namespace {

// Outputs of an executable. Found by serial in a table of fixed size; what does not fit is asked again each time.
struct Outputs {
  uint32_t serial;
  uint32_t epoch;
  int count;
  Outputs* replaced;                              // One of an earlier trace in the same place.
  std::unique_ptr<std::atomic<int64_t>[]> bytes;  // -1: not known yet
};
constexpr size_t kMaxExecutables = 4096;
std::atomic<Outputs*> known[kMaxExecutables];
std::atomic<uint32_t> epoch{0};

Outputs* Find(uint32_t serial) {
  Outputs* outputs = known[serial % kMaxExecutables].load(std::memory_order_acquire);
  return outputs != nullptr && outputs->serial == serial && outputs->epoch == epoch ? outputs : nullptr;
}

int AskNumOutputs(const Session& session, PJRT_LoadedExecutable* loaded) {
  const PJRT_Api* api = session.inner;
  if (!Has(session, &PJRT_Api::PJRT_LoadedExecutable_GetExecutable) ||
      !Has(session, &PJRT_Api::PJRT_Executable_NumOutputs) || !Has(session, &PJRT_Api::PJRT_Executable_Destroy)) {
    return -1;
  }
  PJRT_LoadedExecutable_GetExecutable_Args get{PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE, nullptr, loaded,
                                               nullptr};
  if (PJRT_Error* error = api->PJRT_LoadedExecutable_GetExecutable(&get)) {
    DestroyInner(api, error);
    return -1;
  }
  PJRT_Executable_NumOutputs_Args args{PJRT_Executable_NumOutputs_Args_STRUCT_SIZE, nullptr, get.executable, 0};
  PJRT_Error* error = api->PJRT_Executable_NumOutputs(&args);
  DestroyInner(api, error);
  PJRT_Executable_Destroy_Args destroy{PJRT_Executable_Destroy_Args_STRUCT_SIZE, nullptr, get.executable};
  DestroyInner(api, api->PJRT_Executable_Destroy(&destroy));
  constexpr size_t kPlausible = size_t{1} << 20;
  return error == nullptr && args.num_outputs < kPlausible ? static_cast<int>(args.num_outputs) : -1;
}

}  // namespace

int NumOutputs(const Session& session, PJRT_LoadedExecutable* executable, uint32_t serial) {
  if (Outputs* outputs = Find(serial)) return outputs->count;
  const int count = AskNumOutputs(session, executable);
  if (count < 0) return -1;
  auto* fresh = new (std::nothrow) Outputs{serial, epoch, count, nullptr, nullptr};
  if (fresh == nullptr) return count;
  fresh->bytes.reset(new (std::nothrow) std::atomic<int64_t>[std::max(count, 1)]);
  if (fresh->bytes == nullptr) {
    delete fresh;
    return count;
  }
  for (int i = 0; i < count; ++i) fresh->bytes[i] = -1;
  std::atomic<Outputs*>& place = known[serial % kMaxExecutables];
  Outputs* there = place.load();
  // One that is still in use elsewhere stays; one of an earlier trace is kept, as readers may hold it.
  fresh->replaced = there;
  if ((there != nullptr && there->epoch == epoch) || !place.compare_exchange_strong(there, fresh)) delete fresh;
  return count;
}

uint64_t AskBytes(const Session& session, PJRT_Buffer* buffer) {
  if (!Options().ask_sizes || buffer == nullptr || !Has(session, &PJRT_Api::PJRT_Buffer_OnDeviceSizeInBytes)) return 0;
  PJRT_Buffer_OnDeviceSizeInBytes_Args args{PJRT_Buffer_OnDeviceSizeInBytes_Args_STRUCT_SIZE, nullptr, buffer, 0};
  if (PJRT_Error* error = session.inner->PJRT_Buffer_OnDeviceSizeInBytes(&args)) {
    DestroyInner(session.inner, error);
    return 0;
  }
  return args.on_device_size_in_bytes;
}

uint64_t OutputBytes(const Session& session, uint32_t executable_serial, int index, PJRT_Buffer* buffer) {
  Outputs* outputs = Find(executable_serial);
  if (outputs == nullptr || index >= outputs->count) return AskBytes(session, buffer);
  int64_t bytes = outputs->bytes[index].load(std::memory_order_relaxed);
  if (bytes < 0) {
    bytes = static_cast<int64_t>(AskBytes(session, buffer));
    outputs->bytes[index].store(bytes, std::memory_order_relaxed);
  }
  return static_cast<uint64_t>(bytes);
}

void ForgetExecutables() { ++epoch; }

namespace {

struct Followed {
  const Session* session;
  PJRT_Event* event;
  HandleInfo info;
};

void Fired(PJRT_Error* error, void* user_arg) {
  const std::unique_ptr<Followed> followed(static_cast<Followed*>(user_arg));
  int code = 0;
  if (error != nullptr) {
    PJRT_Error_GetCode_Args args{PJRT_Error_GetCode_Args_STRUCT_SIZE, nullptr, error, PJRT_Error_Code_UNKNOWN};
    DestroyInner(followed->session->inner, followed->session->inner->PJRT_Error_GetCode(&args));
    code = static_cast<int>(NumberOf(args.code));
    DestroyInner(followed->session->inner, error);
  }
  if (!Recording()) return;
  Handles::Get().SetReady(followed->event, followed->info.serial);
  RecordBuilder record(RecordType::kReady, followed->info.creator, Now(), 0);
  record.head().code = static_cast<uint8_t>(code);
  record.Handle(0, followed->info, Role::kReady);
  Submit(record);
}

struct Callback {
  const Session* session;
  PJRT_Event_OnReadyCallback callback;
  void* user_arg;
};

void CallBack(PJRT_Error* error, void* user_arg) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(user_arg));
  if (!Recording()) return callback->callback(error, callback->user_arg);
  PJRT_Error* wrapped = WrapError(callback->session->inner, error, k_PJRT_Event_OnReady);
  const int code = CodeOf(wrapped);
  const uint64_t begin = Now();
  callback->callback(wrapped, callback->user_arg);
  RecordBuilder record(RecordType::kCallback, k_PJRT_Event_OnReady, begin, Now() - begin);
  record.head().code = static_cast<uint8_t>(code);
  Submit(record);
}

}  // namespace

void FollowEvent(const Session& session, PJRT_Event* event, const HandleInfo& info) {
  if (!Options().follow_events || info.serial == 0 || !Has(session, &PJRT_Api::PJRT_Event_OnReady)) return;
  auto* followed = new (std::nothrow) Followed{&session, event, info};
  if (followed == nullptr) return;
  PJRT_Event_OnReady_Args args{PJRT_Event_OnReady_Args_STRUCT_SIZE, nullptr, event, &Fired, followed};
  if (PJRT_Error* error = session.inner->PJRT_Event_OnReady(&args)) {
    DestroyInner(session.inner, error);
    delete followed;
  }
}

PJRT_Error* ForwardOnReady(const Session& session, void* function, PJRT_Event_OnReady_Args* args) {
  auto* forward = reinterpret_cast<PJRT_Event_OnReady*>(function);
  auto* callback = new (std::nothrow) Callback{&session, args->callback, args->user_arg};
  if (callback == nullptr) return forward(args);
  PJRT_Event_OnReady_Args copy{PJRT_Event_OnReady_Args_STRUCT_SIZE, args->extension_start, args->event, &CallBack,
                               callback};
  PJRT_Error* error = forward(&copy);
  if (error != nullptr) delete callback;
  return error;
}

bool AskReady(const Session& session, PJRT_Event* event) {
  if (!Has(session, &PJRT_Api::PJRT_Event_IsReady)) return true;
  PJRT_Event_IsReady_Args args{PJRT_Event_IsReady_Args_STRUCT_SIZE, nullptr, event, true};
  DestroyInner(session.inner, session.inner->PJRT_Event_IsReady(&args));
  return args.is_ready;
}

}  // namespace tenon::trace
