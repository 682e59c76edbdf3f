// The bytes of a buffer past its element type and layout. A handle shares the storage with its buffer and keeps it.

#include <fmt/format.h>

#include "tenon/abi/pjrt_raw_buffer.h"
#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"
#include "tenon/plugin/host_copy.h"
#include "tenon/plugin/transfers.h"

namespace tenon::plugin::bind {

namespace {

// A buffer of its own over the same bytes, for what the SDK does with buffers. Callers count references to it through
// its table, or destroy the one that they have.
class RawBuffer final : public RefCounted, public PJRT_RawBuffer {
 public:
  explicit RawBuffer(Ref<Buffer> alias);
  Buffer& alias() const { return *alias_; }

 private:
  Ref<Buffer> alias_;
  [[no_unique_address]] internal::Counted<ObjectKind::kRawBuffer> counted_;
};

RawBuffer* FromC(PJRT_RawBuffer* raw) { return static_cast<RawBuffer*>(raw); }
const RawBuffer* FromC(const PJRT_RawBuffer* raw) { return static_cast<const RawBuffer*>(raw); }

void* HostPointer(Buffer& alias) {
  if (!alias.memory()->host_accessible()) return nullptr;
  Result<void*> pointer = alias.DataPointer();
  // Who has it may write bytes of any value.
  if (pointer.ok() && NeedsNormalizing(alias.shape().dtype)) alias.NoteForeignBytes();
  return pointer.ok() ? *pointer : nullptr;
}

// Ends before the two entries that copy: they gained a parameter without a new version, so that no caller and no plugin
// can know what the other means. Callers copy through the extension's functions.
const PJRT_RawBuffer_FunctionTable kFunctions = {
    .struct_size = offsetof(PJRT_RawBuffer_FunctionTable, copy_raw_host_to_device_and_return_event),
    .instance_size = PJRT_RawBuffer_STRUCT_SIZE,
    .extension_start = nullptr,
    .inc_ref = [](PJRT_RawBuffer* raw) { FromC(raw)->AddRef(); },
    .dec_ref = [](PJRT_RawBuffer* raw) { FromC(raw)->Release(); },
    .get_on_device_size_in_bytes = [](const PJRT_RawBuffer* raw) { return FromC(raw)->alias().size_bytes(); },
    .get_memory_space = [](const PJRT_RawBuffer* raw) { return ToC(FromC(raw)->alias().memory()); },
    .get_host_pointer = [](const PJRT_RawBuffer* raw) { return HostPointer(FromC(raw)->alias()); },
    .copy_raw_host_to_device_and_return_event = nullptr,
    .copy_raw_device_to_host_and_return_event = nullptr,
    .opaque_device_memory_data_pointer = nullptr,
    .make_allocation_ready_event = nullptr,
    .get_raw_buffer_async_value = nullptr,
    .is_mutable = nullptr,
    .slice = nullptr,
    .schedule_copy_to = nullptr,
};

RawBuffer::RawBuffer(Ref<Buffer> alias) : PJRT_RawBuffer{&kFunctions}, alias_(std::move(alias)) {}

Status CheckRange(std::string_view fn, const Buffer& buffer, int64_t offset, int64_t size) {
  const auto total = static_cast<int64_t>(buffer.size_bytes());
  if (offset >= 0 && size >= 0 && offset <= total && size <= total - offset) return OkStatus();
  return InvalidArgument(fmt::format("{}: {} bytes at offset {} of a buffer of {} bytes", fn, size, offset, total));
}

}  // namespace

TENON_BIND_EXTENSION(PJRT_RawBuffer_CreateRawAliasOfBuffer) {
  TENON_REQUIRE(buffer);
  Buffer& buffer = *bind::FromC(args.buffer);
  TENON_ASSIGN_OR_RETURN(BufferUse use, buffer.Use());
  Ref<Buffer> alias;
  if (use.promise) {
    alias = Buffer::MakePromise(buffer.device(), buffer.memory(), buffer.spec());
    TENON_RETURN_IF_ERROR(alias->Fulfill(std::move(use)));
  } else {
    alias = Buffer::Make(buffer.device(), buffer.memory(), buffer.spec(), std::move(use.storage), std::move(use.ready));
  }
  args.raw_buffer = MakeRef<RawBuffer>(std::move(alias)).release();
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RawBuffer_Destroy) {
  if (args.buffer != nullptr) FromC(args.buffer)->Release();
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RawBuffer_GetOnDeviceSizeInBytes) {
  TENON_REQUIRE(buffer);
  args.on_device_size_in_bytes = FromC(args.buffer)->alias().size_bytes();
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RawBuffer_GetMemorySpace) {
  TENON_REQUIRE(buffer);
  args.memory_space = ToC(FromC(args.buffer)->alias().memory());
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RawBuffer_GetHostPointer) {
  TENON_REQUIRE(buffer);
  args.host_pointer = HostPointer(FromC(args.buffer)->alias());
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RawBuffer_CopyRawDeviceToHost) {
  TENON_REQUIRE(buffer);
  Buffer& alias = FromC(args.buffer)->alias();
  TENON_RETURN_IF_ERROR(CheckRange(fn, alias, args.offset, args.transfer_size));
  if (args.transfer_size != 0) TENON_REQUIRE(dst);
  args.event = ToC(DownloadRaw(alias, args.offset, args.transfer_size, args.dst));
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RawBuffer_CopyRawHostToDevice) {
  TENON_REQUIRE(buffer);
  Buffer& alias = FromC(args.buffer)->alias();
  TENON_RETURN_IF_ERROR(CheckRange(fn, alias, args.offset, args.transfer_size));
  if (args.transfer_size != 0) TENON_REQUIRE(src);
  TENON_ASSIGN_OR_RETURN(BufferUse use, alias.Use());
  const auto size = static_cast<size_t>(args.transfer_size);
  const auto offset = static_cast<size_t>(args.offset);
  EventRef done = WhenUsable(alias.client(), std::move(use), size,
                             [&memory = *alias.memory(), type = alias.shape().dtype, src = args.src, offset, size,
                              name = std::string(fn)](const BufferUse& u) {
                               if (!u.storage->writable()) {
                                 return EventRef::Of(FailedPrecondition(
                                     fmt::format("{}: the buffer is a caller's array, which may not be "
                                                 "written to",
                                                 name)));
                               }
                               return WriteRaw(memory, u.storage, type, offset, src, size);
                             });
  args.event = ToC(std::move(done));
  return OkStatus();
}

PJRT_Extension_Base* RawBufferExtension(PJRT_Extension_Base* next) {
  static PJRT_RawBuffer_Extension extension = {
      .base = {.struct_size = PJRT_RawBuffer_Extension_STRUCT_SIZE,
               .type = PJRT_Extension_Type_RawBuffer,
               .next = next},
      .PJRT_RawBuffer_CreateRawAliasOfBuffer = Bind_PJRT_RawBuffer_CreateRawAliasOfBuffer,
      .PJRT_RawBuffer_Destroy = Bind_PJRT_RawBuffer_Destroy,
      .PJRT_RawBuffer_GetOnDeviceSizeInBytes = Bind_PJRT_RawBuffer_GetOnDeviceSizeInBytes,
      .PJRT_RawBuffer_GetMemorySpace = Bind_PJRT_RawBuffer_GetMemorySpace,
      .PJRT_RawBuffer_CopyRawHostToDevice = Bind_PJRT_RawBuffer_CopyRawHostToDevice,
      .PJRT_RawBuffer_CopyRawDeviceToHost = Bind_PJRT_RawBuffer_CopyRawDeviceToHost,
      .PJRT_RawBuffer_GetHostPointer = Bind_PJRT_RawBuffer_GetHostPointer,
  };
  return &extension.base;
}

}  // namespace tenon::plugin::bind
