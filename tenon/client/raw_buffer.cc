#include "tenon/client/raw_buffer.h"

#include "tenon/abi/pjrt_raw_buffer.h"
#include "tenon/client/internal/client_state.h"
#include "tenon/client/internal/extension.h"

#define TENON_CALL_RAW_BUFFER(Function, args) \
  TENON_CALL_EXTENSION(*client_->api, PJRT_Extension_Type_RawBuffer, PJRT_RawBuffer_Extension, Function, (args))

namespace tenon::client {

RawBuffer::RawBuffer(std::shared_ptr<internal::ClientState> client, PJRT_RawBuffer* raw)
    : client_(std::move(client)), raw_(raw) {
  client_->CountHere(client_->others, internal::Kind::kOther, 1);
}

RawBuffer& RawBuffer::operator=(RawBuffer&& other) noexcept {
  if (this != &other) {
    Reset();
    client_ = std::move(other.client_);
    raw_ = std::exchange(other.raw_, nullptr);
  }
  return *this;
}

void RawBuffer::Reset() {
  if (raw_ == nullptr) return;
  PJRT_RawBuffer_Destroy_Args args{};
  args.struct_size = PJRT_RawBuffer_Destroy_Args_STRUCT_SIZE;
  args.buffer = std::exchange(raw_, nullptr);
  (void)TENON_CALL_RAW_BUFFER(PJRT_RawBuffer_Destroy, args);
  client_->CountHere(client_->others, internal::Kind::kOther, -1);
  client_.reset();
}

Status RawBuffer::Check(const char* what) const {
  if (raw_ != nullptr) return OkStatus();
  return FailedPrecondition("RawBuffer::" + std::string(what) + ": this RawBuffer was moved from");
}

Result<RawBuffer> RawBuffer::AliasOf(const Buffer& buffer) {
  if (buffer.empty()) return FailedPrecondition("RawBuffer::AliasOf: the Buffer is empty");
  const std::shared_ptr<internal::ClientState>& client_ = buffer.client_state();
  PJRT_RawBuffer_CreateRawAliasOfBuffer_Args args{};
  args.struct_size = PJRT_RawBuffer_CreateRawAliasOfBuffer_Args_STRUCT_SIZE;
  args.buffer = buffer.get();
  TENON_RETURN_IF_ERROR(TENON_CALL_RAW_BUFFER(PJRT_RawBuffer_CreateRawAliasOfBuffer, args));
  return RawBuffer(client_, args.raw_buffer);
}

Result<size_t> RawBuffer::OnDeviceSizeInBytes() const {
  TENON_RETURN_IF_ERROR(Check("OnDeviceSizeInBytes"));
  PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args args{};
  args.struct_size = PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args_STRUCT_SIZE;
  args.buffer = raw_;
  TENON_RETURN_IF_ERROR(TENON_CALL_RAW_BUFFER(PJRT_RawBuffer_GetOnDeviceSizeInBytes, args));
  return args.on_device_size_in_bytes;
}

Result<Memory> RawBuffer::GetMemory() const {
  TENON_RETURN_IF_ERROR(Check("GetMemory"));
  PJRT_RawBuffer_GetMemorySpace_Args args{};
  args.struct_size = PJRT_RawBuffer_GetMemorySpace_Args_STRUCT_SIZE;
  args.buffer = raw_;
  TENON_RETURN_IF_ERROR(TENON_CALL_RAW_BUFFER(PJRT_RawBuffer_GetMemorySpace, args));
  return Memory(client_, args.memory_space);
}

Result<void*> RawBuffer::HostPointer() const {
  TENON_RETURN_IF_ERROR(Check("HostPointer"));
  PJRT_RawBuffer_GetHostPointer_Args args{};
  args.struct_size = PJRT_RawBuffer_GetHostPointer_Args_STRUCT_SIZE;
  args.buffer = raw_;
  TENON_RETURN_IF_ERROR(TENON_CALL_RAW_BUFFER(PJRT_RawBuffer_GetHostPointer, args));
  return args.host_pointer;
}

Result<Event> RawBuffer::CopyToHost(void* dst, size_t offset, size_t size) const {
  TENON_RETURN_IF_ERROR(Check("CopyToHost"));
  PJRT_RawBuffer_CopyRawDeviceToHost_Args args{};
  args.struct_size = PJRT_RawBuffer_CopyRawDeviceToHost_Args_STRUCT_SIZE;
  args.buffer = raw_;
  args.dst = dst;
  args.offset = static_cast<int64_t>(offset);
  args.transfer_size = static_cast<int64_t>(size);
  TENON_RETURN_IF_ERROR(TENON_CALL_RAW_BUFFER(PJRT_RawBuffer_CopyRawDeviceToHost, args));
  return Event(client_->api, args.event);
}

Result<Future<std::vector<std::byte>>> RawBuffer::ReadAsync(size_t offset, size_t size) const {
  // Before memory is taken: a size that nobody has must be an error.
  TENON_ASSIGN_OR_RETURN(const size_t total, OnDeviceSizeInBytes());
  if (offset > total || size > total - offset) {
    return OutOfRange("RawBuffer::ReadAsync: " + std::to_string(size) + " bytes from " + std::to_string(offset) +
                      " on, of " + std::to_string(total));
  }
  auto bytes = std::make_shared<std::vector<std::byte>>(size);
  TENON_ASSIGN_OR_RETURN(Event done, CopyToHost(bytes->data(), offset, size));
  return Future<std::vector<std::byte>>(std::move(done), std::move(bytes));
}

Result<Event> RawBuffer::CopyFromHost(std::span<const std::byte> src, size_t offset) {
  TENON_RETURN_IF_ERROR(Check("CopyFromHost"));
  PJRT_RawBuffer_CopyRawHostToDevice_Args args{};
  args.struct_size = PJRT_RawBuffer_CopyRawHostToDevice_Args_STRUCT_SIZE;
  args.buffer = raw_;
  args.src = src.data();
  args.offset = static_cast<int64_t>(offset);
  args.transfer_size = static_cast<int64_t>(src.size());
  TENON_RETURN_IF_ERROR(TENON_CALL_RAW_BUFFER(PJRT_RawBuffer_CopyRawHostToDevice, args));
  return Event(client_->api, args.event);
}

}  // namespace tenon::client
