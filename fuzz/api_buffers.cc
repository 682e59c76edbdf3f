// Clients, and the life of buffers.

#include <utility>

#include "fuzz/api_machine.h"

namespace tenon::fuzz {

void Machine::CreateClient() {
  if (clients_.size() >= 3) return;
  FUZZ_ARGS(PJRT_Client_Create, args);
  if (FUZZ_CALL(PJRT_Client_Create, args, in_) != Outcome::kOk) return;
  ClientSlot slot{args.client, {}, {}};
  FUZZ_ARGS(PJRT_Client_AddressableDevices, devices);
  devices.client = slot.client;
  if (!FUZZ_PLAIN(PJRT_Client_AddressableDevices, devices)) std::abort();
  slot.devices.assign(devices.addressable_devices, devices.addressable_devices + devices.num_addressable_devices);
  FUZZ_ARGS(PJRT_Client_AddressableMemories, memories);
  memories.client = slot.client;
  if (!FUZZ_PLAIN(PJRT_Client_AddressableMemories, memories)) std::abort();
  slot.memories.assign(memories.addressable_memories,
                       memories.addressable_memories + memories.num_addressable_memories);
  clients_.push_back(std::move(slot));
}

void Machine::DestroyClient() {
  if (clients_.empty()) return;
  FUZZ_ARGS(PJRT_Client_Destroy, args);
  const ClientSlot slot = TakeOne(clients_);
  args.client = slot.client;
  if (FUZZ_CALL(PJRT_Client_Destroy, args, in_) == Outcome::kTooSmall) clients_.push_back(slot);
}

void Machine::Upload() {
  ShapeChoice shape = ChooseShape();
  LayoutChoice layout = ChooseLayout(shape.dims.size());
  FUZZ_ARGS(PJRT_Client_BufferFromHostBuffer, args);
  args.client = AnyClient();
  args.type = static_cast<PJRT_Buffer_Type>(shape.type);
  args.dims = shape.dims.data();
  args.num_dims = shape.dims.size();
  args.device_layout = layout.get();
  args.device = AnyDevice();
  if (in_.OneIn(4)) args.memory = AnyMemory();
  args.host_buffer_semantics = static_cast<PJRT_HostBufferSemantics>(in_.Below(in_.OneIn(16) ? 7 : 4));
  // A shape beyond all memory has no memory behind it that a view could be of.
  if (shape.size_bytes == 0) args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;

  // Strides that may be negative, zero, odd; the block spans exactly what they reach.
  std::vector<int64_t> strides;
  int64_t lowest = 0;
  size_t bytes = shape.size_bytes;
  if (shape.width != 0 && in_.OneIn(3)) {
    int64_t dense = shape.width, highest = 0;
    strides.resize(shape.dims.size());
    for (size_t i = shape.dims.size(); i > 0; --i) {
      const int64_t extent = shape.dims[i - 1];
      const int64_t choices[] = {dense, -dense, 2 * dense, 0, dense + 1};
      strides[i - 1] = choices[in_.Below(std::size(choices))];
      (strides[i - 1] < 0 ? lowest : highest) += extent > 0 ? (extent - 1) * strides[i - 1] : 0;
      dense *= extent > 0 ? extent : 1;
    }
    if (bytes != 0) bytes = static_cast<size_t>(highest - lowest + shape.width);
    if (in_.OneIn(16)) strides.push_back(4);
    args.byte_strides = strides.data();
    args.num_byte_strides = strides.size();
  }
  const size_t misalignment = in_.OneIn(4) ? in_.Below(9) : 0;
  char* block = static_cast<char*>(std::calloc(1, bytes + misalignment));
  args.data = in_.OneIn(64) ? nullptr : block + misalignment - (bytes == 0 ? 0 : lowest);
  const Outcome outcome = FUZZ_CALL(PJRT_Client_BufferFromHostBuffer, args, in_);
  if (outcome != Outcome::kOk) {
    std::free(block);
    return;
  }
  Keep(args.buffer);
  if (args.host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableOnlyDuringCall) {
    std::free(block);
    Keep(args.done_with_host_buffer);
  } else {
    FreeWhenReady(args.done_with_host_buffer, block);
  }
}

void Machine::CreateUninitialized() {
  ShapeChoice shape = ChooseShape();
  LayoutChoice layout = ChooseLayout(shape.dims.size());
  FUZZ_ARGS(PJRT_Client_CreateUninitializedBuffer, args);
  args.client = AnyClient();
  args.shape_dims = in_.OneIn(32) ? nullptr : shape.dims.data();
  args.shape_num_dims = shape.dims.size();
  args.shape_element_type = static_cast<PJRT_Buffer_Type>(shape.type);
  args.shape_layout = layout.get();
  if (in_.OneIn(2)) args.device = AnyDevice();
  if (in_.OneIn(2)) args.memory = AnyMemory();
  if (FUZZ_CALL(PJRT_Client_CreateUninitializedBuffer, args, in_) == Outcome::kOk) Keep(args.buffer);
}

void Machine::CreateError() {
  ShapeChoice shape = ChooseShape();
  LayoutChoice layout = ChooseLayout(shape.dims.size());
  const std::string message = in_.Bytes(8);
  FUZZ_ARGS(PJRT_Client_CreateErrorBuffer, args);
  args.client = AnyClient();
  args.error_code = ChooseCode();
  args.error_message = in_.OneIn(8) ? nullptr : message.data();
  args.error_message_size = args.error_message == nullptr ? 0 : message.size();
  args.shape_dims = shape.dims.data();
  args.shape_num_dims = shape.dims.size();
  args.shape_element_type = static_cast<PJRT_Buffer_Type>(shape.type);
  (in_.OneIn(2) ? args.shape_layout : args.device_layout) = layout.get();
  args.memory = AnyMemory();
  if (FUZZ_CALL(PJRT_Client_CreateErrorBuffer, args, in_) == Outcome::kOk) Keep(args.buffer);
}

void Machine::CreateView() {
  ShapeChoice shape = ChooseShape();
  LayoutChoice layout = ChooseLayout(shape.dims.size());
  FUZZ_ARGS(PJRT_Client_CreateViewOfDeviceBuffer, args);
  void* block = std::calloc(1, shape.size_bytes);
  args.client = AnyClient();
  args.device_buffer_ptr = in_.OneIn(64) ? nullptr : block;
  args.dims = shape.dims.data();
  args.num_dims = shape.dims.size();
  args.element_type = static_cast<PJRT_Buffer_Type>(shape.type);
  args.layout = layout.get();
  args.device = AnyDevice();
  args.on_delete_callback = [](void*, void* owned) { std::free(owned); };
  args.on_delete_callback_arg = block;
  args.stream = in_.OneIn(64) ? 1 : 0;
  if (in_.OneIn(2)) args.memory = AnyMemory();
  if (FUZZ_CALL(PJRT_Client_CreateViewOfDeviceBuffer, args, in_) == Outcome::kOk) {
    Keep(args.buffer);
  } else {
    std::free(block);
  }
}

void Machine::CreateAlias() {
  if (promises_.size() >= kMaxPool) return;
  ShapeChoice shape = ChooseShape();
  LayoutChoice layout = ChooseLayout(shape.dims.size());
  FUZZ_ARGS(PJRT_Client_CreateAliasBuffer, args);
  args.client = AnyClient();
  args.memory = AnyMemory();
  args.shape_dims = shape.dims.data();
  args.shape_num_dims = shape.dims.size();
  args.shape_element_type = static_cast<PJRT_Buffer_Type>(shape.type);
  args.shape_layout = layout.get();
  if (FUZZ_CALL(PJRT_Client_CreateAliasBuffer, args, in_) != Outcome::kOk) return;
  promises_.push_back(args.fulfill_alias_buffer_cb);
  Keep(args.alias_buffer);
}

void Machine::Fulfill(PJRT_FulfillAliasBufferCallback* promise, PJRT_Buffer* with) {
  FUZZ_ARGS(PJRT_Client_FulfillAliasBuffer, args);
  args.client = clients_[in_.Below(clients_.size())].client;
  args.buffer = with;
  args.status_code = with == nullptr ? ChooseCode() : PJRT_Error_Code_OK;
  args.fulfill_alias_buffer_cb = promise;
  (void)FUZZ_PLAIN(PJRT_Client_FulfillAliasBuffer, args);
}

void Machine::Fulfill() {
  if (promises_.empty() || clients_.empty()) return;
  PJRT_Buffer* buffer = AnyBuffer();
  // What waits for the caller may wait for this very promise, which nobody could then keep.
  Settle();
  if (buffer != nullptr && !IsReady(buffer)) buffer = nullptr;
  Fulfill(TakeOne(promises_), buffer);
}

bool Machine::IsReady(PJRT_Buffer* buffer) {
  FUZZ_ARGS(PJRT_Buffer_ReadyEvent, event);
  event.buffer = buffer;
  if (!FUZZ_PLAIN(PJRT_Buffer_ReadyEvent, event)) return false;
  FUZZ_ARGS(PJRT_Event_IsReady, ready);
  ready.event = event.event;
  if (!FUZZ_PLAIN(PJRT_Event_IsReady, ready)) std::abort();
  FUZZ_ARGS(PJRT_Event_Destroy, destroy);
  destroy.event = event.event;
  if (!FUZZ_PLAIN(PJRT_Event_Destroy, destroy)) std::abort();
  return ready.is_ready;
}

void Machine::DestroyBuffer(BufferSlot slot) {
  for (; slot.external_references > 0; --slot.external_references) {
    FUZZ_ARGS(PJRT_Buffer_DecreaseExternalReferenceCount, decrease);
    decrease.buffer = slot.buffer;
    if (!FUZZ_PLAIN(PJRT_Buffer_DecreaseExternalReferenceCount, decrease)) std::abort();
  }
  FUZZ_ARGS(PJRT_Buffer_Destroy, args);
  args.buffer = slot.buffer;
  if (FUZZ_CALL(PJRT_Buffer_Destroy, args, in_) == Outcome::kTooSmall) buffers_.push_back(slot);
}

void Machine::DestroyBuffer() {
  if (!buffers_.empty()) DestroyBuffer(TakeOne(buffers_));
}

void Machine::DeleteBuffer() {
  FUZZ_ARGS(PJRT_Buffer_Delete, args);
  args.buffer = AnyBuffer();
  FUZZ_CALL(PJRT_Buffer_Delete, args, in_);
}

void Machine::ChangeExternalReferences() {
  if (buffers_.empty()) return;
  BufferSlot& slot = buffers_[in_.Below(buffers_.size())];
  if (in_.OneIn(2)) {
    FUZZ_ARGS(PJRT_Buffer_IncreaseExternalReferenceCount, args);
    args.buffer = slot.buffer;
    if (FUZZ_CALL(PJRT_Buffer_IncreaseExternalReferenceCount, args, in_) == Outcome::kOk) ++slot.external_references;
  } else {
    FUZZ_ARGS(PJRT_Buffer_DecreaseExternalReferenceCount, args);
    args.buffer = slot.buffer;
    if (FUZZ_CALL(PJRT_Buffer_DecreaseExternalReferenceCount, args, in_) == Outcome::kOk) --slot.external_references;
    if (slot.external_references < 0) std::abort();
  }
}

void Machine::Download() {
  PJRT_Buffer* buffer = AnyBuffer();
  LayoutChoice layout = ChooseLayout(in_.Below(4));
  FUZZ_ARGS(PJRT_Buffer_ToHostBuffer, args);
  args.src = buffer;
  args.host_layout = layout.get();
  if (FUZZ_CALL(PJRT_Buffer_ToHostBuffer, args, in_) != Outcome::kOk) return;
  const size_t size = args.dst_size;
  void* block = std::malloc(size);
  if (block == nullptr && size != 0) return;  // A size that nobody has asks for the size again.
  args.struct_size = PJRT_Buffer_ToHostBuffer_Args_STRUCT_SIZE;
  args.dst = block;
  if (in_.OneIn(32) && size != 0) args.dst_size = size - 1;
  if (FUZZ_CALL(PJRT_Buffer_ToHostBuffer, args, in_) == Outcome::kOk) {
    if (args.dst_size != size) std::abort();
    FreeWhenReady(args.event, block);
  } else {
    std::free(block);
  }
}

void Machine::DownloadRaw() {
  const int64_t sizes[] = {4, 16, 0, 5, 4224, -1, INT64_MAX};
  FUZZ_ARGS(PJRT_Buffer_CopyRawToHost, args);
  args.buffer = AnyBuffer();
  args.offset = in_.OneIn(2) ? 0 : static_cast<int8_t>(in_.U8());
  args.transfer_size = sizes[in_.Below(std::size(sizes))];
  // No buffer is as large as the largest of these.
  const bool fits = args.transfer_size >= 0 && args.transfer_size <= 4224;
  void* block = std::malloc(fits ? static_cast<size_t>(args.transfer_size) : 1);
  args.dst = block;
  if (FUZZ_CALL(PJRT_Buffer_CopyRawToHost, args, in_) == Outcome::kOk) {
    FreeWhenReady(args.event, block);
  } else {
    std::free(block);
  }
}

void Machine::DownloadRawFuture() {
  if (futures_.size() >= kMaxPool) return;
  FUZZ_ARGS(PJRT_Buffer_CopyRawToHostFuture, args);
  args.buffer = AnyBuffer();
  args.offset = in_.OneIn(2) ? 0 : static_cast<int8_t>(in_.U8());
  args.transfer_size = static_cast<int64_t>(in_.Below(20));
  if (FUZZ_CALL(PJRT_Buffer_CopyRawToHostFuture, args, in_) != Outcome::kOk) return;
  futures_.push_back(
      {args.callback_data, args.future_ready_callback, static_cast<size_t>(args.transfer_size), args.event});
}

void Machine::Complete(Future future, PJRT_Error_Code code) {
  void* block = std::malloc(future.size_bytes);
  PJRT_Buffer_CopyRawToHostFuture_Callback_Args args{};
  args.struct_size = PJRT_Buffer_CopyRawToHostFuture_Callback_Args_STRUCT_SIZE;
  args.callback_data = future.data;
  args.error_code = code;
  args.dst = block;
  future.ready(&args);
  FreeWhenReady(future.event, block);
}

void Machine::CompleteFuture() {
  if (!futures_.empty()) Complete(TakeOne(futures_), ChooseCode());
}

void Machine::CopyToDevice() {
  FUZZ_ARGS(PJRT_Buffer_CopyToDevice, args);
  args.buffer = AnyBuffer();
  args.dst_device = AnyDevice();
  if (FUZZ_CALL(PJRT_Buffer_CopyToDevice, args, in_) == Outcome::kOk) Keep(args.dst_buffer);
}

void Machine::CopyToMemory() {
  FUZZ_ARGS(PJRT_Buffer_CopyToMemory, args);
  args.buffer = AnyBuffer();
  args.dst_memory = AnyMemory();
  if (FUZZ_CALL(PJRT_Buffer_CopyToMemory, args, in_) == Outcome::kOk) Keep(args.dst_buffer);
}

void Machine::Bitcast() {
  ShapeChoice shape = ChooseShape();
  LayoutChoice layout = ChooseLayout(shape.dims.size());
  FUZZ_ARGS(PJRT_Buffer_Bitcast, args);
  args.buffer = AnyBuffer();
  args.element_type = static_cast<PJRT_Buffer_Type>(shape.type);
  args.dims = shape.dims.data();
  args.num_dims = shape.dims.size();
  args.device_layout = layout.get();
  if (FUZZ_CALL(PJRT_Buffer_Bitcast, args, in_) == Outcome::kOk) Keep(args.out_buffer);
}

void Machine::Donate() {
  if (dependencies_.size() >= kMaxPool) return;
  FUZZ_ARGS(PJRT_Buffer_DonateWithControlDependency, args);
  args.buffer = AnyBuffer();
  if (FUZZ_CALL(PJRT_Buffer_DonateWithControlDependency, args, in_) != Outcome::kOk) return;
  dependencies_.push_back({args.callback_data, args.dependency_ready_callback});
  Keep(args.out_buffer);
}

void Machine::Complete(Dependency dependency, PJRT_Error_Code code) {
  PJRT_Buffer_DonateWithControlDependency_Callback_Args args{};
  args.struct_size = PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE;
  args.callback_data = dependency.data;
  args.error_code = code;
  args.error_message = "fuzz";
  args.error_message_size = 4;
  dependency.ready(&args);
}

void Machine::CompleteDependency() {
  if (!dependencies_.empty()) Complete(TakeOne(dependencies_), ChooseCode());
}

}  // namespace tenon::fuzz
