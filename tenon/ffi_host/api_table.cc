#include <new>

#include "tenon/base/contain.h"
#include "tenon/ffi_host/internal.h"
#include "tenon/threads/flush_denormals.h"

namespace tenon::ffi_host {
namespace {

// Errors that functions of this table return belong to the handler, which destroys them through the table.
XLA_FFI_Error* ToError(Status status) { return status.ok() ? nullptr : new XLA_FFI_Error{std::move(status)}; }

XLA_FFI_Error* ErrorCreate(XLA_FFI_Error_Create_Args* args) {
  return new XLA_FFI_Error{Status(static_cast<Code>(args->errc), args->message == nullptr ? "" : args->message)};
}

void ErrorGetDetails(XLA_FFI_Error_GetDetails_Args* args) {
  args->message = args->error->status.message().data();
  args->errc = static_cast<XLA_FFI_Error_Code>(args->error->status.code());
}

void ErrorDestroy(XLA_FFI_Error_Destroy_Args* args) { delete args->error; }

XLA_FFI_Error* HandlerRegister(XLA_FFI_Handler_Register_Args* args) {
  return ToError(RegisterHandler({args->name.ptr, args->name.len}, args->bundle, args->traits));
}

XLA_FFI_Error* StreamGet(XLA_FFI_Stream_Get_Args*) { return ToError(Unimplemented("a CPU has no stream")); }

XLA_FFI_Error* TypeRegister(XLA_FFI_Type_Register_Args* args) {
  // The deleter was added to the struct behind the type id.
  const bool has_info = args->struct_size >= sizeof(XLA_FFI_Type_Register_Args);
  void (*deleter)(void*) = has_info && args->type_info != nullptr ? args->type_info->deleter : nullptr;
  Result<int64_t> id = RegisterType({args->name.ptr, args->name.len}, args->type_id->type_id, deleter);
  if (!id.ok()) return ToError(id.status());
  args->type_id->type_id = *id;
  return nullptr;
}

XLA_FFI_Error* InvokeContextGet(XLA_FFI_InvokeContext_Get_Args* args) {
  const auto& find = args->ctx->invocation->find_user_data;
  void* data = find ? find(args->type_id->type_id) : nullptr;
  if (data == nullptr)
    return ToError(NotFound("the execution carries no user data of type id " + std::to_string(args->type_id->type_id)));
  args->data = data;
  return nullptr;
}

// Who keeps what the stage leaves: the call site for good, or the execution. Null for other stages, and without one.
StageStates* StatesOf(XLA_FFI_InvokeContext& context, XLA_FFI_ExecutionStage stage) {
  if (stage == XLA_FFI_ExecutionStage_INSTANTIATE) return &context.site->states();
  const bool begins = stage == XLA_FFI_ExecutionStage_PREPARE || stage == XLA_FFI_ExecutionStage_INITIALIZE;
  return begins ? context.states : nullptr;
}

XLA_FFI_Error* StateSet(XLA_FFI_State_Set_Args* args) {
  XLA_FFI_InvokeContext& context = *args->ctx;
  if (args->stage != context.stage)
    return ToError(FailedPrecondition("stage " + std::to_string(context.stage) + " sets the state of stage " +
                                      std::to_string(args->stage)));
  StageStates* states = StatesOf(context, args->stage);
  if (states == nullptr)
    return ToError(Unimplemented("stage " + std::to_string(args->stage) + " keeps no state on this host"));
  return ToError(states->Set(args->stage, args->type_id->type_id, args->state));
}

XLA_FFI_Error* StateGet(XLA_FFI_State_Get_Args* args) {
  const StageStates* states = StatesOf(*args->ctx, args->stage);
  Result<void*> state =
      states == nullptr ? static_cast<void*>(nullptr) : states->Get(args->stage, args->type_id->type_id);
  if (!state.ok()) return ToError(std::move(state).status());
  args->state = *state;
  return nullptr;
}

XLA_FFI_Error* DeviceMemoryAllocate(XLA_FFI_DeviceMemory_Allocate_Args* args) {
  const size_t alignment = args->alignment == 0 ? 64 : args->alignment;
  if ((alignment & (alignment - 1)) != 0)
    return ToError(InvalidArgument("alignment " + std::to_string(alignment) + " is no power of two"));
  args->data = std::aligned_alloc(alignment, (args->size + alignment - 1) / alignment * alignment);
  if (args->data == nullptr && args->size != 0)
    return ToError(ResourceExhausted("no " + std::to_string(args->size) + " bytes of scratch"));
  return nullptr;
}

XLA_FFI_Error* DeviceMemoryFree(XLA_FFI_DeviceMemory_Free_Args* args) {
  std::free(args->data);
  return nullptr;
}

XLA_FFI_Error* ThreadPoolSchedule(XLA_FFI_ThreadPool_Schedule_Args* args) {
  const auto& schedule = args->ctx->invocation->schedule;
  auto run = [task = args->task, data = args->data, errors = args->ctx->task_errors] {
    const threads::ScopedDefaultFloat ieee;
    Status status = Contain("a task of the handler threw", [&] { task(data); });
    if (!status.ok()) errors->Add(std::move(status));
  };
  // Never an error: not every handler that gets one runs the task itself without harm.
  if (schedule) {
    schedule(run);
  } else {
    run();
  }
  return nullptr;
}

XLA_FFI_Error* ThreadPoolNumThreads(XLA_FFI_ThreadPool_NumThreads_Args* args) {
  *args->num_threads = args->ctx->invocation->num_threads;
  return nullptr;
}

XLA_FFI_Error* FutureCreate(XLA_FFI_Future_Create_Args* args) {
  args->future = new XLA_FFI_Future;
  return nullptr;
}

void Complete(XLA_FFI_Future* future, Status status) {
  // Notified under the lock: the waiter frees the future as soon as it has the lock.
  std::lock_guard lock(future->mutex);
  future->status = std::move(status);
  future->ready = true;
  future->done.notify_all();
}

XLA_FFI_Error* FutureSetAvailable(XLA_FFI_Future_SetAvailable_Args* args) {
  Complete(args->future, OkStatus());
  return nullptr;
}

XLA_FFI_Error* FutureSetError(XLA_FFI_Future_SetError_Args* args) {
  Status status = TakeError(args->error);
  Complete(args->future, status.ok() ? Internal("a handler failed its future without an error") : status);
  return nullptr;
}

XLA_FFI_Error* RunIdGet(XLA_FFI_RunId_Get_Args* args) {
  args->run_id = args->ctx->invocation->run_id;
  return nullptr;
}

XLA_FFI_Error* DeviceOrdinalGet(XLA_FFI_DeviceOrdinal_Get_Args* args) {
  args->device_ordinal = args->ctx->invocation->device_ordinal;
  return nullptr;
}

XLA_FFI_Error* FindExtension(XLA_FFI_InvokeContext_FindExtension_Args* args) {
  args->extension = nullptr;
  return nullptr;
}

XLA_FFI_Error* CustomOptionsGet(XLA_FFI_CustomOptions_Get_Args* args) {
  static constexpr XLA_FFI_Attrs kNone = {XLA_FFI_Attrs_STRUCT_SIZE, nullptr, 0, nullptr, nullptr, nullptr};
  args->attrs = &kNone;
  return nullptr;
}

}  // namespace

Status TakeError(XLA_FFI_Error* error) {
  if (error == nullptr) return OkStatus();
  Status status = error->status.ok() ? Internal("a handler returned an error without a code") : error->status;
  delete error;
  return status;
}

const XLA_FFI_Api& ApiTable() {
  static constexpr XLA_FFI_Api kTable = {
      .struct_size = XLA_FFI_Api_STRUCT_SIZE,
      .extension_start = nullptr,
      .api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, nullptr, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR},
      .internal_api = nullptr,
      .XLA_FFI_Error_Create = ErrorCreate,
      .XLA_FFI_Error_GetDetails = ErrorGetDetails,
      .XLA_FFI_Error_Destroy = ErrorDestroy,
      .XLA_FFI_Handler_Register = HandlerRegister,
      .XLA_FFI_Stream_Get = StreamGet,
      .XLA_FFI_Type_Register = TypeRegister,
      .XLA_FFI_InvokeContext_Get = InvokeContextGet,
      .XLA_FFI_State_Set = StateSet,
      .XLA_FFI_State_Get = StateGet,
      .XLA_FFI_DeviceMemory_Allocate = DeviceMemoryAllocate,
      .XLA_FFI_DeviceMemory_Free = DeviceMemoryFree,
      .XLA_FFI_ThreadPool_Schedule = ThreadPoolSchedule,
      .XLA_FFI_ThreadPool_NumThreads = ThreadPoolNumThreads,
      .XLA_FFI_Future_Create = FutureCreate,
      .XLA_FFI_Future_SetAvailable = FutureSetAvailable,
      .XLA_FFI_Future_SetError = FutureSetError,
      .XLA_FFI_RunId_Get = RunIdGet,
      .XLA_FFI_DeviceOrdinal_Get = DeviceOrdinalGet,
      .XLA_FFI_InvokeContext_FindExtension = FindExtension,
      .XLA_FFI_CustomOptions_Get = CustomOptionsGet,
  };
  return kTable;
}

}  // namespace tenon::ffi_host
