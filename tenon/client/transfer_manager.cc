#include "tenon/client/transfer_manager.h"

#include <fmt/format.h>

#include <optional>

#include "tenon/client/internal/client_state.h"

namespace tenon::client {
namespace {
template <class Args>
Args ArgsFor(PJRT_AsyncHostToDeviceTransferManager* manager) {
  auto args = MakeArgs<Args>();
  args.transfer_manager = manager;
  return args;
}
}  // namespace

TransferManager::TransferManager(std::shared_ptr<internal::ClientState> client,
                                 PJRT_AsyncHostToDeviceTransferManager* manager, size_t count)
    : client_(std::move(client)), manager_(manager), count_(count) {
  client_->CountHere(client_->others, internal::Kind::kOther, 1);
}

TransferManager::~TransferManager() {
  if (manager_ == nullptr) return;
  auto args = ArgsFor<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>(manager_);
  (void)client_->api->Call(args);
  client_->CountHere(client_->others, internal::Kind::kOther, -1);
}

Status TransferManager::Check(size_t index) const {
  if (manager_ == nullptr) return FailedPrecondition("this TransferManager was moved from");
  if (index < count_) return OkStatus();
  return OutOfRange(fmt::format("buffer {} of a transfer manager with {}", index, count_));
}

Result<size_t> TransferManager::BufferCount() const {
  if (manager_ == nullptr) return FailedPrecondition("this TransferManager was moved from");
  auto args = ArgsFor<PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args>(manager_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return args.buffer_count;
}

Result<size_t> TransferManager::BufferSize(size_t index) const {
  TENON_RETURN_IF_ERROR(Check(index));
  auto args = ArgsFor<PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args>(manager_);
  args.buffer_index = static_cast<int>(index);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return args.buffer_size;
}

Result<Device> TransferManager::GetDevice() const {
  if (manager_ == nullptr) return FailedPrecondition("this TransferManager was moved from");
  auto args = ArgsFor<PJRT_AsyncHostToDeviceTransferManager_Device_Args>(manager_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return Device(client_, args.device_out);
}

Result<Buffer> TransferManager::RetrieveBuffer(size_t index) {
  TENON_RETURN_IF_ERROR(Check(index));
  auto args = ArgsFor<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>(manager_);
  args.buffer_index = static_cast<int>(index);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return Buffer(client_, args.buffer_out);
}

Result<Event> TransferManager::TransferData(size_t index, std::span<const std::byte> data, size_t offset,
                                            bool is_last) {
  TENON_RETURN_IF_ERROR(Check(index));
  auto args = ArgsFor<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>(manager_);
  args.buffer_index = static_cast<int>(index);
  args.data = data.data();
  args.offset = static_cast<int64_t>(offset);
  args.transfer_size = static_cast<int64_t>(data.size());
  args.is_last_transfer = is_last;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return Event(client_->api, args.done_with_h2d_transfer);
}

Result<Event> TransferManager::TransferLiteral(size_t index, const HostArray& array, const Layout* layout) {
  TENON_RETURN_IF_ERROR(Check(index));
  TENON_RETURN_IF_ERROR(internal::CheckShape(*client_->api, array.dtype, array.dims.data(), array.dims.size()));
  auto args = ArgsFor<PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args>(manager_);
  args.buffer_index = static_cast<int>(index);
  args.data = array.data;
  args.shape_dims = array.dims.data();
  args.shape_num_dims = array.dims.size();
  args.shape_element_type = static_cast<PJRT_Buffer_Type>(array.dtype);
  CLayout c_layout(layout != nullptr ? *layout : Layout(TiledLayout::RowMajor(array.dims.size())));
  args.shape_layout = c_layout.get();
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return Event(client_->api, args.done_with_h2d_transfer);
}

Status TransferManager::SetBufferError(size_t index, const Status& error) {
  TENON_RETURN_IF_ERROR(Check(index));
  if (error.ok()) return InvalidArgument("TransferManager::SetBufferError needs an error, not OK");
  auto args = ArgsFor<PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args>(manager_);
  args.buffer_index = static_cast<int>(index);
  args.error_code = static_cast<PJRT_Error_Code>(error.code());
  args.error_message = error.message().data();
  args.error_message_size = error.message().size();
  return client_->api->Call(args);
}

Status TransferManager::AddMetadata(std::span<const NamedValue> texts) {
  if (manager_ == nullptr) return FailedPrecondition("this TransferManager was moved from");
  for (const NamedValue& text : texts) {
    if (!std::holds_alternative<std::string>(text.value)) {
      return InvalidArgument(fmt::format("the metadata '{}' is no text; plugins take only texts here", text.name));
    }
  }
  const std::vector<PJRT_NamedValue> named = ToC(texts);
  auto args = ArgsFor<PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args>(manager_);
  args.transfer_metadata = named.data();
  args.num_metadata = named.size();
  return client_->api->Call(args);
}

}  // namespace tenon::client
