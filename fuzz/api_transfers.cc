// Transfer managers, mapped memory, user data and execute contexts.

#include "fuzz/api_machine.h"

namespace tenon::fuzz {

void Machine::CreateTransfer() {
  if (transfers_.size() >= kMaxPool) return;
  std::vector<ShapeChoice> shapes(in_.Below(4));
  std::vector<LayoutChoice> layouts;
  std::vector<PJRT_ShapeSpec> specs;
  layouts.reserve(shapes.size());
  for (ShapeChoice& shape : shapes) {
    shape = ChooseShape();
    layouts.push_back(ChooseLayout(shape.dims.size()));
    specs.push_back({.struct_size = PJRT_ShapeSpec_STRUCT_SIZE,
                     .extension_start = nullptr,
                     .dims = shape.dims.data(),
                     .num_dims = shape.dims.size(),
                     .element_type = static_cast<PJRT_Buffer_Type>(shape.type)});
  }
  std::vector<PJRT_Buffer_MemoryLayout*> pointers;
  for (LayoutChoice& layout : layouts) pointers.push_back(layout.get());
  if (in_.OneIn(32)) pointers.push_back(nullptr);
  FUZZ_ARGS(PJRT_Client_CreateBuffersForAsyncHostToDevice, args);
  args.client = AnyClient();
  args.shape_specs = in_.OneIn(64) ? nullptr : specs.data();
  args.num_shape_specs = specs.size();
  if (in_.OneIn(2)) {
    args.device_layouts = pointers.data();
    args.num_device_layouts = pointers.size();
  }
  args.memory = AnyMemory();
  if (FUZZ_CALL(PJRT_Client_CreateBuffersForAsyncHostToDevice, args, in_) == Outcome::kOk)
    transfers_.push_back(args.transfer_manager);
}

void Machine::Transfer() {
  if (transfers_.empty()) return;
  PJRT_AsyncHostToDeviceTransferManager* manager = transfers_[in_.Below(transfers_.size())];
  const int64_t sizes[] = {4, 16, 0, 5, 4224, -1, INT64_MAX};
  if (in_.OneIn(4)) {
    FUZZ_ARGS(PJRT_AsyncHostToDeviceTransferManager_SetBufferError, args);
    args.transfer_manager = manager;
    args.buffer_index = static_cast<int>(in_.Below(5)) - 1;
    args.error_code = ChooseCode();
    FUZZ_CALL(PJRT_AsyncHostToDeviceTransferManager_SetBufferError, args, in_);
    return;
  }
  FUZZ_ARGS(PJRT_AsyncHostToDeviceTransferManager_TransferData, args);
  args.transfer_manager = in_.OneIn(64) ? nullptr : manager;
  args.buffer_index = static_cast<int>(in_.Below(5)) - 1;
  args.offset = in_.OneIn(2) ? 0 : static_cast<int8_t>(in_.U8());
  args.transfer_size = sizes[in_.Below(std::size(sizes))];
  args.is_last_transfer = in_.OneIn(2);
  const bool fits = args.transfer_size >= 0 && args.transfer_size <= 4224;
  void* block = std::calloc(1, fits ? static_cast<size_t>(args.transfer_size) : 1);
  args.data = block;
  if (FUZZ_CALL(PJRT_AsyncHostToDeviceTransferManager_TransferData, args, in_) == Outcome::kOk) {
    FreeWhenReady(args.done_with_h2d_transfer, block);
  } else {
    std::free(block);
  }
}

void Machine::TransferLiteral() {
  if (transfers_.empty()) return;
  ShapeChoice shape = ChooseShape();
  LayoutChoice layout = ChooseLayout(shape.dims.size());
  FUZZ_ARGS(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, args);
  void* block = std::calloc(1, shape.size_bytes);
  args.transfer_manager = transfers_[in_.Below(transfers_.size())];
  args.buffer_index = static_cast<int>(in_.Below(5)) - 1;
  args.data = in_.OneIn(64) ? nullptr : block;
  args.shape_dims = shape.dims.data();
  args.shape_num_dims = shape.dims.size();
  args.shape_element_type = static_cast<PJRT_Buffer_Type>(shape.type);
  args.shape_layout = layout.get();
  if (FUZZ_CALL(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, args, in_) == Outcome::kOk) {
    FreeWhenReady(args.done_with_h2d_transfer, block);
  } else {
    std::free(block);
  }
}

void Machine::RetrieveTransfer() {
  if (transfers_.empty()) return;
  PJRT_AsyncHostToDeviceTransferManager* manager = transfers_[in_.Below(transfers_.size())];
  const int index = static_cast<int>(in_.Below(5)) - 1;
  switch (in_.Below(6)) {
    default: {
      FUZZ_ARGS(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, args);
      args.transfer_manager = manager;
      args.buffer_index = index;
      if (FUZZ_CALL(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, args, in_) == Outcome::kOk)
        Keep(args.buffer_out);
      return;
    }
    case 2: {
      FUZZ_ARGS(PJRT_AsyncHostToDeviceTransferManager_BufferSize, args);
      args.transfer_manager = manager;
      args.buffer_index = index;
      FUZZ_CALL(PJRT_AsyncHostToDeviceTransferManager_BufferSize, args, in_);
      return;
    }
    case 3: {
      FUZZ_ARGS(PJRT_AsyncHostToDeviceTransferManager_BufferCount, args);
      args.transfer_manager = manager;
      FUZZ_CALL(PJRT_AsyncHostToDeviceTransferManager_BufferCount, args, in_);
      return;
    }
    case 4: {
      FUZZ_ARGS(PJRT_AsyncHostToDeviceTransferManager_Device, args);
      args.transfer_manager = manager;
      FUZZ_CALL(PJRT_AsyncHostToDeviceTransferManager_Device, args, in_);
      return;
    }
    case 5: {
      FUZZ_ARGS(PJRT_AsyncHostToDeviceTransferManager_AddMetadata, args);
      args.transfer_manager = manager;
      args.num_metadata = in_.Below(2);
      FUZZ_CALL(PJRT_AsyncHostToDeviceTransferManager_AddMetadata, args, in_);
      return;
    }
  }
}

void Machine::EndTransfer() {
  if (transfers_.empty()) return;
  PJRT_AsyncHostToDeviceTransferManager* manager = TakeOne(transfers_);
  FUZZ_ARGS(PJRT_AsyncHostToDeviceTransferManager_Destroy, args);
  args.transfer_manager = manager;
  if (FUZZ_CALL(PJRT_AsyncHostToDeviceTransferManager_Destroy, args, in_) == Outcome::kTooSmall)
    transfers_.push_back(manager);
}

void Machine::DmaMap() {
  if (in_.OneIn(2) && mapped_.size() < kMaxPool) {
    FUZZ_ARGS(PJRT_Client_DmaMap, args);
    args.client = AnyClient();
    args.size = 64;
    mapped_.push_back(std::malloc(args.size));
    args.data = mapped_.back();
    FUZZ_CALL(PJRT_Client_DmaMap, args, in_);
  } else {
    FUZZ_ARGS(PJRT_Client_DmaUnmap, args);
    args.client = AnyClient();
    args.data = mapped_.empty() ? nullptr : mapped_[in_.Below(mapped_.size())];
    FUZZ_CALL(PJRT_Client_DmaUnmap, args, in_);
  }
}

void Machine::UserData() {
  PJRT_Memory* memory = AnyMemory();
  if (memory == nullptr || memory->vtable == nullptr) return;
  static const char keys[3] = {};
  const char* key = &keys[in_.Below(3)];
  if (in_.OneIn(2)) {
    memory->vtable->set_user_data(memory, key, std::malloc(1), std::free);
  } else if (auto* data = static_cast<char*>(memory->vtable->get_user_data(memory, key))) {
    *data = 1;
  }
}

void Machine::CreateContext() {
  if (contexts_.size() >= kMaxPool) return;
  FUZZ_ARGS(PJRT_ExecuteContext_Create, args);
  if (FUZZ_CALL(PJRT_ExecuteContext_Create, args, in_) == Outcome::kOk) contexts_.push_back(args.context);
}

void Machine::DestroyContext() {
  if (contexts_.empty()) return;
  PJRT_ExecuteContext* context = TakeOne(contexts_);
  FUZZ_ARGS(PJRT_ExecuteContext_Destroy, args);
  args.context = context;
  if (FUZZ_CALL(PJRT_ExecuteContext_Destroy, args, in_) == Outcome::kTooSmall) contexts_.push_back(context);
}

}  // namespace tenon::fuzz
