// The part of Client that makes buffers.
#include <fmt/format.h>

#include "tenon/base/contain.h"
#include "tenon/client/client.h"
#include "tenon/client/internal/client_state.h"

namespace tenon::client {
namespace {

Status CheckPlace(const std::shared_ptr<internal::ClientState>& client, const Placement& where) {
  TENON_RETURN_IF_ERROR(internal::CheckOpen(client));
  return internal::CheckSameClient(client.get(), where.client_state().get(), "the device or memory to put the buffer");
}

PJRT_Buffer_Type ToC(DType type) { return static_cast<PJRT_Buffer_Type>(type); }

Result<Transfer> FromHost(const std::shared_ptr<internal::ClientState>& client, const HostArray& array,
                          const Placement& where, PJRT_HostBufferSemantics semantics, const Layout* device_layout) {
  TENON_RETURN_IF_ERROR(CheckPlace(client, where));
  TENON_RETURN_IF_ERROR(internal::CheckShape(*client->api, array.dtype, array.dims.data(), array.dims.size()));
  if (!array.byte_strides.empty() && array.byte_strides.size() != array.dims.size()) {
    return InvalidArgument(
        fmt::format("a host array of rank {} with {} strides", array.dims.size(), array.byte_strides.size()));
  }
  TENON_ASSIGN_OR_RETURN(const int64_t count, CheckedNumElements(array.dims));
  if (array.data == nullptr && count > 0)
    return InvalidArgument(fmt::format("a host array of {} elements without data", count));
  auto args = MakeArgs<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client->client;
  args.data = array.data;
  args.type = ToC(array.dtype);
  args.dims = array.dims.data();
  args.num_dims = array.dims.size();
  args.byte_strides = array.byte_strides.empty() ? nullptr : array.byte_strides.data();
  args.num_byte_strides = array.byte_strides.size();
  args.host_buffer_semantics = semantics;
  args.device = where.device();
  args.memory = where.memory();
  std::optional<CLayout> layout;
  if (device_layout != nullptr) args.device_layout = layout.emplace(*device_layout).get();
  TENON_RETURN_IF_ERROR(client->api->Call(args));
  return Transfer{Buffer(client, args.buffer), Event(client->api, args.done_with_host_buffer)};
}

}  // namespace

Status HostArray::CheckCount(size_t count, std::span<const int64_t> dims) {
  TENON_ASSIGN_OR_RETURN(const int64_t wanted, CheckedNumElements(dims));
  if (static_cast<size_t>(wanted) == count) return OkStatus();
  return InvalidArgument(
      fmt::format("{} host elements for the shape {}, which has {}", count, DimsToString(dims), wanted));
}

Result<Buffer> Client::ToDevice(const HostArray& array, const Placement& where, const Layout* device_layout) const {
  TENON_ASSIGN_OR_RETURN(Transfer transfer, FromHost(state_, array, where,
                                                     PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, device_layout));
  return std::move(transfer.buffer);
}

Result<Transfer> Client::ToDeviceAsync(const HostArray& array, const Placement& where,
                                       const Layout* device_layout) const {
  return FromHost(state_, array, where, PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes, device_layout);
}

Result<Buffer> Client::ViewOfHost(const HostArray& array, std::shared_ptr<const void> keep_alive,
                                  const Placement& where, View view) const {
  TENON_ASSIGN_OR_RETURN(Transfer transfer,
                         FromHost(state_, array, where,
                                  view == View::kMutable ? PJRT_HostBufferSemantics_kMutableZeroCopy
                                                         : PJRT_HostBufferSemantics_kImmutableZeroCopy,
                                  nullptr));
  // The event fires when the plugin needs the memory no longer, perhaps only when the buffer is destroyed.
  if (Status heard = transfer.done.OnReady([keep_alive](const Status&) {}); !heard.ok()) {
    transfer.buffer = Buffer();
    (void)transfer.done.Await();
    return heard;
  }
  return std::move(transfer.buffer);
}

Result<Buffer> Client::ViewOfDeviceMemory(void* pointer, const Shape& shape, const Placement& where,
                                          std::function<void()> on_delete, const Layout* layout) const {
  TENON_RETURN_IF_ERROR(CheckPlace(state_, where));
  TENON_RETURN_IF_ERROR(internal::CheckShape(*state_->api, shape.dtype, shape.dims.data(), shape.dims.size()));
  auto callback = std::make_unique<std::function<void()>>(std::move(on_delete));
  auto args = MakeArgs<PJRT_Client_CreateViewOfDeviceBuffer_Args>();
  args.client = state_->client;
  args.device_buffer_ptr = pointer;
  args.dims = shape.dims.data();
  args.num_dims = shape.dims.size();
  args.element_type = ToC(shape.dtype);
  std::optional<CLayout> c_layout;
  // Not every plugin takes a null layout here.
  args.layout = c_layout.emplace(layout != nullptr ? *layout : Layout(TiledLayout::RowMajor(shape.rank()))).get();
  args.device = where.device();
  args.memory = where.memory();
  // Always there: XLA's plugin calls it without looking.
  args.on_delete_callback = [](void*, void* user_arg) {
    const std::unique_ptr<std::function<void()>> call(static_cast<std::function<void()>*>(user_arg));
    if (*call) (void)Contain("the release of a view", *call);  // Nothing may be thrown through the plugin's code.
  };
  args.on_delete_callback_arg = callback.get();
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  (void)callback.release();
  return Buffer(state_, args.buffer);
}

Result<Buffer> Client::UninitializedBuffer(const Shape& shape, const Placement& where, const Layout* layout) const {
  TENON_RETURN_IF_ERROR(CheckPlace(state_, where));
  TENON_RETURN_IF_ERROR(internal::CheckShape(*state_->api, shape.dtype, shape.dims.data(), shape.dims.size()));
  auto args = MakeArgs<PJRT_Client_CreateUninitializedBuffer_Args>();
  args.client = state_->client;
  args.shape_dims = shape.dims.data();
  args.shape_num_dims = shape.dims.size();
  args.shape_element_type = ToC(shape.dtype);
  std::optional<CLayout> c_layout;
  if (layout != nullptr) args.shape_layout = c_layout.emplace(*layout).get();
  args.device = where.device();
  args.memory = where.memory();
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  return Buffer(state_, args.buffer);
}

Result<Buffer> Client::ErrorBuffer(const Status& error, const Shape& shape, const Memory& where) const {
  TENON_RETURN_IF_ERROR(CheckPlace(state_, where));
  TENON_RETURN_IF_ERROR(internal::CheckShape(*state_->api, shape.dtype, shape.dims.data(), shape.dims.size()));
  if (error.ok()) return InvalidArgument("Client::ErrorBuffer needs an error, not OK");
  auto args = MakeArgs<PJRT_Client_CreateErrorBuffer_Args>();
  args.client = state_->client;
  args.error_code = static_cast<PJRT_Error_Code>(error.code());
  args.error_message = error.message().data();
  args.error_message_size = error.message().size();
  args.shape_dims = shape.dims.data();
  args.shape_num_dims = shape.dims.size();
  args.shape_element_type = ToC(shape.dtype);
  args.memory = where.get();
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  return Buffer(state_, args.buffer);
}

Result<BufferPromise> Client::PromiseBuffer(const Shape& shape, const Memory& where, const Layout* layout) const {
  TENON_RETURN_IF_ERROR(CheckPlace(state_, where));
  TENON_RETURN_IF_ERROR(internal::CheckShape(*state_->api, shape.dtype, shape.dims.data(), shape.dims.size()));
  auto args = MakeArgs<PJRT_Client_CreateAliasBuffer_Args>();
  args.client = state_->client;
  args.memory = where.get();
  args.shape_dims = shape.dims.data();
  args.shape_num_dims = shape.dims.size();
  args.shape_element_type = ToC(shape.dtype);
  std::optional<CLayout> c_layout;
  if (layout != nullptr) args.shape_layout = c_layout.emplace(*layout).get();
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  return BufferPromise(state_, Buffer(state_, args.alias_buffer), args.fulfill_alias_buffer_cb);
}

Result<TransferManager> Client::CreateTransferManager(std::span<const Shape> shapes, const Memory& where,
                                                      std::span<const Layout* const> layouts) const {
  TENON_RETURN_IF_ERROR(CheckPlace(state_, where));
  if (!layouts.empty() && layouts.size() != shapes.size()) {
    return InvalidArgument(
        fmt::format("{} layouts for {} buffers; wanted none or one each", layouts.size(), shapes.size()));
  }
  std::vector<PJRT_ShapeSpec> specs;
  for (const Shape& shape : shapes) {
    TENON_RETURN_IF_ERROR(internal::CheckShape(*state_->api, shape.dtype, shape.dims.data(), shape.dims.size()));
    PJRT_ShapeSpec spec{};
    spec.struct_size = PJRT_ShapeSpec_STRUCT_SIZE;
    spec.dims = shape.dims.data();
    spec.num_dims = shape.dims.size();
    spec.element_type = ToC(shape.dtype);
    specs.push_back(spec);
  }
  std::vector<std::unique_ptr<CLayout>> c_layouts;
  std::vector<PJRT_Buffer_MemoryLayout*> layout_pointers;
  for (const Layout* layout : layouts) {
    c_layouts.push_back(layout == nullptr ? nullptr : std::make_unique<CLayout>(*layout));
    layout_pointers.push_back(layout == nullptr ? nullptr : c_layouts.back()->get());
  }
  auto args = MakeArgs<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
  args.client = state_->client;
  args.shape_specs = specs.data();
  args.num_shape_specs = specs.size();
  args.device_layouts = layout_pointers.empty() ? nullptr : layout_pointers.data();
  args.num_device_layouts = layout_pointers.size();
  args.memory = where.get();
  TENON_RETURN_IF_ERROR(state_->api->Call(args));
  return TransferManager(state_, args.transfer_manager, specs.size());
}

}  // namespace tenon::client
