#include <fmt/format.h>

#include "tenon/plugin/bind.h"
#include "tenon/plugin/host_copy.h"
#include "tenon/plugin/transfers.h"

namespace tenon::plugin::bind {

TENON_BIND(PJRT_Buffer_ToHostBuffer) {
  TENON_REQUIRE(src);
  Buffer& buffer = *FromC(args.src);
  size_t size = buffer.size_bytes();
  Dims order = buffer.spec().minor_to_major;
  if (args.host_layout != nullptr) {
    Result<Dims> wanted = DecodeLayout(args.host_layout, buffer.shape());
    if (!wanted.ok()) return wanted.status().WithContext(fn);
    order = std::move(*wanted);
  }
  if (args.dst == nullptr) {
    args.dst_size = size;
    args.event = nullptr;
    return OkStatus();
  }
  if (args.dst_size < size) {
    return InvalidArgument(
        fmt::format("{}: `dst_size` is {}, the array {} needs {}", fn, args.dst_size, ToString(buffer.shape()), size));
  }
  if (buffer.is_deleted()) return InvalidArgument(fmt::format("{}: Buffer has been deleted or donated", fn));
  args.event = ToC(Download(buffer, std::move(order), args.dst));
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_CopyRawToHost) {
  TENON_REQUIRE(buffer);
  if (args.transfer_size > 0) TENON_REQUIRE(dst);
  args.event = ToC(DownloadRaw(*FromC(args.buffer), args.offset, args.transfer_size, args.dst));
  return OkStatus();
}

namespace {

// What the caller hands back to PJRT_Buffer_CopyRawToHostFuture's callback. The private buffer keeps the bytes although
// the caller may delete its handle meanwhile.
struct RawCopy {
  Ref<Buffer> source;
  int64_t offset;
  int64_t size;
  Ref<Event> done = Event::Make();
};

void StartRawCopy(PJRT_Buffer_CopyRawToHostFuture_Callback_Args* args) {
  std::unique_ptr<RawCopy> copy(static_cast<RawCopy*>(args->callback_data));
  Status status = StatusFromC(CallerValue(args->error_code), args->error_message, args->error_message_size);
  if (status.ok() && args->dst == nullptr && copy->size > 0) {
    status = InvalidArgument("PJRT_Buffer_CopyRawToHostFuture: dst is NULL");
  }
  if (!status.ok()) {
    copy->done->Set(std::move(status));
    return;
  }
  EventRef copied = DownloadRaw(*copy->source, copy->offset, copy->size, args->dst);
  copied.OnReady([done = copy->done](const Status& s) { done->Set(s); });
}

// A second buffer over the same bytes, private to an operation.
Result<Ref<Buffer>> Share(Buffer& buffer) {
  TENON_ASSIGN_OR_RETURN(BufferUse use, buffer.Use());
  if (use.promise) {
    Ref<Buffer> shared = Buffer::MakePromise(buffer.device(), buffer.memory(), buffer.spec());
    TENON_RETURN_IF_ERROR(shared->Fulfill(std::move(use)));
    return shared;
  }
  return Buffer::Make(buffer.device(), buffer.memory(), buffer.spec(), std::move(use.storage), std::move(use.ready));
}

}  // namespace

TENON_BIND(PJRT_Buffer_CopyRawToHostFuture) {
  TENON_REQUIRE(buffer);
  TENON_ASSIGN_OR_RETURN(Ref<Buffer> source, Share(*FromC(args.buffer)));
  auto* copy = new RawCopy{.source = std::move(source), .offset = args.offset, .size = args.transfer_size};
  args.event = ToC(EventRef(copy->done));
  args.callback_data = copy;
  args.future_ready_callback = StartRawCopy;
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_CopyToDevice) {
  TENON_REQUIRE(buffer);
  TENON_REQUIRE(dst_device);
  Buffer& buffer = *FromC(args.buffer);
  TENON_ASSIGN_OR_RETURN(Placement to, ResolvePlacement(fn, buffer.client(), args.dst_device, nullptr));
  TENON_ASSIGN_OR_RETURN(Ref<Buffer> copy, CopyBuffer(buffer, to.device, to.memory));
  args.dst_buffer = ToC(std::move(copy));
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_CopyToMemory) {
  TENON_REQUIRE(buffer);
  TENON_REQUIRE(dst_memory);
  Buffer& buffer = *FromC(args.buffer);
  // Memories that several devices share keep the buffer on its device.
  Memory* memory = FromC(args.dst_memory);
  bool stays =
      std::find(memory->devices().begin(), memory->devices().end(), buffer.device()) != memory->devices().end();
  TENON_ASSIGN_OR_RETURN(
      Placement to, ResolvePlacement(fn, buffer.client(), stays ? ToC(buffer.device()) : nullptr, args.dst_memory));
  TENON_ASSIGN_OR_RETURN(Ref<Buffer> copy, CopyBuffer(buffer, to.device, to.memory));
  args.dst_buffer = ToC(std::move(copy));
  return OkStatus();
}

// The new buffer shares the bytes: neither can then be donated in place while the other lives.
TENON_BIND(PJRT_Buffer_Bitcast) {
  TENON_REQUIRE(buffer);
  Buffer& buffer = *FromC(args.buffer);
  Result<Shape> shape = MakeShape(CallerValue(args.element_type), args.dims, args.num_dims);
  if (!shape.ok()) return shape.status().WithContext(fn);
  TENON_ASSIGN_OR_RETURN(Dims order, DecodeLayout(args.device_layout, *shape));
  ArraySpec spec{.shape = std::move(*shape), .minor_to_major = std::move(order)};
  if (static_cast<size_t>(SizeBytes(spec.shape)) != buffer.size_bytes()) {
    return InvalidArgument(fmt::format("{}: {} has {} bytes, {} has {}", fn, ToString(spec.shape),
                                       SizeBytes(spec.shape), ToString(buffer.shape()), buffer.size_bytes()));
  }
  // What is a number of the one type may have bits that the other has no use for; and each may be written to as what it
  // is.
  const DType from = buffer.shape().dtype, to = spec.shape.dtype;
  const bool foreign = from != to && (NeedsNormalizing(from) || NeedsNormalizing(to));
  TENON_ASSIGN_OR_RETURN(BufferUse use, buffer.Use());
  Ref<Buffer> view;
  if (use.promise) {
    view = Buffer::MakePromise(buffer.device(), buffer.memory(), std::move(spec));
    if (foreign) view->NoteForeignBytes();
    TENON_RETURN_IF_ERROR(view->Fulfill(std::move(use)));
  } else {
    view =
        Buffer::Make(buffer.device(), buffer.memory(), std::move(spec), std::move(use.storage), std::move(use.ready));
    if (foreign) view->NoteForeignBytes();
  }
  args.out_buffer = ToC(std::move(view));
  return OkStatus();
}

TENON_BIND(PJRT_Buffer_DonateWithControlDependency) {
  TENON_REQUIRE(buffer);
  Buffer& buffer = *FromC(args.buffer);
  TENON_ASSIGN_OR_RETURN(BufferUse use, buffer.Donate());
  Ref<Event> dependency = Event::Make();
  use.ready = WhenAll(use.ready, EventRef(dependency));
  Ref<Buffer> out;
  if (use.promise) {
    out = Buffer::MakePromise(buffer.device(), buffer.memory(), buffer.spec());
    TENON_RETURN_IF_ERROR(out->Fulfill(std::move(use)));
  } else {
    out = Buffer::Make(buffer.device(), buffer.memory(), buffer.spec(), std::move(use.storage), std::move(use.ready));
  }
  args.out_buffer = ToC(std::move(out));
  args.callback_data = dependency.release();
  args.dependency_ready_callback = [](PJRT_Buffer_DonateWithControlDependency_Callback_Args* callback_args) {
    Ref<Event> event = Ref<Event>::Adopt(static_cast<Event*>(callback_args->callback_data));
    event->Set(StatusFromC(CallerValue(callback_args->error_code), callback_args->error_message,
                           callback_args->error_message_size));
  };
  return OkStatus();
}

}  // namespace tenon::plugin::bind
