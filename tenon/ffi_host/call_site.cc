#include "tenon/ffi_host/call_site.h"

#include <fmt/format.h>

#include <atomic>
#include <string>

#include "tenon/base/small_vector.h"
#include "tenon/ffi_host/internal.h"
#include "tenon/ffi_host/sub_byte.h"
#include "tenon/threads/flush_denormals.h"

namespace tenon::ffi_host {
namespace {

std::atomic<const TypeRegistry*> the_types{nullptr};

/// Operands or results in C form; tokens are buffers without memory.
template <class Type>
struct BufferFrame {
  SmallVector<XLA_FFI_Buffer, 8> buffers;
  SmallVector<Type, 8> types;
  SmallVector<void*, 8> pointers;
  bool complete = true;  ///< There was memory for the copies.

  BufferFrame(std::span<const runtime::View> views, Type type, SubByteArrays& sub_byte) {
    for (const runtime::View& v : views) {
      XLA_FFI_Buffer b = {};
      b.struct_size = XLA_FFI_Buffer_STRUCT_SIZE;
      b.dtype = XLA_FFI_DataType_TOKEN;
      if (v.slot != nullptr) {
        b.dtype = ToFfi(v.slot->dtype);
        b.data = sub_byte.Packed(v);
        complete &= b.data != nullptr || v.data == nullptr;
        b.rank = static_cast<int64_t>(v.slot->dims.size());
        b.dims = const_cast<int64_t*>(v.slot->dims.data());
      }
      buffers.push_back(b);
      types.push_back(type);
    }
    for (XLA_FFI_Buffer& b : buffers) pointers.push_back(&b);
  }
};

XLA_FFI_Args NoArgs() { return {XLA_FFI_Args_STRUCT_SIZE, nullptr, 0, nullptr, nullptr}; }
XLA_FFI_Rets NoRets() { return {XLA_FFI_Rets_STRUCT_SIZE, nullptr, 0, nullptr, nullptr}; }

}  // namespace

void InstallTypeRegistry(const TypeRegistry& registry) {
  // Leaked: state may be freed while the process ends.
  static const TypeRegistry& kept = *new TypeRegistry(registry);
  the_types.store(&kept, std::memory_order_release);
}

Result<int64_t> RegisterType(std::string_view name, int64_t id, void (*deleter)(void*)) {
  const TypeRegistry* types = the_types.load(std::memory_order_acquire);
  return types == nullptr ? Unimplemented("this host knows no types of state") : types->add(name, id, deleter);
}

void DeleteObject(int64_t type_id, void* object) {
  const TypeRegistry* types = the_types.load(std::memory_order_acquire);
  void (*deleter)(void*) = types == nullptr ? nullptr : types->deleter(type_id);
  if (deleter != nullptr) deleter(object);
}

CallSite::CallSite(std::shared_ptr<const Handler> handler) : handler_(std::move(handler)) {}

CallSite::~CallSite() {
  for (const State& s : states_) DeleteObject(s.type_id, s.object);
}

Result<std::unique_ptr<CallSite>> CallSite::Create(const plan::CustomCallStep& step) {
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<const Handler> handler, FindHandler(step.target));
  std::unique_ptr<CallSite> site(new CallSite(std::move(handler)));
  site->attributes_ = std::make_unique<AttributeFrame>(step.attributes);
  TENON_RETURN_IF_ERROR(
      site->RunStage(site->handler_->bundle.instantiate, XLA_FFI_ExecutionStage_INSTANTIATE, NoArgs(), NoRets(), {}));
  return site;
}

Status CallSite::RunStage(XLA_FFI_Handler* function, XLA_FFI_ExecutionStage stage, XLA_FFI_Args args, XLA_FFI_Rets rets,
                          const Invocation& invocation) {
  if (function == nullptr) return OkStatus();
  XLA_FFI_InvokeContext context{&invocation, this};
  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.api = &ApiTable();
  frame.ctx = &context;
  frame.stage = stage;
  frame.args = args;
  frame.rets = rets;
  frame.attrs = attributes_->c();
  XLA_FFI_Error* error;
  {
    const threads::ScopedDefaultFloat ieee;
    error = function(&frame);
  }
  // A future that was left must be waited for even after an error: its owner still points at the frame.
  Status later;
  if (frame.future != nullptr) {
    std::unique_ptr<XLA_FFI_Future> future(frame.future);
    std::unique_lock lock(future->mutex);
    if (error == nullptr) future->done.wait(lock, [&] { return future->ready; });
    later = future->status;
    lock.unlock();
  }
  Status now = TakeError(error);
  return (now.ok() ? later : now).WithContext("custom call to " + handler_->name);
}

Status CallSite::Call(std::span<const runtime::View> operands, std::span<const runtime::View> results,
                      const Invocation& invocation) {
  SubByteArrays sub_byte;
  BufferFrame<XLA_FFI_ArgType> in(operands, XLA_FFI_ArgType_BUFFER, sub_byte);
  BufferFrame<XLA_FFI_RetType> out(results, XLA_FFI_RetType_BUFFER, sub_byte);
  if (!in.complete || !out.complete)
    return ResourceExhausted("custom call to " + handler_->name + ": no memory to pack its arrays");
  const XLA_FFI_Args args = {XLA_FFI_Args_STRUCT_SIZE, nullptr, static_cast<int64_t>(in.types.size()), in.types.data(),
                             in.pointers.data()};
  const XLA_FFI_Rets rets = {XLA_FFI_Rets_STRUCT_SIZE, nullptr, static_cast<int64_t>(out.types.size()),
                             out.types.data(), out.pointers.data()};
  TENON_RETURN_IF_ERROR(RunStage(handler_->bundle.prepare, XLA_FFI_ExecutionStage_PREPARE, args, rets, invocation));
  TENON_RETURN_IF_ERROR(
      RunStage(handler_->bundle.initialize, XLA_FFI_ExecutionStage_INITIALIZE, args, rets, invocation));
  TENON_RETURN_IF_ERROR(RunStage(handler_->bundle.execute, XLA_FFI_ExecutionStage_EXECUTE, args, rets, invocation));
  for (const runtime::View& view : results) sub_byte.Unpack(view);
  return OkStatus();
}

Status CallSite::SetState(XLA_FFI_ExecutionStage stage, int64_t type_id, void* state) {
  if (stage != XLA_FFI_ExecutionStage_INSTANTIATE)
    return Unimplemented("only the instantiate stage keeps state on this host");
  std::lock_guard lock(mutex_);
  for (const State& s : states_) {
    if (s.stage == stage) return FailedPrecondition("the state of this stage is set already");
  }
  states_.push_back({stage, type_id, state});
  return OkStatus();
}

Result<void*> CallSite::GetState(XLA_FFI_ExecutionStage stage, int64_t type_id) {
  std::lock_guard lock(mutex_);
  for (const State& s : states_) {
    if (s.stage != stage) continue;
    if (s.type_id != type_id)
      return InvalidArgument(fmt::format("the state has type id {}, asked for {}", s.type_id, type_id));
    return s.object;
  }
  // Callers built from the public headers take a null state for "none was made".
  return static_cast<void*>(nullptr);
}

}  // namespace tenon::ffi_host
