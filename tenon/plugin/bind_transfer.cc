#include <fmt/format.h>

#include "tenon/plugin/bind.h"
#include "tenon/plugin/transfer_manager.h"

namespace tenon::plugin::bind {

namespace {

TransferManager* FromC(PJRT_AsyncHostToDeviceTransferManager* m) { return reinterpret_cast<TransferManager*>(m); }

}  // namespace

TENON_BIND(PJRT_Client_CreateBuffersForAsyncHostToDevice) {
  TENON_REQUIRE(client);
  TENON_REQUIRE_ARRAY(shape_specs, num_shape_specs);
  TENON_REQUIRE_ARRAY(device_layouts, num_device_layouts);
  if (args.num_device_layouts != 0 && args.num_device_layouts != args.num_shape_specs) {
    return InvalidArgument(
        fmt::format("{}: got {} layouts for {} shapes", fn, args.num_device_layouts, args.num_shape_specs));
  }
  std::vector<ArraySpec> specs;
  for (size_t i = 0; i < args.num_shape_specs; ++i) {
    const PJRT_ShapeSpec& s = args.shape_specs[i];
    TENON_ASSIGN_OR_RETURN(Shape shape, MakeShape(CallerValue(s.element_type), s.dims, s.num_dims));
    TENON_ASSIGN_OR_RETURN(Dims order,
                           DecodeLayout(args.num_device_layouts == 0 ? nullptr : args.device_layouts[i], shape));
    specs.push_back(ArraySpec{.shape = std::move(shape), .minor_to_major = std::move(order)});
  }
  TENON_ASSIGN_OR_RETURN(Placement to, ResolvePlacement(fn, *bind::FromC(args.client), nullptr, args.memory));
  TENON_ASSIGN_OR_RETURN(Ref<TransferManager> manager, TransferManager::Make(to.device, to.memory, std::move(specs)));
  args.transfer_manager = reinterpret_cast<PJRT_AsyncHostToDeviceTransferManager*>(manager.release());
  return OkStatus();
}

TENON_BIND(PJRT_AsyncHostToDeviceTransferManager_Destroy) {
  if (args.transfer_manager != nullptr) FromC(args.transfer_manager)->Release();
  return OkStatus();
}

TENON_BIND(PJRT_AsyncHostToDeviceTransferManager_TransferData) {
  TENON_REQUIRE(transfer_manager);
  if (args.transfer_size > 0) TENON_REQUIRE(data);
  TENON_ASSIGN_OR_RETURN(EventRef done, FromC(args.transfer_manager)
                                            ->Transfer(args.buffer_index, args.data, args.offset, args.transfer_size,
                                                       CallerValue(args.is_last_transfer)));
  args.done_with_h2d_transfer = ToC(std::move(done));
  return OkStatus();
}

TENON_BIND(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral) {
  TENON_REQUIRE(transfer_manager);
  TENON_ASSIGN_OR_RETURN(Shape shape,
                         MakeShape(CallerValue(args.shape_element_type), args.shape_dims, args.shape_num_dims));
  TENON_ASSIGN_OR_RETURN(Dims order, DecodeLayout(args.shape_layout, shape));
  if (SizeBytes(shape) != 0) TENON_REQUIRE(data);
  Dims strides = DenseByteStrides(ArraySpec{.shape = shape, .minor_to_major = std::move(order)});
  HostArray array{.data = args.data, .shape = std::move(shape), .byte_strides = {strides.data(), strides.size()}};
  TENON_ASSIGN_OR_RETURN(EventRef done, FromC(args.transfer_manager)->TransferArray(args.buffer_index, array));
  args.done_with_h2d_transfer = ToC(std::move(done));
  return OkStatus();
}

TENON_BIND(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer) {
  TENON_REQUIRE(transfer_manager);
  TENON_ASSIGN_OR_RETURN(Ref<Buffer> buffer, FromC(args.transfer_manager)->Retrieve(args.buffer_index));
  args.buffer_out = ToC(std::move(buffer));
  return OkStatus();
}

TENON_BIND(PJRT_AsyncHostToDeviceTransferManager_Device) {
  TENON_REQUIRE(transfer_manager);
  args.device_out = ToC(FromC(args.transfer_manager)->device());
  return OkStatus();
}

TENON_BIND(PJRT_AsyncHostToDeviceTransferManager_BufferCount) {
  TENON_REQUIRE(transfer_manager);
  args.buffer_count = FromC(args.transfer_manager)->size();
  return OkStatus();
}

TENON_BIND(PJRT_AsyncHostToDeviceTransferManager_BufferSize) {
  TENON_REQUIRE(transfer_manager);
  TENON_ASSIGN_OR_RETURN(args.buffer_size, FromC(args.transfer_manager)->SizeBytes(args.buffer_index));
  return OkStatus();
}

TENON_BIND(PJRT_AsyncHostToDeviceTransferManager_SetBufferError) {
  TENON_REQUIRE(transfer_manager);
  Status error;
  TENON_RETURN_IF_ERROR(TakeFailure(fn, args, error));
  return FromC(args.transfer_manager)->SetError(args.buffer_index, std::move(error));
}

// Strings for debuggers; nothing here shows them.
TENON_BIND(PJRT_AsyncHostToDeviceTransferManager_AddMetadata) {
  TENON_REQUIRE(transfer_manager);
  return DecodeNamedValues(args.transfer_metadata, args.num_metadata).status();
}

}  // namespace tenon::plugin::bind
