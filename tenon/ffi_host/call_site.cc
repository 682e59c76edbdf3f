#include "tenon/ffi_host/call_site.h"

#include <fmt/format.h>

#include <atomic>
#include <string>

#include "tenon/base/contain.h"
#include "tenon/base/host_call.h"
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

CallSite::~CallSite() = default;

StageStates::~StageStates() {
  for (const State& s : states_) DeleteObject(s.type_id, s.object);
}

Status StageStates::Set(XLA_FFI_ExecutionStage stage, int64_t type_id, void* object) {
  std::lock_guard lock(mutex_);
  for (const State& s : states_) {
    if (s.stage == stage)
      return FailedPrecondition(fmt::format("the state of stage {} is set already", static_cast<int>(stage)));
  }
  states_.push_back({stage, type_id, object});
  return OkStatus();
}

Result<void*> StageStates::Get(XLA_FFI_ExecutionStage stage, int64_t type_id) const {
  std::lock_guard lock(mutex_);
  for (const State& s : states_) {
    if (s.stage != stage) continue;
    if (s.type_id != type_id)
      return InvalidArgument(fmt::format("the state has type id {}, asked for {}", s.type_id, type_id));
    return s.object;
  }
  return static_cast<void*>(nullptr);
}

namespace {

/// The longest row or column of the call's matrices, which are the last two dims of its arrays.
int64_t LongestOf(const plan::CustomCallStep& step, std::span<const plan::Slot> slots) {
  if (slots.empty()) return std::numeric_limits<int64_t>::max();
  int64_t longest = 0;
  const auto see = [&](plan::SlotId id) {
    if (id == plan::kNoSlot) return;
    const Dims& dims = slots[id].dims;
    for (size_t d = dims.size() - std::min<size_t>(2, dims.size()); d < dims.size(); ++d)
      longest = std::max(longest, dims[d]);
  };
  for (const plan::SlotId id : step.operands) see(id);
  for (const plan::SlotId id : step.results) see(id);
  return longest;
}

}  // namespace

Result<std::unique_ptr<CallSite>> CallSite::Create(const plan::CustomCallStep& step,
                                                   std::span<const plan::Slot> slots) {
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<const Handler> handler, FindHandler(step.target, LongestOf(step, slots)));
  std::unique_ptr<CallSite> site(new CallSite(std::move(handler)));
  site->attributes_ = std::make_unique<AttributeFrame>(step.attributes);
  TENON_RETURN_IF_ERROR(site->RunStage(site->handler_->bundle.instantiate, XLA_FFI_ExecutionStage_INSTANTIATE, NoArgs(),
                                       NoRets(), {}, nullptr));
  return site;
}

Status CallSite::RunStage(XLA_FFI_Handler* function, XLA_FFI_ExecutionStage stage, XLA_FFI_Args args, XLA_FFI_Rets rets,
                          const Invocation& invocation, StageStates* states) {
  if (function == nullptr) return OkStatus();
  XLA_FFI_InvokeContext context{&invocation, this, states, stage, std::make_shared<TaskErrors>()};
  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.api = &ApiTable();
  frame.ctx = &context;
  frame.stage = stage;
  frame.args = args;
  frame.rets = rets;
  frame.attrs = attributes_->c();
  XLA_FFI_Error* error = nullptr;
  Status status;
  {
    const threads::ScopedDefaultFloat ieee;
    status = Contain("the handler threw", [&] { error = function(&frame); });
  }
  if (status.ok()) status = TakeError(error);
  // Waited for after an error, too: its owner still points at the frame, the buffers and the future.
  if (frame.future != nullptr) {
    std::unique_ptr<XLA_FFI_Future> future(frame.future);
    std::unique_lock lock(future->mutex);
    future->done.wait(lock, [&] { return future->ready; });
    if (status.ok()) status = future->status;
    lock.unlock();
  }
  if (status.ok()) status = context.task_errors->first();
  return status.ok() ? status : status.WithContext("custom call to " + handler_->name);
}

Status CallSite::CallStage(XLA_FFI_Handler* function, XLA_FFI_ExecutionStage stage,
                           std::span<const runtime::View> operands, std::span<const runtime::View> results,
                           const Invocation& invocation, StageStates* states) {
  SubByteArrays sub_byte;
  BufferFrame<XLA_FFI_ArgType> in(operands, XLA_FFI_ArgType_BUFFER, sub_byte);
  BufferFrame<XLA_FFI_RetType> out(results, XLA_FFI_RetType_BUFFER, sub_byte);
  if (!in.complete || !out.complete)
    return ResourceExhausted("custom call to " + handler_->name + ": no memory to pack its arrays");
  const XLA_FFI_Args args = {XLA_FFI_Args_STRUCT_SIZE, nullptr, static_cast<int64_t>(in.types.size()), in.types.data(),
                             in.pointers.data()};
  const XLA_FFI_Rets rets = {XLA_FFI_Rets_STRUCT_SIZE, nullptr, static_cast<int64_t>(out.types.size()),
                             out.types.data(), out.pointers.data()};
  const HostCallScope calling;
  TENON_RETURN_IF_ERROR(RunStage(function, stage, args, rets, invocation, states));
  if (stage == XLA_FFI_ExecutionStage_EXECUTE) {
    for (const runtime::View& view : results) sub_byte.Unpack(view);
  }
  return OkStatus();
}

Status CallSite::Begin(runtime::CallStage stage, std::span<const runtime::View> operands,
                       std::span<const runtime::View> results, const Invocation& invocation, StageStates& states) {
  const bool prepare = stage == runtime::CallStage::kPrepare;
  XLA_FFI_Handler* function = prepare ? handler_->bundle.prepare : handler_->bundle.initialize;
  if (function == nullptr) return OkStatus();
  return CallStage(function, prepare ? XLA_FFI_ExecutionStage_PREPARE : XLA_FFI_ExecutionStage_INITIALIZE, operands,
                   results, invocation, &states);
}

Status CallSite::Call(std::span<const runtime::View> operands, std::span<const runtime::View> results,
                      const Invocation& invocation, StageStates* states) {
  return CallStage(handler_->bundle.execute, XLA_FFI_ExecutionStage_EXECUTE, operands, results, invocation, states);
}

}  // namespace tenon::ffi_host
