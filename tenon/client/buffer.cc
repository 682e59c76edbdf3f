#include "tenon/client/buffer.h"

#include <fmt/format.h>

#include <mutex>

#include "tenon/abi/pjrt_stream.h"
#include "tenon/client/client.h"
#include "tenon/client/internal/client_state.h"
#include "tenon/client/internal/extension.h"
#include "tenon/client/internal/raw_enum.h"
#include "tenon/client/layouts.h"

namespace tenon::client {
namespace internal {

namespace {
void Destroy(ClientState& client, PJRT_Buffer* buffer) {
  auto args = MakeArgs<PJRT_Buffer_Destroy_Args>();
  args.buffer = buffer;
  (void)client.api->Call(args);
  client.CountHere(client.buffers, Kind::kBuffer, -1);
}
}  // namespace

// The handle of a buffer to which external references exist. It must not be destroyed before the last of them ends,
// since ending one takes the handle.
struct SharedBufferHandle {
  SharedBufferHandle(std::shared_ptr<ClientState> c, PJRT_Buffer* b) : client(std::move(c)), buffer(b) {}
  ~SharedBufferHandle() { Destroy(*client, buffer); }
  std::shared_ptr<ClientState> client;
  PJRT_Buffer* buffer;
};

}  // namespace internal

namespace {

// `Args` with its field `buffer` set.
template <class Args>
Args ArgsFor(PJRT_Buffer* buffer) {
  auto args = MakeArgs<Args>();
  args.buffer = buffer;
  return args;
}

std::vector<int64_t> ToVector(const int64_t* data, size_t size) {
  return size == 0 ? std::vector<int64_t>() : std::vector<int64_t>(data, data + size);
}

}  // namespace

Buffer::Buffer(std::shared_ptr<internal::ClientState> client, PJRT_Buffer* buffer)
    : client_(std::move(client)), buffer_(buffer) {
  if (buffer_ != nullptr) client_->CountHere(client_->buffers, internal::Kind::kBuffer, 1);
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    if (buffer_ != nullptr) Reset();
    client_ = std::move(other.client_);
    buffer_ = std::exchange(other.buffer_, nullptr);
    pin_ = std::move(other.pin_);
  }
  return *this;
}

void Buffer::Reset() {
  PJRT_Buffer* const buffer = std::exchange(buffer_, nullptr);
  if (pin_ != nullptr) {
    // Deleting now keeps the promise that a destroyed Buffer is gone for everybody but the external references.
    auto args = ArgsFor<PJRT_Buffer_Delete_Args>(buffer);
    (void)client_->api->Call(args);
    pin_.reset();
  } else {
    internal::Destroy(*client_, buffer);
  }
  client_.reset();
}

PJRT_Buffer* Buffer::release() {
  if (buffer_ == nullptr || pin_ != nullptr) return nullptr;
  client_->CountHere(client_->buffers, internal::Kind::kBuffer, -1);
  return std::exchange(buffer_, nullptr);
}

Status Buffer::Check(const char* what) const {
  if (buffer_ != nullptr) [[likely]]
    return OkStatus();
  return FailedPrecondition(
      fmt::format("Buffer::{}: this Buffer is empty: it was moved from, or never held anything", what));
}

Result<DType> Buffer::dtype() const {
  TENON_RETURN_IF_ERROR(Check("dtype"));
  auto args = ArgsFor<PJRT_Buffer_ElementType_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return static_cast<DType>(internal::RawEnum(args.type));
}

Result<std::vector<int64_t>> Buffer::dims() const {
  TENON_RETURN_IF_ERROR(Check("dims"));
  auto args = ArgsFor<PJRT_Buffer_Dimensions_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return ToVector(args.dims, args.num_dims);
}

Result<Shape> Buffer::shape() const {
  Shape shape;
  TENON_ASSIGN_OR_RETURN(shape.dtype, dtype());
  auto args = ArgsFor<PJRT_Buffer_Dimensions_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  shape.dims = Dims(args.dims, args.dims + args.num_dims);
  return shape;
}

Result<std::vector<int64_t>> Buffer::UnpaddedDims() const {
  TENON_RETURN_IF_ERROR(Check("UnpaddedDims"));
  auto args = ArgsFor<PJRT_Buffer_UnpaddedDimensions_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return ToVector(args.unpadded_dims, args.num_dims);
}

Result<std::vector<size_t>> Buffer::DynamicDimensions() const {
  TENON_RETURN_IF_ERROR(Check("DynamicDimensions"));
  auto args = ArgsFor<PJRT_Buffer_DynamicDimensionIndices_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  if (args.num_dynamic_dims == 0) return std::vector<size_t>();
  return std::vector<size_t>(args.dynamic_dim_indices, args.dynamic_dim_indices + args.num_dynamic_dims);
}

Result<Layout> Buffer::MemoryLayout() const {
  TENON_RETURN_IF_ERROR(Check("MemoryLayout"));
  auto args = ArgsFor<PJRT_Buffer_GetMemoryLayout_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return LayoutFromC(args.layout);
}

Result<Layout> Buffer::GetLayout() const {
  TENON_RETURN_IF_ERROR(Check("GetLayout"));
  const Result<std::string> text = BufferLayout(*this);
  if (!text.ok()) {
    if (text.status().code() != Code::kUnimplemented) return text.status();
    return MemoryLayout();
  }
  TENON_ASSIGN_OR_RETURN(TiledLayout layout, TiledLayout::Parse(*text));
  return Layout(std::move(layout));
}

Result<size_t> Buffer::OnDeviceSizeInBytes() const {
  TENON_RETURN_IF_ERROR(Check("OnDeviceSizeInBytes"));
  auto args = ArgsFor<PJRT_Buffer_OnDeviceSizeInBytes_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return args.on_device_size_in_bytes;
}

Result<Device> Buffer::GetDevice() const {
  TENON_RETURN_IF_ERROR(Check("GetDevice"));
  auto args = ArgsFor<PJRT_Buffer_Device_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return Device(client_, args.device);
}

Result<Memory> Buffer::GetMemory() const {
  TENON_RETURN_IF_ERROR(Check("GetMemory"));
  auto args = ArgsFor<PJRT_Buffer_Memory_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return Memory(client_, args.memory);
}

Result<bool> Buffer::IsOnCpu() const {
  TENON_RETURN_IF_ERROR(Check("IsOnCpu"));
  auto args = ArgsFor<PJRT_Buffer_IsOnCpu_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return args.is_on_cpu;
}

Result<Event> Buffer::ReadyEvent() const {
  TENON_RETURN_IF_ERROR(Check("ReadyEvent"));
  auto args = ArgsFor<PJRT_Buffer_ReadyEvent_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return Event(client_->api, args.event);
}

Status Buffer::Await() const {
  TENON_ASSIGN_OR_RETURN(const Event ready, ReadyEvent());
  return ready.Await();
}

Status Buffer::Delete() {
  TENON_RETURN_IF_ERROR(Check("Delete"));
  auto args = ArgsFor<PJRT_Buffer_Delete_Args>(buffer_);
  return client_->api->Call(args);
}

Result<bool> Buffer::IsDeleted() const {
  TENON_RETURN_IF_ERROR(Check("IsDeleted"));
  auto args = ArgsFor<PJRT_Buffer_IsDeleted_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return args.is_deleted;
}

Result<size_t> Buffer::CheckElements(DType wanted) const {
  TENON_ASSIGN_OR_RETURN(const Shape is, shape());
  if (is.dtype != wanted) {
    return InvalidArgument(
        fmt::format("the buffer is {}; its elements were asked for as {}", tenon::ToString(is), DTypeName(wanted)));
  }
  TENON_ASSIGN_OR_RETURN(const int64_t count, CheckedNumElements(is.dims));
  return static_cast<size_t>(count);
}

Status Buffer::WrongCount(size_t has, size_t wanted) {
  return InvalidArgument(fmt::format("the buffer has {} elements; the destination has room for {}", has, wanted));
}

Result<Event> Buffer::CopyToHostAsync(void* dst, size_t size, const Layout* layout) const {
  TENON_RETURN_IF_ERROR(Check("CopyToHostAsync"));
  size_t rank = 0;
  if (layout == nullptr) {
    auto dims = ArgsFor<PJRT_Buffer_Dimensions_Args>(buffer_);
    TENON_RETURN_IF_ERROR(client_->api->Call(dims));
    rank = dims.num_dims;
  }
  // Without a layout plugins use the order of the device.
  CLayout c_layout(layout != nullptr ? *layout : Layout(TiledLayout::RowMajor(rank)));
  char nothing;
  auto args = MakeArgs<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer_;
  args.host_layout = c_layout.get();
  args.dst = dst != nullptr ? dst : &nothing;  // null would only ask for the size
  args.dst_size = size;
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return Event(client_->api, args.event);
}

Status Buffer::CopyToHost(void* dst, size_t size, const Layout* layout) const {
  TENON_ASSIGN_OR_RETURN(const Event done, CopyToHostAsync(dst, size, layout));
  return done.Await();
}

Result<size_t> Buffer::HostSizeInBytes(const Layout* layout) const {
  TENON_RETURN_IF_ERROR(Check("HostSizeInBytes"));
  auto args = MakeArgs<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer_;
  std::optional<CLayout> c_layout;
  if (layout != nullptr) args.host_layout = c_layout.emplace(*layout).get();
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  const Event unused(client_->api, args.event);
  return args.dst_size;
}

Result<Event> Buffer::CopyRawToHost(void* dst, size_t offset, size_t size) const {
  TENON_RETURN_IF_ERROR(Check("CopyRawToHost"));
  auto args = ArgsFor<PJRT_Buffer_CopyRawToHost_Args>(buffer_);
  args.dst = dst;
  args.offset = static_cast<int64_t>(offset);
  args.transfer_size = static_cast<int64_t>(size);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return Event(client_->api, args.event);
}

Result<Buffer::RawCopy> Buffer::CopyRawToHostLater(size_t offset, size_t size) const {
  TENON_RETURN_IF_ERROR(Check("CopyRawToHostLater"));
  auto args = ArgsFor<PJRT_Buffer_CopyRawToHostFuture_Args>(buffer_);
  args.offset = static_cast<int64_t>(offset);
  args.transfer_size = static_cast<int64_t>(size);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return RawCopy(Event(client_->api, args.event), args.callback_data, args.future_ready_callback);
}

Result<Buffer> Buffer::CopyTo(const Placement& where) const {
  TENON_RETURN_IF_ERROR(Check("CopyTo"));
  if (where.client_state() == client_) {
    if (where.memory() != nullptr) {
      auto args = ArgsFor<PJRT_Buffer_CopyToMemory_Args>(buffer_);
      args.dst_memory = where.memory();
      TENON_RETURN_IF_ERROR(client_->api->Call(args));
      return Buffer(client_, args.dst_buffer);
    }
    auto args = ArgsFor<PJRT_Buffer_CopyToDevice_Args>(buffer_);
    args.dst_device = where.device();
    TENON_RETURN_IF_ERROR(client_->api->Call(args));
    return Buffer(client_, args.dst_buffer);
  }
  TENON_ASSIGN_OR_RETURN(const HostCopy copy, ToHostCopy());
  return Client(where.client_state()).ToDevice(copy.View(), where);
}

Result<HostCopy> Buffer::ToHostCopy() const {
  HostCopy copy;
  TENON_ASSIGN_OR_RETURN(copy.shape, shape());
  TENON_ASSIGN_OR_RETURN(const int64_t size, CheckedSizeBytes(copy.shape));
  copy.bytes.resize(static_cast<size_t>(size));
  TENON_RETURN_IF_ERROR(CopyToHost(copy.bytes.data(), copy.bytes.size()));
  return copy;
}

Result<Buffer> Buffer::Bitcast(const Shape& shape, const Layout* layout) {
  TENON_RETURN_IF_ERROR(Check("Bitcast"));
  TENON_RETURN_IF_ERROR(internal::CheckShape(*client_->api, shape.dtype, shape.dims.data(), shape.dims.size()));
  auto args = ArgsFor<PJRT_Buffer_Bitcast_Args>(buffer_);
  args.element_type = static_cast<PJRT_Buffer_Type>(shape.dtype);
  args.dims = shape.dims.data();
  args.num_dims = shape.dims.size();
  std::optional<CLayout> c_layout;
  if (layout != nullptr) args.device_layout = c_layout.emplace(*layout).get();
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return Buffer(client_, args.out_buffer);
}

Result<std::pair<Buffer, Buffer::Dependency>> Buffer::DonateWithControlDependency() {
  TENON_RETURN_IF_ERROR(Check("DonateWithControlDependency"));
  auto args = ArgsFor<PJRT_Buffer_DonateWithControlDependency_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return std::pair<Buffer, Dependency>(Buffer(client_, args.out_buffer),
                                       Dependency(args.callback_data, args.dependency_ready_callback));
}

Result<ExternalReference> Buffer::AcquireExternalReference() const {
  TENON_RETURN_IF_ERROR(Check("AcquireExternalReference"));
  {
    static std::mutex& mutex = *new std::mutex;
    std::lock_guard lock(mutex);
    if (pin_ == nullptr) pin_ = std::make_shared<internal::SharedBufferHandle>(client_, buffer_);
  }
  auto increase = ArgsFor<PJRT_Buffer_IncreaseExternalReferenceCount_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(increase));
  ExternalReference reference(pin_, nullptr);  // from here on every way out decreases again
  auto pointer = ArgsFor<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(pointer));
  reference.data_ = pointer.device_memory_ptr;
  return reference;
}

Result<uintptr_t> Buffer::UnsafePointer() const {
  TENON_RETURN_IF_ERROR(Check("UnsafePointer"));
  auto args = ArgsFor<PJRT_Buffer_UnsafePointer_Args>(buffer_);
  TENON_RETURN_IF_ERROR(client_->api->Call(args));
  return args.buffer_pointer;
}

Status Buffer::WaitOnStream(intptr_t stream) const {
  TENON_RETURN_IF_ERROR(Check("WaitOnStream"));
  PJRT_Wait_Until_Buffer_Ready_On_Stream_Args args{};
  args.struct_size = PJRT_Wait_Until_Buffer_Ready_On_Stream_Args_STRUCT_SIZE;
  args.stream = stream;
  args.buffer = buffer_;
  return TENON_CALL_EXTENSION(*client_->api, PJRT_Extension_Type_Stream, PJRT_Stream_Extension, wait_stream, args);
}

ExternalReference::ExternalReference(std::shared_ptr<internal::SharedBufferHandle> handle, const void* data)
    : handle_(std::move(handle)), data_(data) {}

ExternalReference& ExternalReference::operator=(ExternalReference&& other) noexcept {
  if (this != &other) {
    (void)Release();
    handle_ = std::move(other.handle_);
    data_ = std::exchange(other.data_, nullptr);
  }
  return *this;
}

Status ExternalReference::Release() {
  if (handle_ == nullptr) return OkStatus();
  auto args = ArgsFor<PJRT_Buffer_DecreaseExternalReferenceCount_Args>(handle_->buffer);
  const Status status = handle_->client->api->Call(args);
  handle_.reset();
  data_ = nullptr;
  return status;
}

Buffer::RawCopy::RawCopy(Event done, void* data, void (*start)(PJRT_Buffer_CopyRawToHostFuture_Callback_Args*))
    : done_(std::move(done)), data_(data), start_(start) {}
Buffer::RawCopy::RawCopy(RawCopy&& other) noexcept
    : done_(std::move(other.done_)), data_(other.data_), start_(std::exchange(other.start_, nullptr)) {}
Buffer::RawCopy::~RawCopy() {
  Finish(Cancelled("the raw copy was dropped before it was given a destination"), nullptr);
}

void Buffer::RawCopy::Finish(const Status& status, void* dst) {
  if (start_ == nullptr) return;
  PJRT_Buffer_CopyRawToHostFuture_Callback_Args args{};
  args.struct_size = PJRT_Buffer_CopyRawToHostFuture_Callback_Args_STRUCT_SIZE;
  args.callback_data = data_;
  args.error_code = static_cast<PJRT_Error_Code>(status.code());
  args.error_message = status.message().data();
  args.error_message_size = status.message().size();
  args.dst = dst;
  std::exchange(start_, nullptr)(&args);
}

Result<Event> Buffer::RawCopy::Start(void* dst) && {
  if (start_ == nullptr) return FailedPrecondition("this RawCopy was started already");
  Finish(OkStatus(), dst);
  return std::move(done_);
}

Buffer::Dependency::~Dependency() { Signal(Cancelled("the dependency was dropped without a signal")); }

void Buffer::Dependency::Signal(const Status& status) {
  if (ready_ == nullptr) return;
  PJRT_Buffer_DonateWithControlDependency_Callback_Args args{};
  args.struct_size = PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE;
  args.callback_data = data_;
  args.error_code = static_cast<PJRT_Error_Code>(status.code());
  args.error_message = status.message().data();
  args.error_message_size = status.message().size();
  std::exchange(ready_, nullptr)(&args);
}

BufferPromise::BufferPromise(std::shared_ptr<internal::ClientState> client, Buffer buffer,
                             PJRT_FulfillAliasBufferCallback* callback)
    : client_(std::move(client)), buffer_(std::move(buffer)), callback_(callback) {
  client_->CountHere(client_->others, internal::Kind::kOther, 1);
}
BufferPromise::BufferPromise(BufferPromise&& other) noexcept
    : client_(std::move(other.client_)),
      buffer_(std::move(other.buffer_)),
      callback_(std::exchange(other.callback_, nullptr)) {}
BufferPromise::~BufferPromise() {
  if (callback_ != nullptr) (void)Fail(Cancelled("the promise of a buffer was dropped"));
}

Status BufferPromise::Finish(PJRT_Buffer* buffer, const Status& status) {
  if (callback_ == nullptr) return FailedPrecondition("this BufferPromise was fulfilled already");
  auto args = MakeArgs<PJRT_Client_FulfillAliasBuffer_Args>();
  args.client = client_->client;
  args.buffer = buffer;
  args.status_code = static_cast<PJRT_Error_Code>(status.code());
  args.error_message = status.message().data();
  args.error_message_size = status.message().size();
  args.fulfill_alias_buffer_cb = std::exchange(callback_, nullptr);
  client_->CountHere(client_->others, internal::Kind::kOther, -1);
  return client_->api->Call(args);
}

Status BufferPromise::Fulfill(const Buffer& buffer) {
  if (buffer.empty()) return InvalidArgument("BufferPromise::Fulfill: the buffer is empty");
  TENON_RETURN_IF_ERROR(
      internal::CheckSameClient(client_.get(), buffer.client_state().get(), "the buffer that fulfils a promise"));
  return Finish(buffer.get(), OkStatus());
}

Status BufferPromise::Fail(const Status& error) {
  if (error.ok()) return InvalidArgument("BufferPromise::Fail needs an error, not OK");
  return Finish(nullptr, error);
}

Status PinnedHostMemory::Unpin() {
  if (data_ == nullptr) return OkStatus();
  auto args = MakeArgs<PJRT_Client_DmaUnmap_Args>();
  args.client = client_->client;
  args.data = std::exchange(data_, nullptr);
  return client_->api->Call(args);
}

}  // namespace tenon::client
